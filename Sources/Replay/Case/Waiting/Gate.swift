internal import Values

/// A fault that Assay injects into a request on its way to the backend.
package enum AttemptFault: Hashable, Sendable {
    case none
    /// The request breaks off: the last tenth of its body is not sent, and the connection is
    /// closed.
    case truncatedRequest
    /// The whole request is sent, but the connection is closed before the response arrives.
    case disconnect
    /// The request pauses after this percentage of its body has been sent, until the gate opens.
    case held(Gate, percent: Int)
}

/// A gate that holds back the bodies of several requests, and releases all of them at the same
/// time.
///
/// It reports how many bodies it is holding.
package final class Gate: Hashable, Sendable {
    private struct State {
        var isOpen = false
        /// Whether opening the gate breaks off the held request bodies instead of sending the rest.
        var breaksHeldRequests = false
        /// The lanes (separate sets of connections) whose requests are held by the gate, or ended
        /// before the gate could hold them.
        var arrivedLanes: Set<Int> = []
        var waitingContinuations: [CheckedContinuation<Bool, Never>] = []
        var arrivalWatchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

        /// Records that the request of a lane (a separate set of connections) has arrived at the
        /// gate.
        ///
        /// Returns the continuations of the callers that were waiting for this number of arrivals.
        mutating func takeReachedWatchers(
            arriving lane: Int
        ) -> [CheckedContinuation<Void, Never>] {
            arrivedLanes.insert(lane)
            let reached = arrivalWatchers.filter { $0.count <= arrivedLanes.count }
            arrivalWatchers.removeAll { $0.count <= arrivedLanes.count }
            return reached.map(\.continuation)
        }
    }

    private let state = Locked(State())

    package init() {}

    /// Opens the gate, so that all held request bodies are sent to their end.
    ///
    /// - Parameter breaking: Whether the held requests break off instead.
    package func open(breaking: Bool = false) {
        let (waitingContinuations, arrivalWatchers) = state.withLock { state in
            state.isOpen = true
            state.breaksHeldRequests = breaking
            defer {
                state.waitingContinuations = []
                state.arrivalWatchers = []
            }
            return (state.waitingContinuations, state.arrivalWatchers)
        }
        for continuation in waitingContinuations { continuation.resume(returning: !breaking) }
        for watcher in arrivalWatchers { watcher.continuation.resume() }
    }

    /// Waits until the gate holds this number of request bodies, or is open.
    package func reached(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isReached = state.withLock { state in
                if state.isOpen || state.arrivedLanes.count >= count { return true }
                state.arrivalWatchers.append((count, continuation))
                return false
            }
            if isReached { continuation.resume() }
        }
    }

    /// Waits until the gate is open, however many request bodies it holds.
    package func waitUntilOpen() async { await reached(.max) }

    /// Counts a request that ended before the gate could hold it.
    ///
    /// This happens when the backend responds early or closes the connection. The gate then does
    /// not wait for the request any longer.
    package func countArrival(lane: Int) {
        let reached = state.withLock { $0.takeReachedWatchers(arriving: lane) }
        for continuation in reached { continuation.resume() }
    }

    /// Holds back a request until the gate is open, and returns whether the rest of its body may be
    /// sent.
    package func pass(lane: Int) async -> Bool {
        await withCheckedContinuation { continuation in
            let (mayContinue, reached) = state.withLock {
                state -> (Bool?, [CheckedContinuation<Void, Never>]) in
                let reached = state.takeReachedWatchers(arriving: lane)
                if state.isOpen { return (!state.breaksHeldRequests, reached) }
                state.waitingContinuations.append(continuation)
                return (nil, reached)
            }
            for watcher in reached { watcher.resume() }
            if let mayContinue { continuation.resume(returning: mayContinue) }
        }
    }

    package static func == (left: Gate, right: Gate) -> Bool { left === right }
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
