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
        /// On which lines of it the keys of its first level stand.
        let keys: [String: Int]

        package init(
            profile: String?,
            keys: [String: Int] = [:],
            path: @escaping @Sendable (String) -> String?
        ) {
            self.profile = profile
            self.keys = keys
            self.path = path
        }

        /// The keys of a profile's first level, with their lines, the first of which is 1.
        package static func keys(in text: String) -> [String: Int] {
            var keys: [String: Int] = [:]
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            for (index, line) in lines.enumerated() {
                guard let colon = line.firstIndex(of: ":") else { continue }
                let key = line[..<colon]
                let isKey = key.allSatisfy { $0.isLowercase || $0 == "-" }
                if isKey, !key.isEmpty, keys[String(key)] == nil { keys[String(key)] = index + 1 }
            }
            return keys
        }

        /// The line that a message is about: of the key that it names, else of the routes, which
        /// every contract calls.
        fileprivate func line(about message: String) -> Int {
            let named = message.split { !($0.isLowercase || $0 == "-") }
                .lazy.compactMap { keys[String($0)] }.first
            return named ?? keys["endpoints"] ?? keys["start"] ?? keys["target"] ?? 1
        }

        /// Every path as it is written.
        package static let asWritten = Places(profile: nil) { $0 }
    }

    package static func render(_ report: Redacted<RunReport>, places: Places = .asWritten) -> String
    {
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
    private static func ordered(_ cases: [Redacted<CaseResult>]) -> [Redacted<CaseResult>] {
        let loud = cases.filter { $0.isLoud && $0.verdict != .knownFailure }
        var known: Set<String> = []
        let isFirst = loud.map { known.insert("\($0.verdict.rank) \($0.contract.clause)").inserted }
        func place(_ index: Int) -> (Int, Int, Int) {
            (loud[index].verdict.rank, isFirst[index] ? 0 : 1, index)
        }
        return loud.indices.sorted { place($0) < place($1) }.map { loud[$0] }
    }

    private static func annotation(_ result: Redacted<CaseResult>, _ places: Places) -> String {
        let level = result.verdict == .inconclusive ? "warning" : "error"
        guard let finding = result.findings.first else {
            return command(
                level,
                place(result.contract.location, places, about: result.note ?? "")
                    + [("title", "\(result.verdict.rawValue) \(result.contract.caseID)")],
                result.note ?? "\(result.contract.title)"
            )
        }
        let restCount = result.findings.count - 1
        let remedy = Diagnosis(finding, of: result.contract).remedy
        // Only what could not be seen is about the profile itself.
        let subject = result.verdict == .inconclusive ? remedy : ""
        return command(
            level,
            place(finding.location ?? result.contract.location, places, about: subject)
                + [("title", "\(finding.code.rawValue) \(result.contract.caseID)")],
            "expected: \(finding.expected)\nactual: \(finding.actual)\n"
                + remedy
                + (restCount > 0 ? "\nand \(restCount) more findings" : "")
        )
    }

    private static func place(
        _ location: SourceLocation,
        _ places: Places,
        about message: String
    ) -> [(String, String)] {
        if let path = places.path(location.path) {
            return [("file", path), ("line", "\(location.line)"), ("col", "\(location.column)")]
        }
        return places.profile.map {
            [("file", $0), ("line", "\(places.line(about: message))")]
        } ?? []
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
        for character in text.printableLines.unicodeScalars {
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
