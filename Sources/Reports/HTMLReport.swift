package import Conformance

/// One page without anything from elsewhere: the counts, the clauses, and every case.
package enum HTMLReport {
    package static func render(_ original: RunReport) -> String {
        let report = original.withoutSecrets
        let standing = report.standing
        var body = "<header><h1>Assay</h1><p class=sub>\(escaped(report.target)) · "
        body += "\(escaped(report.began.description)) · seed \(escaped(report.seed)) · "
        body += "<span title=\"\(escaped(report.suite))\">suite "
        body += "\(escaped(String(report.suite.prefix(19))))</span></p></header>\n"
        body += "<section class=cards>\n"
        if let grade = standing.grade { body += card("grade", grade.rawValue, "grade") }
        body += card(
            "clauses proven",
            "\(standing.count(.proven)) of \(standing.clauses.count)",
            standing.count(.failed) == 0 ? "passed" : "failed"
        )
        for verdict in Verdict.allCases where report.count(verdict) > 0 {
            body += card(words(verdict), "\(report.count(verdict))", verdict.rawValue)
        }
        body += "</section>\n<section><h2>Clauses</h2><p class=clauses>\n"
        for (clause, state) in standing.clauses.sorted(by: { $0.key < $1.key }) {
            body += "<span class=\"chip \(state.rawValue)\" title=\"\(state.rawValue)\">"
            body += "\(escaped(clause))</span>\n"
        }
        body += "</p></section>\n"
        body += list("Stopped before the first case", report.obstacles)
        let unseen = Standing.unseen(report.cases).map { line, clauses in
            "\(clauses.joined(separator: " ")) not shown: \(line)"
        }
        body += list("Notes", unseen + report.remarks)
        let loud = report.obstacles.isEmpty ? report.cases.filter(isLoud) : []
        if !loud.isEmpty {
            body += "<section><h2>What is not green</h2>\n"
            body += loud.map { block($0, report) }.joined() + "</section>\n"
        }
        body += "<section><h2>All cases</h2><table><thead><tr><th>case<th>clause<th>verdict"
        body += "<th class=num>s</tr></thead><tbody>\n"
        for result in report.cases {
            body += "<tr><td><code>\(escaped(result.contract.caseID))</code><br>"
            body += "<span class=sub>\(escaped(result.contract.title))</span>"
            body += "<td>\(escaped(result.contract.clause))"
            body += "<td><span class=\"chip \(result.verdict.rawValue)\">\(words(result.verdict))"
            body += "</span><td class=num>\(milliseconds(result.seconds))</tr>\n"
        }
        body += "</tbody></table></section>\n"
        return page("Assay · \(report.target)", body)
    }

    /// A section of plain lines; nothing where there are none.
    private static func list(_ title: String, _ lines: [String]) -> String {
        guard !lines.isEmpty else { return "" }
        return "<section><h2>\(title)</h2><ul>"
            + lines.map { "<li>\(escaped($0))</li>" }.joined() + "</ul></section>\n"
    }

    private static func isLoud(_ result: CaseResult) -> Bool {
        switch result.verdict {
        case .passed: false
        case .notRun: !result.isDeclaredUnsupported
        case .failed, .knownFailure, .unexpectedPass, .inconclusive: true
        }
    }

    private static func words(_ verdict: Verdict) -> String {
        switch verdict {
        case .passed: "passed"
        case .failed: "failed"
        case .knownFailure: "known failure"
        case .unexpectedPass: "passed unexpectedly"
        case .inconclusive: "inconclusive"
        case .notRun: "not run"
        }
    }

    private static func card(_ label: String, _ value: String, _ kind: String) -> String {
        "<div class=\"card \(kind)\"><b>\(escaped(value))</b><span>\(escaped(label))</span></div>\n"
    }

    private static func block(_ result: CaseResult, _ report: RunReport) -> String {
        var text = "<details\(result.verdict == .failed ? " open" : "")><summary>"
        text += "<span class=\"chip \(result.verdict.rawValue)\">\(words(result.verdict))</span> "
        text += "<code>\(escaped(result.contract.caseID))</code> "
        text += "<span class=sub>\(escaped(result.contract.clause)) "
        text += "\(escaped(result.contract.level.rawValue)) · \(escaped(result.contract.title))"
        text += "</span></summary>\n"
        for finding in result.findings.prefix(6) {
            text += "<dl><dt>\(finding.code.rawValue)<dd>\(escaped(finding.rule))"
            if let location = finding.location {
                text += " <span class=sub>\(escaped(location.path)):\(location.line)</span>"
            }
            text += "<dt>expected<dd>\(escaped(finding.expected))"
            text += "<dt>actual<dd>\(escaped(finding.actual))"
            if !finding.nearMiss.isEmpty {
                let lines = finding.nearMiss.joined(separator: "\n")
                text += "<dt>closest<dd><pre>\(escaped(lines))</pre>"
            }
            let diagnosis = Diagnosis(finding, of: result.contract)
            text += "<dt>cause<dd>\(escaped(diagnosis.cause))"
            text += "<dt>remedy<dd>\(escaped(diagnosis.remedy))"
            if let choice = diagnosis.ifMeant { text += "<dt>meant?<dd>\(escaped(choice))" }
            text += "</dl>\n"
        }
        for hint in result.hints { text += "<p>\(escaped(hint))</p>\n" }
        if let note = result.note { text += "<p>\(escaped(note))</p>\n" }
        let timeline = Timeline(result).lines()
        if !timeline.isEmpty {
            text += "<pre>\(escaped(timeline.joined(separator: "\n")))</pre>\n"
        }
        if let picture = result.picture, !picture.isEmpty {
            text += "<img alt=\"what the page showed\" width=215 "
            text += "src=\"data:image/png;base64,\(escaped(picture))\">\n"
        }
        if let output = result.backendOutput, !output.isEmpty {
            text +=
                "<p class=sub>the backend wrote</p><pre>\(escaped(output.printableLines))</pre>\n"
        }
        return text + "</details>\n"
    }

    private static func milliseconds(_ seconds: Double) -> String {
        let value = Int((seconds * 1000).rounded())
        let rest = String(value % 1000)
        return "\(value / 1000)." + String(repeating: "0", count: 3 - rest.count) + rest
    }

    private static func escaped(_ text: String) -> String {
        var output = ""
        // By code points: a quotation mark ends an attribute whatever mark joins it.
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": output += "&amp;"
            case "<": output += "&lt;"
            case ">": output += "&gt;"
            case "\"": output += "&quot;"
            default: output.unicodeScalars.append(scalar)
            }
        }
        return output
    }

    private static func page(_ title: String, _ body: String) -> String {
        """
        <!doctype html>
        <html lang="en"><head><meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>\(escaped(title))</title>
        <style>
        :root{color-scheme:light dark;--ink:#1c1f24;--dim:#667080;--line:#d9dee6;--card:#f6f8fa;
        --green:#1a7f37;--red:#c62f2f;--amber:#9a6700;--paper:#fff}
        @media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--dim:#95a0b0;--line:#333a45;
        --card:#1d2229;--green:#4ac26b;--red:#ff7b72;--amber:#d4a72c;--paper:#14181d}}
        body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);
        max-width:62rem;margin:2rem auto;padding:0 1rem}
        h1{margin:0;font-size:1.6rem}h2{font-size:1.1rem;margin:2rem 0 .6rem}
        .sub{color:var(--dim);font-size:.87rem}.cards{display:flex;flex-wrap:wrap;gap:.6rem}
        .card{background:var(--card);border:1px solid var(--line);border-radius:.5rem;
        padding:.5rem .9rem;display:flex;flex-direction:column}
        .card b{font-size:1.25rem}.card span{color:var(--dim);font-size:.82rem}
        .card.failed b,.card.unexpectedPass b{color:var(--red)}
        .card.passed b,.card.grade b{color:var(--green)}
        .card.inconclusive b,.card.knownFailure b{color:var(--amber)}
        .clauses{display:flex;flex-wrap:wrap;gap:.3rem}
        .chip{border:1px solid var(--line);border-radius:.35rem;padding:0 .4rem;font-size:.82rem;
        white-space:nowrap}
        .chip.passed,.chip.proven{color:var(--green);border-color:currentColor}
        .chip.failed,.chip.unexpectedPass{color:var(--red);border-color:currentColor}
        .chip.inconclusive,.chip.knownFailure{color:var(--amber);border-color:currentColor}
        .chip.notRun,.chip.unproven{color:var(--dim)}
        details{border:1px solid var(--line);border-radius:.5rem;padding:.6rem .9rem;margin:.6rem 0}
        summary{cursor:pointer;overflow-wrap:anywhere}
        dl{display:grid;grid-template-columns:6rem 1fr;gap:.15rem .6rem;margin:.6rem 0}
        dt{color:var(--dim)}dd{margin:0;overflow-wrap:anywhere}
        pre{background:var(--card);padding:.7rem;border-radius:.4rem;overflow-x:auto;font-size:.8rem}
        table{border-collapse:collapse;width:100%}
        th,td{text-align:left;padding:.35rem .5rem;border-bottom:1px solid var(--line);
        vertical-align:top}.num{text-align:right;font-variant-numeric:tabular-nums}
        code{font-size:.86rem;overflow-wrap:anywhere}
        </style></head><body>
        \(body)</body></html>

        """
    }
}
