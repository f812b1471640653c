internal import Conformance
internal import FakeServers

/// Runs the twins that cases are compared with, each once for all cases that share it.
///
/// Two runs show what differs by itself. They are looked at until they agree, or have had as much
/// time as a case has: a twin that was looked at too early would lack what the case has.
final class TwinRuns: Sendable {
    /// One run of a twin, and when.
    private struct TwinRun: Sendable {
        var record: RunRecord
        /// The backend's life in which it ran; what a later life shows says nothing about it.
        let life: Int
        /// Time that counted, when it was over.
        let ended: Duration
    }

    private struct State {
        var tasks: [RunPlan: Task<[TwinRun], Never>] = [:]
        /// Places that differed between twins however long they were looked at.
        var volatile: Set<String> = []
    }

    private let executor: RunExecutor
    private let sight: RunRecord.Sight
    /// Names the next run.
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

    /// The twins of before belong to a backend that ended; forget them.
    func forget() {
        state.withLock { $0.tasks = [:] }
    }

    /// Runs the case's twin anew for whoever asks next: what the machine held up says nothing.
    func forget(twinOf plan: CasePlan) {
        guard let twin = plan.twin else { return }
        state.withLock { $0.tasks[twin] = nil }
    }

    /// Two runs of the case's twin; none when it has no twin.
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

    /// The twins as they look once they have had as much time as a case has.
    ///
    /// - Parameters:
    ///   - plan: The case.
    ///   - known: Its twins as they looked.
    /// - Returns: The twins; as they were known where they are forgotten meanwhile.
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

    /// One more run beside those that are known, looked at until it agrees with them.
    func oneMore(of plan: CasePlan, beside known: [RunRecord]) async -> [RunRecord] {
        guard let twin = plan.twin else { return known }
        let run = await run(twin)
        return known + (await agreeing(plan, [run], beside: known)).map(\.record)
    }

    private func agreeing(_ plan: CasePlan, _ twin: RunPlan) async -> [TwinRun] {
        let first = await run(twin)
        // Whoever does not answer once does not answer twice.
        guard !first.record.isSilent else { return [first] }
        return await agreeing(plan, [first, await run(twin)], beside: [])
    }

    /// Looks again and again while the runs differ where nothing is known to differ by itself.
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
    /// Whether the backend left a request without an answer.
    var isSilent: Bool {
        exchanges.contains {
            if case .failed(.timedOut, _) = $0.outcome { $0.to == .backend } else { false }
        }
    }
}
