internal import Conformance
internal import Foundation
internal import Replay
internal import Reports
internal import FakeServers

/// One line on stderr that says how far the run is; nothing when stderr is no terminal.
final class Progress: Sendable {
    private struct State {
        var running: [String] = []
        var failed = 0
        var isShown = false
        /// How far the run is.
        var line = ""
    }

    /// How often a line is written where there is no terminal.
    private static let period: Duration = .seconds(10)

    private let isLive: Bool
    private let label: String
    private let state = Locked(State())

    init(label: String = "") {
        self.label = label
        isLive = Terminal.isInteractive(2)
    }

    func report(_ event: SuiteRunner.Event) {
        switch event {
        // The first is not for people; the others are told when the run is over.
        case .calibrated, .planned, .stopped, .sideFailed: break
        case .started(let id): state.withLock { $0.running.append(id) }
        case .backendRestarted(let text):
            clear()
            Terminal.message("the backend ended by itself (\(text)) and was started again")
        case .finished(let result, let done, let total):
            let line = state.withLock { state -> String in
                state.running.removeAll { $0 == result.contract.caseID }
                if result.verdict == .failed || result.verdict == .unexpectedPass {
                    state.failed += 1
                }
                let oldest = state.running.first.map { "  \($0)" } ?? ""
                let failures = state.failed == 0 ? "" : "  \(state.failed) failed"
                state.line = "\(label)\(done)/\(total)\(failures)\(oldest)"
                return state.line
            }
            guard isLive else { return }
            state.withLock { $0.isShown = true }
            Terminal.error("\r\u{1b}[K" + String(line.prefix(Terminal.width(STDERR_FILENO))))
        }
    }

    /// Where stderr is no terminal, says every ten seconds how far the run is.
    ///
    /// - Returns: The telling, which whoever began it ends.
    func beginTicking() -> Task<Void, any Error> {
        Task {
            guard !isLive else { return }
            while true {
                try await Task.sleep(for: Self.period)
                let line = state.withLock { $0.line }
                if !line.isEmpty { Terminal.error("assay: \(line)\n") }
            }
        }
    }

    /// Removes the line, so that results start at the margin.
    func clear() {
        let wasShown = state.withLock { state in
            defer { state.isShown = false }
            return state.isShown
        }
        if isLive, wasShown { Terminal.error("\r\u{1b}[K") }
    }
}
