internal import Contracts
package import Judging
package import Redaction

/// Renders the summary of a run that a CI service shows on the page of a job, such as GitHub's step
/// summary.
///
/// It contains counts, clauses, finding codes, and the command that repeats the run.
package enum MarkdownReport {
    private static let groupCountMax = 12

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
        let groups = FindingGroup.groups(report.cases.filter(\.isReported))
        if !groups.isEmpty {
            text += "| finding | result | cases | clauses | first |\n"
            text += "| --- | --- | ---: | --- | --- |\n"
            for group in groups.prefix(groupCountMax) {
                let first = group.cases.first?.result.contract.caseID ?? ""
                text +=
                    "| \(group.code.rawValue) \(escapedText(group.code.rule)) | \(group.outcome.words)"
                text +=
                    " | \(group.cases.count) | \(escapedText(group.clauses.joined(separator: " ")))"
                text += " | \(code(first)) |\n"
            }
            let restCount = groups.count - groupCountMax
            if restCount > 0 {
                text += "\n\(restCount) more kind\(restCount == 1 ? "" : "s") of findings.\n"
            }
            text += "\n"
        }
        let notes = report.notesWithKillSummary.map { "- \(escapedText($0))\n" }
        if !notes.isEmpty { text += notes.joined() + "\n" }
        return text + replaySection(replay.value.text([]))
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
