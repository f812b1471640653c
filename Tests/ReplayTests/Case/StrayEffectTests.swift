import Contracts
import FakeServers
import Judging
import Providers
import TestBackend
import Testing
import Values

@testable import Replay

/// Pushes that name no user of the run, and what they prove.
@Suite("Pushes to users of no case")
struct StrayEffectTests {
    /// The IDs of the results that a suite has in addition to its one case.
    private static func extra(
        recipient: String,
        command: String,
        isStarted: Bool = true
    ) throws -> (failed: [String], unattributedCount: Int) {
        let bench = SimulationBench(isStarted: isStarted) { profile in
            profile.start = Profile.StartSettings(
                command: command,
                ready: Profile.ReadinessCheck(method: "GET", path: "/ready")
            )
        }
        bench.model.push(to: recipient)
        let contract = SimulatedContracts.contract(
            "purchase",
            [SimulatedContracts.deliver("a")],
            states: [("access", true)],
            pushes: 1
        )
        let outcome = try bench.verify(contract)
        #expect(outcome["purchase"]?.verdict == .passed)
        return (
            outcome.results.filter { $0.verdict == .failed }.map(\.contract.id),
            bench.executor.unattributedEffectCount(of: "n")
        )
    }

    @Test func `a push left from an earlier run is not charged to the backend`() throws {
        let extra = try Self.extra(recipient: "assay-earlier-806-u1", command: "serve")
        #expect(extra.failed.isEmpty)
        #expect(extra.unattributedCount == 1)
    }

    @Test func `a new data folder has no leftover pushes`() throws {
        let extra = try Self.extra(recipient: "assay-earlier-806-u1", command: "serve {{data}}")
        #expect(extra.failed == ["run/reaches-known-people"])
        #expect(extra.unattributedCount == 0)
    }

    @Test func `a push to a modified ID of this run is charged`() throws {
        let extra = try Self.extra(recipient: "assay-n-7-ada-copy", command: "serve")
        #expect(extra.failed == ["run/reaches-known-people"])
    }

    @Test func `pushes of an already running backend are only counted`() throws {
        let extra = try Self.extra(
            recipient: "assay-n-7-ada-copy",
            command: "serve",
            isStarted: false
        )
        #expect(extra.failed.isEmpty)
        #expect(extra.unattributedCount == 1)
    }

    /// A conforming backend may need up to a minute for each call; nothing that it does late is
    /// charged to another case or to the run.
    @Test("a push within a minute counts for its case", arguments: 0..<8)
    func late(seed: UInt64) throws {
        let bench = SimulationBench(seed: seed) { $0.settleTimeout = .seconds(90) }
        bench.model.pushDelay = nil
        bench.backend.respond = { backend, arrival in
            if let user = arrival.event?["app_user_id"]?.string {
                let delay = Int(Digest.number(user, seed) % 60_000)
                bench.model.push(to: user, after: .milliseconds(delay))
            }
            return nil
        }
        let contracts = (1...12).map { number in
            SimulatedContracts.contract(
                "case-\(number)",
                [
                    SimulatedContracts.fail(number % 2 == 0 ? [.status(500)] : [.asUsual]),
                    SimulatedContracts.deliver("a"),
                ],
                states: [("access", true)]
            )
        }
        var cases = CaseRunnerFixture(bench: bench, contracts: contracts)
        cases.jobs = 4
        let outcome = try cases.run()
        #expect(!outcome.verdicts.contains(.failed))
        #expect(outcome.results.allSatisfy { !$0.contract.id.hasPrefix("run/") })
    }

    private enum Digest {
        static func number(_ text: String, _ seed: UInt64) -> UInt64 {
            var generator = SeededGenerator(seed: seed, text: text)
            return generator.next()
        }
    }

    // MARK: The end of a run

    /// A backend that repeats a failed push, and whose store the next run meets again.
    private static func drained(command: String, after delay: Duration) throws -> (Duration, Int) {
        let bench = SimulationBench { profile in
            profile.start = Profile.StartSettings(
                command: command,
                ready: Profile.ReadinessCheck(method: "GET", path: "/ready")
            )
        }
        let user = "assay-run-ada"
        bench.fakes.open("run", ids: [user], at: bench.executor.base)
        bench.fakes.schedule(
            ProviderPlan(provider: .oneSignal, responses: [.never]),
            namespace: "run"
        )
        bench.model.push(to: user)
        let waited = try bench.run { bench in
            await bench.clock.pause(.milliseconds(1))
            bench.model.push(to: user, after: delay)
            let start = bench.clock.now
            await bench.executor.waitForRepeatedCalls()
            return bench.clock.now - start
        }
        return (waited, bench.journal("run").count)
    }

    @Test func `a run ends when the backend has retried its failed calls`() throws {
        let (waited, callCount) = try Self.drained(command: "serve", after: .seconds(1))
        #expect(callCount == 2)
        #expect(waited >= .seconds(1) && waited < .seconds(2))
    }

    @Test func `a call without a retry is waited for as long as the profile sets`() throws {
        let (waited, callCount) = try Self.drained(command: "serve", after: .seconds(100))
        #expect(callCount == 1)
        #expect(waited >= .seconds(2) && waited < .seconds(3))
    }

    @Test func `a database that ends with the run is not waited for`() throws {
        let (waited, _) = try Self.drained(command: "serve {{data}}", after: .seconds(3))
        #expect(waited == .zero)
    }
}
