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

    /// Cases that fail in the same way.
    private static func equalFailures(_ count: Int) -> [CaseResult] {
        (0..<count).map { number in
            ReportFixtures.result(.failed, "a/case-\(number)-end") {
                $0.findings = [Finding(.noResponse, expected: "one", actual: "two")]
            }
        }
    }

    @Test("reports with room name each case of a cause", arguments: [2, 7, 8, 60, 300])
    func allCases(count: Int) throws {
        let report = ReportFixtures.report(Self.equalFailures(count)).redacted()
        func terminal(isVerbose: Bool) -> String {
            TerminalReport(
                style: TerminalStyle(isColored: false),
                replay: Self.replay,
                isVerbose: isVerbose
            ).blocks(report, fullCaseMax: isVerbose ? .max : 1).joined()
        }
        let texts = [
            terminal(isVerbose: true), HTMLReport.render(report), JSONReport.render(report),
            MarkdownReport.render(report, replay: Self.replay), JUnitReport.render(report),
        ]
        for number in 0..<count {
            #expect(texts.allSatisfy { $0.contains("case-\(number)-end") }, "\(number)")
        }
        let short = terminal(isVerbose: false)
        #expect(short.contains("; --verbose names all") == (count > 7))
        let agent = AgentReport.render(report, replay: Self.replay)
        let named = (0..<count).count { agent.contains("case-\($0)-end") }
        #expect(
            agent.contains("and \(count - named) more: 'cases' of the cause") == (named < count)
        )
        #expect(agent.utf8.count <= AgentReport.lengthMax)
    }

    @Test func `equal findings of a case are one with their number`() throws {
        let finding = Finding(.wrongEffectCount, expected: "exactly 1 push", actual: "0")
        let other = Finding(.wrongEffectCount, expected: "exactly 1 push", actual: "2")
        func report(_ findings: [Finding]) -> Redacted<RunReport> {
            ReportFixtures.report([
                ReportFixtures.result(.failed) { $0.findings = findings }
            ]).redacted()
        }
        func texts(_ report: Redacted<RunReport>) -> [String] {
            [
                TerminalReport(style: TerminalStyle(isColored: false), replay: Self.replay)
                    .blocks(report).joined(),
                HTMLReport.render(report), AgentReport.render(report, replay: Self.replay),
                JUnitReport.render(report), GitHubReport.render(report),
            ]
        }
        let repeated = report(Array(repeating: finding, count: 10) + [other])
        #expect(texts(repeated).allSatisfy { $0.contains("×10") && !$0.contains("×11") })
        let single = report([finding, other])
        #expect(texts(single).allSatisfy { !$0.contains("×") })
        let terminal = texts(repeated)[0]
        #expect(terminal.ranges(of: "exactly 1 push").count == 2)
        #expect(!terminal.contains("more finding"))
        let json = try JSONValue(parsing: JSONReport.render(repeated))
        #expect(json["cases"]?.array?.first?["findings"]?.array?.count == 11)
    }

    @Test func `cases that did not run have no part in the share of a cause`() {
        let left = (0..<7).map { number in
            ReportFixtures.result(.notRun, "b/left-\(number)") { $0.note = "interrupted" }
        }
        let causes = FailureCauses(ReportFixtures.report(Self.equalFailures(3) + left))
        #expect(
            causes.all.map(causes.share(of:)) == ["3 of 3 cases", "7 cases not run"]
        )
    }

    @Test func `JUnit has each cause as properties of the suites with its cases`() {
        var cases = Self.equalFailures(3)
        cases[2].contract.id = "b/case"
        let report = ReportFixtures.report(cases).redacted()
        let cause = FailureCauses(report.value).all[0]
        let junit = JUnitReport.render(report)
        func property(_ name: String, _ value: String) -> String {
            "<property name=\"assay.cause.1.\(name)\" value=\"\(value)\"/>"
        }
        #expect(junit.ranges(of: property("title", cause.title)).count == 2)
        #expect(junit.ranges(of: property("share", "3 of 3 cases")).count == 2)
        #expect(junit.contains(property("cases", "a/case-0-end a/case-1-end")))
        #expect(junit.contains(property("cases", "b/case")))
        #expect(junit.contains("name=\"assay.cause.1.remedy\""))
        let green = ReportFixtures.report([ReportFixtures.result(.passed)]).redacted()
        #expect(!JUnitReport.render(green).contains("<properties>"))
    }

    /// The numbers with their words in a list such as `3 passed · 1 failed`.
    private static func items(_ line: Substring) -> [String] {
        line.split { "·,;\n".contains($0) }
            .map { $0.trimmingCharacters(in: .whitespaces) }
    }
}
