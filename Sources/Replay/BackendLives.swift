internal import Conformance
internal import FakeServers

/// The lives of a backend that may end by itself.
///
/// Nobody is played before it stands again, and an end is told once, whoever noticed it.
final class BackendLives: Sendable {
    /// An end that nobody asked for.
    struct End: Sendable {
        let exit: String
        /// The cases that were being played.
        let caseIDs: [String]
        /// The last requests to the backend before it was noticed, the newest last.
        let requests: [Exchange]
        /// What it wrote last.
        let output: String
    }

    private struct State {
        /// Counts the lives: two looks in one life see one memory.
        var life = 0
        /// The journal's number at which the life began.
        var firstSequence = 0
        /// How often it was started again in a row without answering any event.
        var fruitlessCount = 0
        var revival: Task<Void, Never>?
        /// Who is being played.
        var caseIDs: [String: Int] = [:]
        var ends: [End] = []
        /// Why it does not come back; nil while it stands.
        var gone: String?
    }

    private static let requestCountMax = 4
    private static let fruitlessMax = 2

    private let executor: RunExecutor
    private let report: @Sendable (SuiteRunner.Event) -> Void
    private let state = Locked(State())

    init(executor: RunExecutor, report: @escaping @Sendable (SuiteRunner.Event) -> Void) {
        self.executor = executor
        self.report = report
    }

    /// The ends so far, in their order.
    var ends: [End] { state.withLock { $0.ends } }

    /// Why no case can be played any more; nil while the backend stands.
    var gone: String? { state.withLock { $0.gone } }

    /// Whether it is worth the while to start a backend again that answers no event: it has answered
    /// since it was started, or at least once before, and did not stop at once again and again.
    var mayRecover: Bool {
        guard let answered = lastAnswered else { return false }
        return state.withLock {
            answered >= $0.firstSequence || $0.fruitlessCount < Self.fruitlessMax
        }
    }

    /// Notes that it is given another life.
    func noteRecovery() {
        let answered = lastAnswered ?? -1
        state.withLock { state in
            let hasAnswered = answered >= state.firstSequence
            state.fruitlessCount = hasAnswered ? 0 : state.fruitlessCount + 1
        }
    }

    /// The journal's number of the last event that it answered.
    private var lastAnswered: Int? {
        executor.world.journal.read { $0.exchanges.last(where: \.isAnsweredEvent)?.sequence }
    }

    /// Waits until the backend stands, and counts the case in.
    ///
    /// - Returns: The life that it is in; nil when the backend does not come back.
    func enter(_ caseID: String, forget: @escaping @Sendable () -> Void) async -> Int? {
        let (life, isGone) = state.withLock { ($0.life, $0.gone != nil) }
        if isGone { return nil }
        if executor.backend.process?.exitText != nil {
            await revive(after: life, forget)
        } else if let task = state.withLock({ $0.revival }) {
            await task.joined()
        }
        return state.withLock { state in
            guard state.gone == nil else { return nil }
            state.caseIDs[caseID, default: 0] += 1
            return state.life
        }
    }

    /// Counts the case out; a backend that has ended meanwhile is started again.
    ///
    /// - Parameters:
    ///   - caseID: The case.
    ///   - life: The life that it was counted into.
    ///   - isGone: Whether nobody listened any more when the case was played.
    ///   - isWedged: Whether it listens, and answers no event any more.
    ///   - forget: Forgets what was learnt of the life that is over.
    /// - Returns: Whether the life is over in which the case was played.
    func leave(
        _ caseID: String,
        of life: Int,
        isGone: Bool,
        isWedged: Bool,
        forget: @escaping @Sendable () -> Void
    ) async -> Bool {
        if isGone { await noticeEnd(of: life) }
        if !Task.isCancelled, isWedged || executor.backend.process?.exitText != nil {
            await revive(after: life, forget)
        }
        return state.withLock { state in
            state.caseIDs[caseID, default: 1] -= 1
            if state.caseIDs[caseID] == 0 { state.caseIDs[caseID] = nil }
            return state.life != life
        }
    }

    /// A closed port is seen before the system says that its process has ended.
    private func noticeEnd(of life: Int) async {
        guard let process = executor.backend.process else { return }
        let patience = executor.patience(.seconds(1))
        while process.exitText == nil, state.withLock({ $0.life }) == life, !patience.isOver,
            !Task.isCancelled
        {
            await patience.pause(.milliseconds(5))
        }
    }

    /// Starts a backend that ended by itself, or answers nobody, again, once for all who noticed.
    private func revive(after life: Int, _ forget: @escaping @Sendable () -> Void) async {
        let task = state.withLock { state in
            guard state.life == life else { return state.revival }
            state.life += 1
            let process = executor.backend.process
            let end = End(
                exit: process?.exitText ?? "it answered no event any more",
                caseIDs: state.caseIDs.keys.sorted(),
                requests: lastRequests(),
                output: process?.outputTail() ?? ""
            )
            // The port was held by what Assay itself had stopped, which is no fault of the backend.
            if executor.backend.life <= 1 || process?.hasPortConflict != true {
                state.ends.append(end)
            }
            let task = executor.clock.task { await self.restart(end, forget) }
            state.revival = task
            return task
        }
        await task?.joined()
    }

    private func restart(_ end: End, _ forget: @Sendable () -> Void) async {
        guard executor.backend.process != nil else {
            state.withLock { state in
                state.gone = end.exit + ", and only who started it can start it again"
                state.revival = nil
            }
            return
        }
        do throws(BackendUnderTest.UnreachableError) {
            try await executor.backend.restart(.kill)
            report(.backendRestarted(end.exit))
        } catch {
            report(.backendRestarted(error.description))
            state.withLock { $0.gone = "\(end.exit), and it does not start again" }
        }
        // A twin that somebody played meanwhile met a dead port.
        forget()
        let sequence = executor.world.journal.read { $0.nextSequence }
        state.withLock { state in
            state.firstSequence = sequence
            state.revival = nil
        }
    }

    private func lastRequests() -> [Exchange] {
        executor.world.journal.read { journal in
            journal.exchanges.filter { $0.to == .backend }.suffix(Self.requestCountMax)
        }.map(\.shortened)
    }
}

extension Exchange {
    fileprivate var isAnsweredEvent: Bool {
        guard to == .backend, response != nil else { return false }
        return switch purpose {
        case .delivery, .sentinel: true
        case .registration, .probe, .restart, .appCall, .call, .gesture, .screen: false
        }
    }
}

extension BackendLives {
    /// What no case of the results accounts for, as a result of its own: the backend keeps running
    /// whatever is asked of it (S-33).
    func asides(beside results: [CaseResult]) -> [CaseResult] {
        let accused = Set(
            results.filter { result in
                result.findings.contains { [.backendExited, .answerLate].contains($0.code) }
            }.map(\.contract.caseID)
        )
        let open = ends.filter { accused.isDisjoint(with: $0.caseIDs) }
        guard let first = open.first else { return [] }
        let times = open.count == 1 ? "" : ", \(open.count) times in all"
        let among =
            first.caseIDs.isEmpty
            ? "while no case was played"
            : "while these were played: \(first.caseIDs.joined(separator: ", "))"
        var result = CaseResult(
            contract: Aside.keepsRunning.contract,
            verdict: .failed,
            findings: [
                Finding(
                    .backendExited,
                    expected: "the backend keeps running as long as the suite does",
                    actual: "\(first.exit)\(times), \(among)",
                    evidence: first.requests.suffix(1).map(\.sequence)
                )
            ],
            timeline: first.requests,
            base: executor.base,
            backendOutput: first.output
        )
        result.replays = first.caseIDs
        return [result]
    }
}
