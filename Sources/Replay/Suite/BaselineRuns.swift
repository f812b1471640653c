internal import Contracts
internal import Judging
internal import Values

/// Runs the baselines that cases are compared with, once for all cases that share a baseline.
///
/// A baseline is a run of the same case without faults. Each baseline runs twice, which shows the
/// values that vary without a fault. The two runs are observed until they agree, or have had as
/// much time as a case. A baseline that is observed too early would lack effects that the case has.
final class BaselineRuns: Sendable {
    /// The record of one baseline run (a case without faults), and the time when it ended.
    private struct BaselineRun: Sendable {
        var record: RunRecord
        /// The number of the backend process against which the baseline ran.
        ///
        /// A later process cannot show any state of this run.
        let processNumber: Int
        /// The time at which the run ended, as a value of `Heartbeat.usableTime`.
        let endTime: Duration
    }

    private struct State {
        var tasksByBaseline: [RunPlan: Task<[BaselineRun], Never>] = [:]
        /// The JSON paths whose values differed between baseline runs, however long these were
        /// observed.
        var varyingPaths: Set<String> = []
    }

    private let executor: RunExecutor
    private let observability: RunRecord.Observability
    /// Returns a new namespace for the next run.
    private let nextNamespaceName: @Sendable () -> String
    private let state = Locked(State())

    init(
        executor: RunExecutor,
        observability: RunRecord.Observability,
        nextNamespaceName: @escaping @Sendable () -> String
    ) {
        self.executor = executor
        self.observability = observability
        self.nextNamespaceName = nextNamespaceName
    }

    /// Discards all baseline runs, for example because their backend process has exited.
    func forget() {
        state.withLock { $0.tasksByBaseline = [:] }
    }

    /// Discards the baseline runs of one case, so that the next case with the same baseline runs
    /// them again.
    ///
    /// A run on a busy machine proves nothing.
    func forget(baselineOf plan: CasePlan) {
        guard let baseline = plan.baseline else { return }
        state.withLock { $0.tasksByBaseline[baseline] = nil }
    }

    /// Returns two runs of the case's baseline (the same case without faults); empty if the case
    /// has no baseline.
    func records(of plan: CasePlan) async -> [RunRecord] {
        guard let baseline = plan.baseline else { return [] }
        let task = state.withLock { state in
            if let task = state.tasksByBaseline[baseline] { return task }
            let task = executor.clock.task { await self.agreeingRuns(plan, baseline) }
            state.tasksByBaseline[baseline] = task
            return task
        }
        return await task.joined().map(\.record)
    }

    /// Observes the baseline runs of a case again, once they have had as much time for their
    /// effects as a case has.
    ///
    /// - Parameters:
    ///   - plan: The case.
    ///   - known: The baseline runs, as last observed.
    /// - Returns: The baseline runs; `known` if they have been discarded meanwhile.
    func refreshedRecords(of plan: CasePlan, known: [RunRecord]) async -> [RunRecord] {
        guard let baseline = plan.baseline,
            let task = state.withLock({ $0.tasksByBaseline[baseline] })
        else {
            return known
        }
        let runs = await task.joined()
        guard let latestEnd = runs.map(\.endTime).max() else { return [] }
        let timeSinceEnd = executor.heartbeat.usableTime - latestEnd
        let rest = executor.shortSettleTimeout(observability.latency) - timeSinceEnd
        if rest > .zero { await executor.settleTimeout(rest).waitUntilOver() }
        return await refreshedRuns(runs).map(\.record)
    }

    /// Adds one more baseline run (the case without faults) to the known ones.
    ///
    /// The new run is observed until it agrees with the known runs.
    func recordsWithExtraRun(of plan: CasePlan, alongside known: [RunRecord]) async -> [RunRecord] {
        guard let baseline = plan.baseline else { return known }
        let run = await run(baseline)
        return known + (await agreeingRuns(plan, [run], alongside: known)).map(\.record)
    }

    private func agreeingRuns(_ plan: CasePlan, _ baseline: RunPlan) async -> [BaselineRun] {
        let firstRun = await run(baseline)
        // A backend that does not respond to the first run would not respond to a second one
        // either.
        guard !firstRun.record.isSilent else { return [firstRun] }
        return await agreeingRuns(plan, [firstRun, await run(baseline)], alongside: [])
    }

    /// Observes the runs again while they differ in JSON paths that are not known to vary.
    private func agreeingRuns(
        _ plan: CasePlan,
        _ runs: [BaselineRun],
        alongside known: [RunRecord]
    ) async -> [BaselineRun] {
        var runs = runs
        func differingPaths() -> Set<String> {
            evidence(plan, known + runs.map(\.record)).baselineDisagreements
        }
        func unexpectedPaths() -> Set<String> {
            differingPaths().subtracting(state.withLock { $0.varyingPaths })
        }
        // In a queue, one of the runs may be slow; its missing effects are not a variation.
        let observability = executor.updatedObservability(observability)
        let settleTimeout = executor.settleTimeout(
            observability.appliesEventsLater == true
                ? executor.profile.settleTimeout
                : executor.shortSettleTimeout(observability.latency)
        )
        var pause: Duration = .milliseconds(5)
        while !unexpectedPaths().isEmpty, !settleTimeout.isOver, !Task.isCancelled {
            await settleTimeout.pause(pause)
            pause = min(pause * 2, .milliseconds(100))
            runs = await refreshedRuns(runs)
        }
        let rest = differingPaths()
        state.withLock { $0.varyingPaths.formUnion(rest) }
        return runs
    }

    private func evidence(_ plan: CasePlan, _ records: [RunRecord]) -> CaseEvidence {
        CaseEvidence(
            plan: plan,
            subject: records[0],
            baselines: records,
            profile: executor.profile,
            observability: observability
        )
    }

    private func run(_ baseline: RunPlan) async -> BaselineRun {
        let record = await executor.run(
            baseline,
            in: nextNamespaceName(),
            observability: observability,
            within: .seconds(60)
        ) { _ in .settled }
        return BaselineRun(
            record: record,
            processNumber: executor.backend.processNumber,
            endTime: executor.heartbeat.usableTime
        )
    }

    private func refreshedRuns(_ runs: [BaselineRun]) async -> [BaselineRun] {
        var updatedRuns = runs
        for index in updatedRuns.indices {
            let isSameProcess = updatedRuns[index].processNumber == executor.backend.processNumber
            updatedRuns[index].record = await executor.refreshedRecord(
                updatedRuns[index].record,
                probes: isSameProcess
            )
        }
        return updatedRuns
    }
}

extension RunRecord {
    /// Whether the backend left at least one request of the run without a response.
    var isSilent: Bool {
        exchanges.contains {
            if case .failed(.timedOut, _) = $0.outcome { $0.to == .backend } else { false }
        }
    }
}
