internal import Contracts
internal import FakeServers
internal import Judging
internal import Values

/// Notices unexpected exits of the backend, and restarts it.
///
/// No case runs until the backend is running again. An exit is reported once, even when several
/// cases notice it.
final class BackendRestarter: Sendable {
    /// An unexpected exit of the backend.
    struct ProcessExit: Sendable {
        let exitText: String
        /// The IDs of the cases that were running when the backend exited.
        let caseIDs: [String]
        /// The last requests to the backend before its exit was noticed, oldest first.
        let requestsBeforeExit: [Exchange]
        /// The last lines that the backend printed before its exit.
        let output: String
    }

    private struct State {
        /// The number of the current backend process.
        ///
        /// A restart increases it.
        ///
        /// State in the memory of the backend process can last from one observation to another only
        /// if this number is the same for both.
        var processNumber = 0
        /// The journal's sequence number at which the current backend process began.
        var firstSequence = 0
        /// The number of restarts in a row after which the backend still responded to no event.
        var failedRestartCount = 0
        var restartTask: Task<Void, Never>?
        /// The running cases: the number of current runs for each case ID.
        var caseIDs: [String: Int] = [:]
        var processExits: [ProcessExit] = []
        /// The reason why the backend cannot be restarted after an exit; nil while the backend is
        /// available.
        var unavailableReason: String?
    }

    private static let reportedRequestMax = 4
    private static let failedRestartMax = 2

    private let executor: RunExecutor
    private let report: @Sendable (SuiteEvent) -> Void
    private let state = Locked(State())

    init(executor: RunExecutor, report: @escaping @Sendable (SuiteEvent) -> Void) {
        self.executor = executor
        self.report = report
    }

    /// All unexpected exits of the backend, in order of time.
    var processExits: [ProcessExit] { state.withLock { $0.processExits } }

    /// The reason why no further case can run; nil while the backend is available.
    var unavailableReason: String? { state.withLock { $0.unavailableReason } }

    /// Whether a restart may help a backend that responds to no event any more.
    ///
    /// It may help if the backend has responded to an event since its last start. A backend that
    /// responded only before its last start is restarted until two restarts in a row have had no
    /// effect. A backend that never responded is not restarted.
    var isRestartWorthwhile: Bool {
        guard let answeredSequence = lastAnsweredSequence else { return false }
        return state.withLock {
            answeredSequence >= $0.firstSequence || $0.failedRestartCount < Self.failedRestartMax
        }
    }

    /// Counts the restarts in a row that had no effect, just before the backend is restarted again.
    func countFailedRestart() {
        let answeredSequence = lastAnsweredSequence ?? -1
        state.withLock { state in
            let hasAnsweredSinceStart = answeredSequence >= state.firstSequence
            state.failedRestartCount = hasAnsweredSinceStart ? 0 : state.failedRestartCount + 1
        }
    }

    /// The journal's sequence number of the last event to which the backend responded; nil if it
    /// never responded.
    private var lastAnsweredSequence: Int? {
        executor.fakes.journal.read { $0.exchanges.last(where: \.isEventWithResponse)?.sequence }
    }

    /// Waits until the backend is running, and records that a case is running against it.
    ///
    /// - Returns: The number of the backend process; nil when the backend cannot be restarted.
    func beginCase(_ caseID: String, forget: @escaping @Sendable () -> Void) async -> Int? {
        let (processNumber, isBackendGone) = state.withLock {
            ($0.processNumber, $0.unavailableReason != nil)
        }
        if isBackendGone { return nil }
        if executor.backend.process?.exitDescription != nil {
            await restartOnce(after: processNumber, forget)
        } else if let task = state.withLock({ $0.restartTask }) {
            await task.joined()
        }
        return state.withLock { state in
            guard state.unavailableReason == nil else { return nil }
            state.caseIDs[caseID, default: 0] += 1
            return state.processNumber
        }
    }

    /// Records that a case has ended, and restarts the backend if it exited while the case ran.
    ///
    /// - Parameters:
    ///   - caseID: The ID of the case.
    ///   - processNumber: The number of the backend process when the case began.
    ///   - isBackendGone: Whether the backend refused connections during the case.
    ///   - hasStoppedResponding: Whether the backend accepts connections, but responds to no event any more.
    ///   - forget: Discards all knowledge about the process that has ended.
    /// - Returns: Whether another process has replaced the one against which the case began.
    func endCase(
        _ caseID: String,
        of processNumber: Int,
        isBackendGone: Bool,
        hasStoppedResponding: Bool,
        forget: @escaping @Sendable () -> Void
    ) async -> Bool {
        if isBackendGone { await awaitExit(of: processNumber) }
        if !Task.isCancelled,
            hasStoppedResponding || executor.backend.process?.exitDescription != nil
        {
            await restartOnce(after: processNumber, forget)
        }
        return state.withLock { state in
            state.caseIDs[caseID, default: 1] -= 1
            if state.caseIDs[caseID] == 0 { state.caseIDs[caseID] = nil }
            return state.processNumber != processNumber
        }
    }

    /// Waits up to one second for the exit of a backend process whose port is already closed.
    ///
    /// The port closes before the system reports the exit.
    private func awaitExit(of processNumber: Int) async {
        guard let process = executor.backend.process else { return }
        let settleTimeout = executor.settleTimeout(.seconds(1))
        while process.exitDescription == nil, state.withLock({ $0.processNumber }) == processNumber,
            !settleTimeout.isOver,
            !Task.isCancelled
        {
            await settleTimeout.pause(.milliseconds(5))
        }
    }

    /// Restarts a backend that has exited or stopped responding.
    ///
    /// The backend is restarted once, even if several cases notice the same exit.
    private func restartOnce(after processNumber: Int, _ forget: @escaping @Sendable () -> Void)
        async
    {
        let task = state.withLock { state in
            guard state.processNumber == processNumber else { return state.restartTask }
            state.processNumber += 1
            let process = executor.backend.process
            let processExit = ProcessExit(
                exitText: process?.exitDescription ?? "it stopped responding to events",
                caseIDs: state.caseIDs.keys.sorted(),
                requestsBeforeExit: lastRequests(),
                output: process?.outputTail() ?? ""
            )
            // If the new process fails because the stopped process still holds the port, the
            // backend is not at fault.
            if executor.backend.processNumber <= 1 || process?.hasPortConflict != true {
                state.processExits.append(processExit)
            }
            let task = executor.clock.task { await self.restart(processExit, forget) }
            state.restartTask = task
            return task
        }
        await task?.joined()
    }

    private func restart(_ processExit: ProcessExit, _ forget: @Sendable () -> Void) async {
        guard executor.backend.process != nil else {
            state.withLock { state in
                state.unavailableReason =
                    processExit.exitText
                    + ", and Assay cannot restart a backend that it did not start"
                state.restartTask = nil
            }
            return
        }
        do throws(BackendUnderTest.UnreachableError) {
            try await executor.backend.restart(.kill)
            report(.backendRestarted(processExit.exitText))
        } catch {
            report(.backendRestarted(error.description))
            state.withLock {
                $0.unavailableReason = "\(processExit.exitText), and it could not be restarted"
            }
        }
        // A baseline run (a case without faults) that was in progress met a closed port, so it is
        // discarded.
        forget()
        let sequence = executor.fakes.journal.read { $0.nextSequence }
        state.withLock { state in
            state.firstSequence = sequence
            state.restartTask = nil
        }
    }

    private func lastRequests() -> [Exchange] {
        executor.fakes.journal.read { journal in
            journal.exchanges.filter { $0.to == .backend }.suffix(Self.reportedRequestMax)
        }.map(\.shortened)
    }
}

extension Exchange {
    fileprivate var isEventWithResponse: Bool {
        guard to == .backend, response != nil else { return false }
        return switch purpose {
        case .delivery, .sentinel: true
        case .registration, .probe, .restart, .appCall, .call, .userAction, .screen: false
        }
    }
}

extension BackendRestarter {
    /// Returns the unexpected exits that no case result explains, as one additional failed result.
    ///
    /// Source: clause S-33. The backend must keep running whatever requests it receives.
    func invariantViolations(alongside results: [CaseResult]) -> [CaseResult] {
        let reportingCaseIDs = Set(
            results.filter { result in
                result.findings.contains { [.backendExited, .responseLate].contains($0.code) }
            }.map(\.contract.caseID)
        )
        let unexplainedExits = processExits.filter { reportingCaseIDs.isDisjoint(with: $0.caseIDs) }
        guard let first = unexplainedExits.first else { return [] }
        let exitCountText =
            unexplainedExits.count == 1 ? "" : ", \(unexplainedExits.count) times in all"
        let concurrencyText =
            first.caseIDs.isEmpty
            ? "while no case was running"
            : "while these cases were running: \(first.caseIDs.joined(separator: ", "))"
        var result = CaseResult(
            contract: RunInvariant.backendKeepsRunning.contract,
            verdict: .failed,
            findings: [
                Finding(
                    .backendExited,
                    expected: "the backend keeps running during the whole suite",
                    actual: "\(first.exitText)\(exitCountText), \(concurrencyText)",
                    evidence: first.requestsBeforeExit.suffix(1).map(\.sequence)
                )
            ],
            timeline: first.requestsBeforeExit,
            base: executor.base,
            backendOutput: first.output
        )
        result.replayedCaseIDs = first.caseIDs
        return [result]
    }
}
