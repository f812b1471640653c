internal import Conformance
internal import FakeServers

/// Ends of patience that hardly ever come: thousands of calls have one, and nearly all are over
/// before.
///
/// A timer for each would cost more than the call; here one looks, now and then, which of them have
/// passed, and only while there are any.
final class Deadlines: Sendable {
    /// So much later than said an end may be told.
    static let step: Duration = .milliseconds(20)

    private struct Entry {
        let end: Duration
        let expire: @Sendable () -> Void
    }

    private struct State {
        var nextID = 0
        var open: [Int: Entry] = [:]
        var isLooking = false
    }

    private let clock: any RunClock
    private let state = Locked(State())

    init(_ clock: any RunClock) { self.clock = clock }

    /// Has `expire` called when that moment of the clock has passed, unless it is removed before.
    ///
    /// - Parameters:
    ///   - end: The moment.
    ///   - expire: What happens then.
    /// - Returns: What it is removed by.
    func add(_ end: Duration, _ expire: @escaping @Sendable () -> Void) -> Int {
        let (id, begins) = state.withLock { state in
            state.nextID += 1
            state.open[state.nextID] = Entry(end: end, expire: expire)
            defer { state.isLooking = true }
            return (state.nextID, !state.isLooking)
        }
        if begins { _ = clock.task { await self.look() } }
        return id
    }

    func remove(_ id: Int) { state.withLock { _ = $0.open.removeValue(forKey: id) } }

    private func look() async {
        var goesOn = true
        while goesOn {
            await clock.pause(Self.step)
            let now = clock.now
            let passed = state.withLock { state in
                let passed = state.open.filter { $0.value.end <= now }
                for id in passed.keys { state.open[id] = nil }
                goesOn = !state.open.isEmpty
                state.isLooking = goesOn
                return passed
            }
            for call in passed.values { call.expire() }
        }
    }
}
