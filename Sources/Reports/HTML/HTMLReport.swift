internal import Contracts
package import Judging
package import Redaction
internal import Values

/// Renders a run as one self-contained HTML page with the counts, the clauses and every case.
package enum HTMLReport {
    /// The maximum number of cases that are shown with message bodies, because a page with the
    /// bodies of hundreds of cases would be too long.
    private static let casesWithBodiesMax = 60
    /// The number of failed cases that are expanded when the page opens.
    private static let openCaseMax = 5

    /// Renders the HTML page of a run.
    ///
    /// - Parameters:
    ///   - report: The report of the run.
    ///   - replay: The command that repeats the run, without `--only`; nil to show no command.
    /// - Returns: A complete HTML page.
    package static func render(
        _ report: Redacted<RunReport>,
        replay: Redacted<ReplayCommand>? = nil
    ) -> String {
        let scorecard = report.scorecard
        var body = "<header><h1>Assay</h1><p class=sub>\(escaped(report.target)) · "
        body += "\(escaped(report.began.description)) · seed \(escaped(report.seed)) · "
        body += "<span title=\"\(escaped(report.suite))\">suite "
        body += "\(escaped(String(report.suite.prefix(19))))</span></p></header>\n"
        if let replay { body += command(replay.value.text([])) }
        body += "<section class=cards>\n"
        if let grade = scorecard.grade {
            body += summaryCard("grade", grade.rawValue, grade == .none ? "grade none" : "grade")
        }
        body += summaryCard(
            "clauses proven",
            "\(scorecard.count(.proven)) of \(scorecard.clauses.count)",
            scorecard.count(.failed) == 0 ? "passed" : "failed"
        )
        for outcome in CaseOutcome.allCases where report.count(outcome) > 0 {
            body += summaryCard(outcome.words, "\(report.count(outcome))", outcome.rawValue)
        }
        body += "</section>\n<section><h2>Clauses</h2><p class=clauses>\n"
        for (clause, state) in scorecard.clauses.sorted(by: { $0.key < $1.key }) {
            let title = Clause.named(clause).map { "\($0.title): \(state.rawValue)" }
            body += "<span class=\"chip \(state.rawValue)\" "
            body += "title=\"\(escaped(title ?? state.rawValue))\">"
            body += "\(escaped(clause))</span>\n"
        }
        body += "</p></section>\n"
        body += listSection("Stopped before the first case", report.skipReasons)
        let unobservedChecks = Scorecard.unobservedChecks(report.value.cases).map { line, clauses in
            "\(clauses.joined(separator: " ")) not proven: \(line)"
        }
        body += listSection("Notes", unobservedChecks + report.notesWithKillSummary)
        let indexedCases =
            report.skipReasons.isEmpty
            ? report.cases.enumerated().filter(\.element.isReported) : []
        let reportedCases = indexedCases.map(\.element)
        let blockNumbers = Dictionary(
            uniqueKeysWithValues: indexedCases.enumerated().map { ($0.element.offset, $0.offset) }
        )
        body += HTMLCauses.section(report, blockNumbers: blockNumbers)
        if !reportedCases.isEmpty {
            body += "<section><h2>Cases that need attention</h2>\n"
            for (number, result) in reportedCases.enumerated() {
                body += caseBlock(result, number, replay)
            }
            body += "</section>\n"
        }
        body += "<section id=all><h2>All cases</h2><input id=search type=search "
        body += "aria-label=\"Show only cases that contain these words\" placeholder=\"Filter\">"
        body += "<div class=wide><table><thead><tr><th>case<th>clause<th>result"
        body += "<th class=num>seconds</tr></thead><tbody>\n"
        for result in report.cases {
            body += "<tr><td><code>\(escaped(result.contract.caseID))</code><br>"
            body += "<span class=sub>\(escaped(result.contract.title))</span>"
            body += "<td>\(escaped(result.contract.clause))"
            body += "<td><span class=\"chip \(result.outcome.rawValue)\">\(result.outcome.words)"
            body += "</span><td class=num>\(milliseconds(result.seconds))</tr>\n"
        }
        body += "</tbody></table></div></section>\n"
        return HTMLPage.page("Assay · \(report.target)", body)
    }

    /// Returns an HTML section with a title and a list of lines; an empty string when there are no
    /// lines.
    private static func listSection(_ title: String, _ lines: [String]) -> String {
        guard !lines.isEmpty else { return "" }
        return "<section><h2>\(title)</h2><ul>"
            + lines.map { "<li>\(escaped($0))</li>" }.joined() + "</ul></section>\n"
    }

    private static func summaryCard(_ label: String, _ value: String, _ cssClass: String) -> String
    {
        "<div class=\"card \(cssClass)\"><b>\(escaped(value))</b><span>\(escaped(label))</span></div>\n"
    }

    /// Returns the HTML of a command with a button that copies the command.
    private static func command(_ text: String) -> String {
        "<div class=cmd><code>\(escaped(text))</code>"
            + "<button type=button class=copy>copy</button></div>\n"
    }

    private static func caseBlock(
        _ result: Redacted<CaseResult>,
        _ number: Int,
        _ replay: Redacted<ReplayCommand>?
    ) -> String {
        var text = "<details class=block id=case-\(number)"
        text += "\(result.outcome == .failed && number < openCaseMax ? " open" : "")><summary>"
        text += "<span class=\"chip \(result.outcome.rawValue)\">\(result.outcome.words)</span> "
        text += "<code>\(escaped(result.contract.caseID))</code> "
        text += "<span class=sub>\(escaped(result.contract.clause)) "
        text += "\(escaped(result.contract.level.rawValue)) · \(escaped(result.contract.title))"
        text += "</span></summary>\n"
        for finding in result.findings.prefix(6) {
            text += "<dl><dt>\(finding.code.rawValue)<dd>\(escaped(finding.rule))"
            if let location = finding.location {
                text += " <span class=sub>\(escaped(location.path)):\(location.line)</span>"
            }
            let (expected, actual) = HTMLText.markingDifferences(finding.expected, finding.actual)
            text += "<dt>expected<dd>\(expected)<dt>actual<dd>\(actual)"
            if !finding.nearMiss.isEmpty {
                let lines = finding.nearMiss.joined(separator: "\n")
                text += "<dt>closest<dd><pre>\(escaped(lines))</pre>"
            }
            let diagnosis = Diagnosis(finding, of: result.contract)
            text += "<dt>cause<dd>\(escaped(diagnosis.cause))"
            text += "<dt>remedy<dd>\(escaped(diagnosis.remedy))"
            if let remedyIfIntentional = diagnosis.remedyIfIntended {
                text += "<dt>intended?<dd>\(escaped(remedyIfIntentional))"
            }
            text += "</dl>\n"
        }
        for hint in result.hints { text += "<p>\(escaped(hint))</p>\n" }
        if let note = result.note { text += "<p>\(escaped(note))</p>\n" }
        text += SequenceDiagram(result, showsBodies: number < casesWithBodiesMax).html
        if let replay {
            text += command(replay.value.text(result.replayedCaseIDs ?? [result.contract.caseID]))
        }
        if let screenshot = result.screenshot, !screenshot.isEmpty {
            text += "<img alt=\"screenshot of the page\" width=215 "
            text += "src=\"data:image/png;base64,\(escaped(screenshot))\">\n"
        }
        if let output = result.backendOutput, !output.isEmpty {
            text +=
                "<p class=sub>backend output</p><pre>\(escaped(output.printableLines))</pre>\n"
        }
        return text + "</details>\n"
    }

    private static func escaped(_ text: String) -> String { HTMLText.escaped(text) }

    private static func milliseconds(_ seconds: Double) -> String {
        let value = Int((seconds * 1000).rounded())
        let millisecondDigits = String(value % 1000)
        return "\(value / 1000)." + String(repeating: "0", count: 3 - millisecondDigits.count)
            + millisecondDigits
    }
}
