internal import Foundation
internal import FakeServers
internal import Programs

/// Ctrl-C, SIGTERM and a terminal that is closed: the first asks the work to end and report, the second ends everything.
final class Interruption: Sendable {
    private struct State {
        var isRaised = false
        var cancel: (@Sendable () -> Void)?
        var abandon: (@Sendable () -> Void)?
    }

    private let state = Locked(State())

    init() { SignalWatch.shared.add(self) }

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

    fileprivate func raise() {
        let (isSecond, cancel, abandon) = state.withLock { state in
            defer { state.isRaised = true }
            return (state.isRaised, state.cancel, state.abandon)
        }
        guard !isSecond else {
            abandon?()
            WorkFolder.removeAll()
            exit(ExitStatus.interrupted.rawValue)
        }
        Terminal.error("\nassay: stopping; once more ends at once\n")
        cancel?()
    }
}

/// Hears the signals that ask for an end, from the moment on at which it is first asked.
///
/// A signal writes a byte into a pipe, so none is lost between the moment at which it no longer ends the
/// program and the one at which somebody listens.
private final class SignalWatch: Sendable {
    static let shared = SignalWatch()

    private struct Listener {
        weak var interruption: Interruption?
    }

    private let listeners = Locked<[Listener]>([])

    private init() {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        signalPipe = ends[1]
        let mouth = ends[0]
        Thread.detachNewThread { [weak self] in
            var byte: UInt8 = 0
            while true {
                let count = read(mouth, &byte, 1)
                guard count == 1 || errno == EINTR else { return }
                if count == 1 { self?.tell() }
            }
        }
        // Whoever ignores SIGHUP, as nohup does, means to outlive the terminal.
        var hangUp = sigaction()
        sigaction(SIGHUP, nil, &hangUp)
        for number in [SIGINT, SIGTERM] + (Self.isIgnored(hangUp) ? [] : [SIGHUP]) {
            signal(number) { _ in
                // Nothing but a write may happen here, and it may not be noticed elsewhere.
                let kept = errno
                var byte: UInt8 = 1
                _ = write(signalPipe, &byte, 1)
                errno = kept
            }
        }
    }

    func add(_ interruption: Interruption) {
        listeners.withLock { listeners in
            listeners.removeAll { $0.interruption == nil }
            listeners.append(Listener(interruption: interruption))
        }
    }

    private func tell() {
        for listener in listeners.withLock({ $0 }) { listener.interruption?.raise() }
    }

    private static func isIgnored(_ action: sigaction) -> Bool {
        #if canImport(Glibc)
        let handler = action.__sigaction_handler.sa_handler
        #else
        let handler = action.__sigaction_u.__sa_handler
        #endif
        return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}

/// Where a signal writes its byte: set before any is taken, and never again.
private nonisolated(unsafe) var signalPipe: Int32 = -1
