import Contracts
import FakeServers
import Grammar
import Providers
import TestBackend
import Testing
import Values

@testable import Replay

/// Stops of the backend: between steps, during a delivery, and at one of its calls.
@Suite("Stops")
struct BackendStopTests {
    private static func purchase(_ crash: Crash? = nil) -> Delivery {
        let spec = EventSpec(type: .documented(.initialPurchase), user: "ada")
        var delivery = Delivery(name: "a", subject: .event(spec))
        delivery.followsRetrySchedule = true
        delivery.crash = crash
        return delivery
    }

    private static func run(_ steps: [Step], _ bench: SimulationBench) throws -> RunRecord {
        try bench.run { bench in
            await bench.record(SimulationBench.plan(steps, observesFinalState: false))
        }
    }

    private static func failPushes(_ responses: [ProviderPlan.PlannedResponse]) -> Step {
        .provider(ProviderPlan(provider: .oneSignal, responses: responses))
    }

    // MARK: Between steps

    @Test(
        "the backend is stopped with the signal and restarted",
        arguments: Restart.Signal.allCases
    )
    func restarts(signal: Restart.Signal) throws {
        let bench = SimulationBench()
        let record = try Self.run([.restart(Restart(signal: signal))], bench)
        #expect(bench.backend.process.operations == ["stop \(signal.rawValue)", "launch"])
        #expect(record.runProblem == nil)
        let entry = try #require(
            record.exchanges.first { if case .restart = $0.purpose { true } else { false } }
        )
        #expect(entry.response?.status == 200)
        #expect(entry.completed != nil)
        #expect(bench.executor.backend.processNumber == 1)
    }

    @Test(
        "a backend that refuses to start without its secret accepts no event",
        arguments: SecretChange.Value.allCases
    )
    func refusesToStart(value: SecretChange.Value) throws {
        let bench = SimulationBench()
        bench.backend.process.launchError = "no secret"
        let change = SecretChange(secretNames: ["revenuecat-authorization"], value: value)
        let record = try Self.run(
            [
                .restart(Restart(signal: .kill, secretChange: change)),
                .deliver(Self.purchase()),
            ],
            bench
        )
        #expect(bench.backend.process.operations.first == "stop KILL")
        #expect(record.runProblem == nil)
        // The backend gets its own secrets again after the case.
        #expect(bench.backend.secretChange == nil)
    }

    @Test func `a backend restarts in another time zone and is reset afterwards`() throws {
        let bench = SimulationBench()
        _ = try Self.run([.restart(Restart(signal: .kill, timeZone: "Asia/Kathmandu"))], bench)
        #expect(
            bench.backend.process.operations == [
                "stop KILL", "launch in Asia/Kathmandu", "stop TERM", "launch",
            ]
        )
        #expect(bench.backend.timeZone == nil)
    }

    @Test func `a backend that does not restart is a run problem`() throws {
        let bench = SimulationBench()
        bench.backend.process.launchError = "no such file"
        let record = try Self.run(
            [.restart(Restart(signal: .kill)), .deliver(Self.purchase())],
            bench
        )
        #expect(record.runProblem == .restartFailed("no such file"))
        #expect(bench.backend.webhooks.isEmpty, "nothing follows after trouble")
        guard case .failed(.refused, let text)? = record.exchanges.last?.outcome else {
            Issue.record("the journal does not say so")
            return
        }
        #expect(text == "no such file")
    }

    @Test func `a restart waits for the provider failure`() throws {
        let bench = SimulationBench()
        bench.model.pushDelay = .microseconds(37_300)
        _ = try Self.run(
            [
                Self.failPushes([.status(500)]), .deliver(Self.purchase()),
                .restart(Restart(signal: .kill)),
            ],
            bench
        )
        let restart = try #require(bench.journal("n-1").last { $0.response?.status == 200 })
        let push = try #require(bench.journal("n-1").first { $0.to == .oneSignal })
        #expect(push.response?.status == 500)
        // Not a moment later than the call: nobody looks every so often.
        #expect(restart.invoked == push.invoked)
    }

    @Test func `a call that never comes is waited for only until the settle timeout`() throws {
        let bench = SimulationBench { $0.settleTimeout = .milliseconds(700) }
        bench.model.pushDelay = nil
        _ = try Self.run(
            [
                Self.failPushes([.status(500)]), .deliver(Self.purchase()),
                .restart(Restart(signal: .kill)),
            ],
            bench
        )
        let delivered = try #require(bench.backend.webhooks.first).time + bench.model.work
        let restart = try #require(bench.journal("n-1").last)
        #expect(restart.invoked == (delivered + .milliseconds(700)).microseconds)
    }

    @Test func `a provider that does not fail is not waited for`() throws {
        let bench = SimulationBench()
        bench.model.pushDelay = nil
        _ = try Self.run(
            [
                Self.failPushes([.asUsual, .status(500)]), .deliver(Self.purchase()),
                .restart(Restart(signal: .kill)),
            ],
            bench
        )
        #expect(bench.clock.now < .milliseconds(20))
    }

    // MARK: During a delivery

    /// What the sender makes of it, and what the backend saw.
    @Test(
        "the backend is killed during a delivery",
        arguments: Crash.Phase.allCases,
        Restart.Signal.allCases
    )
    func crash(phase: Crash.Phase, signal: Restart.Signal) throws {
        let bench = SimulationBench()
        bench.model.pushDelay = nil
        bench.model.work = .milliseconds(20)
        let record = try Self.run(
            [.deliver(Self.purchase(Crash(signal: signal, phase: phase)))],
            bench
        )
        let attempts = record.exchanges.filter { $0.from == .revenueCat }
        #expect(bench.backend.process.operations == ["stop \(signal.rawValue)", "launch"])
        switch phase {
        case .halfSent:
            #expect(attempts.map(\.outcome).first == .requestCut)
            #expect(bench.backend.webhooks.first?.fault.percent == 50)
        case .sent, .early, .working, .late:
            #expect(attempts.map(\.outcome).first == .answerLost(nil))
            #expect(bench.backend.webhooks.first?.fault.percent == 100)
        case .answered:
            #expect(attempts.first?.response?.status == 200)
        }
        // Whoever heard a 200 does not try again.
        #expect(attempts.count == (phase == .answered ? 1 : 2))
        #expect(attempts.last?.response?.status == 200)
        #expect(bench.model.owned.count == 1)
    }

    @Test(
        "the backend is killed at that share of its usual latency",
        arguments: [
            (Crash.Phase.sent, Int64(0)), (.early, 3750), (.working, 15_000), (.late, 26_250),
        ]
    )
    func moments(phase: Crash.Phase, microseconds: Int64) throws {
        let bench = SimulationBench()
        bench.model.work = .milliseconds(40)
        let died = try bench.run { bench in
            var play = bench.open()
            play.latency = .milliseconds(30)
            let start = bench.clock.now
            let isOver = await play.deliver(
                Self.purchase(),
                Array("{}".utf8),
                Crash(signal: .kill, phase: phase)
            )
            let restart = bench.journal("n-1").last { $0.from == .assay }
            return (isOver, (restart?.invoked ?? 0) - start.microseconds)
        }
        #expect(died == (false, microseconds))
    }

    @Test func `a non-200 response before the kill does not count`() throws {
        let bench = SimulationBench()
        bench.backend.respondToWebhooks(.status(503))
        let record = try Self.run(
            [.deliver(Self.purchase(Crash(signal: .kill, phase: .answered)))],
            bench
        )
        let first = record.exchanges.first { $0.from == .revenueCat }
        #expect(first?.outcome == .answerLost(nil))
    }

    @Test func `a backend that does not restart ends the retry schedule`() throws {
        let bench = SimulationBench()
        bench.backend.process.launchError = "the port is taken"
        let record = try Self.run(
            [.deliver(Self.purchase(Crash(signal: .kill, phase: .sent)))],
            bench
        )
        #expect(record.runProblem == .restartFailed("the port is taken"))
        #expect(record.exchanges.count { $0.from == .revenueCat } == 1)
    }

    // MARK: At a call

    private static func killAt(_ position: Int) -> [Step] {
        var again = Delivery(name: "again", subject: .repeats("a"))
        again.followsRetrySchedule = true
        return [
            failPushes([.hangThenReset(200)]), .deliver(purchase()),
            .killAtCall(party: .oneSignal, position: position), .deliver(again),
        ]
    }

    @Test("the backend is killed at the call with that position", arguments: 1...4)
    func killer(position: Int) throws {
        let bench = SimulationBench()
        bench.model.pushCount = 4
        bench.backend.respond = { backend, arrival in
            guard let user = arrival.event?["app_user_id"]?.string else { return nil }
            // Four calls, eleven milliseconds apart, and the answer after all of them.
            for _ in 0..<4 {
                await backend.clock.pause(.milliseconds(11))
                bench.model.push(to: user)
            }
            return .status(200)
        }
        let record = try Self.run(Self.killAt(position), bench)
        #expect(record.runProblem == nil)
        let calls = record.exchanges.filter { $0.to == .oneSignal }
        try #require(calls.count >= position)
        let stop = try #require(
            record.exchanges.first { if case .restart = $0.purpose { true } else { false } }
        )
        #expect(stop.invoked == calls[position - 1].invoked, "at the call, and at no other")
        #expect(bench.backend.process.operations.first == "stop KILL")
        // What was planned for that call is over when it is back.
        #expect(calls.dropFirst(position).allSatisfy { $0.response?.status == 200 })
        #expect(bench.backend.webhooks.count > 1, "its events come once more")
    }

    @Test func `a call that is never made is a run problem`() throws {
        let bench = SimulationBench { $0.settleTimeout = .milliseconds(400) }
        let record = try Self.run(Self.killAt(3), bench)
        let text = "the backend did not make the call at which the case kills it"
        #expect(record.runProblem == .faultNotApplied(text))
        #expect(bench.backend.process.operations.isEmpty)
        #expect(bench.clock.now < .seconds(1))
    }

    @Test func `a failed restart at a call is reported like a missed call`() throws {
        let bench = SimulationBench()
        bench.backend.process.launchError = "gone for good"
        let record = try Self.run(Self.killAt(1), bench)
        #expect(record.runProblem != nil)
        #expect(bench.backend.process.operations.filter { $0 == "launch" }.count == 1)
    }

    @Test func `a cancelled run cancels its kill task`() throws {
        let bench = SimulationBench()
        bench.model.pushDelay = nil
        let time = try bench.run { bench in
            let work = bench.clock.task {
                await bench.record(SimulationBench.plan(Self.killAt(1)))
            }
            await bench.clock.pause(.milliseconds(50))
            work.cancel()
            _ = await work.value
            bench.model.push(to: "n-1")
            await bench.clock.pause(.milliseconds(50))
            return bench.clock.now
        }
        #expect(time < .seconds(1))
        #expect(bench.backend.process.operations.isEmpty)
    }

    // MARK: Calls of the backend

    private static func calls(
        _ party: Exchange.Party = .oneSignal,
        first: Int = 0
    ) -> BackendCalls {
        BackendCalls(party: party, namespace: "n-1", first: first)
    }

    @Test("calls are noticed immediately", arguments: UInt64(0)..<6)
    func noticed(seed: UInt64) throws {
        let bench = SimulationBench(seed: seed)
        let times = try bench.run { bench in
            let play = bench.open()
            let user = play.namespace.id(of: "ada")
            let waiting = (1...3).map { count in
                bench.clock.task {
                    (await bench.executor.waitForCalls(count, of: Self.calls()), bench.clock.now)
                }
            }
            for delay in [7, 20, 33] {
                bench.model.push(to: user, after: .microseconds(delay * 1000 + 123))
            }
            var found: [Duration] = []
            for task in waiting {
                let (waitForCalls, time) = await task.value
                if waitForCalls { found.append(time) }
            }
            return found
        }
        #expect(times == [7123, 20_123, 33_123].map { .microseconds($0) })
    }

    @Test func `earlier calls of the run count at once, and calls before the run do not`() throws {
        let bench = SimulationBench { $0.settleTimeout = .milliseconds(100) }
        let found = try bench.run { bench in
            let play = bench.open()
            let user = play.namespace.id(of: "ada")
            for _ in 0..<2 {
                bench.model.call(.oneSignal, PurchaseModel.notification(to: user))
            }
            let two = await bench.executor.waitForCalls(2, of: Self.calls())
            let time = bench.clock.now
            let later = await bench.executor.waitForCalls(2, of: Self.calls(first: 1))
            return (two, time, later, bench.clock.now)
        }
        #expect(found == (true, .zero, false, .milliseconds(100)))
    }

    @Test func `calls of other runs, services and callers do not count`() throws {
        let bench = SimulationBench { $0.settleTimeout = .milliseconds(100) }
        let waitForCalls = try bench.run { bench in
            let mine = bench.open().namespace
                .id(of: "ada")
            let other = bench.open("n-2").namespace
                .id(of: "ada")
            let waiting = bench.clock.task {
                await bench.executor.waitForCalls(1, of: Self.calls())
            }
            await bench.clock.pause(.milliseconds(1))
            bench.model.call(.oneSignal, PurchaseModel.notification(to: other))
            bench.model.call(.oneSignal, PurchaseModel.notification(to: "nobody"))
            bench.model.readCustomer(mine)
            _ = bench.fakes.call(
                .oneSignal,
                PurchaseModel.notification(to: mine),
                namespace: "n-1"
            )
            return await waiting.value
        }
        #expect(!waitForCalls)
    }
}

extension AttemptFault {
    /// How much of the body goes out before it is held; nil when it is not.
    fileprivate var percent: Int? {
        if case .held(_, let percent) = self { percent } else { nil }
    }
}
