internal import Dispatch
internal import Foundation
internal import FakeServers

/// Ctrl-C, SIGTERM and a terminal that is closed: the first asks the work to end and report, the second ends everything.
final class Interruption: Sendable {
    private struct State {
        var isRaised = false
        var cancel: (@Sendable () -> Void)?
        var abandon: (@Sendable () -> Void)?
    }

    private let state = Locked(State())
    // Kept for as long as signals are to be heard.
    private nonisolated(unsafe) let sources: [any DispatchSourceSignal]

    init() {
        let queue = DispatchQueue(label: "assay.signals")
        // Whoever ignores SIGHUP, as nohup does, means to outlive the terminal.
        var action = sigaction()
        sigaction(SIGHUP, nil, &action)
        let outlives = Self.isIgnored(action)
        sources = ([SIGINT, SIGTERM] + (outlives ? [] : [SIGHUP])).map { number in
            signal(number, SIG_IGN)
            return DispatchSource.makeSignalSource(signal: number, queue: queue)
        }
        for source in sources {
            let isHeard = DispatchSemaphore(value: 0)
            source.setEventHandler { [weak self] in self?.raise() }
            source.setRegistrationHandler { isHeard.signal() }
            source.resume()
            // Until then the signal would be lost, and whoever sent it would wait for ever.
            isHeard.wait()
        }
    }

    private static func isIgnored(_ action: sigaction) -> Bool {
        #if canImport(Glibc)
        let handler = action.__sigaction_handler.sa_handler
        #else
        let handler = action.__sigaction_u.__sa_handler
        #endif
        return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    var isRaised: Bool { state.withLock { $0.isRaised } }

    /// Runs the work so that the first signal cancels it.
    func run<Result: Sendable>(
        _ work: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let task = Task { try await work() }
        let isRaised = state.withLock { state in
            state.cancel = { task.cancel() }
            return state.isRaised
        }
        // The signal came when there was nothing to cancel yet.
        if isRaised { task.cancel() }
        defer { state.withLock { $0.cancel = nil } }
        return try await task.value
    }

    /// What a second signal does before the process ends.
    func onAbandon(_ action: @escaping @Sendable () -> Void) {
        state.withLock { $0.abandon = action }
    }

    private func raise() {
        let (isSecond, cancel, abandon) = state.withLock { state in
            defer { state.isRaised = true }
            return (state.isRaised, state.cancel, state.abandon)
        }
        guard !isSecond else {
            abandon?()
            exit(ExitStatus.interrupted.rawValue)
        }
        Terminal.error("\nassay: stopping; once more ends at once\n")
        cancel?()
    }
}
