import Contracts
import Exploration
import Judging
import Replay
import Testing
import Values

/// What a campaign's report says beside what was found.
struct CampaignCasesTests {
    /// A life that came to that, and what was wrong with it if anything was.
    static func result(_ verdict: Verdict) -> CaseResult {
        let contract = Contract(
            id: "life",
            variant: "",
            title: "",
            clause: "S-10",
            level: .must,
            source: "a test",
            needs: [],
            given: [],
            steps: [],
            expectation: Expectation(responses: .statuses([200])),
            location: SourceLocation(path: "life", line: 1, column: 1)
        )
        let finding = Finding(.wrongStateValue, expected: "access of ada is true", actual: "false")
        return CaseResult(
            contract: contract,
            verdict: verdict,
            findings: verdict == .passed ? [] : [finding]
        )
    }

    private static let played = {
        var outcome = Campaign.Outcome()
        outcome.clauses = ["S-10": 100, "S-11": 40]
        outcome.progress.histories = 140
        return outcome
    }()

    @Test func `clauses whose histories passed are proven`() {
        #expect(Self.played.cases.map(\.contract.id) == ["histories/S-10", "histories/S-11"])
        #expect(Self.played.cases.allSatisfy { $0.verdict == .passed })
    }

    @Test func `a campaign that ended early does not pass`() {
        var outcome = Self.played
        outcome.end = "the backend is gone"
        let rest = outcome.cases.first { $0.contract.id == "histories/rest" }
        #expect(rest?.verdict == .inconclusive)
        #expect(rest?.note?.contains("the backend is gone") == true)
    }

    @Test func `a backend that exited by itself is reported regardless of the histories`() {
        var outcome = Self.played
        outcome.invariantViolations = [Self.result(.failed)]
        #expect(outcome.cases.contains { $0.verdict == .failed })
    }

    @Test func `a clause stays open if one of twenty histories was inconclusive`() {
        var outcome = Self.played
        outcome.inconclusiveCountsByClause = ["S-10": 5, "S-11": 3]
        outcome.inconclusive = ["E908 setup-failed": 7, "E913 machine-busy": 1]
        let cases = outcome.cases
        #expect(cases.map(\.verdict) == [.passed, .inconclusive])
        #expect(cases[1].findings.map(\.code) == [.setupFailed])
    }

    @Test func `a race is reported once for each signature`() throws {
        var outcome = Self.played
        let result = Self.result(.failed)
        let failureSignature = FailureSignature(try #require(result.findings.first))
        outcome.flakyFailures = [
            Campaign.FlakyFailure(failureSignature: failureSignature, result: result, count: 3)
        ]
        let race = outcome.cases.first { $0.contract.id == "histories/unsteady-1" }
        #expect(race?.verdict == .failed)
        #expect(
            race?.note?.hasSuffix("; 3 generated histories have the same failure signature") == true
        )
    }
}
