import Contracts
import Judging
import TestSupport
import Testing
import Values

/// Reasons that differ only in one name are one line of a report.
@Suite("Reasons of cases that did not run")
struct ReasonsNotRunTests {
    private static func result(_ note: String, _ verdict: Verdict = .notRun) -> CaseResult {
        CaseResult(
            contract: SampleContract.contract([], expectation: SampleContract.expectation()),
            verdict: verdict,
            note: note,
            isDeclaredUnsupported: true
        )
    }

    @Test func `reasons that differ in their first name are one line`() {
        let names = ["protected", "login", "protected"]
        let reasons = ReasonsNotRun(
            names.map { Self.result("the profile names no endpoint '\($0)'") } + [
                Self.result("no probe maps 'account'; add it under 'probes'"),
                Self.result("the steps caused no push"), Self.result("it's late"),
                Self.result("passed", .passed),
            ]
        )
        #expect(
            reasons.lines == [
                "1 case not run: it's late",
                "1 case not run: no probe maps 'account'; add it under 'probes'",
                "3 cases not run: the profile names no endpoint 'login' (1), 'protected' (2)",
                "1 case not run: the steps caused no push",
            ]
        )
    }

    @Test("each case that is not applicable is counted once", arguments: UInt64(0)..<50)
    func counts(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let pieces = ["a", "'b'", "'c' and 'd'", "'", "e 'f", ""]
        let results = (0..<Int.random(in: 0...30, using: &generator)).map { _ in
            let note = (0..<3).map { _ in pieces.randomElement(using: &generator) ?? "" }
            return Self.result(
                note.joined(separator: " "),
                Bool.random(using: &generator) ? .notRun : .passed
            )
        }
        let lines = ReasonsNotRun(results).lines
        let counts = lines.compactMap { Int($0.prefix { $0.isNumber }) }
        #expect(counts.reduce(0, +) == results.count { $0.outcome == .notApplicable })
        #expect(Set(lines).count == lines.count)
    }
}
