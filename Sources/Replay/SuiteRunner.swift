package import Conformance
internal import FakeServers

/// Runs a selection of cases against one backend, side by side, and judges each.
package final class SuiteRunner: Sendable {
    package struct Options: Sendable {
        package var seed: UInt64
        package var jobs: Int
        /// Makes ids unique on a backend that keeps its data; not part of the seed.
        package var nonce: String
        package var knownFailures: KnownFailures

        package init(seed: UInt64, jobs: Int, nonce: String, knownFailures: KnownFailures) {
            self.seed = seed
            self.jobs = max(1, jobs)
            self.nonce = nonce
            self.knownFailures = knownFailures
        }
    }

    /// Something worth a line on stderr.
    package enum Event: Sendable {
        case calibrated(RunRecord.Sight)
        case started(String)
        case finished(CaseResult, done: Int, of: Int)
        case backendRestarted(String)
    }

    private let executor: RunExecutor
    private let options: Options
    private let report: @Sendable (Event) -> Void
    private let state: Locked<State>

    private struct State {
        var runCount = 0
        /// Counts the lives of a backend that ended by itself and was started again.
        var life = 0
        var twins: [RunPlan: Task<[RunRecord], Never>] = [:]
        var doneCount = 0
        var passedCount = 0
        var silentCount = 0
    }

    /// After so many cases whose deliveries nobody answered, and none that passed, the rest would
    /// only wait as well.
    private static let silentCountMax = 8

    package init(
        executor: RunExecutor,
        options: Options,
        report: @escaping @Sendable (Event) -> Void
    ) {
        self.executor = executor
        self.options = options
        self.report = report
        state = Locked(State())
    }

    private var profile: Profile { executor.profile }

    /// Runs all cases and returns their results in the order given; after a cancellation, the
    /// cases that did not finish are `notRun`.
    package func run(_ contracts: [Contract]) async -> [CaseResult] {
        let plans = contracts.map(CasePlan.init)
        var results = [CaseResult?](repeating: nil, count: plans.count)
        func finish(_ index: Int, _ result: CaseResult) {
            let done = state.withLock {
                $0.doneCount += 1
                return $0.doneCount
            }
            let final = withKnownFailures(result)
            results[index] = final
            report(.finished(final, done: done, of: plans.count))
        }
        var shared: [Int] = []
        var alone: [Int] = []
        for (index, plan) in plans.enumerated() {
            if let result = obstacle(plan) {
                finish(index, result)
            } else if plan.subject.hasRestart {
                alone.append(index)
            } else {
                shared.append(index)
            }
        }
        var sight = RunRecord.Sight(seesEffects: false, seesState: false, latency: .milliseconds(5))
        if (shared + alone).contains(where: { plans[$0].subject.observes }) {
            sight = await calibrate()
            report(.calibrated(sight))
        }
        var generator = SeededGenerator(seed: options.seed)
        shared.shuffle(using: &generator)
        let (firstSight, queue) = (sight, shared)
        await withTaskGroup(of: (Int, CaseResult?).self) { group in
            var waiting = queue[...]
            func add() {
                guard let index = waiting.popFirst() else { return }
                group.addTask { (index, await self.runShared(plans[index], firstSight)) }
            }
            for _ in 0..<options.jobs { add() }
            for await (index, result) in group {
                // What a cancellation cut short says nothing.
                if Task.isCancelled { continue }
                if let result {
                    finish(index, result)
                } else {
                    alone.append(index)
                }
                add()
            }
        }
        for index in alone where !Task.isCancelled {
            if let result = await runAlone(plans[index], sight) { finish(index, result) }
        }
        return zip(results, plans).map { result, plan in
            result
                ?? CaseResult(contract: plan.contract, verdict: .notRun, note: "interrupted")
        }
    }

    /// Two plain purchases show what of this backend can be seen from outside, and how fast.
    private func calibrate() async -> RunRecord.Sight {
        let wanted = RunRecord.Sight(
            seesEffects: !profile.unsupported.contains(.push),
            seesState: !profile.probes.isEmpty,
            latency: .zero
        )
        guard wanted.seesEffects || wanted.seesState else {
            return RunRecord.Sight(seesEffects: false, seesState: false, latency: .milliseconds(5))
        }
        let first = await executor.sentinel(options.nonce + "-c1", wait: .seconds(3), wanted)
        guard let first else {
            return RunRecord.Sight(seesEffects: false, seesState: false, latency: .milliseconds(5))
        }
        // The first one pays for cold code; the second tells how long things take.
        let second = await executor.sentinel(options.nonce + "-c2", wait: .seconds(3), first)
        return second ?? first
    }

    // MARK: One case

    /// Nil when the backend ended meanwhile, so that the case has to be run again, alone.
    private func runShared(_ plan: CasePlan, _ sight: RunRecord.Sight) async -> CaseResult? {
        let life = state.withLock { $0.life }
        let result = await run(plan, sight)
        guard let process = executor.backend.process else { return result }
        if process.exitText != nil || state.withLock({ $0.life }) != life {
            await revive(after: life)
            return nil
        }
        return result
    }

    private func runAlone(_ plan: CasePlan, _ sight: RunRecord.Sight) async -> CaseResult? {
        let life = state.withLock { $0.life }
        let result = await run(plan, sight)
        if Task.isCancelled { return nil }
        if let process = executor.backend.process, process.exitText != nil {
            await revive(after: life)
        }
        return result
    }

    /// Starts a backend that ended by itself again, once for all cases that noticed.
    private func revive(after life: Int) async {
        let isFirst = state.withLock { state in
            guard state.life == life else { return false }
            state.life += 1
            state.twins = [:]
            return true
        }
        guard isFirst else {
            _ = await executor.backend.isReachable()
            return
        }
        let exit = executor.backend.process?.exitText ?? "it ended"
        do throws(BackendUnderTest.UnreachableError) {
            try await executor.backend.restart(.kill)
            report(.backendRestarted(exit))
        } catch {
            report(.backendRestarted(error.description))
        }
    }

    private func run(_ plan: CasePlan, _ sight: RunRecord.Sight) async -> CaseResult {
        let clock = ContinuousClock()
        let start = clock.now
        report(.started(plan.contract.caseID))
        if state.withLock({ $0.silentCount >= Self.silentCountMax && $0.passedCount == 0 }) {
            let finding = Finding(
                .backendGone,
                expected: "the backend answers deliveries",
                actual: "\(Self.silentCountMax) cases went unanswered and none passed; not tried"
            )
            return CaseResult(
                contract: plan.contract,
                verdict: .inconclusive,
                findings: [finding],
                note: finding.actual
            )
        }
        let profile = profile
        var twins = await self.twins(plan, sight)
        func evidence(_ record: RunRecord, _ twins: [RunRecord]) -> CaseEvidence {
            CaseEvidence(plan: plan, subject: record, twins: twins, profile: profile, sight: sight)
        }
        let known = twins
        var subject = await executor.run(
            plan.subject,
            in: nextName(),
            sight: sight,
            within: plan.contract.expectation.within ?? .seconds(60)
        ) { record in
            let evidence = CaseEvidence(
                plan: plan,
                subject: record,
                twins: known,
                profile: profile,
                sight: sight
            )
            return Judge.mayImprove(Judge.judge(evidence).findings) ? .mayImprove : .settled
        }
        if let exit = executor.backend.process?.exitText { subject.backendExit = exit }
        var (verdict, findings) = Judge.judge(evidence(subject, twins))
        if let twinPlan = plan.twin, Judge.dependsOnVolatility(findings) {
            // Before anybody is blamed: does one more twin differ in the same place?
            twins += await twin(twinPlan, sight, count: 1)
            (verdict, findings) = Judge.judge(evidence(subject, twins))
        }
        if verdict == .failed, executor.backend.process == nil,
            !(await executor.backend.isReachable())
        {
            // It went away while the case ran, so nothing that is missing can be held against it.
            subject.trouble = .backendGone("the backend could not be reached any more")
            (verdict, findings) = Judge.judge(evidence(subject, twins))
        }
        let isSilent = subject.exchanges.contains {
            if case .failed(.timedOut, _) = $0.outcome { $0.to == .backend } else { false }
        }
        state.withLock { state in
            if isSilent { state.silentCount += 1 }
            if verdict == .passed { state.passedCount += 1 }
        }
        let isInteresting = verdict != .passed
        return CaseResult(
            contract: plan.contract,
            verdict: verdict,
            findings: findings,
            seconds: Double((clock.now - start).milliseconds) / 1000,
            note: verdict == .inconclusive ? findings.first?.actual : nil,
            overlap: OverlapRule.overlap(in: subject),
            volatile: StateComparison(evidence(subject, twins)).volatile,
            settling: subject.settling,
            timeline: isInteresting ? subject.exchanges : [],
            base: subject.base,
            backendOutput: subject.backendExit == nil
                ? nil : executor.backend.process?.outputTail()
        )
    }

    private func twins(_ plan: CasePlan, _ sight: RunRecord.Sight) async -> [RunRecord] {
        guard let twinPlan = plan.twin else { return [] }
        let task = state.withLock { state in
            if let task = state.twins[twinPlan] { return task }
            let task = Task { await self.twin(twinPlan, sight, count: 2) }
            state.twins[twinPlan] = task
            return task
        }
        return await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
    }

    private func twin(
        _ plan: RunPlan,
        _ sight: RunRecord.Sight,
        count: Int
    ) async -> [RunRecord] {
        var records: [RunRecord] = []
        for _ in 0..<count {
            let isSilent = records.last?.exchanges.contains {
                if case .failed(.timedOut, _) = $0.outcome { $0.to == .backend } else { false }
            }
            if isSilent == true { break }
            records.append(
                await executor.run(plan, in: nextName(), sight: sight, within: .seconds(60)) {
                    _ in .settled
                }
            )
        }
        return records
    }

    private func nextName() -> String {
        let number = state.withLock { state in
            state.runCount += 1
            return state.runCount
        }
        return "\(options.nonce)-\(number)"
    }

    // MARK: Before and after

    /// The result of a case that cannot be run here; nil when it can.
    private func obstacle(_ plan: CasePlan) -> CaseResult? {
        for feature in plan.contract.allNeeds {
            if let text = profile.obstacle(to: feature) {
                return CaseResult(
                    contract: plan.contract,
                    verdict: .notRun,
                    note: text,
                    isDeclaredUnsupported: true
                )
            }
        }
        guard plan.subject.hasRestart, executor.backend.process == nil else { return nil }
        return CaseResult(
            contract: plan.contract,
            verdict: .notRun,
            note: "only a backend that Assay starts can be restarted; use --start, or declare "
                + "'features: {except: [restart]}'"
        )
    }

    private func withKnownFailures(_ result: CaseResult) -> CaseResult {
        var result = result
        let (verdict, note) = options.knownFailures.verdict(
            result.verdict,
            of: result.contract.caseID,
            findings: result.findings
        )
        result.verdict = verdict
        if let note { result.note = note }
        return result
    }
}
