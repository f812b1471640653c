internal import Contracts
internal import Judging
internal import Redaction

/// The list of causes in the HTML report of a run, with links to the cases.
enum HTMLCauses {
    private static let linkCountMax = 3

    /// Returns the list of causes, the cause to fix first at the top, with links to the blocks of
    /// the cases on the same page.
    ///
    /// - Parameters:
    ///   - report: The report of the run.
    ///   - causes: The causes of the report's failures.
    ///   - blockNumbers: The numbers in the anchors of the case blocks, by the index of the case in
    ///     the report.
    /// - Returns: A section; empty when the run has no cause.
    static func section(
        _ report: Redacted<RunReport>,
        _ causes: FailureCauses,
        blockNumbers: [Int: Int]
    ) -> String {
        guard !causes.all.isEmpty else { return "" }
        let results = report.cases
        var text = "<section id=causes><h2>Causes</h2><ol class=causes>\n"
        for (index, cause) in causes.all.enumerated() {
            let outcome = results[cause.representativeIndex].outcome
            let first = index == 0 ? "Fix this first: " : ""
            text += "<li class=\(outcome.rawValue)><p class=share>"
            text += "\(first)\(HTMLText.escaped(causes.share(of: cause)))</p>"
            text += "<h3>\(HTMLText.escaped(cause.title))</h3>"
            text += deviations(cause, results)
            text += "<p>\(HTMLText.escaped(cause.remedy))</p>"
            text += links(cause, index + 1, results, blockNumbers) + "</li>\n"
        }
        return text + "</ol></section>\n"
    }

    /// Returns the folded list of the other deviations of a cause; empty without one.
    private static func deviations(_ cause: FailureCause, _ results: [Redacted<CaseResult>])
        -> String
    {
        guard !cause.otherDeviations.isEmpty else { return "" }
        let items = cause.otherDeviations.map { deviation in
            let caseID = results[deviation.representativeIndex].contract.caseID
            return "<li>\(HTMLText.escaped(deviation.title)), such as in "
                + "<code>\(HTMLText.escaped(caseID))</code></li>"
        }
        return "<details><summary>other deviations</summary><ul>\(items.joined())</ul></details>"
    }

    private static func links(
        _ cause: FailureCause,
        _ number: Int,
        _ results: [Redacted<CaseResult>],
        _ blockNumbers: [Int: Int]
    ) -> String {
        let clauses = Set(cause.caseIndices.map { results[$0].contract.clause }).sorted()
        var text = "<p class=links>"
        if let code = cause.finding?.code {
            text += "<span class=sub>\(code.rawValue) \(HTMLText.escaped(code.rule)), "
        } else {
            text += "<span class=sub>"
        }
        text += "\(HTMLText.escaped(clauses.joined(separator: " ")))</span> "
        let others = cause.caseIndices.filter { $0 != cause.representativeIndex }
        for index in ([cause.representativeIndex] + others).prefix(linkCountMax) {
            let caseID = HTMLText.escaped(results[index].contract.caseID)
            text += blockNumbers[index].map { "<a href=\"#case-\($0)\">\(caseID)</a> " } ?? caseID
        }
        if cause.caseCount > linkCountMax {
            text += "<button type=button data-cause=\(number)>show all \(cause.caseCount)</button>"
        }
        return text + "</p>"
    }
}
