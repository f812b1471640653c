internal import Contracts
package import Judging
package import Redaction
internal import Values

/// Renders a run as workflow commands, which GitHub Actions and compatible CI services show as
/// annotations of files in the repository.
package enum GitHubReport {
    /// The maximum number of cases that get an annotation.
    ///
    /// A CI service shows ten annotations for each step and silently drops the rest. The tenth
    /// annotation is the summary of the run.
    private static let annotationCountMax = 9

    /// The files of the repository, and the lines of the profile, to which annotations can be
    /// attached.
    package struct RepositoryFiles: Sendable {
        /// A function that returns the path of a file relative to the root of the repository; nil
        /// when the file is not in the repository.
        let path: @Sendable (String) -> String?
        /// The path of the profile in the repository.
        ///
        /// Findings in files outside of the repository are annotated on the profile.
        ///
        /// The contracts that are shipped with Assay, for example, are not in the repository.
        let profile: String?
        /// The line number of each top-level key in the profile.
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

        /// Returns the line number, counted from 1, of each top-level key in the text of a profile.
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

        /// Returns the line of the profile that a message concerns.
        ///
        /// It is the line of the first profile key that the message names. If the message names no
        /// key, it is the line of `endpoints`, because every contract uses the endpoints.
        fileprivate func line(about message: String) -> Int {
            let lineOfNamedKey = message.split { !($0.isLowercase || $0 == "-") }
                .lazy.compactMap { keys[String($0)] }.first
            return lineOfNamedKey ?? keys["endpoints"] ?? keys["start"] ?? keys["target"] ?? 1
        }

        /// The files for a run outside of a repository: every path stays unchanged, and annotations
        /// are never attached to a profile.
        package static let outsideRepository = RepositoryFiles(profile: nil) { $0 }
    }

    package static func render(
        _ report: Redacted<RunReport>,
        repositoryFiles: RepositoryFiles = .outsideRepository
    ) -> String {
        var text = report.skipReasons.map {
            command("error", [("title", "Assay stopped before the first case")], $0)
        }.joined()
        let reportedCases = report.skipReasons.isEmpty ? sortedForAnnotations(report) : []
        for result in reportedCases.prefix(annotationCountMax) {
            text += annotation(result, repositoryFiles)
        }
        let annotationLevel = report.exitCode == 0 ? "notice" : "error"
        let scorecard = report.scorecard
        let counts = CaseOutcome.allCases.filter { report.count($0) > 0 }
            .map { $0.words(count: report.count($0)) }.joined(separator: ", ")
        let restCount = reportedCases.count - annotationCountMax
        let causes = FailureCauses(report.value)
        text += command(
            annotationLevel,
            [("title", "Assay")],
            "\(counts); clauses proven \(scorecard.count(.proven)) of \(scorecard.clauses.count)"
                + (scorecard.grade.map { "; grade \($0.rawValue)" } ?? "")
                + (causes.all.first.map { cause in
                    "; fix this first, \(causes.share(of: cause)): \(cause.title)"
                } ?? "")
                + (restCount > 0
                    ? "; \(restCount) more case\(restCount == 1 ? "" : "s") in the log" : "")
        )
        return text
    }

    /// Returns the cases in the order in which they are annotated: the representative case of each
    /// cause, then the remarks, then the other cases.
    private static func sortedForAnnotations(_ report: Redacted<RunReport>) -> [Redacted<
        CaseResult
    >] {
        let causes = FailureCauses(report.value).all
        let representatives = causes.map(\.representativeIndex)
        let results = report.cases
        let remarks = results.indices.filter { results[$0].outcome == .remark }
        let others = causes.flatMap { cause in
            cause.caseIndices.filter { $0 != cause.representativeIndex }
        }
        return (representatives + remarks + others).map { results[$0] }
    }

    private static func annotation(
        _ result: Redacted<CaseResult>,
        _ repositoryFiles: RepositoryFiles
    )
        -> String
    {
        let annotationLevel =
            result.outcome == .remark
            ? "notice" : result.outcome == .inconclusive ? "warning" : "error"
        guard let finding = result.findings.first else {
            return command(
                annotationLevel,
                place(result.contract.location, repositoryFiles, about: result.note ?? "")
                    + [("title", "\(result.outcome.words) \(result.contract.caseID)")],
                result.note ?? "\(result.contract.title)"
            )
        }
        let findings = result.distinctFindings
        let restCount = findings.count - 1
        let remedy = Diagnosis(finding, of: result.contract).remedy
        // The remedy of an inconclusive case may name a key of the profile, for example because
        // Assay could not observe a value. The annotation is then attached to the line of that key.
        let subject = result.outcome == .inconclusive ? remedy : ""
        return command(
            annotationLevel,
            place(finding.location ?? result.contract.location, repositoryFiles, about: subject)
                + [("title", "\(finding.code.rawValue) \(result.contract.caseID)")],
            "expected: \(finding.expected)\nactual: \(finding.actual)\(findings[0].countText)\n"
                + remedy
                + (restCount > 0
                    ? "\nand \(restCount) more finding\(restCount == 1 ? "" : "s")" : "")
        )
    }

    private static func place(
        _ location: SourceLocation,
        _ repositoryFiles: RepositoryFiles,
        about message: String
    ) -> [(String, String)] {
        if let path = repositoryFiles.path(location.path) {
            return [("file", path), ("line", "\(location.line)"), ("col", "\(location.column)")]
        }
        return repositoryFiles.profile.map {
            [("file", $0), ("line", "\(repositoryFiles.line(about: message))")]
        } ?? []
    }

    /// Returns a workflow command.
    ///
    /// Characters that would end the command early are escaped.
    private static func command(
        _ name: String,
        _ properties: [(String, String)],
        _ message: String
    ) -> String {
        let propertyList = properties.map { "\($0.0)=\(escaped($0.1, inProperty: true))" }
        return
            "::\(name) \(propertyList.joined(separator: ","))::\(escaped(message, inProperty: false))\n"
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
