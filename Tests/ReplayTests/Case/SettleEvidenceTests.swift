import Contracts
import FakeServers
import Providers
import TestBackend
import Testing
import Values

@testable import Replay

/// Waiting for evidence: a later event's effect, a quiet journal, and what has to come.
@Suite("Settling")
struct SettlingTests {
    private static let purchase = Step.deliver(
        Delivery(
            name: "a",
            subject: .event(EventSpec(type: .documented(.initialPurchase), user: "ada"))
        )
    )

    private static func observability(
        _ latency: Duration,
        effects: Bool = true,
        state: Bool = true
    ) -> RunRecord.Observability {
        RunRecord.Observability(
            arePushesObservable: effects,
            areProbeChangesObservable: state,
            latency: latency
        )
    }

    // MARK: Quiet

    @Test(
        "the quiet period follows from the backend's latency",
        arguments: [
            (nil, 15), (.zero, 15), (.milliseconds(7), 15), (.milliseconds(8), 16),
            (.milliseconds(100), 200), (.milliseconds(1000), 2000), (.seconds(30), 2000),
        ] as [(Duration?, Int)]
    )
    func window(latency: Duration?, milliseconds: Int) throws {
        let bench = SimulationBench()
        let (window, time) = try bench.run { bench in
            let play = bench.open()
            await bench.clock.pause(.milliseconds(1))
            bench.model.push(to: play.namespace.id(of: "ada"))
            await bench.clock.pause(.microseconds(1))
            let start = bench.clock.now
            let window = await play.settling.waitForQuietBackend(
                latency.map { Self.observability($0) }
            )
            return (window, bench.clock.now - start)
        }
        #expect(window == .milliseconds(milliseconds))
        #expect(time == .milliseconds(milliseconds) - .microseconds(1))
    }

    @Test func `an unobservable backend gets a longer quiet period`() throws {
        let windows = try SimulationBench().run { bench in
            let play = bench.open()
            var windows: [Duration] = []
            for (effects, state) in [(false, false), (true, false), (false, true)] {
                let observability = Self.observability(
                    .milliseconds(1),
                    effects: effects,
                    state: state
                )
                windows.append(await play.settling.waitForQuietBackend(observability))
            }
            return windows
        }
        #expect(windows == [.milliseconds(250), .milliseconds(15), .milliseconds(15)])
    }

    @Test func `old activity needs no further quiet period`() throws {
        let bench = SimulationBench()
        let took = try bench.run { bench in
            let play = bench.open()
            bench.model.push(to: play.namespace.id(of: "ada"))
            await bench.clock.pause(.seconds(1))
            let start = bench.clock.now
            await play.settling.waitForQuietBackend(nil)
            return bench.clock.now - start
        }
        #expect(took == .zero)
    }

    @Test func `activity of the run restarts the quiet period, activity of another run does not`()
        throws
    {
        let bench = SimulationBench()
        let took = try bench.run { bench in
            let play = bench.open()
            let other = bench.open("n-2")
            let ada = play.namespace.id(of: "ada")
            bench.model.push(to: ada)
            for delay in [10, 20, 30] {
                bench.model.push(to: ada, after: .milliseconds(delay))
            }
            for delay in [35, 40, 44] {
                bench.model.push(to: other.namespace.id(of: "ada"), after: .milliseconds(delay))
            }
            await bench.clock.pause(.microseconds(1))
            await play.settling.waitForQuietBackend(nil)
            return bench.clock.now
        }
        #expect(took == .milliseconds(45))
    }

    @Test func `a backend that never becomes quiet is left after a limit`() throws {
        let bench = SimulationBench()
        let took = try bench.run { bench in
            let play = bench.open()
            let ada = play.namespace.id(of: "ada")
            for number in 0..<1000 {
                bench.model.push(to: ada, after: .milliseconds(10 * number))
            }
            await bench.clock.pause(.milliseconds(5))
            let start = bench.clock.now
            await play.settling.waitForQuietBackend(nil)
            return bench.clock.now - start
        }
        #expect(took == .seconds(2))
    }

    // MARK: A later event

    @Test func `a run settles when a later event took effect and the backend is quiet`() throws {
        let bench = SimulationBench()
        let (settleEvidence, exchanges) = try bench.run { bench in
            let play = bench.open()
            let settleEvidence = await play.settling.settle(SimulationBench.observability)
            return (settleEvidence, bench.journal("n-1-s"))
        }
        #expect(settleEvidence == .sentinel(quietDuration: .milliseconds(15)))
        #expect(exchanges.contains { $0.purpose == .sentinel && $0.response?.status == 200 })
        #expect(exchanges.contains { $0.to == .oneSignal }, "it was waited for")
    }

    @Test func `without a visible later event only the quiet period decides`() throws {
        let bench = SimulationBench()
        bench.model.pushDelay = nil
        let settleEvidence = try bench.run { bench in
            let play = bench.open()
            let observability = Self.observability(.milliseconds(5), state: false)
            return await play.settling.settle(observability)
        }
        #expect(settleEvidence == .window(.milliseconds(15)))
        #expect(bench.clock.now > .seconds(1), "it was looked for")
    }

    @Test func `without observability no later event is sent`() throws {
        let bench = SimulationBench()
        let settleEvidence = try bench.run { bench in
            let play = bench.open()
            return await play.settling.settle(Calibration.nothingObservable)
        }
        #expect(settleEvidence == .window(.milliseconds(250)))
        #expect(bench.backend.arrivals.isEmpty)
    }

    // MARK: What has to come

    /// A whole run, whose verdict may improve until a push was seen.
    private static func run(
        _ bench: SimulationBench,
        _ steps: [Step] = [purchase],
        observability: RunRecord.Observability = SimulationBench.observability,
        until isEnough: @escaping @Sendable (RunRecord) -> Bool
    ) throws -> (record: RunRecord, time: Duration) {
        let record = try bench.run { bench in
            await bench.executor.run(
                SimulationBench.plan(steps),
                in: "n-1",
                observability: observability,
                within: SimulationBench.within
            ) { isEnough($0) ? .settled : .mayResolveWithLongerWait }
        }
        return (record, bench.clock.now)
    }

    private static func pushes(_ record: RunRecord) -> Int {
        record.exchanges.count { $0.to == .oneSignal }
    }

    /// The sentinel is pushed at once, and the case's push comes late: its delay is the case's own.
    private static func late(_ delay: Duration, count: Int = 1, _ bench: SimulationBench) {
        bench.model.pushDelay = nil
        bench.backend.respond = { backend, arrival in
            guard let user = arrival.event?["app_user_id"]?.string else { return nil }
            let isSentinel = backend.webhooks.count > 1
            for number in 0..<(isSentinel ? 1 : count) {
                let wait = isSentinel ? .zero : delay + .milliseconds(12 * number)
                bench.model.push(to: user, after: wait)
            }
            return nil
        }
    }

    @Test("late effects are waited for, and no longer than necessary", arguments: [40, 300, 900])
    func late(milliseconds: Int) throws {
        let bench = SimulationBench()
        Self.late(.milliseconds(milliseconds), bench)
        let (record, time) = try Self.run(bench) { Self.pushes($0) > 0 }
        #expect(Self.pushes(record) == 1)
        #expect(time >= .milliseconds(milliseconds))
        // The pauses grow to 100 ms, and what came late is given its quiet.
        #expect(time <= .milliseconds(milliseconds + 100 + 15 + 25))
        #expect(record.starvation == nil)
    }

    @Test func `a late effect may come twice`() throws {
        let bench = SimulationBench()
        Self.late(.milliseconds(400), count: 3, bench)
        let (record, _) = try Self.run(bench) { Self.pushes($0) > 0 }
        #expect(Self.pushes(record) == 3)
    }

    @Test func `missing effects are waited for until the timeout for late effects`() throws {
        let bench = SimulationBench()
        Self.late(.seconds(3600), bench)
        let (record, time) = try Self.run(bench) { Self.pushes($0) > 0 }
        #expect(Self.pushes(record) == 0)
        #expect(time > .seconds(1))
        #expect(time < .milliseconds(1200))
    }

    @Test(
        "after a planned fault the profile's settle timeout applies",
        arguments: [300, 1500, 4000]
    )
    func disturbed(settleTimeout: Int) throws {
        let bench = SimulationBench { $0.settleTimeout = .milliseconds(settleTimeout) }
        Self.late(.seconds(3600), bench)
        let failing = Step.provider(
            ProviderPlan(provider: .revenueCat, responses: [.status(500)], includesReads: true)
        )
        let (_, time) = try Self.run(bench, [failing, Self.purchase]) { _ in false }
        #expect(time > .milliseconds(settleTimeout))
        #expect(time < .milliseconds(settleTimeout + 150))
    }

    @Test func `a slow backend gets more time for late effects`() throws {
        let bench = SimulationBench()
        Self.late(.seconds(3600), bench)
        let (_, time) = try Self.run(bench, observability: Self.observability(.milliseconds(80))) {
            _ in false
        }
        #expect(time > .milliseconds(1600))
        #expect(time < .milliseconds(2300))
    }

    /// Nobody can say that it does not call once more while it has reason to.
    @Test("a retryable failure of the last call is waited for", arguments: [500, 503, 429])
    func tryingAgain(status: Int) throws {
        let bench = SimulationBench()
        Self.late(.milliseconds(1), bench)
        let failing = Step.provider(
            ProviderPlan(provider: .oneSignal, responses: [.status(status)])
        )
        let (_, time) = try Self.run(bench, [failing, Self.purchase]) { _ in true }
        #expect(time > bench.executor.profile.settleTimeout)
    }

    @Test("a permanently refused call is not waited for", arguments: [400, 401, 403])
    func givenUp(status: Int) throws {
        let bench = SimulationBench()
        Self.late(.milliseconds(1), bench)
        let failing = Step.provider(
            ProviderPlan(provider: .oneSignal, responses: [.status(status)])
        )
        let (_, time) = try Self.run(bench, [failing, Self.purchase]) { _ in true }
        #expect(time < .milliseconds(200))
    }

    @Test func `a verdict that cannot improve is not waited for`() throws {
        let bench = SimulationBench()
        let (record, time) = try Self.run(bench) { _ in true }
        #expect(time < .milliseconds(60))
        #expect(record.settleEvidence == .sentinel(quietDuration: .milliseconds(15)))
        // One look at the user, and one at the sentinel's before and after.
        let probes = record.exchanges.count {
            if case .probe = $0.purpose { true } else { false }
        }
        #expect(probes == 1)
    }

    @Test func `a run that observes nothing does not settle`() throws {
        let bench = SimulationBench()
        let record = try bench.run { bench in
            await bench.record(SimulationBench.plan([Self.purchase], observesFinalState: false)) {
                _ in .mayResolveWithLongerWait
            }
        }
        #expect(record.settleEvidence == .notNeeded)
        #expect(bench.backend.webhooks.count == 1)
        #expect(bench.backend.arrivals.count == 2, "registration and event: nobody looked")
    }

    @Test func `a watch step takes its whole time and records it`() throws {
        let bench = SimulationBench()
        var plan = SimulationBench.plan([Self.purchase])
        plan.extraObservationTime = .seconds(7)
        let watched = plan
        bench.model.pushCount = 1
        let record = try bench.run { bench in
            bench.model.push(to: "", after: .zero)
            return await bench.record(watched)
        }
        #expect(record.settleEvidence == .window(.seconds(7)))
        #expect(bench.clock.now > .seconds(7))
        #expect(bench.clock.now < .milliseconds(7100))
    }

    @Test func `effects during a watch step are recorded`() throws {
        let bench = SimulationBench()
        Self.late(.seconds(5), bench)
        var plan = SimulationBench.plan([Self.purchase])
        plan.extraObservationTime = .seconds(7)
        let watched = plan
        let record = try bench.run { bench in
            await bench.record(watched)
        }
        #expect(Self.pushes(record) == 1)
    }
}
