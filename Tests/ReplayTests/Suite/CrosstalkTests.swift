import Contracts
import Judging
import Providers
import TestBackend
import Testing
import Values

@testable import Replay

/// Faults of one case that reach other cases through the backend process that they share.
@Suite("Crosstalk between cases")
struct CrosstalkTests {
    // MARK: Reruns

    @Test(
        "a failure next to other cases counts only if the case fails alone",
        arguments: [
            FindingCode.effectMissing, .wrongEffectCount, .wrongStateValue, .unexpectedEffect,
            .responseLate,
        ]
    )
    func rerun(code: FindingCode) throws {
        var disturbed = SimulatedCase.case("disturbed", takes: 10, findings: [code])
        disturbed.failsOnlyNextToOthers = true
        let broken = SimulatedCase.case("broken", takes: 10, findings: [code])
        let run = SuiteRunnerFixture([disturbed, broken, .case("c", takes: 15)], jobs: 3)
        let results = try #require(run.run())
        #expect(results.map(\.verdict) == [.passed, .failed, .passed])
        #expect(results[0].note?.hasSuffix(code.rawValue) == true, "\(results[0].note ?? "")")
        #expect(results[1].hints.isEmpty, "the second run has the same findings")
        #expect(run.stage.began.sorted() == ["broken", "broken", "c", "disturbed", "disturbed"])
        for id in ["disturbed", "broken"] { #expect(run.stage.beside[id] == []) }
        #expect(run.counts == [1, 2, 3], "each result is reported once")
    }

    @Test("a certain failure is not run again", arguments: [FindingCode.responseStatus, .wrongID])
    func certainFailure(code: FindingCode) throws {
        let run = SuiteRunnerFixture(
            [.case("broken", takes: 10, findings: [code]), .case("c", takes: 15)],
            jobs: 2
        )
        #expect(try #require(run.run()).map(\.verdict) == [.failed, .passed])
        #expect(run.stage.began.count == 2)
    }

    @Test func `a case that ran alone is not run again`() throws {
        let run = SuiteRunnerFixture(
            [.case("broken", takes: 10, findings: [.effectMissing]), .case("c", takes: 15)],
            jobs: 1
        )
        #expect(try #require(run.run()).map(\.verdict) == [.failed, .passed])
        #expect(run.stage.began.count == 2)
    }

    // MARK: One worker

    /// Contracts with responses that keep the backend waiting, and contracts that wait for pushes.
    private static let contracts =
        SimulatedContracts.all
        + (0..<3).map { number in
            SimulatedContracts.contract(
                "push-without-response-\(number)",
                [SimulatedContracts.fail([.never]), SimulatedContracts.deliver("a")]
            )
        }
        + (0..<8).map { number in
            SimulatedContracts.contract(
                "push-\(number)",
                [SimulatedContracts.deliver("a")],
                pushes: 1
            )
        }

    @Test(
        "a worker that waits for one case fails no other case",
        arguments: [5, 30],
        UInt64(0)..<4
    )
    func oneWorker(timeout: Int, seed: UInt64) {
        var suite = SimulatedSuite(seed: seed, contracts: Self.contracts)
        suite.shape.sendsOnePushAtATime = true
        suite.shape.callTimeout = .seconds(timeout)
        let outcome = suite.run()
        #expect(outcome.results != nil, "it never ended")
        #expect(outcome.cases(.failed).isEmpty, "\(outcome.text)")
    }

    @Test("a lost push of a backend with one worker is still found", arguments: UInt64(0)..<2)
    func oneBrokenWorker(seed: UInt64) {
        var suite = SimulatedSuite(seed: seed, contracts: Self.contracts)
        suite.shape.sendsOnePushAtATime = true
        suite.shape.callTimeout = .seconds(5)
        suite.defect = .losesOneInFive
        #expect(!suite.run().cases(.failed).isEmpty)
    }
}
