internal import Conformance

/// What is not green, by what was found: the first thing that somebody who opens the page asks.
enum HTMLCauses {
    private static let linkMax = 8

    private struct Cause {
        let code: FindingCode
        var verdict: Verdict
        var cases: [(number: Int, result: CaseResult)]

        /// Failures before doubts, doubts before what is known.
        var rank: Int {
            switch verdict {
            case .failed, .unexpectedPass: 0
            case .inconclusive: 1
            case .knownFailure, .notRun, .passed: 2
            }
        }
    }

    /// A table of findings with their cases; nothing where all is green.
    ///
    /// - Parameter loud: The cases that have a block, in the order of their blocks.
    static func section(_ loud: [CaseResult]) -> String {
        var causes: [Cause] = []
        for (number, result) in loud.enumerated() {
            guard let code = result.findings.first?.code else { continue }
            let index = causes.firstIndex { $0.code == code && $0.verdict == result.verdict }
            if let index {
                causes[index].cases.append((number, result))
            } else {
                causes.append(
                    Cause(code: code, verdict: result.verdict, cases: [(number, result)])
                )
            }
        }
        guard !causes.isEmpty else { return "" }
        causes.sort { ($0.rank, -$0.cases.count) < ($1.rank, -$1.cases.count) }
        var text =
            "<section><h2>By cause</h2><div class=wide><table class=causes><thead><tr><th>finding"
        text += "<th class=num>cases<th>clauses<th>which</tr></thead><tbody>\n"
        for cause in causes { text += row(cause) }
        return text + "</tbody></table></div></section>\n"
    }

    private static func row(_ cause: Cause) -> String {
        var text = "<tr><td><span class=\"chip \(cause.verdict.rawValue)\">\(cause.code.rawValue)"
        text += "</span> \(HTMLText.escaped(cause.code.rule))"
        text += "<td class=num>\(cause.cases.count)<td>"
        let clauses = Set(cause.cases.map(\.result.contract.clause)).sorted()
        text += HTMLText.escaped(clauses.joined(separator: " ")) + "<td class=links>"
        for (number, result) in cause.cases.prefix(linkMax) {
            text += "<a href=\"#case-\(number)\">\(HTMLText.escaped(result.contract.caseID))</a> "
        }
        let restCount = cause.cases.count - linkMax
        if restCount > 0 { text += "<span class=sub>and \(restCount) more</span>" }
        return text + "</tr>\n"
    }
}
