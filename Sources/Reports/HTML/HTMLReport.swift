internal import Contracts
package import Judging
package import Redaction
internal import Values

/// Renders a run as one self-contained HTML page with the result in words, the causes, every case
/// and the clauses.
package enum HTMLReport {
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
        let causes = FailureCauses(report.value)
        let headline = RunHeadline(report, causes)
        let list = HTMLCaseList(report, causes, replay)
        var body = header(report, headline)
        if let replay { body += command(replay.value.text([])) }
        body += "</header>\n<main>\n"
        body += listSection("Stopped before the first case", "stopped", report.skipReasons)
        body += HTMLCauses.section(report, causes, blockNumbers: list.blockNumbers) + list.html
        body += clauses(report.scorecard)
        let unobservedChecks = Scorecard.unobservedChecks(report.value.cases).map { line, clauses in
            "\(clauses.joined(separator: " ")) not proven: \(line)"
        }
        body += listSection("Notes", "notes", unobservedChecks + report.notesWithSummaries)
        return HTMLPage.page("\(headline.text) · \(report.target)", body + "</main>\n")
    }

    private static func header(_ report: Redacted<RunReport>, _ headline: RunHeadline) -> String {
        var text =
            "<header class=\"top \(headline.outcome.rawValue)\"><p class=brand>Assay report</p>"
        text += "<h1>\(escaped(headline.text))</h1><p class=lead>"
        text += "\(escaped(headline.details.joined(separator: " · ")))</p>\n"
        text += "<div class=bar aria-hidden=true>"
        for outcome in CaseOutcome.allCases where report.count(outcome) > 0 {
            text += "<span class=\(outcome.rawValue) style=\"flex-grow:\(report.count(outcome))\">"
            text += "</span>"
        }
        text += "</div>\n<dl class=facts>"
        var facts = [("backend", report.target)]
        if let commit = report.commit { facts.append(("commit", commit)) }
        facts += [
            ("started", report.began.description),
            ("took", "\(HTMLText.seconds(report.seconds)) s"),
            ("seed", report.seed), ("suite", String(report.suite.prefix(19))),
        ]
        for (name, value) in facts {
            text += "<div><dt>\(name)<dd>\(escaped(value))</div>"
        }
        return text + "</dl>\n"
    }

    /// Returns the HTML table of the clauses, with their titles and states.
    private static func clauses(_ scorecard: Scorecard) -> String {
        guard !scorecard.clauses.isEmpty else { return "" }
        let counts = Scorecard.ClauseState.allCases.map { ($0, scorecard.count($0)) }
            .filter { $0.1 > 0 }.map { "\($0.1) \($0.0.rawValue)" }.joined(separator: ", ")
        var text = "<section id=clauses><h2>Clauses</h2><details class=block><summary>"
        text += "\(scorecard.clauses.count) clauses: \(counts)</summary>"
        text +=
            "<div class=wide><table><thead><tr><th>clause<th>title<th>state</tr></thead><tbody>\n"
        for (clause, state) in scorecard.clauses.sorted(by: { $0.key < $1.key }) {
            text += "<tr><td><code>\(escaped(clause))</code>"
            text += "<td>\(escaped(Clause.named(clause)?.title ?? ""))"
            text += "<td><span class=\"chip \(state.rawValue)\">\(state.rawValue)</span></tr>\n"
        }
        return text + "</tbody></table></div></details></section>\n"
    }

    /// Returns an HTML section with a title and a list of lines; an empty string when there are no
    /// lines.
    private static func listSection(_ title: String, _ id: String, _ lines: [String]) -> String {
        guard !lines.isEmpty else { return "" }
        return "<section id=\(id)><h2>\(title)</h2><ul>"
            + lines.map { "<li>\(escaped($0))</li>" }.joined() + "</ul></section>\n"
    }

    /// Returns the HTML of a command with a button that copies the command.
    static func command(_ text: String) -> String {
        "<div class=cmd><code>\(escaped(text))</code>"
            + "<button type=button class=copy>copy</button></div>\n"
    }

    private static func escaped(_ text: String) -> String { HTMLText.escaped(text) }
}
