package import Conformance
internal import FakeServers

/// Tells how much of the time that passed this process really had.
///
/// It beats while a suite runs. A beat that comes late was held up by a machine that had no time
/// for us, by a queue that stood, or because we were stopped; time lost that way is no time in which
/// a backend could be seen to do nothing.
package final class Heartbeat: Sendable {
    private struct State {
        /// When it last beat; nil while it does not.
        var last: Duration?
        var beatingCount = 0
        var lost: Duration = .zero
        var losses: [(end: Duration, length: Duration)] = []
    }

    package static let period: Duration = .milliseconds(50)
    /// A beat may be so late without any time being lost.
    package static let grace: Duration = .milliseconds(25)
    private static let lossCountMax = 4096

    private let clock: any RunClock
    private let state = Locked(State())

    package init(_ clock: any RunClock) {
        self.clock = clock
    }

    /// Beats until it is cancelled.
    package func beat() async {
        state.withLock { state in
            state.beatingCount += 1
            if state.last == nil { state.last = clock.now }
        }
        while !Task.isCancelled {
            await clock.pause(Self.period)
            note(isBeat: true)
        }
        state.withLock { state in
            state.beatingCount -= 1
            if state.beatingCount == 0 { state.last = nil }
        }
    }

    /// Writes down what was lost since the last beat; whoever asks after a stall may come before
    /// the beat that is due.
    private func note(isBeat: Bool = false) {
        let now = clock.now
        state.withLock { state in
            let late = Self.lateness(state, at: now)
            if late > .zero {
                state.lost += late
                if state.losses.count >= Self.lossCountMax { state.losses.removeFirst(1024) }
                state.losses.append((now, late))
                state.last = now
            } else if isBeat, state.last != nil {
                state.last = now
            }
        }
    }

    /// Somebody else has lost time that this process had.
    ///
    /// - Parameters:
    ///   - time: How much.
    ///   - span: During how long, until now; what this process lost itself then counts once.
    package func lose(_ time: Duration, during span: Duration) {
        let now = clock.now
        state.withLock { state in
            let start = now - span
            let own = state.losses.filter { $0.end > start }.map(\.length).reduce(.zero, +)
            let more = time - own
            guard more > .zero else { return }
            state.lost += more
            // One long hunger is told in pieces.
            if let last = state.losses.last, last.end >= start - Self.period {
                state.losses[state.losses.count - 1] = (now, last.length + more)
            } else {
                state.losses.append((now, more))
            }
        }
    }

    private static func lateness(_ state: State, at now: Duration) -> Duration {
        guard let last = state.last else { return .zero }
        return max(.zero, now - last - period - grace)
    }

    /// Time that counted: what passed without what was lost.
    package var counted: Duration {
        note()
        return clock.now - state.withLock { $0.lost }
    }

    /// How much was lost since a moment of the clock.
    package func lost(since start: Duration) -> Duration {
        note()
        return state.withLock {
            $0.losses.filter { $0.end >= start }.map(\.length).reduce(.zero, +)
        }
    }

    /// What the machine took since a moment of the clock; nil when nothing rests on so little.
    ///
    /// - Parameters:
    ///   - start: The moment.
    ///   - waitBegan: When the steps were over; nil when nothing was waited for after them.
    ///   - isCut: Somebody gave up waiting because of it, so it is told however little it was.
    /// - Returns: How long it stood.
    package func starvation(
        since start: Duration,
        waitBegan: Duration? = nil,
        isCut: Bool = false
    ) -> RunRecord.Starvation? {
        note()
        let losses = state.withLock { $0.losses.filter { $0.end >= start } }
        let longest = losses.map(\.length).max() ?? .zero
        let longestMax = RunRecord.Starvation.longestMax
        guard isCut || longest >= longestMax else { return nil }
        return RunRecord.Starvation(
            longest: longest,
            lost: losses.map(\.length).reduce(.zero, +),
            tookFromWait: isCut
                || waitBegan.map { began in
                    losses.contains { $0.end >= began && $0.length >= longestMax }
                } ?? true
        )
    }
}

/// A limit that counts only time which this process had.
///
/// Whoever waits for a backend waits so long with open eyes; while the machine has no time for
/// either, waiting proves nothing. It ends in any case, after so many times its length.
struct Patience: Sendable {
    static let stretchMax = 4

    private let heartbeat: Heartbeat
    private let clock: any RunClock
    let start: Duration
    private let end: Duration
    private let hardEnd: Duration

    init(_ limit: Duration, _ heartbeat: Heartbeat, _ clock: any RunClock) {
        self.heartbeat = heartbeat
        self.clock = clock
        start = clock.now
        end = heartbeat.counted + limit
        hardEnd = start + limit * Self.stretchMax
    }

    var isOver: Bool { isCut || heartbeat.counted >= end }

    /// Whether it ended although most of the time was lost.
    var isCut: Bool { clock.now >= hardEnd }

    /// Waits until it is over, or the task is cancelled.
    func elapse() async {
        while !isOver, !Task.isCancelled { await pause(hardEnd - start) }
    }

    /// Waits, but for no longer than the limit.
    func pause(_ time: Duration) async {
        await clock.pause(max(.microseconds(1), min(time, end - heartbeat.counted)))
    }
}
