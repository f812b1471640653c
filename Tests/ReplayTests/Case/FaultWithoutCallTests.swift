import Contracts
import FakeServers
import Judging
import Providers
import TestBackend
import Testing
import Values

@testable import Replay

/// A case lets a call fail that the backend may not make at all.
@Suite("Faults without a matching call")
struct FaultWithoutCallTests {
    /// A purchase while RevenueCat's REST API fails.
    private static func contract(like relation: Expectation.BaselineRelation?) -> Contract {
        let failing = ProviderPlan(
            provider: .revenueCat,
            responses: [.status(503)],
            includesReads: true
        )
        return SimulatedContracts.contract(
            "unreadable",
            [.provider(failing), SimulatedContracts.deliver("a")],
            like: relation,
            states: [("access", true)]
        )
    }

    private static func read(_ user: String) -> HTTPMessage.Request {
        HTTPMessage.Request("GET", "/v1/subscribers/\(user)")
    }

    /// The result before a backend that reads the customers of the events that the test names.
    private static func result(
        like relation: Expectation.BaselineRelation?,
        readsIn isRead: @escaping @Sendable (_ event: Int) -> Bool
    ) throws -> CaseResult {
        let bench = SimulationBench()
        bench.backend.respond = { backend, arrival in
            if let user = arrival.event?["app_user_id"]?.string, isRead(backend.webhooks.count) {
                bench.model.call(.revenueCat, Self.read(user))
            }
            return nil
        }
        let outcome = try bench.verify(contract(like: relation))
        return try #require(outcome["unreadable"])
    }

    @Test(
        "a backend that never makes the call is not testable",
        arguments: [Expectation.BaselineRelation.faultFree, nil]
    )
    func neverReads(relation: Expectation.BaselineRelation?) throws {
        let result = try Self.result(like: relation) { _ in false }
        #expect(result.verdict == .notRun)
        #expect(result.isDeclaredUnsupported, "the exit code stays 0")
        #expect(result.note?.contains("needs a call from the backend to revenuecat") == true)
        #expect(result.findings.isEmpty)
    }

    @Test func `a backend that makes the call is judged`() throws {
        let result = try Self.result(like: .faultFree) { _ in true }
        #expect(result.verdict == .passed)
    }

    /// Calibration delivers two events, and the baseline runs before the case.
    @Test func `a call made only in the fault-free run leaves a doubt`() throws {
        let events = Locked(0)
        let result = try Self.result(like: .faultFree) { _ in
            events.withLock { count in
                count += 1
                return (3...6).contains(count)
            }
        }
        #expect(result.verdict == .inconclusive)
        #expect(result.findings.map(\.code) == [.faultNotApplied])
    }
}
