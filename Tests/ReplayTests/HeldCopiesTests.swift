import Conformance
import Testing

@testable import Replay

/// Copies that are held back before their last byte and then released together.
@Suite("Held copies")
struct HeldCopiesTests {
    private static func copies(_ times: Int) -> Delivery {
        let spec = EventSpec(type: "INITIAL_PURCHASE", user: "ada")
        var delivery = Delivery(name: "a", subject: .event(spec))
        delivery.times = times
        delivery.isTogether = true
        return delivery
    }

    private static func run(_ steps: [Delivery], _ bench: Bench) throws -> RunRecord {
        try bench.run { bench in
            await bench.executor.run(
                Bench.plan(steps.map(Step.deliver), observes: false),
                in: "n-1",
                sight: Bench.sight,
                within: Bench.within
            ) { _ in .settled }
        }
    }

    @Test("all are in flight before the first is answered", arguments: [1, 2, 3, 8, 40])
    func overlap(times: Int) throws {
        for seed in UInt64(0)..<4 {
            let bench = Bench(seed: seed)
            let record = try Self.run([Self.copies(times)], bench)
            let attempts = record.exchanges.filter { $0.from == .revenueCat }
            #expect(attempts.count == times)
            let firstEnd = try #require(attempts.compactMap(\.completed).min())
            #expect(attempts.allSatisfy { $0.invoked < firstEnd })
            #expect(OverlapRule.overlap(in: record) == times)
            #expect(attempts.allSatisfy { $0.response?.status == 200 })
            #expect(
                attempts.map(\.purpose)
                    == (1...times).map { .delivery(name: "a", attempt: $0) }
            )
            // Each has a connection of its own, that was open before.
            #expect(bench.backend.webhooks.map(\.lane).sorted() == Array(0..<times))
            #expect(bench.backend.warmed == [times])
            #expect(Set(bench.backend.webhooks.map(\.request.body)).count == 1)
        }
    }

    @Test func `copies after a delivery of the same name count on`() throws {
        var single = Self.copies(1)
        single.isTogether = false
        let record = try Self.run([single, Self.copies(2)], Bench())
        let numbers = record.exchanges.compactMap {
            if case .delivery(_, let number) = $0.purpose { number } else { nil }
        }
        #expect(numbers == [1, 2, 3])
    }

    @Test func `a backend that answers before the end is not waited for, and is heard`() throws {
        let bench = Bench()
        bench.backend.earlyStatus = 401
        let record = try Self.run([Self.copies(3)], bench)
        let attempts = record.exchanges.filter { $0.from == .revenueCat }
        #expect(attempts.map { $0.response?.status } == [401, 401, 401])
        #expect(bench.clock.now < .seconds(1))
        #expect(!record.isSerialised)
    }

    @Test func `a backend that answers nobody meanwhile is told of`() throws {
        let bench = Bench()
        bench.backend.isSerial = true
        let record = try Self.run([Self.copies(2)], bench)
        #expect(record.isSerialised)
        // The look at it takes two seconds; then the copies go on, and are answered.
        let attempts = record.exchanges.filter { $0.from == .revenueCat }
        #expect(attempts.map { $0.response?.status } == [200, 200])
        #expect(bench.clock.now > .seconds(2))
        #expect(try !Self.run([Self.copies(2)], Bench()).isSerialised)
    }

    @Test func `one look at a backend tells whether it takes one request at a time`() throws {
        for isSerial in [false, true] {
            let bench = Bench()
            bench.backend.isSerial = isSerial
            let found = try bench.run { await $0.executor.isSerialised() }
            #expect(found == isSerial)
            let webhook = try #require(bench.backend.webhooks.first)
            guard case .held(_, let percent) = webhook.disturbance else {
                Issue.record("the webhook was not held")
                return
            }
            #expect(percent == 50)
            #expect(bench.backend.webhooks.count == 1)
            #expect(bench.backend.owned.isEmpty, "what breaks off takes no effect")
            #expect(bench.journal("").isEmpty, "no case owns it")
        }
    }

    @Test func `copies to a backend that is gone end all the same`() throws {
        let bench = Bench()
        let record = try bench.run { bench in
            var play = bench.executor.open(Bench.plan([]), "n-1", within: Bench.within)
            bench.backend.isGone = true
            await play.deliverTogether(Self.copies(3), Array("{}".utf8))
            return bench.journal("n-1")
        }
        #expect(record.count == 3)
        for attempt in record {
            #expect(attempt.outcome == .failed(.refused, "the connection was refused"))
        }
    }
}
