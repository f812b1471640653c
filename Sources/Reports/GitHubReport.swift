package import Conformance

/// Workflow commands that a forge turns into annotations, on lines of the repository's own files.
package enum GitHubReport {
    /// A forge shows ten of a step and drops the others in silence; the last is the run's.
    private static let caseMax = 9

    /// Where annotations can stand.
    package struct Places: Sendable {
        /// The path of a file from the root of the repository; nil where it is none of its files.
        let path: @Sendable (String) -> String?
        /// The profile, on which stands what belongs to no other file of the repository: the shipped
        /// contracts lie in none.
        let profile: String?

        package init(profile: String?, path: @escaping @Sendable (String) -> String?) {
            self.profile = profile
            self.path = path
        }

        /// Every path as it is written.
        package static let asWritten = Places(profile: nil) { $0 }
    }

    package static func render(_ original: RunReport, places: Places = .asWritten) -> String {
        let report = original.withoutSecrets
        var text = report.obstacles.map {
            command("error", [("title", "Assay stopped before the first case")], $0)
        }.joined()
        let loud = report.obstacles.isEmpty ? ordered(report.cases) : []
        for result in loud.prefix(caseMax) { text += annotation(result, places) }
        let level = report.exitCode == 0 ? "notice" : "error"
        let standing = report.standing
        let counts = Verdict.allCases.filter { report.count($0) > 0 }
            .map { "\(report.count($0)) \($0.rawValue)" }.joined(separator: ", ")
        let restCount = loud.count - caseMax
        text += command(
            level,
            [("title", "Assay")],
            "\(counts); clauses proven \(standing.count(.proven)) of \(standing.clauses.count)"
                + (standing.grade.map { "; grade \($0.rawValue)" } ?? "")
                + (restCount > 0 ? "; \(restCount) more cases are told in the log" : "")
        )
        return text
    }

    /// What is annotated: failures first, and one of each clause before a second of any.
    private static func ordered(_ cases: [CaseResult]) -> [CaseResult] {
        let loud = cases.filter { $0.isLoud && $0.verdict != .knownFailure }
        var known: Set<String> = []
        let isFirst = loud.map { known.insert("\($0.verdict.rank) \($0.contract.clause)").inserted }
        func place(_ index: Int) -> (Int, Int, Int) {
            (loud[index].verdict.rank, isFirst[index] ? 0 : 1, index)
        }
        return loud.indices.sorted { place($0) < place($1) }.map { loud[$0] }
    }

    private static func annotation(_ result: CaseResult, _ places: Places) -> String {
        let level = result.verdict == .inconclusive ? "warning" : "error"
        guard let finding = result.findings.first else {
            return command(
                level,
                place(result.contract.location, places)
                    + [("title", "\(result.verdict.rawValue) \(result.contract.caseID)")],
                result.note ?? "\(result.contract.title)"
            )
        }
        let restCount = result.findings.count - 1
        return command(
            level,
            place(finding.location ?? result.contract.location, places)
                + [("title", "\(finding.code.rawValue) \(result.contract.caseID)")],
            "expected: \(finding.expected)\nactual: \(finding.actual)\n"
                + Diagnosis(finding, of: result.contract).remedy
                + (restCount > 0 ? "\nand \(restCount) more findings" : "")
        )
    }

    private static func place(
        _ location: SourceLocation,
        _ places: Places
    ) -> [(String, String)] {
        if let path = places.path(location.path) {
            return [("file", path), ("line", "\(location.line)"), ("col", "\(location.column)")]
        }
        return places.profile.map { [("file", $0), ("line", "1")] } ?? []
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
