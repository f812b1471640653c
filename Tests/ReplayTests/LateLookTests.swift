import Conformance
import Testing

@testable import Replay

/// What comes long after its case was judged counts too, at the first case as at the last.
@Suite("The last look")
struct LateLookTests {
    private static func outcome(_ bench: Bench, _ count: Int) throws -> PlayedCases.Outcome {
        let contracts = (1...count).map { number in
            SimulatedContracts.contract(
                "case-\(number)",
                [SimulatedContracts.deliver("a")],
                states: [("access", true)],
                pushes: 1
            )
        }
        return try PlayedCases(bench: bench, contracts: contracts).run()
    }

    @Test func `a second push that comes late is seen at every case`() throws {
        let bench = Bench()
        bench.backend.answer = { backend, arrival in
            if let user = arrival.event?["app_user_id"]?.string {
                backend.push(to: user, after: .milliseconds(700))
            }
            return nil
        }
        let outcome = try Self.outcome(bench, 40)
        let passed = outcome.results.filter { $0.verdict == .passed }.map(\.contract.id)
        #expect(passed.isEmpty, "nobody saw the second push of \(passed)")
        #expect(outcome.results.allSatisfy { $0.findings.map(\.code) == [.effectCount] })
    }

    @Test func `a backend that is never late is not waited for`() throws {
        let bench = Bench()
        let outcome = try Self.outcome(bench, 3)
        #expect(outcome.verdicts == [.passed, .passed, .passed])
        #expect(bench.clock.now < .seconds(1))
    }
}
