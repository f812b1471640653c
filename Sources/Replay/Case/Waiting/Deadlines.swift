internal import Values

/// Calls back when the deadline of a call has passed.
///
/// Thousands of calls have a deadline, and nearly all of these calls end before their deadlines. A
/// timer for each call would cost more than the call. One task therefore checks all deadlines at
/// intervals, while there are any.
final class Deadlines: Sendable {
    /// The interval between two checks, and thus the longest delay between a deadline and its
    /// callback.
    static let pollInterval: Duration = .milliseconds(20)

    private struct Entry {
        let end: Duration
        let onExpiry: @Sendable () -> Void
    }

    private struct State {
        var nextID = 0
        var openEntries: [Int: Entry] = [:]
        var isPolling = false
    }

    private let clock: any RunClock
    private let state = Locked(State())

    init(_ clock: any RunClock) { self.clock = clock }

    /// Calls `onExpiry` when the clock has passed the deadline, unless `remove(_:)` is called before.
    ///
    /// - Parameters:
    ///   - end: The deadline, as a time of the clock.
    ///   - onExpiry: The callback.
    /// - Returns: The ID of the deadline for `remove(_:)`.
    func add(_ end: Duration, _ onExpiry: @escaping @Sendable () -> Void) -> Int {
        let (id, startsPolling) = state.withLock { state in
            state.nextID += 1
            state.openEntries[state.nextID] = Entry(end: end, onExpiry: onExpiry)
            defer { state.isPolling = true }
            return (state.nextID, !state.isPolling)
        }
        if startsPolling { _ = clock.task { await self.pollDeadlines() } }
        return id
    }

    func remove(_ id: Int) { state.withLock { _ = $0.openEntries.removeValue(forKey: id) } }

    private func pollDeadlines() async {
        var continuesPolling = true
        while continuesPolling {
            await clock.pause(Self.pollInterval)
            let now = clock.now
            let expiredEntries = state.withLock { state in
                let expiredEntries = state.openEntries.filter { $0.value.end <= now }
                for id in expiredEntries.keys { state.openEntries[id] = nil }
                continuesPolling = !state.openEntries.isEmpty
                state.isPolling = continuesPolling
                return expiredEntries
            }
            for call in expiredEntries.values { call.onExpiry() }
        }
    }
}
