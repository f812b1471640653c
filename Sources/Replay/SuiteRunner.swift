package import Conformance
internal import FakeServers

/// Runs a selection of cases, side by side, and judges each.
///
/// Cases are planned here and carried out by `RunExecutor`; device scenarios, which no backend plays
/// in, run by `DeviceSuite`.
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
    private let doneCount = Locked(0)

    package init(
        executor: RunExecutor,
        options: Options,
        report: @escaping @Sendable (Event) -> Void
    ) {
        self.executor = executor
        self.options = options
        self.report = report
    }

    /// Runs all cases and returns their results in the order given; after a cancellation, the
    /// cases that did not finish are `notRun`.
    package func run(_ contracts: [Contract]) async -> [CaseResult] {
        await withTaskGroup(of: [CaseResult]?.self) { group in
            group.addTask {
                await self.executor.heartbeat.beat()
                return nil
            }
            group.addTask { await self.judged(contracts) }
            var results: [CaseResult] = []
            for await part in group {
                guard let part else { continue }
                results = part
                group.cancelAll()
            }
            return results
        }
    }

    private func judged(_ contracts: [Contract]) async -> [CaseResult] {
        let calibration = Calibration(executor: executor, nonce: options.nonce)
        let runnable = contracts.map { CasePlan($0) }.filter { obstacle($0) == nil }
        var sight = Calibration.blind
        if runnable.contains(where: { $0.subject.observes }) {
            sight = await calibration.sight()
            report(.calibrated(sight))
        }
        let cases = CaseRunner(executor: executor, options: options, sight: sight, report: report)
        let plans = await expanded(contracts, cases)
        var results = [CaseResult?](repeating: nil, count: plans.count)
        let queue = await queue(plans) { index, result in results[index] = result }
        var alone = queue.alone
        await withTaskGroup(of: (Int, CaseResult?).self) { group in
            var waiting = queue.shared[...]
            func add() {
                guard let index = waiting.popFirst() else { return }
                group.addTask { (index, await cases.runShared(plans[index])) }
            }
            for _ in 0..<options.jobs { add() }
            for await (index, result) in group {
                // What a cancellation cut short says nothing.
                if Task.isCancelled { continue }
                if let result {
                    results[index] = finished(result, plans.count)
                } else {
                    alone.append(index)
                }
                add()
            }
        }
        let last = alone.filter { plans[$0].subject.touchesEverybody }
        for index in alone where !last.contains(index) && !Task.isCancelled {
            guard let result = await cases.runAlone(plans[index]) else { continue }
            results[index] = finished(result, plans.count)
        }
        if !Task.isCancelled {
            let look = LateLook(executor: executor, calibration: calibration, cases: cases)
            await look.revise(&results)
        }
        // After these, what is in the journal of another case is not of its own making.
        for index in last where !Task.isCancelled {
            guard let result = await cases.runAlone(plans[index]) else { continue }
            results[index] = finished(result, plans.count)
        }
        return zip(results, plans).map { result, plan in
            guard let result else {
                return CaseResult(contract: plan.contract, verdict: .notRun, note: "interrupted")
            }
            return withKnownFailures(result)
        }
    }

    /// Who runs beside others and who alone; cases that cannot be run are finished at once.
    private func queue(
        _ plans: [CasePlan],
        _ finish: (Int, CaseResult) -> Void
    ) async -> (shared: [Int], alone: [Int]) {
        let isSerialised =
            plans.contains { obstacle($0) == nil && $0.subject.hasHeldCopies }
            ? await HeldCopies(run: executor).isSerialised() : false
        var shared: [Int] = []
        var alone: [Int] = []
        for (index, plan) in plans.enumerated() {
            if let result = obstacle(plan) {
                finish(index, finished(result, plans.count))
            } else if plan.subject.needsSolitude || isSerialised && plan.subject.hasHeldCopies {
                alone.append(index)
            } else {
                shared.append(index)
            }
        }
        var generator = SeededGenerator(seed: options.seed)
        shared.shuffle(using: &generator)
        return (shared, alone)
    }

    private func finished(_ result: CaseResult, _ total: Int) -> CaseResult {
        let done = doneCount.withLock { count in
            count += 1
            return count
        }
        report(.finished(withKnownFailures(result), done: done, of: total))
        return result
    }

    /// The plans in the order of the contracts, with one for each crash point of those that ask for
    /// crash points.
    private func expanded(_ contracts: [Contract], _ cases: CaseRunner) async -> [CasePlan] {
        var plans: [CasePlan] = []
        for contract in contracts {
            let plan = CasePlan(contract)
            guard case .crashPoints(let faults) = contract.search, obstacle(plan) == nil,
                !Task.isCancelled, let golden = await cases.twins(plan).first,
                // A golden run that failed knows only some of the calls; the case says so itself.
                golden.trouble == nil
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

    /// The result of a case that cannot be run here; nil when it can.
    package func obstacle(_ plan: CasePlan) -> CaseResult? {
        Obstacle(profile: executor.profile, isStarted: executor.backend.process != nil)
            .result(plan)
    }

    private func withKnownFailures(_ result: CaseResult) -> CaseResult {
        options.knownFailures.applied(to: result)
    }
}

extension KnownFailures {
    /// The result, with the verdict that the list makes of its own.
    func applied(to result: CaseResult) -> CaseResult {
        var result = result
        let (verdict, note) = verdict(
            result.verdict,
            of: result.contract.caseID,
            findings: result.findings
        )
        result.verdict = verdict
        if let note { result.note = note }
        return result
    }
}
