package import Contracts
internal import Values

/// Measures how much of the elapsed time Assay's process could really use.
///
/// While a suite runs, a timer fires at a fixed interval. A timer fires late when the machine was
/// overloaded, a queue was blocked, or the process was stopped. The delay counts as lost time.
/// During lost time, the silence of a backend proves nothing.
package final class Heartbeat: Sendable {
    private struct State {
        /// The time when the timer last fired; nil while no timer is running.
        var last: Duration?
        var activeTimerCount = 0
        var lostTime: Duration = .zero
        var lostPeriods: [(end: Duration, length: Duration)] = []
    }

    package static let period: Duration = .milliseconds(50)
    /// The largest delay of the timer that does not count as lost time.
    package static let toleratedDelay: Duration = .milliseconds(25)
    private static let lossCountMax = 4096

    private let clock: any RunClock
    private let state = Locked(State())

    package init(_ clock: any RunClock) {
        self.clock = clock
    }

    /// Fires the timer at intervals, until the task is canceled.
    package func beat() async {
        state.withLock { state in
            state.activeTimerCount += 1
            if state.last == nil { state.last = clock.now }
        }
        while !Task.isCancelled {
            await clock.pause(Self.period)
            updateLostTime(isBeat: true)
        }
        state.withLock { state in
            state.activeTimerCount -= 1
            if state.activeTimerCount == 0 { state.last = nil }
        }
    }

    /// Records the time that was lost since the timer last fired.
    ///
    /// Every read of the lost time also calls this function. After a stall, such a read may happen
    /// before the delayed timer fires.
    private func updateLostTime(isBeat: Bool = false) {
        let now = clock.now
        state.withLock { state in
            let newLostTime = Self.timerDelay(state, at: now)
            if newLostTime > .zero {
                state.lostTime += newLostTime
                if state.lostPeriods.count >= Self.lossCountMax {
                    state.lostPeriods.removeFirst(1024)
                }
                state.lostPeriods.append((now, newLostTime))
                state.last = now
            } else if isBeat, state.last != nil {
                state.last = now
            }
        }
    }

    /// Records time that another program lost, such as the browser.
    ///
    /// - Parameters:
    ///   - time: The lost time.
    ///   - span: The period up to now in which the time was lost. Time that Assay's process lost in
    ///     the same period is not counted twice.
    package func recordLostTime(_ time: Duration, during span: Duration) {
        let now = clock.now
        state.withLock { state in
            let start = now - span
            let alreadyRecordedLoss = state.lostPeriods.filter { $0.end > start }.map(\.length)
                .reduce(.zero, +)
            let additionalLoss = time - alreadyRecordedLoss
            guard additionalLoss > .zero else { return }
            state.lostTime += additionalLoss
            // Losses that directly follow each other count as one longer loss.
            if let last = state.lostPeriods.last, last.end >= start - Self.period {
                state.lostPeriods[state.lostPeriods.count - 1] = (now, last.length + additionalLoss)
            } else {
                state.lostPeriods.append((now, additionalLoss))
            }
        }
    }

    private static func timerDelay(_ state: State, at now: Duration) -> Duration {
        guard let last = state.last else { return .zero }
        return max(.zero, now - last - period - toleratedDelay)
    }

    /// The elapsed time minus the lost time.
    package var usableTime: Duration {
        updateLostTime()
        return clock.now - state.withLock { $0.lostTime }
    }

    /// Returns the time that was lost since the given time of the clock.
    package func lostTime(since start: Duration) -> Duration {
        updateLostTime()
        return state.withLock {
            $0.lostPeriods.filter { $0.end >= start }.map(\.length).reduce(.zero, +)
        }
    }

    /// Returns the lost time of a run; nil if it was too short to affect a verdict.
    ///
    /// - Parameters:
    ///   - start: The time of the clock from which losses count.
    ///   - waitStartTime: The time when the steps were over; nil when no wait followed the steps.
    ///   - isCutShort: Whether a wait was cut short because of lost time. The lost time is then returned
    ///     however short it was.
    /// - Returns: The lost time.
    package func starvation(
        since start: Duration,
        waitStartTime: Duration? = nil,
        isCutShort: Bool = false
    ) -> RunRecord.Starvation? {
        updateLostTime()
        let lostPeriods = state.withLock { $0.lostPeriods.filter { $0.end >= start } }
        let longestPause = lostPeriods.map(\.length).max() ?? .zero
        let harmlessPauseMax = RunRecord.Starvation.harmlessPauseMax
        guard isCutShort || longestPause >= harmlessPauseMax else { return nil }
        return RunRecord.Starvation(
            longestPause: longestPause,
            lostTime: lostPeriods.map(\.length).reduce(.zero, +),
            didUseUpWaitTime: isCutShort
                || waitStartTime.map { began in
                    lostPeriods.contains { $0.end >= began && $0.length >= harmlessPauseMax }
                } ?? true
        )
    }
}

/// A time limit that does not count time in which the machine was too busy.
///
/// While the machine has no time for the backend or for Assay, waiting for the backend proves
/// nothing. The limit ends after four times its length (`stretchFactorMax`) in any case.
struct SettleTimeout: Sendable {
    static let stretchFactorMax = 4

    private let heartbeat: Heartbeat
    private let clock: any RunClock
    let start: Duration
    private let end: Duration
    private let latestEnd: Duration

    init(_ limit: Duration, _ heartbeat: Heartbeat, _ clock: any RunClock) {
        self.heartbeat = heartbeat
        self.clock = clock
        start = clock.now
        end = heartbeat.usableTime + limit
        latestEnd = start + limit * Self.stretchFactorMax
    }

    var isOver: Bool { isCutShort || heartbeat.usableTime >= end }

    /// Whether four times the length of the limit has passed, although Assay could use only a small
    /// part of that time.
    var isCutShort: Bool { clock.now >= latestEnd }

    /// Waits until the limit is over or the task is canceled.
    func waitUntilOver() async {
        while !isOver, !Task.isCancelled { await pause(latestEnd - start) }
    }

    /// Pauses for the given time, but not beyond the limit.
    func pause(_ time: Duration) async {
        await clock.pause(max(.microseconds(1), min(time, end - heartbeat.usableTime)))
    }
}
