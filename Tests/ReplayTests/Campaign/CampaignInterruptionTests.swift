import Contracts
import Exploration
import FakeServers
import Judging
import TestBackend
import Testing
import Values

@testable import Replay

/// What a campaign says beside its lives: nothing of those that are broken off, and whom else the backend
/// has called.
@Suite("Interrupted campaigns")
struct CampaignInterruptionTests {
    /// The webhooks of both plain purchases that a campaign begins with are answered.
    private static let answeredCount = 2

    private static func campaign(
        _ bench: SimulationBench,
        stopsAtFirstFailure: Bool = false,
        time: Duration? = nil
    ) -> Campaign {
        var generator = HistoryGenerator.Options(
            capabilities: Capabilities(features: [], canReadState: true, backendChoosesIDs: false)
        )
        generator.kinds = [.purchase]
        generator.faults = [.duplicate]
        // None is much longer than the others.
        generator.operationsMax = 2
        var options = Campaign.Options(seed: 1, jobs: 4, nonce: "t")
        options.historyCountMax = 1000
        options.stopsAtFirstFailure = stopsAtFirstFailure
        options.time = time
        options.shrinkTime = .milliseconds(200)
        return Campaign(executor: bench.executor, source: .init(generator), options: options) {
            _ in
        }
    }

    @Test func `an interrupted history does not count`() throws {
        let bench = SimulationBench()
        bench.backend.respond = { backend, arrival in
            guard arrival.event != nil, backend.webhooks.count > Self.answeredCount else {
                return nil
            }
            await backend.clock.pause(.seconds(3600))
            return nil
        }
        let outcome = try bench.run { bench in
            let run = bench.clock.task { await Self.campaign(bench).run() }
            await bench.clock.pause(.seconds(30))
            run.cancel()
            return await run.value
        }
        #expect(bench.backend.webhooks.count > Self.answeredCount, "lives were under way")
        #expect(outcome.skipReasons.isEmpty)
        #expect(outcome.found.isEmpty && outcome.flakyFailures.isEmpty)
        #expect(outcome.inconclusive.isEmpty && outcome.clauses.isEmpty)
        #expect(outcome.cases.allSatisfy { $0.verdict != .failed })
    }

    @Test("a push to no user is reported, and a late one is not", arguments: [false, true])
    func strayPush(isLate: Bool) throws {
        let bench = SimulationBench()
        let unknownUser = isLate ? "assay-t-0-ada" : "somebody else"
        if isLate {
            bench.fakes.open("t-0", ids: [unknownUser], at: bench.executor.base)
            bench.fakes.retire("t-0")
        }
        bench.model.push(to: unknownUser, after: .seconds(1))
        let outcome = try bench.run { bench in
            await bench.clock.pause(.seconds(2))
            return await Self.campaign(bench, stopsAtFirstFailure: true).run()
        }
        let stray = outcome.invariantViolations.filter {
            $0.contract.id == "run/reaches-known-people"
        }
        #expect(stray.map(\.verdict) == (isLate ? [] : [.failed]))
    }

    @Test("a rate limit of the webhook is reported once", arguments: [false, true])
    func rateLimit(isThrottled: Bool) throws {
        let bench = SimulationBench()
        bench.backend.respond = { backend, arrival in
            guard isThrottled, arrival.event != nil, backend.webhooks.count > Self.answeredCount,
                backend.webhooks.count.isMultiple(of: 3)
            else { return nil }
            return .status(429)
        }
        let outcome = try bench.run { await Self.campaign($0, time: .seconds(20)).run() }
        let limits = outcome.invariantViolations.filter { $0.contract.id == "run/takes-bursts" }
        #expect(limits.flatMap(\.findings).map(\.code) == (isThrottled ? [.webhookThrottled] : []))
    }

    /// On a busy machine lives that take their time are no sign of a backend that answers nobody.
    @Test(
        "a step may last as long as histories last on this machine",
        arguments: [(12, false), (3600, true)]
    )
    func grace(_ seconds: Int, endsEarly: Bool) throws {
        let bench = SimulationBench()
        let slow = 20
        bench.backend.respond = { backend, arrival in
            guard arrival.event != nil, backend.webhooks.count > Self.answeredCount else {
                return nil
            }
            let isLate = backend.webhooks.count > slow
            await backend.clock.pause(.seconds(isLate ? seconds : 12))
            return nil
        }
        let outcome = try bench.run { await Self.campaign($0, time: .seconds(61)).run() }
        #expect((outcome.end != nil) == endsEarly, "\(outcome.end ?? "")")
    }

    @Test func `the same backend fails if the campaign waits for it`() throws {
        let bench = SimulationBench()
        bench.backend.respond = { backend, arrival in
            guard arrival.event != nil, backend.webhooks.count > Self.answeredCount else {
                return nil
            }
            return .failure(.closed, "the connection was closed")
        }
        let outcome = try bench.run { await Self.campaign($0, stopsAtFirstFailure: true).run() }
        #expect(outcome.found.first?.failureSignature.code == .noResponse)
    }
}
