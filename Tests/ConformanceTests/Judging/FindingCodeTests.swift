import Conformance
import Testing

/// Every code appears where something is wrong, and stays away where it only looks so.
@Suite("Finding codes")
struct FindingCodeTests {
    /// Codes that no judge makes, with who does.
    private static let madeElsewhere: [FindingCode: String] = [
        .expired: "RunReport.expire, see ReportTests and RunReportTests: it depends on today"
    ]

    @Test("a code appears where it has to", arguments: Proof.all)
    func appears(proof: Proof) {
        let (verdict, findings) = Judge.judge(proof.broken())
        #expect(findings.map(\.code).contains(proof.code))
        #expect(verdict == (proof.code.isInconclusive ? .inconclusive : .failed))
    }

    @Test("a near miss passes", arguments: Proof.all)
    func staysAway(proof: Proof) {
        let (verdict, findings) = Judge.judge(proof.right())
        #expect(findings == [], "\(findings.map(\.actual))")
        #expect(verdict == .passed)
    }

    @Test("every code is proven", arguments: FindingCode.allCases)
    func isProven(code: FindingCode) {
        let isProven = Proof.all.contains { $0.code == code }
        if let maker = Self.madeElsewhere[code] {
            #expect(!isProven, "it has a proof; take it off the list (\(maker))")
        } else {
            #expect(isProven, "add a proof with a near miss to Proofs.swift")
        }
    }

    @Test("a finding says what was expected, what came and what to do", arguments: Proof.all)
    func explains(proof: Proof) throws {
        let findings = Judge.judge(proof.broken()).findings
        let finding = try #require(findings.first { $0.code == proof.code })
        for text in [finding.expected, finding.actual, finding.remedy] {
            #expect(!text.isEmpty)
        }
        #expect(finding.expected != finding.actual)
        #expect(finding.rule == proof.code.rule)
    }

    @Test("judging does not depend on when or how often it is done", arguments: Proof.all)
    func isPure(proof: Proof) {
        let evidence = proof.broken()
        #expect(Judge.judge(evidence).findings == Judge.judge(evidence).findings)
    }

    @Test("findings survive being written down", arguments: Proof.all)
    func survivesSaving(proof: Proof) throws {
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

    @Test("a code's number tells what it is about", arguments: FindingCode.allCases)
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
        .effectMissing, .effectCount, .stateDiffers, .stateValue, .userMissing, .keyChanged,
        .effectContent, .commandMissing, .identitySplit, .registrationLost, .startTooSlow,
        .wrongPerson, .screenDiffers, .personalDataKept, .disturbanceMissed, .readingAbsent,
    ]

    @Test("only what is missing may still come", arguments: FindingCode.allCases)
    func mayImprove(code: FindingCode) {
        let finding = Finding(code, expected: "a", actual: "b")
        #expect(Judge.mayImprove([finding]) == Self.improving.contains(code))
        let final = Finding(code, expected: "a", actual: "b", isFinal: true)
        #expect(!Judge.mayImprove([final]))
        let extra = Finding(.effectExtra, expected: "a", actual: "b")
        #expect(!Judge.mayImprove([finding, extra]), "what is there cannot go away")
    }

    @Test func `nothing found cannot improve`() {
        #expect(!Judge.mayImprove([]))
    }

    @Test("only comparisons rest on what is steady", arguments: FindingCode.allCases)
    func volatility(code: FindingCode) {
        let finding = Finding(code, expected: "a", actual: "b")
        let isComparison = code == .stateDiffers || code == .effectDiffers
        #expect(Judge.dependsOnVolatility([finding]) == isComparison)
    }
}
