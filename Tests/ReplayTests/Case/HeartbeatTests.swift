import Contracts
import TestBackend
import Testing
import Values

@testable import Replay

/// A clock whose time is what the test says; whoever sleeps on it decides how late it wakes.
final class ManualClock: RunClock, @unchecked Sendable {
    var now: Duration = .seconds(100)
    /// How much later than meant each sleep ends; those that are not named end in time.
    var lateness: [Duration] = []
    private(set) var sleeps: [Duration] = []
    /// Called before each sleep.
    var onSleep: (ManualClock) -> Void = { _ in }

    var wallTime: Instant { Instant(milliseconds: now.milliseconds) }
    var executor: (any TaskExecutor)? { nil }

    func sleep(until deadline: Duration) async throws(CancellationError) {
        onSleep(self)
        if Task.isCancelled { throw CancellationError() }
        sleeps.append(deadline - now)
        now = max(now, deadline) + (lateness.isEmpty ? .zero : lateness.removeFirst())
    }
}

/// What of the time that passed this process really had, and what rests on it.
@Suite("Heartbeat and settle timeout")
struct HeartbeatTests {
    /// A heart that has beaten as often as there are latenesses, each beat so much later than meant.
    private static func heartbeatWithLateness(_ lateness: [Duration]) async -> (
        Heartbeat, ManualClock
    ) {
        let clock = ManualClock()
        let heartbeat = Heartbeat(clock)
        clock.lateness = lateness
        let beats = lateness.count
        clock.onSleep = { clock in
            if clock.sleeps.count == beats { withUnsafeCurrentTask { $0?.cancel() } }
        }
        await Task { await heartbeat.beat() }.value
        clock.onSleep = { _ in }
        return (heartbeat, clock)
    }

    /// A heart in the middle of beating, of which the test is the clock.
    private final class HeartbeatFixture: @unchecked Sendable {
        let clock = ManualClock()
        let heartbeat: Heartbeat

        init() { heartbeat = Heartbeat(clock) }

        /// Runs the work in the middle of a beat: while the heart sleeps.
        func runWithHeartbeat(_ work: @escaping (HeartbeatFixture) -> Void) async {
            clock.onSleep = { clock in
                clock.onSleep = { _ in }
                work(self)
                withUnsafeCurrentTask { $0?.cancel() }
            }
            await Task { await self.heartbeat.beat() }.value
        }
    }

    @Test(
        "a late heartbeat loses the time beyond the grace period",
        arguments: [
            (0, 0), (10, 0), (25, 0), (26, 1), (75, 50), (500, 475), (9000, 8975),
        ] as [(Int, Int)]
    )
    func lateness(late: Int, lostTime: Int) async {
        let (heartbeat, clock) = await Self.heartbeatWithLateness([.milliseconds(late)])
        let start: Duration = .seconds(100)
        #expect(heartbeat.lostTime(since: start) == .milliseconds(lostTime))
        #expect(clock.now - heartbeat.usableTime == .milliseconds(lostTime))
    }

    @Test func `lost times add up, and the longest is known`() async {
        let (heartbeat, _) = await Self.heartbeatWithLateness(
            [.milliseconds(125), .milliseconds(5), .milliseconds(1025), .milliseconds(625)]
        )
        #expect(heartbeat.lostTime(since: .seconds(100)) == .milliseconds(100 + 1000 + 600))
        let starvation = heartbeat.starvation(since: .seconds(100))
        #expect(starvation?.longestPause == .seconds(1))
        #expect(starvation?.lostTime == .milliseconds(1700))
    }

    @Test func `time lost in a browser counts once`() async {
        let (heartbeat, clock) = await Self.heartbeatWithLateness([.milliseconds(325)])
        let start: Duration = .seconds(100)
        #expect(heartbeat.lostTime(since: start) == .milliseconds(300))
        clock.now += .milliseconds(600)
        heartbeat.recordLostTime(.milliseconds(400), during: .milliseconds(600))
        clock.now += .milliseconds(600)
        heartbeat.recordLostTime(.milliseconds(400), during: .milliseconds(600))
        #expect(heartbeat.lostTime(since: start) == .milliseconds(300 + 800))
        #expect(heartbeat.starvation(since: start)?.longestPause == .milliseconds(300 + 800))
        heartbeat.recordLostTime(.milliseconds(400), during: .milliseconds(600))
        #expect(
            heartbeat.lostTime(since: start) == .milliseconds(1100),
            "that span was told already"
        )
        clock.now += .seconds(5)
        heartbeat.recordLostTime(.milliseconds(100), during: .milliseconds(600))
        #expect(heartbeat.lostTime(since: start) == .milliseconds(1200))
        #expect(
            heartbeat.starvation(since: start)?.longestPause == .milliseconds(1100),
            "another piece"
        )
    }

    @Test func `time lost before an instant does not count after it`() async {
        let (heartbeat, clock) = await Self.heartbeatWithLateness([
            .milliseconds(1025), .zero, .zero,
        ])
        let end: Duration = .seconds(100) + Heartbeat.period + .milliseconds(1025)
        #expect(heartbeat.lostTime(since: end) == .seconds(1), "it ended then")
        #expect(heartbeat.lostTime(since: end + .microseconds(1)) == .zero)
        #expect(heartbeat.lostTime(since: clock.now) == .zero)
        #expect(heartbeat.starvation(since: clock.now) == nil)
    }

    @Test func `a query during a stall includes the stall before the next heartbeat`()
        async
    {
        let chest = HeartbeatFixture()
        await chest.runWithHeartbeat { chest in
            let start = chest.clock.now
            #expect(chest.heartbeat.usableTime == start)
            chest.clock.now = start + Heartbeat.period + Heartbeat.toleratedDelay
            #expect(
                chest.heartbeat.lostTime(since: start) == .zero,
                "late by no more than the grace"
            )
            chest.clock.now += .seconds(2)
            #expect(chest.heartbeat.lostTime(since: start) == .seconds(2))
            #expect(chest.heartbeat.lostTime(since: start) == .seconds(2), "it is counted once")
            // From here on nothing is lost, so long as the next beat comes.
            chest.clock.now += Heartbeat.period
            #expect(chest.heartbeat.lostTime(since: start) == .seconds(2))
            #expect(
                chest.clock.now - chest.heartbeat.usableTime == .seconds(2),
                "counted time goes on"
            )
        }
    }

    @Test func `without a running suite no time is lost`() async {
        let clock = ManualClock()
        let heartbeat = Heartbeat(clock)
        clock.now += .seconds(3600)
        #expect(heartbeat.lostTime(since: .zero) == .zero)
        #expect(heartbeat.usableTime == clock.now)
        let (rested, later) = await Self.heartbeatWithLateness([.zero])
        later.now += .seconds(3600)
        #expect(rested.lostTime(since: .zero) == .zero, "it stopped when the suite did")
    }

    @Test(
        "a short starvation is not reported unless it cut a wait short",
        arguments: [(524, false), (525, true), (5000, true)] as [(Int, Bool)]
    )
    func starvation(late: Int, isTold: Bool) async {
        let (heartbeat, _) = await Self.heartbeatWithLateness([.milliseconds(late)])
        #expect(RunRecord.Starvation.harmlessPauseMax == .milliseconds(500))
        #expect((heartbeat.starvation(since: .zero) != nil) == isTold)
        let cut = heartbeat.starvation(since: .zero, isCutShort: true)
        #expect(cut?.longestPause == .milliseconds(late - 25))
    }

    @Test func `a wait that was cut short is reported even without lost time`() async {
        let (heartbeat, _) = await Self.heartbeatWithLateness([.zero])
        let cut = heartbeat.starvation(since: .zero, isCutShort: true)
        #expect(
            cut
                == RunRecord.Starvation(
                    longestPause: .zero,
                    lostTime: .zero,
                    didUseUpWaitTime: true
                )
        )
        #expect(cut?.didShortenWait == true)
    }

    @Test(
        "a stall counts against the wait during which it happened",
        arguments: [(nil, true), (.zero, true), (.microseconds(1), false)] as [(Duration?, Bool)]
    )
    func stallOfWait(later: Duration?, didUseUpWaitTime: Bool) async {
        let (heartbeat, _) = await Self.heartbeatWithLateness([
            .milliseconds(1025), .milliseconds(425),
        ])
        let end: Duration = .seconds(100) + Heartbeat.period + .milliseconds(1025)
        let starvation = heartbeat.starvation(since: .zero, waitStartTime: later.map { end + $0 })
        #expect(starvation?.longestPause == .seconds(1))
        #expect(starvation?.didShortenWait == didUseUpWaitTime)
    }

    @Test func `the oldest losses are forgotten, and the sum is kept`() async {
        let (heartbeat, clock) = await Self.heartbeatWithLateness(
            [Duration](repeating: .milliseconds(35), count: 5000)
        )
        #expect(clock.now - heartbeat.usableTime == .milliseconds(50_000))
        let kept = heartbeat.lostTime(since: .zero)
        #expect(kept < .milliseconds(50_000))
        #expect(kept >= .milliseconds(30_000))
    }

    @Test func `a second suite does not stop the shared heartbeat`() throws {
        let bench = SimulationBench()
        let lostTime = try bench.run { bench in
            let heartbeat = bench.executor.heartbeat
            let long = bench.clock.task { await heartbeat.beat() }
            let short = bench.clock.task { await heartbeat.beat() }
            await bench.clock.pause(.seconds(1))
            short.cancel()
            await short.value
            let start = bench.clock.now
            await bench.clock.pause(.seconds(1))
            let isBeating = heartbeat.lostTime(since: start) == .zero
            long.cancel()
            await long.value
            await bench.clock.pause(.seconds(60))
            return (isBeating, heartbeat.lostTime(since: start))
        }
        #expect(lostTime.0)
        #expect(lostTime.1 == .zero, "nobody beats any more, so nobody is late")
    }

    // MARK: Patience

    @Test func `a settle timeout ends when its time has counted`() {
        let clock = ManualClock()
        let settleTimeout = SettleTimeout(.milliseconds(100), Heartbeat(clock), clock)
        #expect(!settleTimeout.isOver)
        clock.now += .milliseconds(99)
        #expect(!settleTimeout.isOver)
        clock.now += .milliseconds(1)
        #expect(settleTimeout.isOver)
        #expect(!settleTimeout.isCutShort)
        #expect(settleTimeout.start == .seconds(100))
    }

    @Test func `an empty settle timeout ends at once`() {
        let clock = ManualClock()
        #expect(SettleTimeout(.zero, Heartbeat(clock), clock).isOver)
    }

    @Test func `lost time does not count, up to four times the limit`() async {
        let chest = HeartbeatFixture()
        await chest.runWithHeartbeat { chest in
            let settleTimeout = SettleTimeout(.seconds(1), chest.heartbeat, chest.clock)
            chest.clock.now += .seconds(2)
            #expect(!settleTimeout.isOver, "all but 75 ms of it were lost")
            chest.clock.now += .seconds(1)
            #expect(!settleTimeout.isOver)
            #expect(!settleTimeout.isCutShort)
            chest.clock.now += .seconds(1)
            #expect(
                settleTimeout.isOver,
                "a machine that is always busy must not hold it up forever"
            )
            #expect(settleTimeout.isCutShort)
        }
    }

    @Test func `a pause never exceeds the remaining time`() async {
        let clock = ManualClock()
        let settleTimeout = SettleTimeout(.milliseconds(100), Heartbeat(clock), clock)
        await settleTimeout.pause(.milliseconds(30))
        await settleTimeout.pause(.milliseconds(500))
        #expect(clock.sleeps == [.milliseconds(30), .milliseconds(70)])
        #expect(settleTimeout.isOver)
        // Whoever pauses all the same gives way to others, but hardly.
        await settleTimeout.pause(.seconds(5))
        #expect(clock.sleeps.last == .microseconds(1))
    }

    @Test func `waiting for the timeout takes exactly its time`() async {
        let clock = ManualClock()
        await SettleTimeout(.milliseconds(250), Heartbeat(clock), clock).waitUntilOver()
        #expect(clock.now == .seconds(100) + .milliseconds(250))
        #expect(clock.sleeps.count == 1, "one sleep, and no looking again and again")
    }

    @Test func `waiting for the timeout is extended by lost time`() throws {
        let bench = SimulationBench()
        let took = try bench.runWithHeartbeat { bench in
            let start = bench.clock.now
            await bench.clock.pause(.milliseconds(1))
            await bench.executor.settleTimeout(.milliseconds(300)).waitUntilOver()
            return bench.clock.now - start
        }
        #expect(took == .milliseconds(301))
    }

    @Test func `a cancellation ends the settle timeout`() throws {
        let bench = SimulationBench()
        let took = try bench.run { bench in
            let waiting = bench.clock.task {
                await bench.executor.settleTimeout(.seconds(1000)).waitUntilOver()
            }
            await bench.clock.pause(.milliseconds(7))
            waiting.cancel()
            await waiting.value
            return bench.clock.now
        }
        #expect(took == .milliseconds(7))
    }

    @Test(
        "after a later event late effects have a second or twenty latencies, at most the settle timeout",
        arguments: [
            (1, 2000, 1000), (50, 2000, 1000), (51, 2000, 1020), (99, 2000, 1980),
            (100, 2000, 2000), (500, 2000, 2000), (1, 300, 300),
        ] as [(Int, Int, Int)]
    )
    func shortSettleTimeout(latency: Int, settleTimeout: Int, wanted: Int) {
        let bench = SimulationBench { $0.settleTimeout = .milliseconds(settleTimeout) }
        let short = bench.executor.shortSettleTimeout(.milliseconds(latency))
        #expect(short == .milliseconds(wanted))
    }
}
