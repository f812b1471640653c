import Contracts
import FakeServers
import Judging
import TestBackend
import Testing
import Values

@testable import Replay

/// A backend that one case has brought to a stand, so that it answers nobody: the others are not to
/// be blamed for it.
@Suite("An unresponsive backend")
struct WedgedBackendTests {
    /// Answers no event any more once one of this type has come, until it is started again.
    private static func bench(isStarted: Bool = true, by type: String = "TRANSFER")
        -> SimulationBench
    {
        let bench = SimulationBench(isStarted: isStarted)
        let history = Locked(-1)
        bench.backend.respond = { backend, arrival in
            guard arrival.request.path == "/api/webhooks/revenuecat" else { return nil }
            let launches = backend.process.operations.count { $0.hasPrefix("launch") }
            if arrival.event?["type"]?.string == type { history.withLock { $0 = launches } }
            guard history.withLock({ $0 }) == launches else { return nil }
            await backend.clock.pause(.seconds(3600))
            return nil
        }
        return bench
    }

    private static let culprit = SimulatedContracts.contract(
        "culprit",
        [SimulatedContracts.deliver("a", "TRANSFER")]
    )

    private static func bystander(_ number: Int) -> Contract {
        SimulatedContracts.contract(
            "bystander-\(number)",
            [SimulatedContracts.deliver("a")],
            states: [("access", true)]
        )
    }

    private static func outcome(_ bench: SimulationBench, jobs: Int) throws
        -> CaseRunnerFixture.Outcome
    {
        try CaseRunnerFixture(
            bench: bench,
            contracts: [culprit] + (1...4).map(bystander),
            jobs: jobs
        ).run()
    }

    @Test("only the case that caused the hang fails", arguments: [1, 2, 5])
    func culprit(jobs: Int) throws {
        let bench = Self.bench()
        let outcome = try Self.outcome(bench, jobs: jobs)
        let culprit = try #require(outcome["culprit"])
        #expect(culprit.verdict == .failed)
        #expect(culprit.findings.map(\.code) == [.responseLate])
        for number in 1...4 {
            #expect(outcome["bystander-\(number)"]?.verdict == .passed, "\(number) of \(jobs)")
        }
        #expect(bench.backend.process.operations.contains("launch"), "it was started again")
        #expect(outcome["run/keeps-running"] == nil, "a case accounts for it")
        #expect(outcome.count("restarted it stopped responding to events") > 0)
    }

    @Test func `a backend that Assay did not start is given up, reported once`() throws {
        let outcome = try Self.outcome(Self.bench(isStarted: false), jobs: 1)
        let later = outcome.results.filter { $0.verdict == .inconclusive }
        #expect(later.allSatisfy { $0.note?.contains("Assay cannot restart") == true })
        let failed = outcome.results.filter { $0.verdict == .failed }.map(\.contract.id)
        #expect(!failed.isEmpty)
        #expect(failed.allSatisfy { ["culprit", "run/keeps-running"].contains($0) }, "\(failed)")
    }

    @Test func `a late response of a responsive backend is charged to its case`() throws {
        let bench = SimulationBench()
        bench.backend.respond = { backend, arrival in
            guard arrival.event?["type"] == "TRANSFER" else { return nil }
            await backend.clock.pause(.seconds(20))
            return nil
        }
        let outcome = try Self.outcome(bench, jobs: 3)
        #expect(outcome["culprit"]?.findings.map(\.code) == [.responseLate])
        #expect(!bench.backend.process.operations.contains("launch"))
        #expect(outcome.verdicts.count { $0 == .passed } == 4)
    }
}
