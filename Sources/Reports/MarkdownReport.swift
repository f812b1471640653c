internal import Contracts
package import Judging
package import Redaction

/// Renders the summary of a run that a CI service shows on the page of a job, such as GitHub's step
/// summary.
///
/// It contains counts, causes with all their cases, clauses, finding codes, and the command that
/// repeats the run.
package enum MarkdownReport {
    /// Renders the Markdown summary of a run.
    ///
    /// - Parameters:
    ///   - report: The report of the run.
    ///   - replay: The command that repeats the run, without `--only`.
    /// - Returns: GitHub-flavored Markdown.
    package static func render(_ report: Redacted<RunReport>, replay: Redacted<ReplayCommand>)
        -> String
    {
        var text = "## Assay: \(report.exitCode == 0 ? "green" : "not green")\n\n"
        if !report.skipReasons.isEmpty {
            text += "Stopped before the first case:\n\n"
            text += report.skipReasons.map { "- \(escapedText($0))\n" }.joined() + "\n"
            return text + replaySection(replay.value.text([]))
        }
        let scorecard = report.scorecard
        text += "| | cases |\n| --- | ---: |\n"
        for outcome in CaseOutcome.allCases where report.count(outcome) > 0 {
            text += "| \(outcome.words) | \(report.count(outcome)) |\n"
        }
        text += "\n"
        if let grade = scorecard.grade { text += "**Grade** \(grade.rawValue) · " }
        text += "**clauses proven** \(scorecard.count(.proven)) of \(scorecard.clauses.count)"
        text +=
            " · seed \(escapedText(report.seed)) · suite \(escapedText(String(report.suite.prefix(19))))\n\n"
        text += causeTable(report)
        let notes = report.notesWithSummaries.map { "- \(escapedText($0))\n" }
        if !notes.isEmpty { text += notes.joined() + "\n" }
        return text + replaySection(replay.value.text([]))
    }

    /// Returns the table of causes, the cause to fix first at the top; empty for a run without any.
    private static func causeTable(_ report: Redacted<RunReport>) -> String {
        let causes = FailureCauses(report.value)
        guard let first = causes.all.first else { return "" }
        let results = report.cases
        var text = "**Fix this first**, \(causes.share(of: first)): \(escapedText(first.title))\\\n"
        text += "\(escapedText(first.remedy))\n\n"
        text += "| cause | finding | cases | clauses | first |\n"
        text += "| --- | --- | ---: | --- | --- |\n"
        for cause in causes.all {
            let cases = cause.caseIndices.map { results[$0] }
            let clauses = Set(cases.map(\.contract.clause)).sorted().joined(separator: " ")
            let representative = results[cause.representativeIndex]
            let finding =
                cause.finding.map { "\($0.code.rawValue) \($0.rule)" }
                ?? representative.outcome.words
            text += "| \(escapedText(cause.title)) | \(escapedText(finding)) | \(cause.caseCount)"
            text += " | \(escapedText(clauses)) | \(code(representative.contract.caseID)) |\n"
        }
        return text + "\n" + causes.all.map { details($0, results) }.joined()
    }

    /// Returns a folded list of the cases of a cause, with its remedy; empty for a single case,
    /// which the table names.
    private static func details(_ cause: FailureCause, _ results: [Redacted<CaseResult>]) -> String
    {
        guard cause.caseCount > 1 else { return "" }
        let caseIDs = cause.caseIndices.map { "- \(code(results[$0].contract.caseID))\n" }
        let deviations = cause.otherDeviations.map {
            let caseID = results[$0.representativeIndex].contract.caseID
            return "- \(escapedText($0.title)), such as in \(code(caseID))\n"
        }
        let deviationList =
            deviations.isEmpty ? "" : "Other deviations:\n\n\(deviations.joined())\n"
        // After the empty line, the text is Markdown again.
        return "<details><summary>\(cause.caseCount) cases</summary>\n\n"
            + "**\(escapedText(cause.title))**\\\n\(escapedText(cause.remedy))\n\n"
            + "\(deviationList)Cases:\n\n\(caseIDs.joined())\n</details>\n\n"
    }

    private static func replaySection(_ command: String) -> String {
        // The code fence must be longer than any sequence of backquotes in the command.
        let fence = String(repeating: "`", count: max(3, longestRun(of: "`", in: command) + 1))
        let line = command.split(whereSeparator: \.isNewline).joined(separator: " ")
        return "\(fence)sh\n\(line.printable)\n"
            + "\(fence)\n"
    }

    private static func longestRun(of repeatedCharacter: Character, in text: String) -> Int {
        text.split { $0 != repeatedCharacter }.map(\.count).max() ?? 0
    }

    /// Returns text for a table cell or a line, with Markdown characters escaped.
    private static func escapedText(_ text: String) -> String {
        var output = ""
        for character in text.printable {
            switch character {
            case "&": output += "&amp;"
            case "<": output += "&lt;"
            case ">": output += "&gt;"
            case _ where character.isNewline: output += " "
            case "|", "\\", "`", "*", "_", "[", "]", "#", "!", "~":
                output += "\\" + String(character)
            default: output.append(character)
            }
        }
        return output
    }

    private static func code(_ text: String) -> String {
        let fence = String(repeating: "`", count: longestRun(of: "`", in: text) + 1)
        let escapedCode = text.printable.replacing("|", with: "\\|")
        return "\(fence)\(escapedCode)\(fence)"
    }
}
