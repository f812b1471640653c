internal import Conformance
internal import FakeServers

/// Runs and judges single cases.
final class CaseRunner: Sendable {
    /// What is left of a run that passed, so that what comes later can still be held against it.
    struct Passed: Sendable {
        let caseID: String
        var evidence: CaseEvidence
    }

    private struct State {
        var runCount = 0
        var passedCount = 0
        var silentCount = 0
        var passed: [Passed] = []
        /// Namespaces of runs that are over, the oldest first.
        var fading: [String] = []
        /// Those that did not pass and waited shorter than they might, by case.
        var shortened: [String: Shortened] = [:]
    }

    private struct Shortened: Sendable {
        let evidence: CaseEvidence
        /// Time that counted, when it had waited as long as somebody does who waits to the end.
        let waited: Duration
    }

    /// After so many cases whose deliveries nobody answered, and none that passed, the rest would
    /// only wait as well.
    static let silentCountMax = 8

    /// How often a failed case is played in all that depends on a moment.
    static let tryCount = 4
    /// A case that takes longer waits for what does not come; playing it again only waits longer.
    static let repeatableSeconds = 5.0

    let executor: RunExecutor
    let options: SuiteRunner.Options
    let sight: RunRecord.Sight
    let lives: BackendLives
    private let state: Locked<State>
    private let twinRuns: TwinRuns

    init(
        executor: RunExecutor,
        options: SuiteRunner.Options,
        sight: RunRecord.Sight,
        report: @escaping @Sendable (SuiteRunner.Event) -> Void
    ) {
        self.executor = executor
        self.options = options
        self.sight = sight
        lives = BackendLives(executor: executor, report: report)
        let state = Locked(State())
        self.state = state
        let nonce = options.nonce
        twinRuns = TwinRuns(executor: executor, sight: sight) { Self.nextName(state, nonce) }
    }

    private static func nextName(_ state: Locked<State>, _ nonce: String) -> String {
        let number = state.withLock { state in
            state.runCount += 1
            return state.runCount
        }
        return "\(nonce)-\(number)"
    }

    /// The runs that passed, in the order of their ends.
    var passed: [Passed] { state.withLock { $0.passed } }

    func twins(_ plan: CasePlan) async -> [RunRecord] { await twinRuns.records(of: plan) }

    /// So many runs that are over may still be spoken of by a backend that works later.
    private static let fadingCountMax = 512

    /// Nobody asks for this case again: its people, and its twin's, are forgotten after a while.
    func forget(_ plan: CasePlan, _ evidence: CaseEvidence?) {
        twinRuns.forget(twinOf: plan)
        let records = evidence.map { [$0.subject] + $0.twins } ?? []
        let over = state.withLock { state in
            state.fading += records.map(\.namespace.name)
            let count = max(0, state.fading.count - Self.fadingCountMax)
            defer { state.fading.removeFirst(count) }
            return Array(state.fading.prefix(count))
        }
        for name in over {
            executor.world.retire(name)
            executor.world.retire(name + "-s")
        }
    }

    /// The next case runs its twins anew.
    func forgetTwins() { twinRuns.forget() }

    // MARK: A case, whatever the backend does

    /// Nil when the backend ended meanwhile, or the date of this machine was changed, so that the case
    /// has to run again, alone.
    func runShared(_ plan: CasePlan) async -> CaseResult? {
        let ran = await runOnceStanding(plan)
        return ran.isOver || ran.isDateChanged ? nil : ran.result
    }

    /// Runs the case a second time when the date of this machine was changed meanwhile.
    func runAlone(_ plan: CasePlan) async -> CaseResult? {
        var ran = await runOnceStanding(plan)
        if ran.isDateChanged, !Task.isCancelled { ran = await runOnceStanding(plan) }
        if Task.isCancelled { return nil }
        guard ran.isDateChanged else { return ran.result }
        return CaseResult(
            contract: plan.contract,
            verdict: .notRun,
            seconds: ran.result.seconds,
            note: "the date of this machine was changed while the case ran"
        )
    }

    private struct Ran {
        let result: CaseResult
        /// Whether the backend ended meanwhile.
        let isOver: Bool
        /// Whether the date of this machine was changed meanwhile.
        let isDateChanged: Bool
    }

    private func runOnceStanding(_ plan: CasePlan) async -> Ran {
        let caseID = plan.contract.caseID
        let forget: @Sendable () -> Void = { [twinRuns] in twinRuns.forget() }
        guard let life = await lives.enter(caseID, forget: forget) else {
            let result = Self.notTried(plan, lives.gone ?? "the backend is gone")
            return Ran(result: result, isOver: false, isDateChanged: false)
        }
        if executor.followDate() { twinRuns.forget() }
        let offset = executor.dateOffset
        var result = await CaseSearch(cases: self).run(plan)
        if let hint = await flip(of: result, plan) { result.hints.append(hint) }
        let isDateChanged = executor.isDateChanged(since: offset)
        if isDateChanged { disown(caseID) }
        let isGone = result.findings.contains { $0.code == .backendGone }
        let isOver = await lives.leave(
            caseID,
            of: life,
            isGone: isGone,
            isWedged: await isWedged(after: result),
            forget: forget
        )
        return Ran(result: result, isOver: isOver, isDateChanged: isDateChanged)
    }

    /// Forgets the runs of a case that prove nothing, and the baselines that it may have shared.
    private func disown(_ caseID: String) {
        twinRuns.forget()
        state.withLock { state in
            state.passed.removeAll { $0.caseID == caseID }
            state.shortened[caseID] = nil
        }
    }

    /// What more runs of a failed case say that depends on a moment: a race is told as one.
    ///
    /// The verdict stays: what was lost once is lost.
    private func flip(of result: CaseResult, _ plan: CasePlan) async -> String? {
        guard options.tellsRaces, result.verdict == .failed, plan.contract.search == nil,
            plan.subject.dependsOnMoment,
            result.seconds < Self.repeatableSeconds,
            // Nor is it shorter for having been waited for by another one.
            state.withLock({ $0.shortened[plan.contract.caseID] == nil }),
            executor.backend.process?.exitText == nil
        else { return nil }
        var failedCount = 1
        for _ in 1..<Self.tryCount {
            let again = await runOnce(plan)
            if Task.isCancelled || again.findings.contains(where: { $0.code == .backendGone }) {
                return nil
            }
            if again.verdict == .failed { failedCount += 1 }
        }
        return failedCount == Self.tryCount
            ? "it failed in each of \(Self.tryCount) runs: no matter of the moment"
            : "it failed in \(failedCount) of \(Self.tryCount) runs: a race, lost at some moments only"
    }

    /// Whether a backend that was late answers no other event either: a pool that one case has
    /// exhausted is the undoing of all others.
    private func isWedged(after result: CaseResult) async -> Bool {
        guard result.findings.contains(where: { $0.code == .answerLate }), lives.mayRecover,
            !(await executor.answersEvents())
        else { return false }
        lives.noteRecovery()
        return true
    }

    // MARK: One case, once

    func runOnce(_ plan: CasePlan) async -> CaseResult {
        let start = executor.clock.now
        if let result = givenUp(plan) { return result }
        let outputStart = executor.backend.process?.outputSize ?? 0
        let shortageCount = executor.world.shortages.count
        var evidence = await evidence(plan)
        var (verdict, findings) = Judge.judge(evidence)
        if verdict == .failed {
            evidence = await absolving(evidence, findings)
            (verdict, findings) = Judge.judge(evidence)
        }
        if verdict == .inconclusive, let reason = await idleByDesign(evidence, findings) {
            return CaseResult(
                contract: plan.contract,
                verdict: .notRun,
                seconds: Double((executor.clock.now - start).milliseconds) / 1000,
                note: reason,
                isDeclaredUnsupported: true
            )
        }
        if verdict != .passed,
            let reason = evidence.shortage ?? executor.world.shortages.first(after: shortageCount)
        {
            twinRuns.forget(twinOf: plan)
            return CaseResult(
                contract: plan.contract,
                verdict: .notRun,
                seconds: Double((executor.clock.now - start).milliseconds) / 1000,
                note: reason
            )
        }
        note(evidence, verdict)
        if findings.contains(where: { $0.code == .machineBusy }) { twinRuns.forget(twinOf: plan) }
        let subject = evidence.subject
        var result = CaseResult(
            contract: plan.contract,
            verdict: verdict,
            findings: findings,
            seconds: Double((executor.clock.now - start).milliseconds) / 1000,
            note: verdict == .inconclusive ? findings.first?.actual : nil,
            overlap: OverlapRule.overlap(in: subject),
            volatile: StateComparison(evidence).volatile,
            settling: subject.settling,
            timeline: verdict == .passed ? [] : subject.exchanges.map(\.shortened),
            base: subject.base,
            backendOutput: Self.explains(subject, verdict)
                ? executor.backend.process?.output(since: outputStart) : nil
        )
        if verdict == .passed {
            result.unseen = evidence.unseen
        } else {
            result.hints = evidence.hints
            if let shortened = subject.shortened { result.hints.append(shortened.description) }
        }
        result.killHits = evidence.killHits
        if options.keepsEvidence { result.evidence = evidence }
        return result
    }

    /// The subject's run and its twins'.
    private func evidence(_ plan: CasePlan) async -> CaseEvidence {
        let profile = executor.profile
        let twins = await twinRuns.records(of: plan)
        @Sendable func evidence(_ record: RunRecord) -> CaseEvidence {
            CaseEvidence(
                plan: plan,
                subject: record,
                twins: twins,
                profile: profile,
                sight: executor.informed(sight)
            )
        }
        // After one that wears the backend out nobody can look again: it waits to the end itself.
        let missing =
            plan.subject.wearsOut
            ? nil
            : RunExecutor.Missing(caseID: plan.contract.caseID) { record in
                let findings = Judge.judge(evidence(record)).findings
                return SharedPatience.Cause(
                    clause: plan.contract.clause,
                    codes: Set(findings.map(\.code))
                )
            }
        var run = plan.subject
        var subject: RunRecord
        repeat {
            subject = await executor.run(
                run,
                in: Self.nextName(state, options.nonce),
                sight: sight,
                within: plan.contract.expectation.within ?? .seconds(60),
                missing: missing
            ) { record in
                let findings = Judge.judge(evidence(record)).findings
                return Judge.mayImprove(findings) ? .mayImprove : .settled
            }
            // Whoever was too slow for an end gets more time before it, as far as that goes.
            run.soon = (run.soon ?? RunPlan.soonest) * 3
        } while subject.isOverTooSoon && run.soon ?? .zero <= RunPlan.latestSoon
            && !Task.isCancelled
        if let process = executor.backend.process, let exit = process.exitText,
            !plan.subject.hasRestart
        {
            if process.hasPortConflict, executor.backend.life > 1 {
                subject.trouble = .backendGone("its port was still in use after Assay stopped it")
            } else {
                subject.backendExit = exit
            }
        }
        return evidence(subject)
    }

    /// The evidence once everything was done that could speak for the backend.
    private func absolving(_ first: CaseEvidence, _ findings: [Finding]) async -> CaseEvidence {
        var evidence = first
        if Judge.dependsOnTwin(findings) {
            // Is something missing in the twin that had no time to come?
            if !evidence.plan.subject.touchesEverybody {
                let twins = await twinRuns.matured(of: evidence.plan, known: evidence.twins)
                evidence = evidence.replacing(twins: twins)
            }
            let remaining = Judge.judge(evidence)
            if remaining.verdict == .failed, Judge.dependsOnVolatility(remaining.findings) {
                // Does one more twin differ in the same place?
                let more = await twinRuns.oneMore(of: evidence.plan, beside: evidence.twins)
                evidence = evidence.replacing(twins: more)
            }
        }
        guard executor.backend.process == nil, Judge.judge(evidence).verdict == .failed,
            !(await executor.backend.isReachable())
        else { return evidence }
        // It went away while the case ran, so nothing that is missing can be held against it.
        var subject = evidence.subject
        subject.trouble = .backendGone("the backend could not be reached any more")
        return evidence.replacing(subject: subject)
    }

    /// The reason why the case has nothing to break: a run of its steps without faults does not call
    /// the provider either, so the backend works without that call by design.
    ///
    /// Nil where the provider was called, or where other doubts remain.
    private func idleByDesign(_ evidence: CaseEvidence, _ findings: [Finding]) async -> String? {
        let plan = evidence.plan
        guard !findings.isEmpty, findings.allSatisfy({ $0.code == .disturbanceMissed }),
            plan.contract.search == nil, !plan.subject.touchesEverybody,
            let missed = DisturbanceRule.missedCall(in: evidence)
        else { return nil }
        let baselines =
            plan.twinHasAllSteps ? evidence.twins : await twinRuns.records(of: plan.againstBaseline)
        guard !baselines.isEmpty,
            baselines.allSatisfy({
                $0.trouble == nil && $0.starvation == nil && missed.isMissed(in: $0)
            })
        else { return nil }
        return
            "the backend makes no call to \(missed.provider) in this case that could fail: a run "
            + "without the fault makes none either"
    }

    // MARK: What is remembered

    /// The result of a case that is not tried, because nobody answers.
    private func givenUp(_ plan: CasePlan) -> CaseResult? {
        guard state.withLock({ $0.silentCount >= Self.silentCountMax && $0.passedCount == 0 })
        else { return nil }
        return Self.notTried(plan, "\(Self.silentCountMax) cases went unanswered and none passed")
    }

    private static func notTried(_ plan: CasePlan, _ reason: String) -> CaseResult {
        let finding = Finding(
            .backendGone,
            expected: "the backend answers deliveries",
            actual: reason + "; not tried"
        )
        return inconclusive(plan, finding)
    }

    static func inconclusive(_ plan: CasePlan, _ finding: Finding) -> CaseResult {
        CaseResult(
            contract: plan.contract,
            verdict: .inconclusive,
            findings: [finding],
            note: finding.actual
        )
    }

    /// The cases that waited shorter than they might and would be judged otherwise by now.
    func changedSince() async -> Set<String> {
        let shortened = state.withLock { state in
            defer { state.shortened = [:] }
            return state.shortened
        }
        executor.shared.turnOff()
        // All of them at once have what was left of their time.
        if let last = shortened.values.map(\.waited).max() {
            let rest = last - executor.heartbeat.counted
            if rest > .zero { await executor.patience(rest).elapse() }
        }
        var changed: Set<String> = []
        for (caseID, item) in shortened.sorted(by: { $0.key < $1.key }) {
            if Task.isCancelled { break }
            let evidence = item.evidence
            var subject = await executor.lookAgain(evidence.subject, probes: true)
            if subject.openRetry != nil { subject.openRetry = subject.pauseOfFailedRetry }
            let before = Judge.judge(evidence)
            let now = Judge.judge(evidence.replacing(subject: subject))
            let isSame =
                before.verdict == now.verdict
                && Set(before.findings.map(\.code)) == Set(now.findings.map(\.code))
            if !isSame { changed.insert(caseID) }
        }
        return changed
    }

    private func note(_ evidence: CaseEvidence, _ verdict: Verdict) {
        state.withLock { state in
            if evidence.subject.isSilent { state.silentCount += 1 }
            guard verdict == .passed else {
                if let shortened = evidence.subject.shortened {
                    let rest = shortened.full - shortened.enough
                    state.shortened[evidence.plan.contract.caseID] = Shortened(
                        evidence: evidence,
                        waited: executor.heartbeat.counted + rest
                    )
                }
                return
            }
            state.passedCount += 1
            guard evidence.plan.subject.observes, options.remembersPassed else { return }
            let caseID = evidence.plan.contract.caseID
            state.passed.append(Passed(caseID: caseID, evidence: evidence.withoutBodies))
        }
    }

    /// What the backend wrote meanwhile says why it ended, failed or kept silent.
    private static func explains(_ record: RunRecord, _ verdict: Verdict) -> Bool {
        if record.backendExit != nil { return true }
        if case .restartFailed = record.trouble { return true }
        return verdict == .failed
            && record.exchanges.contains { exchange in
                guard exchange.to == .backend else { return false }
                if case .failed = exchange.outcome { return true }
                return exchange.response.map { $0.status >= 500 } ?? false
            }
    }
}

extension CaseEvidence {
    func replacing(subject: RunRecord? = nil, twins: [RunRecord]? = nil) -> CaseEvidence {
        CaseEvidence(
            plan: plan,
            subject: subject ?? self.subject,
            twins: twins ?? self.twins,
            profile: profile,
            sight: sight
        )
    }

    /// Only what the journal does not hold: its first and last entries stand for the rest.
    fileprivate var withoutBodies: CaseEvidence {
        func thin(_ record: RunRecord) -> RunRecord {
            var record = record
            let calls = record.exchanges.filter { $0.from == .backend }
            record.exchanges = Array(record.exchanges.prefix(1)) + calls.suffix(1)
            return record
        }
        return replacing(subject: thin(subject), twins: twins.map(thin))
    }
}

extension RunRecord {
    fileprivate var isOverTooSoon: Bool {
        if case .overTooSoon = trouble { true } else { false }
    }
}

extension CaseEvidence {
    /// The resource that a call of Assay's own lacked in the case or in its baseline; nil where
    /// every call could be made.
    fileprivate var shortage: String? {
        ([subject] + twins).lazy.flatMap(\.exchanges).compactMap { exchange in
            if case .failed(.shortage, let reason) = exchange.outcome { reason } else { nil }
        }.first
    }
}
