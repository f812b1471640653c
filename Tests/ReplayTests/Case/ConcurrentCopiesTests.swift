import Contracts
import Judging
import Providers
import TestBackend
import Testing
import Values

@testable import Replay

/// Copies that are held back before their last byte and then released together.
@Suite("Held copies")
struct ConcurrentCopiesTests {
    private static func copies(_ times: Int) -> Delivery {
        let spec = EventSpec(type: .documented(.initialPurchase), user: "ada")
        var delivery = Delivery(name: "a", subject: .event(spec))
        delivery.times = times
        delivery.sendsCopiesConcurrently = true
        return delivery
    }

    private static func run(_ steps: [Delivery], _ bench: SimulationBench) throws -> RunRecord {
        try bench.run { bench in
            await bench.record(
                SimulationBench.plan(steps.map(Step.deliver), observesFinalState: false)
            )
        }
    }

    @Test("all copies are in flight before the first response", arguments: [1, 2, 3, 8, 40])
    func overlap(times: Int) throws {
        for seed in UInt64(0)..<4 {
            let bench = SimulationBench(seed: seed)
            let record = try Self.run([Self.copies(times)], bench)
            let attempts = record.exchanges.filter { $0.from == .revenueCat }
            #expect(attempts.count == times)
            let firstEnd = try #require(attempts.compactMap(\.completed).min())
            #expect(attempts.allSatisfy { $0.invoked < firstEnd })
            #expect(ConcurrentRequestsRule.overlappingRequestCount(in: record) == times)
            #expect(attempts.allSatisfy { $0.response?.status == 200 })
            #expect(
                attempts.map(\.purpose)
                    == (1...times).map { .delivery(name: "a", attempt: $0) }
            )
            // Each has a connection of its own, that was open before.
            #expect(bench.backend.webhooks.map(\.lane).sorted() == Array(0..<times))
            #expect(bench.backend.connections.openedLaneCounts == [times])
            #expect(Set(bench.backend.webhooks.map(\.request.body)).count == 1)
        }
    }

    // MARK: With others

    private static func event(
        _ type: String,
        _ change: (inout Delivery) -> Void = { _ in }
    ) -> Delivery {
        let name = type.lowercased()
        var delivery = Delivery(
            name: name,
            subject: .event(EventSpec(type: RevenueCatEventType(rawValue: type), user: "ada"))
        )
        change(&delivery)
        return delivery
    }

    @Test func `a concurrent event is sent together with the next ones`() throws {
        let steps = [
            Self.event("INITIAL_PURCHASE") { $0.isConcurrentWithNext = true },
            Self.event("RENEWAL") {
                $0.isConcurrentWithNext = true
                $0.times = 2
            },
            Self.event("CANCELLATION"), Self.event("EXPIRATION"),
        ]
        let bench = SimulationBench()
        let record = try Self.run(steps, bench)
        let attempts = record.exchanges.filter { $0.from == .revenueCat }
        let firstEnd = try #require(attempts.compactMap(\.completed).min())
        let early = attempts.filter { $0.invoked < firstEnd }.map(\.purpose)
        #expect(
            early == [
                .delivery(name: "initial_purchase", attempt: 1),
                .delivery(name: "renewal", attempt: 1), .delivery(name: "renewal", attempt: 2),
                .delivery(name: "cancellation", attempt: 1),
            ]
        )
        #expect(attempts.count == 5)
        #expect(attempts.allSatisfy { $0.response?.status == 200 })
        #expect(ConcurrentRequestsRule.overlappingRequestCount(in: record) == 4)
        #expect(bench.backend.connections.openedLaneCounts == [4])
    }

    @Test func `a refused concurrent event is retried exclusively on its schedule`() throws {
        let bench = SimulationBench()
        bench.backend.respond = { backend, arrival in
            guard backend.webhooks.count == 2, arrival.request.path.hasSuffix("revenuecat"),
                String(decoding: arrival.request.body, as: UTF8.self).contains("\"RENEWAL\"")
            else { return nil }
            return .status(503)
        }
        let steps = [
            Self.event("INITIAL_PURCHASE") {
                $0.isConcurrentWithNext = true
                $0.followsRetrySchedule = true
            },
            Self.event("RENEWAL") { $0.followsRetrySchedule = true },
        ]
        let record = try Self.run(steps, bench)
        let attempts = record.exchanges.filter { $0.from == .revenueCat }
        #expect(attempts.map { $0.response?.status } == [200, 503, 200])
        #expect(attempts.last?.purpose == .delivery(name: "renewal", attempt: 2))
        let pause = try #require(attempts.last).at - attempts[1].at
        #expect(pause >= .seconds(300), "the ladder's first rung, in the contract's time")
    }

    @Test func `an event that waits for a removed step is sent before the next step`() throws {
        let bench = SimulationBench()
        let purchase = Self.event("INITIAL_PURCHASE") { $0.isConcurrentWithNext = true }
        for steps in [[Step.deliver(purchase), .probe(user: "ada")], [.deliver(purchase)]] {
            let record = try bench.run { bench in
                await bench.record(SimulationBench.plan(steps), in: "n-\(steps.count)")
            }
            let first = record.exchanges.first { $0.from == .revenueCat }
            #expect(first?.response?.status == 200)
            let look = record.exchanges.first {
                $0.purpose == .probe(name: "subscription", user: "ada")
            }
            #expect((look?.invoked ?? .max) > (first?.completed ?? .max))
        }
    }

    @Test func `copies after a delivery with the same name keep counting attempts`() throws {
        var single = Self.copies(1)
        single.sendsCopiesConcurrently = false
        let record = try Self.run([single, Self.copies(2)], SimulationBench())
        let numbers = record.exchanges.compactMap {
            if case .delivery(_, let number) = $0.purpose { number } else { nil }
        }
        #expect(numbers == [1, 2, 3])
    }

    @Test func `an early response is recorded without waiting for the rest`() throws {
        let bench = SimulationBench()
        bench.backend.connections.earlyStatus = 401
        let record = try Self.run([Self.copies(3)], bench)
        let attempts = record.exchanges.filter { $0.from == .revenueCat }
        #expect(attempts.map { $0.response?.status } == [401, 401, 401])
        #expect(bench.clock.now < .seconds(1))
        #expect(!record.servesOneRequestAtATime)
    }

    @Test func `a backend that responds to no request meanwhile is reported`() throws {
        let bench = SimulationBench()
        bench.backend.connections.workerCount = 1
        let record = try Self.run([Self.copies(2)], bench)
        #expect(record.servesOneRequestAtATime)
        // The look at it takes two seconds; then the copies go on, and are answered.
        let attempts = record.exchanges.filter { $0.from == .revenueCat }
        #expect(attempts.map { $0.response?.status } == [200, 200])
        #expect(bench.clock.now > .seconds(2))
        #expect(try !Self.run([Self.copies(2)], SimulationBench()).servesOneRequestAtATime)
    }

    @Test func `a backend with fewer workers than copies is not said to be serial`() throws {
        let bench = SimulationBench()
        bench.backend.connections.workerCount = 2
        #expect(try !Self.run([Self.copies(3)], bench).servesOneRequestAtATime)
        // The request to which it did not respond took two seconds.
        #expect(bench.clock.now > .seconds(2))
    }

    @Test func `one check detects whether a backend serves one request at a time`() throws {
        for isSerial in [false, true] {
            let bench = SimulationBench()
            if isSerial { bench.backend.connections.workerCount = 1 }
            let found = try bench.run { await $0.executor.servesOneRequestAtATime() }
            #expect(found == isSerial)
            let webhook = try #require(bench.backend.webhooks.first)
            guard case .held(_, let percent) = webhook.fault else {
                Issue.record("the webhook was not held")
                return
            }
            #expect(percent == 50)
            #expect(bench.backend.webhooks.count == 1)
            #expect(bench.model.owned.isEmpty, "what breaks off takes no effect")
            #expect(bench.journal("").isEmpty, "no case owns it")
        }
    }

    @Test func `copies to an unreachable backend end too`() throws {
        let bench = SimulationBench()
        let record = try bench.run { bench in
            var play = bench.open()
            bench.backend.process.isListening = false
            await play.release(
                [HeldDelivery(delivery: Self.copies(3), body: Array("{}".utf8))],
                alongside: []
            )
            return bench.journal("n-1")
        }
        #expect(record.count == 3)
        for attempt in record {
            #expect(attempt.outcome == .failed(.refused, "the connection was refused"))
        }
    }
}
