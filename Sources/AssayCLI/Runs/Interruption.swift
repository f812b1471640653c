internal import Foundation
internal import Programs
internal import Values

/// Handles Ctrl-C, SIGTERM and the closing of the terminal.
///
/// The first signal stops the work, which then reports its results. The second signal ends the
/// process at once.
final class Interruption: Sendable {
    private struct State {
        /// The time of the first signal; nil before it.
        var firstSignalTime: ContinuousClock.Instant?
        var hasReceivedSignal: Bool { firstSignalTime != nil }
        var cancel: (@Sendable () -> Void)?
        var secondSignalAction: (@Sendable () -> Void)?
    }

    private let state = Locked(State())
    /// The time in which further signals count as the first one.
    ///
    /// `timeout` sends its signal to the program and then to the program's process group.
    private static let sameSignalTimeMax: Duration = .milliseconds(300)

    init() { SignalWatch.shared.add(self) }

    var hasReceivedSignal: Bool { state.withLock { $0.hasReceivedSignal } }

    /// Runs the work in a task that the first signal cancels.
    func run<Result: Sendable>(
        _ work: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let task = Task { try await work() }
        let hasReceivedSignal = state.withLock { state in
            state.cancel = { task.cancel() }
            return state.hasReceivedSignal
        }
        // The signal arrived before `task` existed, so the signal handler could not cancel it.
        if hasReceivedSignal { task.cancel() }
        defer { state.withLock { $0.cancel = nil } }
        return try await task.value
    }

    /// Sets the action that the process performs at a second signal, before it ends.
    func onSecondSignal(_ action: @escaping @Sendable () -> Void) {
        state.withLock { $0.secondSignalAction = action }
    }

    fileprivate func handleSignal() {
        let time = ContinuousClock.now
        let (firstSignalTime, cancel, secondSignalAction) = state.withLock { state in
            defer { state.firstSignalTime = state.firstSignalTime ?? time }
            return (state.firstSignalTime, state.cancel, state.secondSignalAction)
        }
        if let firstSignalTime {
            guard time - firstSignalTime > Self.sameSignalTimeMax else { return }
            secondSignalAction?()
            WorkFolder.removeAll()
            exit(ExitStatus.interrupted.rawValue)
        }
        Terminal.error("\nassay: stopping; press Ctrl-C again to end at once\n")
        cancel?()
    }
}

/// Receives the signals that ask the program to end, from the first use of `shared` on.
///
/// The signal handler writes a byte into a pipe, so that no signal is lost before a listener is
/// added.
private final class SignalWatch: Sendable {
    static let shared = SignalWatch()

    private struct Listener {
        weak var interruption: Interruption?
    }

    private let listeners = Locked<[Listener]>([])

    private init() {
        var pipeEnds: [Int32] = [-1, -1]
        guard pipe(&pipeEnds) == 0 else { return }
        for end in pipeEnds { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        signalPipe = pipeEnds[1]
        let readEnd = pipeEnds[0]
        Thread.detachNewThread { [weak self] in
            var byte: UInt8 = 0
            while true {
                let readByteCount = read(readEnd, &byte, 1)
                guard readByteCount == 1 || errno == EINTR else { return }
                if readByteCount == 1 { self?.notifyListeners() }
            }
        }
        // A parent that ignores SIGHUP, such as nohup, wants the program to outlive the terminal.
        var hangUpAction = sigaction()
        sigaction(SIGHUP, nil, &hangUpAction)
        for number in [SIGINT, SIGTERM] + (Self.isIgnored(hangUpAction) ? [] : [SIGHUP]) {
            signal(number) { _ in
                // The handler only calls `write`, and restores `errno` for the interrupted code.
                let savedErrno = errno
                var byte: UInt8 = 1
                _ = write(signalPipe, &byte, 1)
                errno = savedErrno
            }
        }
    }

    func add(_ interruption: Interruption) {
        listeners.withLock { listeners in
            listeners.removeAll { $0.interruption == nil }
            listeners.append(Listener(interruption: interruption))
        }
    }

    private func notifyListeners() {
        for listener in listeners.withLock({ $0 }) { listener.interruption?.handleSignal() }
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

/// The write end of the signal pipe, set once before any handler is installed.
private nonisolated(unsafe) var signalPipe: Int32 = -1
