import Conformance
import FakeServers
import Testing

@testable import Replay

/// Waiting for evidence: a later event's effect, a quiet journal, and what has to come.
@Suite("Settling")
struct SettlingTests {
    private static let purchase = Step.deliver(
        Delivery(
            name: "a",
            subject: .event(EventSpec(type: "INITIAL_PURCHASE", user: "ada"))
        )
    )

    private static func sight(
        _ latency: Duration,
        effects: Bool = true,
        state: Bool = true
    ) -> RunRecord.Sight {
        RunRecord.Sight(seesEffects: effects, seesState: state, latency: latency)
    }

    // MARK: Quiet

    @Test(
        "the quiet is as long as the backend's own latency suggests",
        arguments: [
            (nil, 15), (.zero, 15), (.milliseconds(7), 15), (.milliseconds(8), 16),
            (.milliseconds(100), 200), (.milliseconds(1000), 2000), (.seconds(30), 2000),
        ] as [(Duration?, Int)]
    )
    func window(latency: Duration?, milliseconds: Int) throws {
        let bench = Bench()
        let (window, time) = try bench.run { bench in
            let play = bench.executor.open(Bench.plan([]), "n-1", within: Bench.within)
            await bench.clock.pause(.milliseconds(1))
            bench.backend.push(to: play.namespace.id(of: "ada"))
            await bench.clock.pause(.microseconds(1))
            let start = bench.clock.now
            let window = await play.awaitQuiet(
                latency.map { Self.sight($0) }
            )
            return (window, bench.clock.now - start)
        }
        #expect(window == .milliseconds(milliseconds))
        #expect(time == .milliseconds(milliseconds) - .microseconds(1))
    }

    @Test func `a backend of which nothing is seen is given longer`() throws {
        let windows = try Bench().run { bench in
            let play = bench.executor.open(Bench.plan([]), "n-1", within: Bench.within)
            var windows: [Duration] = []
            for (effects, state) in [(false, false), (true, false), (false, true)] {
                let sight = Self.sight(.milliseconds(1), effects: effects, state: state)
                windows.append(await play.awaitQuiet(sight))
            }
            return windows
        }
        #expect(windows == [.milliseconds(250), .milliseconds(15), .milliseconds(15)])
    }

    @Test func `what is long over needs no more quiet`() throws {
        let bench = Bench()
        let took = try bench.run { bench in
            let play = bench.executor.open(Bench.plan([]), "n-1", within: Bench.within)
            bench.backend.push(to: play.namespace.id(of: "ada"))
            await bench.clock.pause(.seconds(1))
            let start = bench.clock.now
            await play.awaitQuiet(nil)
            return bench.clock.now - start
        }
        #expect(took == .zero)
    }

    @Test func `every sign of the run begins the quiet anew, and no sign of another`() throws {
        let bench = Bench()
        let took = try bench.run { bench in
            let play = bench.executor.open(Bench.plan([]), "n-1", within: Bench.within)
            let other = bench.executor.open(Bench.plan([]), "n-2", within: Bench.within)
            let ada = play.namespace.id(of: "ada")
            bench.backend.push(to: ada)
            for delay in [10, 20, 30] {
                bench.backend.push(to: ada, after: .milliseconds(delay))
            }
            for delay in [35, 40, 44] {
                bench.backend.push(to: other.namespace.id(of: "ada"), after: .milliseconds(delay))
            }
            await bench.clock.pause(.microseconds(1))
            await play.awaitQuiet(nil)
            return bench.clock.now
        }
        #expect(took == .milliseconds(45))
    }

    @Test func `a backend that never rests is left after a while`() throws {
        let bench = Bench()
        let took = try bench.run { bench in
            let play = bench.executor.open(Bench.plan([]), "n-1", within: Bench.within)
            let ada = play.namespace.id(of: "ada")
            for number in 0..<1000 {
                bench.backend.push(to: ada, after: .milliseconds(10 * number))
            }
            await bench.clock.pause(.milliseconds(5))
            let start = bench.clock.now
            await play.awaitQuiet(nil)
            return bench.clock.now - start
        }
        #expect(took == .seconds(2))
    }

    // MARK: A later event

    @Test func `it settles when a later event has taken effect and it is quiet`() throws {
        let bench = Bench()
        let (settling, exchanges) = try bench.run { bench in
            let play = bench.executor.open(Bench.plan([]), "n-1", within: Bench.within)
            let settling = await play.settle(Bench.sight)
            return (settling, bench.journal("n-1-s"))
        }
        #expect(settling == .sentinel(quiet: .milliseconds(15)))
        #expect(exchanges.contains { $0.purpose == .sentinel && $0.response?.status == 200 })
        #expect(exchanges.contains { $0.to == .oneSignal }, "it was waited for")
    }

    @Test func `a later event that is never seen leaves the quiet alone to tell`() throws {
        let bench = Bench()
        bench.backend.pushDelay = nil
        let settling = try bench.run { bench in
            let play = bench.executor.open(Bench.plan([]), "n-1", within: Bench.within)
            let sight = Self.sight(.milliseconds(5), state: false)
            return await play.settle(sight)
        }
        #expect(settling == .window(.milliseconds(15)))
        #expect(bench.clock.now > .seconds(1), "it was looked for")
    }

    @Test func `where nothing can be seen no later event is sent`() throws {
        let bench = Bench()
        let settling = try bench.run { bench in
            let play = bench.executor.open(Bench.plan([]), "n-1", within: Bench.within)
            return await play.settle(Calibration.blind)
        }
        #expect(settling == .window(.milliseconds(250)))
        #expect(bench.backend.arrivals.isEmpty)
    }

    // MARK: What has to come

    /// A whole run, whose verdict may improve until a push was seen.
    private static func run(
        _ bench: Bench,
        _ steps: [Step] = [purchase],
        sight: RunRecord.Sight = Bench.sight,
        until isEnough: @escaping @Sendable (RunRecord) -> Bool
    ) throws -> (record: RunRecord, time: Duration) {
        let record = try bench.run { bench in
            await bench.executor.run(
                Bench.plan(steps),
                in: "n-1",
                sight: sight,
                within: Bench.within
            ) { isEnough($0) ? .settled : .mayImprove }
        }
        return (record, bench.clock.now)
    }

    private static func pushes(_ record: RunRecord) -> Int {
        record.exchanges.count { $0.to == .oneSignal }
    }

    /// The sentinel is pushed at once, and the case's push comes late: its delay is the case's own.
    private static func late(_ delay: Duration, count: Int = 1, _ bench: Bench) {
        bench.backend.pushDelay = nil
        bench.backend.answer = { backend, arrival in
            guard let user = arrival.event?["app_user_id"]?.string else { return nil }
            let isSentinel = backend.webhooks.count > 1
            for number in 0..<(isSentinel ? 1 : count) {
                let wait = isSentinel ? .zero : delay + .milliseconds(12 * number)
                backend.push(to: user, after: wait)
            }
            return nil
        }
    }

    @Test("what comes late is waited for, and not a moment too long", arguments: [40, 300, 900])
    func late(milliseconds: Int) throws {
        let bench = Bench()
        Self.late(.milliseconds(milliseconds), bench)
        let (record, time) = try Self.run(bench) { Self.pushes($0) > 0 }
        #expect(Self.pushes(record) == 1)
        #expect(time >= .milliseconds(milliseconds))
        // The pauses grow to 100 ms, and what came late is given its quiet.
        #expect(time <= .milliseconds(milliseconds + 100 + 15 + 25))
        #expect(record.starvation == nil)
    }

    @Test func `what comes late may come twice`() throws {
        let bench = Bench()
        Self.late(.milliseconds(400), count: 3, bench)
        let (record, _) = try Self.run(bench) { Self.pushes($0) > 0 }
        #expect(Self.pushes(record) == 3)
    }

    @Test func `what never comes is waited for as long as stragglers have`() throws {
        let bench = Bench()
        Self.late(.seconds(3600), bench)
        let (record, time) = try Self.run(bench) { Self.pushes($0) > 0 }
        #expect(Self.pushes(record) == 0)
        #expect(time > .seconds(1))
        #expect(time < .milliseconds(1200))
    }

    @Test("after a failure by plan the profile's patience counts", arguments: [300, 1500, 4000])
    func disturbed(patience: Int) throws {
        let bench = Bench { $0.patience = .milliseconds(patience) }
        Self.late(.seconds(3600), bench)
        let failing = Step.provider(
            ProviderPlan(provider: .revenueCat, answers: [.status(500)], includesReads: true)
        )
        let (_, time) = try Self.run(bench, [failing, Self.purchase]) { _ in false }
        #expect(time > .milliseconds(patience))
        #expect(time < .milliseconds(patience + 150))
    }

    @Test func `a slow backend gets more time for stragglers`() throws {
        let bench = Bench()
        Self.late(.seconds(3600), bench)
        let (_, time) = try Self.run(bench, sight: Self.sight(.milliseconds(80))) { _ in false }
        #expect(time > .milliseconds(1600))
        #expect(time < .milliseconds(2300))
    }

    /// Nobody can say that it does not call once more while it has reason to.
    @Test("while its last call failed it may try again", arguments: [500, 503, 429])
    func tryingAgain(status: Int) throws {
        let bench = Bench()
        Self.late(.milliseconds(1), bench)
        let failing = Step.provider(
            ProviderPlan(provider: .oneSignal, answers: [.status(status)])
        )
        let (_, time) = try Self.run(bench, [failing, Self.purchase]) { _ in true }
        #expect(time > bench.executor.profile.patience)
    }

    @Test("what is refused for good is not tried again", arguments: [400, 401, 403])
    func givenUp(status: Int) throws {
        let bench = Bench()
        Self.late(.milliseconds(1), bench)
        let failing = Step.provider(
            ProviderPlan(provider: .oneSignal, answers: [.status(status)])
        )
        let (_, time) = try Self.run(bench, [failing, Self.purchase]) { _ in true }
        #expect(time < .milliseconds(200))
    }

    @Test func `a verdict that cannot improve is not waited for`() throws {
        let bench = Bench()
        let (record, time) = try Self.run(bench) { _ in true }
        #expect(time < .milliseconds(60))
        #expect(record.settling == .sentinel(quiet: .milliseconds(15)))
        // One look at the user, and one at the sentinel's before and after.
        let probes = record.exchanges.count {
            if case .probe = $0.purpose { true } else { false }
        }
        #expect(probes == 1)
    }

    @Test func `a run that observes nothing settles nothing`() throws {
        let bench = Bench()
        let record = try bench.run { bench in
            await bench.executor.run(
                Bench.plan([Self.purchase], observes: false),
                in: "n-1",
                sight: Bench.sight,
                within: Bench.within
            ) { _ in .mayImprove }
        }
        #expect(record.settling == .notNeeded)
        #expect(bench.backend.webhooks.count == 1)
        #expect(bench.backend.arrivals.count == 2, "registration and event: nobody looked")
    }

    @Test func `a watch takes its whole time, and its record says so`() throws {
        let bench = Bench()
        var plan = Bench.plan([Self.purchase])
        plan.watch = .seconds(7)
        let watched = plan
        bench.backend.pushCount = 1
        let record = try bench.run { bench in
            bench.backend.push(to: "", after: .zero)
            return await bench.executor.run(
                watched,
                in: "n-1",
                sight: Bench.sight,
                within: Bench.within
            ) { _ in .settled }
        }
        #expect(record.settling == .window(.seconds(7)))
        #expect(bench.clock.now > .seconds(7))
        #expect(bench.clock.now < .milliseconds(7100))
    }

    @Test func `what happens during a watch is in the record`() throws {
        let bench = Bench()
        Self.late(.seconds(5), bench)
        var plan = Bench.plan([Self.purchase])
        plan.watch = .seconds(7)
        let watched = plan
        let record = try bench.run { bench in
            await bench.executor.run(
                watched,
                in: "n-1",
                sight: Bench.sight,
                within: Bench.within
            ) { _ in .settled }
        }
        #expect(Self.pushes(record) == 1)
    }
}
