import Contracts
import Foundation
import Judging
import Redaction
import Reports
import Testing
import Values

/// Every report of one run shows the same numbers.
@Suite("The numbers of cases in reports")
struct OutcomeCountTests {
    private static let replay = ReplayCommand(["assay", "verify"]).redacted(SecretDeclaration())

    /// One case of an outcome.
    private static func result(_ outcome: CaseOutcome, _ number: Int) -> CaseResult {
        let verdict: Verdict =
            switch outcome {
            case .passed: .passed
            case .failed, .remark: .failed
            case .unexpectedPass: .unexpectedPass
            case .inconclusive: .inconclusive
            case .notRun, .notApplicable: .notRun
            case .knownFailure: .knownFailure
            }
        return ReportFixtures.result(verdict, "a/case-\(number)") {
            if outcome == .remark { $0.contract.level = .may }
            $0.isDeclaredUnsupported = outcome == .notApplicable
        }
    }

    @Test("each outcome has its case", arguments: CaseOutcome.allCases)
    func outcome(outcome: CaseOutcome) {
        #expect(Self.result(outcome, 0).outcome == outcome)
    }

    @Test("all reports of a run count alike", arguments: UInt64(0)..<60)
    func alike(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let outcomes = (0..<Int.random(in: 1...30, using: &generator)).map { _ in
            CaseOutcome.allCases.randomElement(using: &generator) ?? .passed
        }
        let report = ReportFixtures.report(
            outcomes.enumerated().map { Self.result($0.element, $0.offset) }
        ).redacted()
        let json = try JSONValue(parsing: JSONReport.render(report))["summary"]
        let html = HTMLReport.render(report)
        let markdown = MarkdownReport.render(report, replay: Self.replay)
        let github = GitHubReport.render(report)
        let terminal = TerminalReport(style: TerminalStyle(isColored: false), replay: Self.replay)
            .summary(report)
        for outcome in CaseOutcome.allCases {
            let count = outcomes.count { $0 == outcome }
            #expect(json?[outcome.rawValue]?.int64 == Int64(count))
            let card = "<b>\(count)</b><span>\(outcome.words)</span>"
            #expect(html.contains(card) == (count > 0), "\(outcome)")
            #expect(html.contains("<span>\(outcome.words)</span></div>") == (count > 0))
            #expect(markdown.contains("| \(outcome.words) | \(count) |\n") == (count > 0))
            let words = outcome.words(count: count)
            #expect(
                Self.items(github.split(separator: "::").last ?? "").contains(words) == (count > 0)
            )
            #expect(Self.items(terminal[...]).contains(words) == (count > 0))
        }
        #expect(terminal.contains("summary  \(outcomes.count) case"))
        let junit = JUnitReport.render(report)
        let (failed, incomplete) = (
            outcomes.count(where: \.isFailure), outcomes.count(where: \.isIncomplete)
        )
        #expect(
            junit.contains(
                "tests=\"\(outcomes.count)\" failures=\"\(failed)\" errors=\"\(incomplete)\""
            )
        )
        #expect(report.exitCode == (failed > 0 ? 1 : incomplete > 0 ? 5 : 0))
    }

    /// The numbers with their words in a list such as `3 passed · 1 failed`.
    private static func items(_ line: Substring) -> [String] {
        line.split { "·,;\n".contains($0) }
            .map { $0.trimmingCharacters(in: .whitespaces) }
    }
}
