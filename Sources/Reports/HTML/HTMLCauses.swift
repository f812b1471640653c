internal import Conformance

/// The causes of a run as a table that leads to the cases.
enum HTMLCauses {
    private static let linkMax = 8

    /// A table of findings with the cases that have a block, in the order of their blocks; nothing
    /// where all is green.
    static func section(_ loud: [Redacted<CaseResult>]) -> String {
        let causes = FindingCause.all(loud)
        guard !causes.isEmpty else { return "" }
        var text = "<section><h2>By cause</h2><div class=wide><table class=causes><thead><tr>"
        text += "<th>finding<th class=num>cases<th>clauses<th>which</tr></thead><tbody>\n"
        for cause in causes { text += row(cause) }
        return text + "</tbody></table></div></section>\n"
    }

    private static func row(_ cause: FindingCause) -> String {
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
