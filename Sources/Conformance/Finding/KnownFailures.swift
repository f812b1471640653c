/// The list of failures that a team has accepted for now: case, code, reason.
///
/// A listed case that passes, or fails with another code, is red: the list must stay true.
package struct KnownFailures: Hashable, Sendable {
    package struct Entry: Hashable, Sendable {
        package let caseID: String
        /// Every code that it may fail by; one as a rule.
        package let codes: [FindingCode]
        package let reason: String
        package let location: SourceLocation

        package var line: Int { location.line }

        /// Its codes, as the list spells them.
        package var spelling: String { codes.map(\.rawValue).joined(separator: ",") }
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

    /// Reads one entry a line: `case/id E204 reason`, or `E204,E301`; `#` begins a comment.
    package init(parsing text: String, path: String) throws(ParseError) {
        var entries: [String: Entry] = [:]
        for (index, line) in text.exactLines.enumerated() {
            let content = line.cut(at: "#")?.before ?? line
            let words = content.split(whereSeparator: \.isWhitespace).map(String.init)
            guard !words.isEmpty else { continue }
            let start = line.prefix(while: \.isWhitespace).count + 1
            func location(_ word: String) -> SourceLocation {
                let column =
                    line.ranges(of: word).first.map {
                        line.distance(from: line.startIndex, to: $0.lowerBound) + 1
                    } ?? start
                return SourceLocation(
                    path: path,
                    line: index + 1,
                    column: column,
                    text: line,
                    length: word.count
                )
            }
            let spelt =
                words.count < 2
                ? []
                : words[1].split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            let codes = spelt.compactMap { FindingCode(rawValue: $0) }
            guard !codes.isEmpty, codes.count == spelt.count else {
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
                    problem: "'\(words[0])' is listed twice",
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

    /// Refuses an entry that no case answers to: nobody would notice that it is mended, or that its
    /// case has another name now.
    ///
    /// - Parameters:
    ///   - contracts: All that may be run, whatever was selected.
    ///   - others: Names of what is judged without a contract.
    /// - Throws: The first such entry by its line, with the name that was probably meant.
    package func check(
        against contracts: [ContractHeading],
        and others: [String] = []
    ) throws(ParseError) {
        let names = Set(contracts.map(\.caseID) + others)
        // What a search tries is only known when it runs.
        let searches = contracts.filter { $0.search != nil }.map { $0.id + "/" }
        for entry in entries.values.sorted(by: { $0.line < $1.line }) {
            guard !names.contains(entry.caseID),
                !searches.contains(where: { entry.caseID.hasPrefix($0) })
            else { continue }
            let near = Suggestion.nearest(to: entry.caseID, among: names.sorted())
            throw ParseError(
                location: entry.location,
                problem: "no case is called '\(entry.caseID)'",
                remedy: near.map { "Did you mean '\($0)'?" }
                    ?? "Delete the line, or see 'assay list' for the names."
            )
        }
    }

    /// The verdict with the list taken into account, and a sentence when the list is wrong.
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
                "it is listed as \(entry.spelling) on line \(entry.line); delete that line"
            )
        case .failed where findings.allSatisfy({ entry.codes.contains($0.code) }):
            return (.knownFailure, entry.reason.isEmpty ? nil : entry.reason)
        case .failed:
            return (
                .failed,
                "it is listed as \(entry.spelling) on line \(entry.line), but failed otherwise"
            )
        case .knownFailure, .unexpectedPass, .inconclusive, .notRun: return (verdict, nil)
        }
    }
}

extension KnownFailures {
    /// One line of a list that a run makes.
    package struct Line: Hashable, Sendable {
        package let caseID: String
        package let codes: [FindingCode]
        package let reason: String
    }

    /// What failed in a run, each with its codes; what was known and still fails stays with its
    /// reason.
    ///
    /// - Parameters:
    ///   - report: The run.
    ///   - old: The list of before: what this run did not play is as known as it was.
    /// - Returns: The lines, those of this run first.
    package static func baseline(
        _ report: RunReport,
        keeping old: KnownFailures = KnownFailures()
    ) -> [Line] {
        let played = Set(report.cases.filter { $0.verdict != .notRun }.map(\.contract.caseID))
        let kept = old.entries.values.filter { !played.contains($0.caseID) }
            .sorted { $0.line < $1.line }
            .map { Line(caseID: $0.caseID, codes: $0.codes, reason: $0.reason) }
        return failures(of: report) + kept
    }

    private static func failures(of report: RunReport) -> [Line] {
        report.redacted().cases.compactMap { result in
            guard result.verdict == .failed || result.verdict == .knownFailure,
                let finding = result.findings.first
            else { return nil }
            let known = result.verdict == .knownFailure ? result.note : nil
            let reason = known ?? finding.actual
            let line = reason.map { $0.isNewline || $0 == "#" ? " " : $0 }
            return Line(
                caseID: result.contract.caseID,
                codes: Set(result.findings.map(\.code)).sorted { $0.rawValue < $1.rawValue },
                reason: String(line.prefix(120))
            )
        }
    }

    /// The list as a file.
    package static func text(_ lines: [Line], of report: RunReport) -> String {
        let head = """
            # What fails today and is known, from a run of \(lines.count) failures (suite \(report.suite.prefix(19)), \
            seed \(report.seed)).
            # A case that passes, or fails by another code, is red: then its line goes, or the failure is new.

            """
        let width = lines.map(\.caseID.count).max() ?? 0
        return head
            + lines.map { line in
                let gap = String(repeating: " ", count: width - line.caseID.count + 2)
                return
                    "\(line.caseID)\(gap)\(line.codes.map(\.rawValue).joined(separator: ","))  \(line.reason)\n"
            }.joined()
    }
}
