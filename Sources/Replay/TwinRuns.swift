internal import Conformance
internal import FakeServers

/// Runs the baselines that cases are compared with, once for all cases that share a baseline.
///
/// A baseline is a run of the same case without faults. Two runs show which values vary without a
/// fault. They are observed until they agree, or have had as much time as a case. If a baseline
/// were observed too early, it would lack effects that the case has.
final class TwinRuns: Sendable {
    /// The record of one baseline run (a case without faults), and the time when it ended.
    private struct TwinRun: Sendable {
        var record: RunRecord
        /// The number of the backend process against which the baseline ran.
        ///
        /// A later process cannot show any state of this run.
        let life: Int
        /// The time at which the run ended, as a value of `Heartbeat.counted`.
        let ended: Duration
    }

    private struct State {
        var tasks: [RunPlan: Task<[TwinRun], Never>] = [:]
        /// The JSON paths whose values differed between baseline runs, however long these were
        /// observed.
        var volatile: Set<String> = []
    }

    private let executor: RunExecutor
    private let sight: RunRecord.Sight
    /// Returns a new namespace for the next run.
    private let nextName: @Sendable () -> String
    private let state = Locked(State())

    init(
        executor: RunExecutor,
        sight: RunRecord.Sight,
        nextName: @escaping @Sendable () -> String
    ) {
        self.executor = executor
        self.sight = sight
        self.nextName = nextName
    }

    /// Discards all baseline runs, for example because their backend process has exited.
    func forget() {
        state.withLock { $0.tasks = [:] }
    }

    /// Discards the baseline runs of one case, so that the next case with the same baseline runs
    /// them again.
    ///
    /// A run on a busy machine proves nothing.
    func forget(twinOf plan: CasePlan) {
        guard let twin = plan.twin else { return }
        state.withLock { $0.tasks[twin] = nil }
    }

    /// Returns two runs of the case's baseline (the same case without faults); empty if the case
    /// has no baseline.
    func records(of plan: CasePlan) async -> [RunRecord] {
        guard let twin = plan.twin else { return [] }
        let task = state.withLock { state in
            if let task = state.tasks[twin] { return task }
            let task = executor.clock.task { await self.agreeing(plan, twin) }
            state.tasks[twin] = task
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
    func matured(of plan: CasePlan, known: [RunRecord]) async -> [RunRecord] {
        guard let twin = plan.twin, let task = state.withLock({ $0.tasks[twin] }) else {
            return known
        }
        let runs = await task.joined()
        guard let youngest = runs.map(\.ended).max() else { return [] }
        let age = executor.heartbeat.counted - youngest
        let rest = executor.shortPatience(sight.latency) - age
        if rest > .zero { await executor.patience(rest).elapse() }
        return await looked(runs).map(\.record)
    }

    /// Adds one more baseline run (the case without faults) to the known ones.
    ///
    /// The new run is observed until it agrees with the known runs.
    func oneMore(of plan: CasePlan, beside known: [RunRecord]) async -> [RunRecord] {
        guard let twin = plan.twin else { return known }
        let run = await run(twin)
        return known + (await agreeing(plan, [run], beside: known)).map(\.record)
    }

    private func agreeing(_ plan: CasePlan, _ twin: RunPlan) async -> [TwinRun] {
        let first = await run(twin)
        // A backend that does not respond to the first run would not respond to a second one
        // either.
        guard !first.record.isSilent else { return [first] }
        return await agreeing(plan, [first, await run(twin)], beside: [])
    }

    /// Observes the runs again while they differ in JSON paths that are not known to vary.
    private func agreeing(
        _ plan: CasePlan,
        _ runs: [TwinRun],
        beside known: [RunRecord]
    ) async -> [TwinRun] {
        var runs = runs
        func disagreements() -> Set<String> {
            evidence(plan, known + runs.map(\.record)).twinDisagreements
        }
        func surprises() -> Set<String> {
            disagreements().subtracting(state.withLock { $0.volatile })
        }
        let patience = executor.patience(executor.shortPatience(sight.latency))
        var pause: Duration = .milliseconds(5)
        while !surprises().isEmpty, !patience.isOver, !Task.isCancelled {
            await patience.pause(pause)
            pause = min(pause * 2, .milliseconds(100))
            runs = await looked(runs)
        }
        let rest = disagreements()
        state.withLock { $0.volatile.formUnion(rest) }
        return runs
    }

    private func evidence(_ plan: CasePlan, _ records: [RunRecord]) -> CaseEvidence {
        CaseEvidence(
            plan: plan,
            subject: records[0],
            twins: records,
            profile: executor.profile,
            sight: sight
        )
    }

    private func run(_ twin: RunPlan) async -> TwinRun {
        let record = await executor.run(
            twin,
            in: nextName(),
            sight: sight,
            within: .seconds(60)
        ) { _ in .settled }
        return TwinRun(
            record: record,
            life: executor.backend.life,
            ended: executor.heartbeat.counted
        )
    }

    private func looked(_ runs: [TwinRun]) async -> [TwinRun] {
        var later = runs
        for index in later.indices {
            let isSameLife = later[index].life == executor.backend.life
            later[index].record = await executor.lookAgain(later[index].record, probes: isSameLife)
        }
        return later
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
