import Contracts
import Judging
import TestSupport
import Testing

@Suite("Verdicts")
struct VerdictTests {
    private func result(_ verdict: Verdict, unsupported: Bool = false) -> CaseResult {
        CaseResult(
            contract: SampleContract.contract(),
            verdict: verdict,
            isDeclaredUnsupported: unsupported
        )
    }

    private func exit(_ cases: [CaseResult], isInterrupted: Bool = false) -> Int32 {
        RunReport(of: cases, isInterrupted: isInterrupted).exitCode
    }

    @Test func `only passed and known failures are green`() {
        #expect(exit([result(.passed), result(.knownFailure)]) == 0)
        #expect(exit([result(.passed), result(.notRun, unsupported: true)]) == 0)
        #expect(exit([result(.passed), result(.failed), result(.inconclusive)]) == 1)
        #expect(exit([result(.unexpectedPass)]) == 1)
        #expect(exit([result(.passed), result(.inconclusive)]) == 5)
        #expect(exit([result(.passed), result(.notRun)]) == 5)
        #expect(exit([result(.failed)], isInterrupted: true) == 130)
    }

    @Test("only a failed optional contract is a remark", arguments: Contract.Level.allCases)
    func remark(level: Contract.Level) {
        var failedCase = result(.failed)
        failedCase.contract.level = level
        let isRemark = level == .may
        #expect((failedCase.outcome == .remark) == isRemark)
        #expect(exit([result(.passed), failedCase]) == (isRemark ? 0 : 1))
        #expect(exit([result(.failed), failedCase]) == 1)
        #expect(exit([result(.inconclusive), failedCase]) == (isRemark ? 5 : 1))
        let scorecard = RunReport(of: [result(.passed), failedCase]).scorecard
        #expect(scorecard.count(.failed) == (isRemark ? 0 : 1))
        #expect(scorecard.count(.proven) == (isRemark ? 1 : 0))
    }

    @Test func `a known failure must fail, and with its own code`() throws {
        let list = try KnownFailures(
            parsing: "# accepted\ntest/case E204 ticket 12\n",
            path: "known.txt"
        )
        let finding = Finding(.wrongEffectCount, expected: "1", actual: "2")
        let other = Finding(.noResponse, expected: "200", actual: "closed")
        func verdict(_ verdict: Verdict, _ findings: [Finding]) -> Verdict {
            list.verdict(verdict, of: "test/case", findings: findings).verdict
        }
        #expect(verdict(.failed, [finding]) == .knownFailure)
        #expect(verdict(.failed, [finding, other]) == .failed)
        #expect(verdict(.passed, []) == .unexpectedPass)
        #expect(verdict(.inconclusive, []) == .inconclusive)
        #expect(list.verdict(.failed, of: "other", findings: [finding]).verdict == .failed)
    }

    @Test(
        "a broken list names line and remedy",
        arguments: [
            ("a/b\n", "known.txt:1:1", "a finding code is missing"),
            ("\na/b E9 x\n", "known.txt:2:5", "'E9' is not a finding code"),
            ("a E204\na E301\n", "known.txt:2:1", "the case 'a' is listed twice"),
        ]
    )
    func reportsBrokenList(text: String, place: String, problem: String) {
        do throws(KnownFailures.ParseError) {
            _ = try KnownFailures(parsing: text, path: "known.txt")
            Issue.record("it was accepted")
        } catch {
            #expect("\(error)".contains(place))
            #expect("\(error)".contains(problem))
        }
    }

    @Test func `every code explains itself and is unique`() {
        #expect(Set(FindingCode.allCases.map(\.rule)).count == FindingCode.allCases.count)
        for code in FindingCode.allCases {
            let parts = code.facts
            for text in [parts.meaning, parts.cause, parts.remedy] {
                #expect(text.hasSuffix("."), "\(code)")
            }
        }
    }
}
