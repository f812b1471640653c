import Judging
import Testing

/// Every code appears where something is wrong, and stays away where it only looks so.
@Suite("Finding codes")
struct FindingCodeTests {
    /// Codes that no judge makes, with who does.
    private static let codesProvenElsewhere: [FindingCode: String] = [
        .webhookThrottled: "ThrottledWebhook, from the deliveries of all cases",
        .contractExpired:
            "RunReport.expire, see ReportTests and RunReportTests: it depends on today",
    ]

    @Test("a code appears for its failing example", arguments: FindingExample.all)
    func appears(proof: FindingExample) {
        let (verdict, findings) = Judge.judge(proof.broken())
        #expect(findings.map(\.code).contains(proof.code))
        #expect(verdict == (proof.code.isInconclusive ? .inconclusive : .failed))
    }

    @Test("a near miss passes", arguments: FindingExample.all)
    func nearMissPasses(proof: FindingExample) {
        let (verdict, findings) = Judge.judge(proof.right())
        #expect(findings == [], "\(findings.map(\.actual))")
        #expect(verdict == .passed)
    }

    @Test("every code has an example", arguments: FindingCode.allCases)
    func isProven(code: FindingCode) {
        let isProven = FindingExample.all.contains { $0.code == code }
        if let maker = Self.codesProvenElsewhere[code] {
            #expect(!isProven, "it has a proof; take it off the list (\(maker))")
        } else {
            #expect(isProven, "add a proof with a near miss to Proofs.swift")
        }
    }

    @Test("a finding contains expectation, observation and remedy", arguments: FindingExample.all)
    func explains(proof: FindingExample) throws {
        let findings = Judge.judge(proof.broken()).findings
        let finding = try #require(findings.first { $0.code == proof.code })
        for text in [finding.expected, finding.actual, finding.remedy] {
            #expect(!text.isEmpty)
        }
        #expect(finding.expected != finding.actual)
        #expect(finding.rule == proof.code.rule)
    }

    @Test("judging is deterministic", arguments: FindingExample.all)
    func isPure(proof: FindingExample) {
        let evidence = proof.broken()
        #expect(Judge.judge(evidence).findings == Judge.judge(evidence).findings)
    }

    @Test("findings survive saving", arguments: FindingExample.all)
    func survivesSaving(proof: FindingExample) throws {
        let evidence = proof.broken()
        let result = CaseResult(judging: evidence)
        let report = RunReport(of: [result])
        let text = try SavedRun.lines(report, profile: evidence.profile)
            .joined(separator: "\n")
        let again = try SavedRun(parsing: text).judged(knownFailures: KnownFailures())
        #expect(again.cases.map(\.verdict) == [result.verdict])
        #expect(again.cases.first?.findings.map(\.code) == result.findings.map(\.code))
    }

    // MARK: Numbers and names

    @Test("a code's number gives its category", arguments: FindingCode.allCases)
    func number(code: FindingCode) throws {
        let text = code.rawValue
        #expect(text.count == 4 && text.hasPrefix("E"))
        #expect(Int(text.dropFirst()) != nil)
        #expect(code.isInconclusive == text.hasPrefix("E9"))
        #expect(FindingCode(rawValue: text) == code)
        #expect(
            code.rule.allSatisfy { $0.isLowercase || $0 == "-" },
            "names are written in kebab case"
        )
    }

    /// Codes of which time alone could make none: something that has to come may still come.
    private static let improving: Set<FindingCode> = [
        .effectMissing, .wrongEffectCount, .stateDiffers, .wrongStateValue, .userMissing,
        .idempotencyKeyChanged,
        .effectContentDiffers, .effectHeldUp, .commandMissing, .identitySplit, .registrationLost,
        .startTooSlow,
        .wrongUser, .screenDiffers, .personalDataKept, .faultNotApplied, .mappedPathAbsent,
    ]

    @Test("only missing effects may still arrive", arguments: FindingCode.allCases)
    func mayResolveWithLongerWait(code: FindingCode) {
        let finding = Finding(code, expected: "a", actual: "b")
        #expect(Judge.mayResolveWithLongerWait([finding]) == Self.improving.contains(code))
        let final = Finding(code, expected: "a", actual: "b", isFinal: true)
        #expect(!Judge.mayResolveWithLongerWait([final]))
        let extra = Finding(.unexpectedEffect, expected: "a", actual: "b")
        #expect(!Judge.mayResolveWithLongerWait([finding, extra]), "what is there cannot go away")
    }

    @Test func `a case without findings cannot improve`() {
        #expect(!Judge.mayResolveWithLongerWait([]))
    }

    @Test("only comparison findings depend on stable values", arguments: FindingCode.allCases)
    func volatility(code: FindingCode) {
        let finding = Finding(code, expected: "a", actual: "b")
        let isComparison = code == .stateDiffers || code == .effectDiffers
        #expect(Judge.dependsOnVolatility([finding]) == isComparison)
    }
}
