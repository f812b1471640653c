internal import Conformance
internal import Foundation
internal import Replay
internal import Reports
internal import FakeServers

/// Prints the progress of a run.
///
/// On a terminal, the progress is a single line that is updated.
final class RunProgress: Sendable {
    private struct State {
        var runningCaseIDs: [String] = []
        var failed = 0
        var isLineShown = false
        /// The current progress line.
        var line = ""
    }

    /// The time between progress lines when standard error is not a terminal.
    private static let printInterval: Duration = .seconds(10)

    private let isTerminalInteractive: Bool
    private let label: String
    private let state = Locked(State())

    init(label: String = "") {
        self.label = label
        isTerminalInteractive = Terminal.isInteractive(2)
    }

    func report(_ event: SuiteRunner.Event) {
        switch event {
        // These events have no line, because they are internal or appear in the report.
        case .calibrated, .planned, .stopped, .instanceFailed: break
        case .started(let id): state.withLock { $0.runningCaseIDs.append(id) }
        case .backendRestarted(let text):
            clearProgressLine()
            Terminal.message("the backend ended by itself (\(text)) and was started again")
        case .finished(let result, let done, let total):
            let line = state.withLock { state -> String in
                state.runningCaseIDs.removeAll { $0 == result.contract.caseID }
                if result.verdict == .failed || result.verdict == .unexpectedPass {
                    state.failed += 1
                }
                let oldest = state.runningCaseIDs.first.map { "  \($0)" } ?? ""
                let failures = state.failed == 0 ? "" : "  \(state.failed) failed"
                state.line = "\(label)\(done)/\(total)\(failures)\(oldest)"
                return state.line
            }
            guard isTerminalInteractive else { return }
            state.withLock { $0.isLineShown = true }
            Terminal.error("\r\u{1b}[K" + String(line.prefix(Terminal.width(STDERR_FILENO))))
        }
    }

    /// Starts to print a progress line every ten seconds when standard error is not a terminal.
    ///
    /// - Returns: The task that prints, which the caller cancels.
    func startPeriodicPrinting() -> Task<Void, any Error> {
        Task {
            guard !isTerminalInteractive else { return }
            while true {
                try await Task.sleep(for: Self.printInterval)
                let line = state.withLock { $0.line }
                if !line.isEmpty { Terminal.error("assay: \(line)\n") }
            }
        }
    }

    /// Removes the progress line from the terminal, so that results start at the left margin.
    func clearProgressLine() {
        let wasShown = state.withLock { state in
            defer { state.isLineShown = false }
            return state.isLineShown
        }
        if isTerminalInteractive, wasShown { Terminal.error("\r\u{1b}[K") }
    }
}
