package import Contracts
internal import Grammar
internal import Redaction
package import Values

/// The list of failures that a team has accepted for now, each with its case, finding code and
/// reason.
///
/// The run fails when a listed case passes, or fails with a code that is not listed for it. This
/// keeps the list correct.
package struct KnownFailures: Hashable, Sendable {
    package struct Entry: Hashable, Sendable {
        package let caseID: String
        /// The finding codes with which the case may fail; usually one.
        package let codes: [FindingCode]
        package let reason: String
        package let location: SourceLocation

        package var line: Int { location.line }

        /// The finding codes in the notation of the list file: `E204,E301`.
        package var codeList: String { codes.map(\.rawValue).joined(separator: ",") }
    }

    package struct ParseError: Error, Hashable, Sendable, CustomStringConvertible {
        package let location: SourceLocation
        package let problem: String
        package let remedy: String

        package var description: String {
            "\(location): \(problem)\n\(location.excerpt)\n\(remedy)"
        }
    }

    package let entries: [String: Entry]

    package init() {
        entries = [:]
    }

    /// Parses a list of known failures with one entry per line: `case/id E204 reason`.
    ///
    /// Several codes are written as `E204,E301`. A `#` begins a comment.
    package init(parsing text: String, path: String) throws(ParseError) {
        var entries: [String: Entry] = [:]
        for (index, line) in text.exactLines.enumerated() {
            let content = line.cut(at: "#")?.before ?? line
            let words = content.split(whereSeparator: \.isWhitespace).map(String.init)
            guard !words.isEmpty else { continue }
            let startColumn = line.prefix(while: \.isWhitespace).count + 1
            func location(_ word: String) -> SourceLocation {
                let column =
                    line.ranges(of: word).first.map {
                        line.distance(from: line.startIndex, to: $0.lowerBound) + 1
                    } ?? startColumn
                return SourceLocation(
                    path: path,
                    line: index + 1,
                    column: column,
                    text: line,
                    length: word.count
                )
            }
            let codeTexts =
                words.count < 2
                ? []
                : words[1].split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            let codes = codeTexts.compactMap { FindingCode(rawValue: $0) }
            guard !codes.isEmpty, codes.count == codeTexts.count else {
                throw ParseError(
                    location: location(words.count >= 2 ? words[1] : words[0]),
                    problem: words.count >= 2
                        ? "'\(words[1])' is not a finding code" : "a finding code is missing",
                    remedy:
                        "Write: <case> <code> <reason>, for example: \(words[0]) E204 ticket 123"
                )
            }
            guard entries[words[0]] == nil else {
                throw ParseError(
                    location: location(words[0]),
                    problem: "the case '\(words[0])' is listed twice",
                    remedy: "Keep one of the two lines."
                )
            }
            entries[words[0]] = Entry(
                caseID: words[0],
                codes: codes,
                reason: words.dropFirst(2).joined(separator: " "),
                location: location(words[0])
            )
        }
        self.entries = entries
    }

    /// Checks that every entry of the list names an existing case.
    ///
    /// An entry for a case that was renamed or removed would otherwise stay in the list unnoticed.
    ///
    /// - Parameters:
    ///   - contracts: All contracts that can be run, whether selected or not.
    ///   - namesOfOtherChecks: The names of checks that no contract defines, such as `run/…`.
    /// - Throws: An error for the first entry whose case does not exist, with the most similar case
    ///   name.
    package func check(
        against contracts: [ContractHeading],
        and namesOfOtherChecks: [String] = []
    ) throws(ParseError) {
        let names = Set(contracts.map(\.caseID) + namesOfOtherChecks)
        // The case IDs of a search are known only when the search runs, so a prefix is accepted.
        let searchIDPrefixes = contracts.filter { $0.search != nil }.map { $0.id + "/" }
        for entry in entries.values.sorted(by: { $0.line < $1.line }) {
            guard !names.contains(entry.caseID),
                !searchIDPrefixes.contains(where: { entry.caseID.hasPrefix($0) })
            else { continue }
            let similarCaseName = Suggestion.nearest(to: entry.caseID, among: names.sorted())
            throw ParseError(
                location: entry.location,
                problem: "no case is called '\(entry.caseID)'",
                remedy: similarCaseName.map { "Did you mean '\($0)'?" }
                    ?? "Delete the line, or find the case name with 'assay list'."
            )
        }
    }

    /// Returns the verdict of a case after applying the list of known failures, and a note.
    ///
    /// The note contains the reason of the case's entry, or an instruction to delete the entry.
    package func verdict(
        _ verdict: Verdict,
        of caseID: String,
        findings: [Finding]
    ) -> (verdict: Verdict, note: String?) {
        guard let entry = entries[caseID] else { return (verdict, nil) }
        switch verdict {
        case .passed:
            return (
                .unexpectedPass,
                "the known failure \(entry.codeList) on line \(entry.line) of the list passes now; "
                    + "delete that line"
            )
        case .failed where findings.allSatisfy({ entry.codes.contains($0.code) }):
            return (.knownFailure, entry.reason.isEmpty ? nil : entry.reason)
        case .failed:
            return (
                .failed,
                "line \(entry.line) of the known failures lists this case with "
                    + "\(entry.codeList), but the case failed with another code"
            )
        case .knownFailure, .unexpectedPass, .inconclusive, .notRun: return (verdict, nil)
        }
    }
}

extension KnownFailures {
    /// One line of a list of known failures that is generated from a run.
    package struct GeneratedLine: Hashable, Sendable {
        package let caseID: String
        package let codes: [FindingCode]
        package let reason: String
    }

    /// Returns the lines of a list that accepts all failures of a run, each with its finding codes.
    ///
    /// A known failure that still fails keeps its reason from the previous list.
    ///
    /// - Parameters:
    ///   - report: The report of the run.
    ///   - previousList: The previous list; entries for cases that this run did not run are kept.
    /// - Returns: The lines, with the failures of this run first.
    package static func linesAcceptingFailures(
        _ report: RunReport,
        keeping previousList: KnownFailures = KnownFailures()
    ) -> [GeneratedLine] {
        let executedCaseIDs = Set(
            report.cases.filter { $0.verdict != .notRun }.map(\.contract.caseID)
        )
        let keptLines = previousList.entries.values.filter { !executedCaseIDs.contains($0.caseID) }
            .sorted { $0.line < $1.line }
            .map { GeneratedLine(caseID: $0.caseID, codes: $0.codes, reason: $0.reason) }
        return linesOfFailures(of: report) + keptLines
    }

    private static func linesOfFailures(of report: RunReport) -> [GeneratedLine] {
        report.redacted().cases.compactMap { result in
            guard result.verdict == .failed || result.verdict == .knownFailure,
                let finding = result.findings.first
            else { return nil }
            let knownFailureReason = result.verdict == .knownFailure ? result.note : nil
            let reason = knownFailureReason ?? finding.actual
            let line = reason.map { $0.isNewline || $0 == "#" ? " " : $0 }
            return GeneratedLine(
                caseID: result.contract.caseID,
                codes: Set(result.findings.map(\.code)).sorted { $0.rawValue < $1.rawValue },
                reason: String(line.prefix(120))
            )
        }
    }

    /// Returns the contents of a list file of known failures with these lines.
    package static func text(_ lines: [GeneratedLine], of report: RunReport) -> String {
        let fileHeader = """
            # Known failures: \(lines.count) (suite \(report.suite.prefix(19)), \
            seed \(report.seed)).
            # A listed case that passes, or fails with another code, fails the run.
            # Then delete its line, or fix the new failure.

            """
        let caseIDWidth = lines.map(\.caseID.count).max() ?? 0
        return fileHeader
            + lines.map { line in
                let padding = String(repeating: " ", count: caseIDWidth - line.caseID.count + 2)
                return
                    "\(line.caseID)\(padding)\(line.codes.map(\.rawValue).joined(separator: ","))  \(line.reason)\n"
            }.joined()
    }
}
