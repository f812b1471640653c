import Contracts
import Judging
import TestBackend
import Testing
import Values

@testable import Replay

/// What comes long after its case was judged counts too, at the first case as at the last.
@Suite("The final recheck")
struct FinalRecheckTests {
    private static func outcome(_ bench: SimulationBench, _ count: Int) throws
        -> CaseRunnerFixture.Outcome
    {
        let contracts = (1...count).map { number in
            SimulatedContracts.contract(
                "case-\(number)",
                [SimulatedContracts.deliver("a")],
                states: [("access", true)],
                pushes: 1
            )
        }
        return try CaseRunnerFixture(bench: bench, contracts: contracts).run()
    }

    @Test func `a late second push is found in every case`() throws {
        let bench = SimulationBench()
        bench.backend.respond = { backend, arrival in
            if let user = arrival.event?["app_user_id"]?.string {
                bench.model.push(to: user, after: .milliseconds(700))
            }
            return nil
        }
        let outcome = try Self.outcome(bench, 40)
        let passed = outcome.results.filter { $0.verdict == .passed }.map(\.contract.id)
        #expect(passed.isEmpty, "nobody saw the second push of \(passed)")
        #expect(outcome.results.allSatisfy { $0.findings.map(\.code) == [.wrongEffectCount] })
    }

    @Test func `a backend that is never late is not waited for`() throws {
        let bench = SimulationBench()
        let outcome = try Self.outcome(bench, 3)
        #expect(outcome.verdicts == [.passed, .passed, .passed])
        #expect(bench.clock.now < .seconds(1))
    }
}
