internal import Conformance
internal import FakeServers

/// Lets scenarios begin as fast as the machine opens their first pages.
///
/// A page that loads needs a processor, one that waits needs none: many scenarios may go on at once,
/// and few may begin at once, or all would starve together.
final class BrowserAdmission: Sendable {
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
    private let pulse: BrowserPulse
    private let clock: any RunClock
    private let state = Locked(State())

    /// - Parameters:
    ///   - openingMax: How many first pages are opened at once; as many scenarios go on however slow
    ///     pages are, since somebody has to.
    ///   - pulse: How slow pages are.
    ///   - clock: By which a first page takes too long.
    init(openingMax: Int, _ pulse: BrowserPulse, _ clock: any RunClock) {
        self.openingMax = openingMax
        self.pulse = pulse
        self.clock = clock
    }

    /// Waits until one more scenario may begin; the number is its own until it `leaves`.
    func enter() async -> Int {
        while true {
            let now = clock.now
            let isCalm = pulse.slowdown < Self.slowdownMax
            let number = state.withLock { state -> Int? in
                state.openings = state.openings.filter { now - $0.value < Self.loading }
                let isFree = state.underway < openingMax || isCalm
                guard Task.isCancelled || isFree && state.openings.count < openingMax else {
                    return nil
                }
                state.number += 1
                state.openings[state.number] = now
                state.underway += 1
                return state.number
            }
            if let number { return number }
            await clock.pause(Self.period)
        }
    }

    /// Its first page is there.
    func isOpen(_ number: Int) { state.withLock { $0.openings[number] = nil } }

    func leave(_ number: Int) {
        state.withLock { state in
            state.openings[number] = nil
            state.underway -= 1
        }
    }
}
