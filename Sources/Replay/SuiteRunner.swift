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
        /// Only these variants of the generated ones.
        package var isWanted: (@Sendable (Contract) -> Bool)?
        /// Every result keeps what its verdict rests on.
        package var keepsEvidence = false

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
        var sight = RunRecord.Sight(seesEffects: false, seesState: false, latency: .milliseconds(5))
        let runnable = contracts.map { CasePlan($0) }.filter { obstacle($0) == nil }
        if runnable.contains(where: { $0.subject.observes }) {
            sight = await calibrate()
            report(.calibrated(sight))
        }
        let plans = await expanded(contracts, sight)
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
        let isSerialised =
            plans.contains { obstacle($0) == nil && $0.subject.hasHeldCopies }
            ? await executor.isSerialised() : false
        var shared: [Int] = []
        var alone: [Int] = []
        for (index, plan) in plans.enumerated() {
            if let result = obstacle(plan) {
                finish(index, result)
            } else if plan.subject.needsSolitude || isSerialised && plan.subject.hasHeldCopies {
                alone.append(index)
            } else {
                shared.append(index)
            }
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

    /// The plans in the order of the contracts, with one for each crash point of those that ask for
    /// crash points.
    private func expanded(_ contracts: [Contract], _ sight: RunRecord.Sight) async -> [CasePlan] {
        var plans: [CasePlan] = []
        for contract in contracts {
            let plan = CasePlan(contract)
            guard case .crashPoints(let faults) = contract.search, obstacle(plan) == nil,
                !Task.isCancelled, let golden = await twins(plan, sight).first
            else {
                plans.append(plan)
                continue
            }
            let points = CasePlan.crashPoints(in: golden, faults: faults)
            // Without a single call there is one case, and the disturbance rule says why.
            plans += points.isEmpty ? [plan] : points.map { plan.disturbed(at: $0) }
        }
        guard let isWanted = options.isWanted else { return plans }
        return plans.filter { isWanted($0.contract) }
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

    /// One case, or the whole search that it stands for.
    private func run(_ plan: CasePlan, _ sight: RunRecord.Sight) async -> CaseResult {
        switch plan.contract.search {
        case .orders(let size): await runOrders(plan, size, sight)
        case .generated(let variation, let count):
            await runVariations(plan, variation, count, sight)
        case .crashPoints:
            // The golden run made no call that could be disturbed.
            inconclusive(
                plan,
                Finding(
                    .disturbanceMissed,
                    expected: "calls to providers in the golden run, to disturb each of them",
                    actual: "none was made"
                )
            )
        case nil: await runOnce(plan, sight)
        }
    }

    private func inconclusive(_ plan: CasePlan, _ finding: Finding) -> CaseResult {
        CaseResult(
            contract: plan.contract,
            verdict: .inconclusive,
            findings: [finding],
            note: finding.actual
        )
    }

    /// Every order, the smallest reorderings first, until one breaks the case.
    private func runOrders(
        _ plan: CasePlan,
        _ size: Int,
        _ sight: RunRecord.Sight
    ) async -> CaseResult {
        let events = plan.contract.steps.compactMap { step -> String? in
            if case .deliver(let delivery) = step { delivery.name } else { nil }
        }
        var generator = SeededGenerator(seed: options.seed, text: plan.contract.id)
        let orders = Order.orders(of: events.count, sampleSize: size, generator: &generator)
        var last: CaseResult?
        var seconds = 0.0
        for (index, order) in orders.enumerated() {
            if Task.isCancelled { break }
            var result = await runOnce(plan.reordered(order), sight)
            seconds += result.seconds
            result.seconds = seconds
            result.runCount = index + 1
            result.contract = plan.contract
            last = result
            guard result.verdict != .passed else { continue }
            let names = order.map { events[$0] }.joined(separator: ", ")
            let exchanges = Order.inversions(order)
            result.note =
                "smallest reordering that breaks it: \(names) (\(exchanges) "
                + "exchange\(exchanges == 1 ? "" : "s") of neighbours; \(index + 1) of "
                + "\(orders.count) orders tried)"
            return result
        }
        return last ?? inconclusive(plan, .init(.setupFailed, expected: "an order", actual: "none"))
    }

    /// Variation after variation until one fails, which is then made as small as it gets.
    private func runVariations(
        _ plan: CasePlan,
        _ variation: Variation,
        _ count: Int,
        _ sight: RunRecord.Sight
    ) async -> CaseResult {
        let random = SeededGenerator(seed: options.seed, text: plan.contract.id)
        guard let body = executor.sampleBody(of: plan.contract) else {
            return await runOnce(plan, sight)
        }
        var generator = VariationGenerator(variation, body: body, random: random)
        var last: CaseResult?
        var seconds = 0.0
        for index in 0..<count {
            if Task.isCancelled { break }
            let (edits, shuffles) = generator.next()
            var result = await runOnce(plan.varied(edits, shufflesKeys: shuffles), sight)
            seconds += result.seconds
            result.seconds = seconds
            result.runCount = index + 1
            if result.verdict == .failed {
                return await shrunk(result, plan, edits, shuffles, sight)
            }
            result.contract = plan.contract
            last = result
            if result.verdict != .passed { return result }
        }
        return last ?? inconclusive(plan, .init(.setupFailed, expected: "a run", actual: "none"))
    }

    /// So many runs may be spent on making a failing event smaller.
    private static let shrinkCountMax = 40

    private func shrunk(
        _ first: CaseResult,
        _ plan: CasePlan,
        _ edits: [Delivery.Edit],
        _ shuffles: Bool,
        _ sight: RunRecord.Sight
    ) async -> CaseResult {
        var best = first
        var smallest = edits
        var runCount = first.runCount ?? 1
        var isSmaller = true
        while isSmaller, !Task.isCancelled {
            isSmaller = false
            for candidate in VariationGenerator.smaller(smallest) {
                guard runCount < (first.runCount ?? 1) + Self.shrinkCountMax else { break }
                runCount += 1
                let result = await runOnce(plan.varied(candidate, shufflesKeys: shuffles), sight)
                best.seconds += result.seconds
                guard result.verdict == .failed,
                    result.findings.first?.code == best.findings.first?.code
                else { continue }
                let seconds = best.seconds
                best = result
                best.seconds = seconds
                smallest = candidate
                isSmaller = true
                break
            }
        }
        best.runCount = runCount
        var found = plan.varied(smallest, shufflesKeys: shuffles).contract
        found.title = plan.contract.title + " (found by variation)"
        best.found = found
        best.contract = plan.contract
        let places = smallest.map { "\($0.pointer) = \($0.value?.text.prefix(40) ?? "absent")" }
        best.note =
            "smallest event that breaks it: "
            + (places.isEmpty ? "another order of keys" : places.joined(separator: ", "))
        return best
    }

    private func runOnce(_ plan: CasePlan, _ sight: RunRecord.Sight) async -> CaseResult {
        let clock = ContinuousClock()
        let start = clock.now
        report(.started(plan.contract.caseID))
        let outputStart = executor.backend.process?.outputSize ?? 0
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
        if let exit = executor.backend.process?.exitText, !plan.subject.hasRestart {
            subject.backendExit = exit
        }
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
        var result = CaseResult(
            contract: plan.contract,
            verdict: verdict,
            findings: findings,
            seconds: Double((clock.now - start).milliseconds) / 1000,
            note: verdict == .inconclusive ? findings.first?.actual : nil,
            overlap: OverlapRule.overlap(in: subject),
            volatile: StateComparison(evidence(subject, twins)).volatile,
            settling: subject.settling,
            timeline: isInteresting ? subject.exchanges.map(\.shortened) : [],
            base: subject.base,
            backendOutput: explains(subject, verdict)
                ? executor.backend.process?.output(since: outputStart) : nil
        )
        if options.keepsEvidence { result.evidence = evidence(subject, twins) }
        return result
    }

    /// What the backend wrote meanwhile says why it ended, failed or kept silent.
    private func explains(_ record: RunRecord, _ verdict: Verdict) -> Bool {
        if record.backendExit != nil { return true }
        if case .restartFailed = record.trouble { return true }
        return verdict == .failed
            && record.exchanges.contains { exchange in
                guard exchange.to == .backend else { return false }
                if case .failed = exchange.outcome { return true }
                return exchange.response.map { $0.status >= 500 } ?? false
            }
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
    package func obstacle(_ plan: CasePlan) -> CaseResult? {
        if let text = unmapped(plan.contract) {
            return CaseResult(
                contract: plan.contract,
                verdict: .notRun,
                note: text,
                isDeclaredUnsupported: true
            )
        }
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
        if plan.subject.hasRestart, profile.unsupported.contains(.restart) {
            return CaseResult(
                contract: plan.contract,
                verdict: .notRun,
                note: profile.obstacle(to: .restart),
                isDeclaredUnsupported: true
            )
        }
        guard plan.subject.hasRestart, executor.backend.process == nil else { return nil }
        return CaseResult(
            contract: plan.contract,
            verdict: .notRun,
            note: "only a backend that Assay starts can be restarted; use --start, or declare "
                + "'features: {except: [restart]}'"
        )
    }

    /// Fields of a state are optional: a case that asks only for such as no probe maps does not run.
    private func unmapped(_ contract: Contract) -> String? {
        let wanted =
            contract.expectation.states.flatMap(\.fields).map(\.name).filter { $0 != "exists" }
            + (contract.expectation.compared.contains(.effects)
                ? [] : contract.expectation.comparedFields)
        guard !wanted.isEmpty, profile.probes.contains(where: { !$0.readings.isEmpty }),
            !wanted.contains(where: { profile.probe(reading: $0) != nil })
        else { return nil }
        return "no probe maps '\(wanted[0])'; add it under 'probes: … read:' in assay.yaml"
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
