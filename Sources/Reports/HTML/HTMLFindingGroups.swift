internal import Conformance

/// The table of finding codes in the HTML report of a run, with links to the cases.
enum HTMLFindingGroups {
    private static let linkMax = 8

    /// Returns the table of finding codes, with links to the blocks of the cases on the same page.
    ///
    /// The result is empty when no case needs attention.
    static func section(_ reportedCases: [Redacted<CaseResult>]) -> String {
        let causes = FindingGroup.all(reportedCases)
        guard !causes.isEmpty else { return "" }
        var text = "<section><h2>Findings</h2><div class=wide><table class=causes><thead><tr>"
        text += "<th>finding<th class=num>cases<th>clauses<th>case IDs</tr></thead><tbody>\n"
        for cause in causes { text += row(cause) }
        return text + "</tbody></table></div></section>\n"
    }

    private static func row(_ cause: FindingGroup) -> String {
        var text = "<tr><td><span class=\"chip \(cause.verdict.rawValue)\">\(cause.code.rawValue)"
        text += "</span> \(HTMLText.escaped(cause.code.rule))"
        text += "<td class=num>\(cause.cases.count)<td>"
        text += HTMLText.escaped(cause.clauses.joined(separator: " ")) + "<td class=links>"
        for (number, result) in cause.cases.prefix(linkMax) {
            text += "<a href=\"#case-\(number)\">\(HTMLText.escaped(result.contract.caseID))</a> "
        }
        let restCount = cause.cases.count - linkMax
        if restCount > 0 { text += "<span class=sub>and \(restCount) more</span>" }
        return text + "</tr>\n"
    }
}
