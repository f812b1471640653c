internal import FakeServers

/// Lets scenarios begin as fast as the machine opens their first pages.
///
/// A page that loads needs a processor, one that waits needs none: many scenarios may go on at once,
/// and few may begin at once, or all would starve together.
package final class BrowserAdmission: Sendable {
    /// A first page that has not loaded after so long waits for its network, not for the machine.
    private static let loading: Duration = .seconds(2)
    /// As slow as that, pages have no time to give away.
    private static let slowdownMax = 3.0
    private static let period: Duration = .milliseconds(15)

    private struct State {
        var number = 0
        /// When each scenario began whose first page is not there yet.
        var openings: [Int: Duration] = [:]
        var underway = 0
    }

    private let openingMax: Int
    private let slowdown: @Sendable () -> Double
    private let clock: any RunClock
    private let state = Locked(State())

    /// - Parameters:
    ///   - openingMax: How many first pages are opened at once; as many scenarios go on however slow
    ///     pages are, since somebody has to.
    ///   - clock: By which a first page takes too long.
    ///   - slowdown: How many times longer a page takes than at its best.
    package init(
        openingMax: Int,
        clock: any RunClock,
        slowdown: @escaping @Sendable () -> Double
    ) {
        self.openingMax = openingMax
        self.slowdown = slowdown
        self.clock = clock
    }

    /// Waits until one more scenario may begin; the number is its own until it leaves.
    ///
    /// Who is cancelled is let in at once, to end.
    package func enter() async -> Int {
        while true {
            if let number = admitted(anyway: Task.isCancelled) { return number }
            await clock.pause(Self.period)
        }
    }

    /// The number of one more scenario, if it may begin now.
    package func admitted(anyway: Bool = false) -> Int? {
        let now = clock.now
        let isCalm = slowdown() < Self.slowdownMax
        return state.withLock { state in
            state.openings = state.openings.filter { now - $0.value < Self.loading }
            let isFree = state.openings.count < openingMax
            let hasTime = isCalm || state.underway < openingMax
            guard anyway || isFree && hasTime else { return nil }
            state.number += 1
            state.openings[state.number] = now
            state.underway += 1
            return state.number
        }
    }

    /// Its first page is there.
    package func isOpen(_ number: Int) { state.withLock { $0.openings[number] = nil } }

    package func leave(_ number: Int) {
        state.withLock { state in
            state.openings[number] = nil
            state.underway -= 1
        }
    }
}
