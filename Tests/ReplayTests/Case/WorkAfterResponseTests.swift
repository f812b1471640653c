import Contracts
import FakeServers
import Judging
internal import Providers
import TestBackend
import Testing
import Values

@testable import Replay

/// A backend that acknowledges events and works later, as RevenueCat advises, is not blamed for what
/// it had no time for.
@Suite("Work after the response")
struct WorkAfterResponseTests {
    /// Answers at once; a purchase takes 50 ms, an end 5, and an end of what is not there is nothing.
    private static func bench(purchase: Duration, end: Duration) -> SimulationBench {
        let bench = SimulationBench { $0.unsupportedFeatures = [.push] }
        bench.model.pushDelay = nil
        bench.backend.respond = { backend, arrival in
            guard let event = arrival.event, let user = event["app_user_id"]?.string else {
                return nil
            }
            let isEnd = event["type"] == "EXPIRATION"
            _ = backend.clock.task {
                await backend.clock.pause(isEnd ? end : purchase)
                bench.model.note(user, owns: isEnd ? nil : "basic")
            }
            return .status(200)
        }
        return bench
    }

    private static let ended = SimulatedContracts.contract(
        "ended",
        [SimulatedContracts.deliver("end", "EXPIRATION", at: .seconds(60))],
        given: [SimulatedContracts.deliver("a")],
        states: [("access", false)]
    )

    private static func outcome(_ bench: SimulationBench, _ contract: Contract) throws
        -> CaseRunnerFixture.Outcome
    {
        try CaseRunnerFixture(bench: bench, contracts: [contract], keepsEvidence: true).run()
    }

    @Test func `a queue that was empty at first is recognized later`() async throws {
        let pace = Locked<Duration>(.zero)
        let bench = SimulationBench { $0.unsupportedFeatures = [.push] }
        bench.model.pushDelay = nil
        bench.backend.respond = { backend, arrival in
            guard let user = arrival.event?["app_user_id"]?.string else { return nil }
            let time = pace.withLock { $0 }
            guard time > .zero else { return nil }
            _ = backend.clock.task {
                await backend.clock.pause(time)
                bench.model.note(user, owns: "basic")
            }
            return .status(200)
        }
        let sights = try bench.runWithHeartbeat { bench in
            let sentinel = Sentinel(run: bench.executor)
            var expected = SimulationBench.observability
            expected.arePushesObservable = false
            var known: [Bool?] = []
            for (index, time) in [Duration.zero, .milliseconds(40), .zero].enumerated() {
                pace.withLock { $0 = time }
                _ = await sentinel.observePurchase("s-\(index)", wait: .seconds(1), expected)
                known.append(
                    bench.executor.updatedObservability(SimulationBench.observability)
                        .appliesEventsLater
                )
            }
            return known
        }
        #expect(sights == [nil, true, true])
    }

    @Test func `given state exists before the steps begin`() throws {
        let bench = Self.bench(purchase: .milliseconds(50), end: .milliseconds(5))
        let outcome = try Self.outcome(bench, Self.ended)
        #expect(outcome.verdicts == [.passed])
        #expect(outcome.results.first?.evidence?.observability.appliesEventsLater == true)
        let order = bench.backend.webhooks.compactMap { $0.event?["type"]?.string }
        // Two purchases of calibration, the given one, one that shows that it had its turn, and one
        // after the steps.
        #expect(order.count == 6)
        #expect(order.last(where: { $0 != "INITIAL_PURCHASE" }) == "EXPIRATION")
    }

    @Test func `a backend that works before it responds is not waited for`() throws {
        let bench = SimulationBench { $0.unsupportedFeatures = [.push] }
        let outcome = try Self.outcome(bench, Self.ended)
        #expect(outcome.results.first?.evidence?.observability.appliesEventsLater == false)
        #expect(bench.backend.webhooks.count == 5)
    }

    @Test func `a push after the response comes before the steps begin`() throws {
        let bench = SimulationBench()
        bench.model.pushDelay = .milliseconds(250)
        let outcome = try Self.outcome(bench, Self.ended)
        let evidence = try #require(outcome.results.first?.evidence)
        #expect(evidence.observability.appliesEventsLater == false)
        let push = try #require(evidence.subject.exchanges.first { !$0.effects.isEmpty })
        let end = try #require(
            evidence.subject.exchanges.first {
                if case .delivery("end", _) = $0.purpose { true } else { false }
            }
        )
        #expect(push.invoked < end.invoked)
        // The quiet time needs no further purchase.
        #expect(bench.backend.webhooks.count == 5)
    }

    @Test func `only events are waited for`() throws {
        let bench = Self.bench(purchase: .milliseconds(50), end: .milliseconds(5))
        let contract = SimulatedContracts.contract(
            "bought",
            [SimulatedContracts.deliver("a")],
            states: [("access", true)]
        )
        #expect(try Self.outcome(bench, contract).verdicts == [.passed])
        #expect(bench.backend.webhooks.count == 4)
    }

    @Test func `each baseline except in-order knows its given state`() {
        func baseline(_ relation: Expectation.BaselineRelation) -> RunPlan? {
            let contract = SimulatedContracts.contract(
                "twin",
                [SimulatedContracts.deliver("b")],
                given: [
                    SimulatedContracts.deliver("a"), .deliver(SimulatedContracts.again("a")),
                    SimulatedContracts.fail([.status(500)]),
                ],
                like: relation
            )
            return CasePlan(contract).baseline
        }
        // The user and the event; a repeat is no event of its own, and nothing fails in a twin.
        #expect(baseline(.once)?.preparationStepCount == 2)
        #expect(baseline(.faultFree)?.preparationStepCount == 3)
        #expect(baseline(.inOrder)?.preparationStepCount == nil)
        for relation in Expectation.BaselineRelation.allCases {
            guard let baseline = baseline(relation), let count = baseline.preparationStepCount
            else {
                continue
            }
            #expect(count <= baseline.steps.count)
        }
    }
}
