internal import FakeServers

/// How a request to the backend is disturbed on its way.
package enum Disturbance: Hashable, Sendable {
    case none
    /// The body breaks off before its last tenth and the connection is closed.
    case cutRequest
    /// The whole request is sent, then the connection is closed before the answer.
    case hangUp
    /// The body stops after this share of it, in percent, until the gate opens.
    case held(Gate, percent: Int)
}

/// Holds bodies back until it is opened, and tells when they have come that far.
package final class Gate: Hashable, Sendable {
    private struct State {
        var isOpen = false
        /// The held bodies break off instead of going on.
        var isBroken = false
        /// The lanes whose bodies are held, or whose requests ended before that.
        var arrived: Set<Int> = []
        var waiting: [CheckedContinuation<Bool, Never>] = []
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

        /// Whoever waited for no more than have arrived now.
        mutating func takeReached(
            arriving lane: Int
        ) -> [CheckedContinuation<Void, Never>] {
            arrived.insert(lane)
            let reached = watchers.filter { $0.count <= arrived.count }
            watchers.removeAll { $0.count <= arrived.count }
            return reached.map(\.continuation)
        }
    }

    private let state = Locked(State())

    package init() {}

    /// Lets every body go on, or breaks them off.
    package func open(breaking: Bool = false) {
        let (waiting, watchers) = state.withLock { state in
            state.isOpen = true
            state.isBroken = breaking
            defer {
                state.waiting = []
                state.watchers = []
            }
            return (state.waiting, state.watchers)
        }
        for continuation in waiting { continuation.resume(returning: !breaking) }
        for watcher in watchers { watcher.continuation.resume() }
    }

    /// Waits until so many bodies are held, or the gate is opened.
    package func reached(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isReached = state.withLock { state in
                if state.isOpen || state.arrived.count >= count { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if isReached { continuation.resume() }
        }
    }

    /// Waits until the gate is open.
    package func opened() async { await reached(.max) }

    /// A request that is over before it was held, because the backend answered early or closed
    /// the connection, must not be waited for.
    package func arrive(lane: Int) {
        let reached = state.withLock { $0.takeReached(arriving: lane) }
        for continuation in reached { continuation.resume() }
    }

    /// Whether the body may go on, once the gate is open.
    package func pass(lane: Int) async -> Bool {
        await withCheckedContinuation { continuation in
            let (answer, reached) = state.withLock {
                state -> (Bool?, [CheckedContinuation<Void, Never>]) in
                let reached = state.takeReached(arriving: lane)
                if state.isOpen { return (!state.isBroken, reached) }
                state.waiting.append(continuation)
                return (nil, reached)
            }
            for watcher in reached { watcher.resume() }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    package static func == (left: Gate, right: Gate) -> Bool { left === right }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
