package import Conformance

/// Workflow commands that a forge turns into annotations at the contract's line.
package enum GitHubReport {
    package static func render(_ original: RunReport) -> String {
        let report = original.withoutSecrets
        var text = report.obstacles.map {
            command("error", [("title", "Assay stopped before the first case")], $0)
        }.joined()
        for result in report.obstacles.isEmpty ? report.cases : [] {
            switch result.verdict {
            case .passed, .knownFailure: continue
            case .notRun where result.isDeclaredUnsupported: continue
            case .failed:
                for finding in result.findings { text += line("error", result, finding) }
            case .unexpectedPass, .notRun:
                text += command(
                    "error",
                    [("title", "\(result.verdict.rawValue) \(result.contract.caseID)")],
                    result.note ?? "\(result.contract.title)"
                )
            case .inconclusive:
                for finding in result.findings { text += line("warning", result, finding) }
            }
        }
        let level = report.exitCode == 0 ? "notice" : "error"
        let standing = report.standing
        let counts = Verdict.allCases.filter { report.count($0) > 0 }
            .map { "\(report.count($0)) \($0.rawValue)" }.joined(separator: ", ")
        text += command(
            level,
            [("title", "Assay")],
            "\(counts); clauses proven \(standing.count(.proven)) of \(standing.clauses.count)"
                + (standing.grade.map { "; grade \($0.rawValue)" } ?? "")
        )
        return text
    }

    private static func line(_ level: String, _ result: CaseResult, _ finding: Finding) -> String {
        let location = finding.location ?? result.contract.location
        return command(
            level,
            [
                ("file", location.path), ("line", "\(location.line)"),
                ("col", "\(location.column)"),
                ("title", "\(finding.code.rawValue) \(result.contract.caseID)"),
            ],
            "expected: \(finding.expected)\nactual: \(finding.actual)\n"
                + Diagnosis(finding, of: result.contract).remedy
        )
    }

    /// Values lose what would end the command early.
    private static func command(
        _ name: String,
        _ properties: [(String, String)],
        _ message: String
    ) -> String {
        let list = properties.map { "\($0.0)=\(escaped($0.1, inProperty: true))" }
        return "::\(name) \(list.joined(separator: ","))::\(escaped(message, inProperty: false))\n"
    }

    private static func escaped(_ text: String, inProperty: Bool) -> String {
        var output = ""
        for character in text.unicodeScalars {
            switch character {
            case "%": output += "%25"
            case "\r": output += "%0D"
            case "\n": output += "%0A"
            case ":" where inProperty: output += "%3A"
            case "," where inProperty: output += "%2C"
            default: output.unicodeScalars.append(character)
            }
        }
        return output
    }
}
