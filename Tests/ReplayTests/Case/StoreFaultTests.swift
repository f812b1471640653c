import Contracts
import FakeServers
import Judging
import TestBackend
import Testing
import Values

@testable import Replay

/// A store that fails by plan: whoever loses the event, or takes its retry for a duplicate, is told.
@Suite("Database failures")
struct StoreFaultTests {
    /// How a backend meets the failure.
    private enum Kind: CaseIterable {
        /// Stores all or nothing, and says so.
        case correct
        /// Says 200 whatever happens.
        case acknowledges
        /// Remembers the event before its work, and takes the retry for a duplicate.
        case remembers
        /// Is not hit by the profile's `break`.
        case untouched
    }

    private static func bench(_ kind: Kind, hook: Int = 200) -> SimulationBench {
        let bench = SimulationBench {
            $0.fault = Profile.Fault(
                breakAction: .request(Profile.Endpoint(method: "POST", path: "/fault")),
                repairAction: .request(Profile.Endpoint(method: "DELETE", path: "/fault"))
            )
        }
        let isBroken = Locked(false)
        let seen = Locked<Set<String>>([])
        bench.backend.respond = { _, arrival in
            if arrival.request.path == "/fault" {
                isBroken.withLock { $0 = arrival.request.method == "POST" }
                return .status(hook)
            }
            guard let id = arrival.event?["id"]?.string else { return nil }
            let isFailing = isBroken.withLock { $0 } && kind != .untouched
            if kind == .remembers, !seen.withLock({ $0.insert(id).inserted }) {
                return .status(200)
            }
            guard isFailing else { return nil }
            return .status(kind == .acknowledges ? 200 : 500)
        }
        return bench
    }

    private static func contract(_ count: Int) -> Contract {
        SimulatedContracts.contract(
            "store-fails",
            [
                SimulatedContracts.deliver("a") {
                    $0.followsRetrySchedule = true
                    $0.databaseFailureCount = count
                }
            ],
            like: .faultFree
        )
    }

    private static func result(_ bench: SimulationBench, _ count: Int = 1) throws -> CaseResult {
        let outcome = try bench.verify(contract(count))
        return try #require(outcome["store-fails"])
    }

    @Test("a backend that recovers passes", arguments: 1...3)
    func correct(count: Int) throws {
        let bench = Self.bench(.correct)
        let result = try Self.result(bench, count)
        #expect(result.verdict == .passed, "\(result.findings)")
        let ways = bench.backend.arrivals.filter { $0.request.path == "/fault" }
            .map(\.request.method)
        // Broken before each attempt, healed after it, in the judged run alone.
        #expect(ways == (0..<count).flatMap { _ in ["POST", "DELETE"] })
    }

    @Test func `the database fails during a call only`() throws {
        let bench = Self.bench(.correct)
        var call = Call(name: "one", route: .register)
        (call.user, call.hasDatabaseFailure) = ("ada", true)
        let plan = RunPlan(
            steps: [.call([call]), .call([Call(name: "two", route: .register)])],
            users: ["ada"],
            observesFinalState: false
        )
        #expect(plan.mustRunExclusively)
        _ = try bench.run { bench in
            await bench.executor.run(
                plan,
                in: "n-1",
                observability: SimulationBench.observability,
                within: SimulationBench.within,
                verdict: { _ in .settled }
            )
        }
        let ways = bench.backend.arrivals.map { arrival in
            arrival.request.path == "/fault" ? arrival.request.method : "call"
        }
        #expect(ways == ["POST", "call", "DELETE", "call"])
    }

    @Test func `an event lost after a 200 is a finding`() throws {
        let result = try Self.result(Self.bench(.acknowledges))
        #expect(result.verdict == .failed)
        #expect(result.findings.contains { [.stateDiffers, .effectMissing].contains($0.code) })
    }

    @Test func `a retry treated as a duplicate is a finding`() throws {
        let result = try Self.result(Self.bench(.remembers))
        #expect(result.verdict == .failed)
    }

    @Test func `a failure that did not happen is inconclusive`() throws {
        let result = try Self.result(Self.bench(.untouched))
        #expect(result.verdict == .inconclusive)
        #expect(result.findings.map(\.code) == [.faultNotApplied])
    }

    @Test func `an interrupted run repairs the database`() throws {
        let bench = Self.bench(.correct)
        let cases = CaseRunnerFixture(
            bench: bench,
            contracts: [Self.contract(1)],
            // The breaking itself, and so everything after it.
            interruptedAt: { $0.request.path == "/fault" }
        )
        #expect(try cases.run().verdicts == [.notRun])
        let ways = bench.backend.arrivals.filter { $0.request.path == "/fault" }
        #expect(ways.map(\.request.method) == ["POST", "DELETE"])
    }

    @Test func `a failing hook is reported, and the database is repaired`() throws {
        let bench = Self.bench(.correct, hook: 404)
        let result = try Self.result(bench)
        #expect(result.verdict == .inconclusive)
        #expect(result.findings.first?.actual.contains("returned 404") == true)
        #expect(
            bench.backend.arrivals.last { $0.request.path == "/fault" }?.request.method
                == "DELETE"
        )
    }

    @Test
    func `without a database hook the case does not run, and the missing line is reported`()
        throws
    {
        let result = try Self.result(SimulationBench())
        #expect(result.verdict == .notRun)
        #expect(result.note?.contains("fault: {break: …, heal: …}") == true)
        #expect(result.isDeclaredUnsupported)
    }

    @Test func `no other case runs during a database failure`() {
        #expect(CasePlan(Self.contract(1)).subject.mustRunExclusively)
        #expect(
            CasePlan(Self.contract(1)).baseline?.deliveries.map(\.databaseFailureCount) == [nil]
        )
    }
}
