internal import Conformance
internal import FakeServers

/// Calls back when the deadline of a call has passed.
///
/// Thousands of calls have a deadline, and nearly all of them end before it. A timer for each call
/// would cost more than the call. One task therefore checks all deadlines at intervals, while there
/// are any.
final class Deadlines: Sendable {
    /// The interval between two checks, and thus the longest delay between a deadline and its
    /// callback.
    static let step: Duration = .milliseconds(20)

    private struct Entry {
        let end: Duration
        let expire: @Sendable () -> Void
    }

    private struct State {
        var nextID = 0
        var open: [Int: Entry] = [:]
        var isPolling = false
    }

    private let clock: any RunClock
    private let state = Locked(State())

    init(_ clock: any RunClock) { self.clock = clock }

    /// Calls `expire` when the clock has passed the deadline, unless `remove(_:)` is called before.
    ///
    /// - Parameters:
    ///   - end: The deadline, as a time of the clock.
    ///   - expire: The callback.
    /// - Returns: The ID of the deadline for `remove(_:)`.
    func add(_ end: Duration, _ expire: @escaping @Sendable () -> Void) -> Int {
        let (id, begins) = state.withLock { state in
            state.nextID += 1
            state.open[state.nextID] = Entry(end: end, expire: expire)
            defer { state.isPolling = true }
            return (state.nextID, !state.isPolling)
        }
        if begins { _ = clock.task { await self.poll() } }
        return id
    }

    func remove(_ id: Int) { state.withLock { _ = $0.open.removeValue(forKey: id) } }

    private func poll() async {
        var goesOn = true
        while goesOn {
            await clock.pause(Self.step)
            let now = clock.now
            let passed = state.withLock { state in
                let passed = state.open.filter { $0.value.end <= now }
                for id in passed.keys { state.open[id] = nil }
                goesOn = !state.open.isEmpty
                state.isPolling = goesOn
                return passed
            }
            for call in passed.values { call.expire() }
        }
    }
}
