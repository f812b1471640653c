internal import Contracts
internal import Judging
internal import Redaction

/// The table of finding codes in the HTML report of a run, with links to the cases.
enum HTMLFindingGroups {
    private static let linkCountMax = 8

    /// Returns the table of finding codes, with links to the blocks of the cases on the same page.
    ///
    /// The result is empty when no case needs attention.
    static func section(_ reportedCases: [Redacted<CaseResult>]) -> String {
        let groups = FindingGroup.groups(reportedCases)
        guard !groups.isEmpty else { return "" }
        var text = "<section><h2>Findings</h2><div class=wide><table class=causes><thead><tr>"
        text += "<th>finding<th class=num>cases<th>clauses<th>case IDs</tr></thead><tbody>\n"
        for group in groups { text += row(group) }
        return text + "</tbody></table></div></section>\n"
    }

    private static func row(_ group: FindingGroup) -> String {
        var text = "<tr><td><span class=\"chip \(group.outcome.rawValue)\">\(group.code.rawValue)"
        text += "</span> \(HTMLText.escaped(group.code.rule))"
        text += "<td class=num>\(group.cases.count)<td>"
        text += HTMLText.escaped(group.clauses.joined(separator: " ")) + "<td class=links>"
        for (number, result) in group.cases.prefix(linkCountMax) {
            text += "<a href=\"#case-\(number)\">\(HTMLText.escaped(result.contract.caseID))</a> "
        }
        let restCount = group.cases.count - linkCountMax
        if restCount > 0 { text += "<span class=sub>and \(restCount) more</span>" }
        return text + "</tr>\n"
    }
}
