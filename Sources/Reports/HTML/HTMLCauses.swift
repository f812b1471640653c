internal import Contracts
internal import Judging
internal import Redaction

/// The list of causes in the HTML report of a run, with links to the cases.
enum HTMLCauses {
    private static let linkCountMax = 8

    /// Returns the table of causes, the cause to fix first at the top, with links to the blocks of
    /// the cases on the same page.
    ///
    /// - Parameters:
    ///   - report: The report of the run.
    ///   - blockNumbers: The numbers in the anchors of the case blocks, by the index of the case in
    ///     the report.
    /// - Returns: A section; empty when the run has no cause.
    static func section(
        _ report: Redacted<RunReport>,
        blockNumbers: [Int: Int]
    ) -> String {
        let causes = FailureCauses(report.value)
        guard let first = causes.all.first else { return "" }
        var text = "<section id=causes><h2>Causes</h2><p>Fix this first: "
        text += "\(HTMLText.escaped(causes.share(of: first))).</p>"
        text += "<div class=wide><table class=causes><thead><tr>"
        text += "<th>cause<th class=num>cases<th>clauses<th>case IDs</tr></thead><tbody>\n"
        let results = report.cases
        for cause in causes.all { text += row(cause, results, blockNumbers) }
        return text + "</tbody></table></div></section>\n"
    }

    private static func row(
        _ cause: FailureCause,
        _ results: [Redacted<CaseResult>],
        _ blockNumbers: [Int: Int]
    ) -> String {
        let representative = results[cause.representativeIndex]
        let clauses = Set(cause.caseIndices.map { results[$0].contract.clause }).sorted()
        let chip = cause.finding?.code.rawValue ?? representative.outcome.words
        var text = "<tr><td><span class=\"chip \(representative.outcome.rawValue)\">"
        text += "\(HTMLText.escaped(chip))</span> \(HTMLText.escaped(cause.title))"
        text += "<br><span class=sub>\(HTMLText.escaped(cause.remedy))</span>"
        text += "<td class=num>\(cause.caseCount)<td>"
        text += HTMLText.escaped(clauses.joined(separator: " ")) + "<td class=links>"
        let others = cause.caseIndices.filter { $0 != cause.representativeIndex }
        for index in ([cause.representativeIndex] + others).prefix(linkCountMax) {
            let caseID = HTMLText.escaped(results[index].contract.caseID)
            text += blockNumbers[index].map { "<a href=\"#case-\($0)\">\(caseID)</a> " } ?? caseID
        }
        let restCount = cause.caseCount - linkCountMax
        if restCount > 0 { text += "<span class=sub>and \(restCount) more</span>" }
        return text + "</tr>\n"
    }
}
