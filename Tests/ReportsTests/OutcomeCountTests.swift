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
            let tab = ">\(outcome.words) <b>\(count)</b></button>"
            #expect(html.contains(tab) == (count > 0), "\(outcome)")
            #expect(html.contains(">\(outcome.words) <b>") == (count > 0))
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

    /// A case that is not green, with one of several findings.
    private static func caseWithCause(
        _ number: Int,
        using generator: inout SeededGenerator
    ) -> CaseResult {
        let codes: [FindingCode] = [.noResponse, .wrongEffectCount, .settleTimeoutExpired]
        let code = codes.randomElement(using: &generator) ?? .noResponse
        let verdict: Verdict = code.isInconclusive ? .inconclusive : .failed
        return ReportFixtures.result(verdict, "a/case-\(number)") {
            $0.findings = [Finding(code, expected: "one", actual: "two")]
        }
    }

    @Test("all reports of a run have the same causes, in the same order", arguments: UInt64(0)..<40)
    func causes(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let cases = (0..<Int.random(in: 1...30, using: &generator)).map { number in
            Bool.random(using: &generator)
                ? Self.result(
                    CaseOutcome.allCases.randomElement(using: &generator) ?? .passed,
                    number
                )
                : Self.caseWithCause(number, using: &generator)
        }
        let report = ReportFixtures.report(cases).redacted()
        let causes = FailureCauses(report.value)
        let first = causes.all.first.map { (title: $0.title, share: causes.share(of: $0)) }
        let json = try JSONValue(parsing: JSONReport.render(report))["causes"]?.array ?? []
        #expect(json.map { $0["title"]?.string } == causes.all.map(\.title))
        #expect(json.map { $0["count"]?.int64 } == causes.all.map { Int64($0.caseCount) })
        let html = HTMLReport.render(report)
        let markdown = MarkdownReport.render(report, replay: Self.replay)
        let terminal = TerminalReport(style: TerminalStyle(isColored: false), replay: Self.replay)
        let summary = terminal.summary(report)
        let blocks = terminal.blocks(report).joined()
        let github = GitHubReport.render(report)
        #expect(html.contains("<section id=causes>") == (first != nil))
        #expect(summary.contains("fix this first") == (first != nil))
        #expect(html.ranges(of: "<h3>").count == causes.all.count)
        if let first {
            #expect(html.contains("Fix this first: \(first.share)<"))
            #expect(markdown.contains("**Fix this first**, \(first.share): \(first.title)"))
            #expect(summary.contains("fix this first: \(first.share)\n         1. "))
            #expect(github.contains("; fix this first, \(first.share): "))
        }
        let junit = JUnitReport.render(report)
        for (number, cause) in causes.all.enumerated() {
            #expect(markdown.contains("| \(cause.title) |"))
            #expect(html.contains("<h3>\(cause.title)</h3>"))
            let place = "cause \(number + 1) of \(causes.all.count)"
            #expect(blocks.contains("\(place): ") == (causes.caseCount > 1))
            #expect(junit.ranges(of: "\(place) (").count == cause.caseCount)
        }
    }

    /// The numbers with their words in a list such as `3 passed · 1 failed`.
    private static func items(_ line: Substring) -> [String] {
        line.split { "·,;\n".contains($0) }
            .map { $0.trimmingCharacters(in: .whitespaces) }
    }
}
