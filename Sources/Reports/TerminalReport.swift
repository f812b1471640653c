internal import Contracts
package import Judging
package import Redaction
internal import Values

/// Renders the report of a run for the terminal: one block for every case that needs attention,
/// then the summary.
package struct TerminalReport: Sendable {
    private let style: TerminalStyle
    /// The command that repeats the run, without `--only`.
    private let replay: Redacted<ReplayCommand>

    /// The workflow commands to print around the backend's output; nil when the output does not go
    /// to the log of GitHub Actions.
    private let stop: StopCommandsPair?

    package init(
        style: TerminalStyle,
        replay: Redacted<ReplayCommand>,
        stop: StopCommandsPair? = nil
    ) {
        self.style = style
        self.replay = replay
        self.stop = stop
    }

    /// Returns a block of lines for every case that needs attention.
    ///
    /// Cases with the same cause share one block, which lists their IDs.
    ///
    /// - Parameters:
    ///   - report: The report of the run.
    ///   - fullCaseMax: The maximum number of cases that are shown in full, beginning with the cases
    ///     that lead the most other cases. Every other case gets one line.
    /// - Returns: The blocks in the order of the suite, followed by the single lines.
    package func blocks(_ report: Redacted<RunReport>, fullCaseMax: Int = .max) -> [String] {
        // If the run stopped before the first case, only the summary lists the reasons.
        guard report.skipReasons.isEmpty else { return [] }
        let all = report.cases.filter { !block($0).isEmpty }
        guard all.count > fullCaseMax else { return caseLines(all) }
        let fullCaseIDs = Set(worstCaseIDs(all, fullCaseMax))
        let shown = all.filter { fullCaseIDs.contains($0.contract.caseID) }
        let shortenedCases = all.filter { !fullCaseIDs.contains($0.contract.caseID) }
        let hint =
            "         \(shortenedCases.count) more case\(shortenedCases.count == 1 ? "" : "s") listed above; "
            + "--verbose shows all in full, --only ID shows one\n\n"
        return caseLines(shown) + [shortenedCases.map(line).joined() + hint]
    }

    /// Returns the IDs of the most informative cases.
    ///
    /// Failures come before inconclusive cases, and cases that lead other cases come first.
    private func worstCaseIDs(_ results: [Redacted<CaseResult>], _ count: Int) -> [String] {
        let leadingCases = LeadingCases(Self.reportedIndividually(results))
        let followerCounts = Dictionary(
            uniqueKeysWithValues: leadingCases.all.map { ($0.caseID, $0.count) }
        )
        func rank(_ result: Redacted<CaseResult>) -> (Int, Int, Int) {
            let id = result.contract.caseID
            return (
                result.outcome.rank, leadingCases[id] == nil ? 0 : 1, -(followerCounts[id] ?? 0)
            )
        }
        // One case of each clause comes before a second case of any clause.
        var seenClauses: Set<String> = []
        let sorted = results.enumerated().sorted {
            let (left, right) = (rank($0.element), rank($1.element))
            return left == right ? $0.offset < $1.offset : left < right
        }.map(\.element)
        let first = sorted.filter { seenClauses.insert($0.contract.clause).inserted }
        let firstIDs = Set(first.map(\.contract.caseID))
        let orderedResults = first + sorted.filter { !firstIDs.contains($0.contract.caseID) }
        return orderedResults.sorted { rank($0).0 < rank($1).0 }.prefix(count).map(
            \.contract.caseID
        )
    }

    /// The minimum width of the case ID in a one-line case, in characters, even if the clause is
    /// long.
    private static let nameWidthMin = 12

    /// Returns a case as one line: result, finding code, clause and case ID.
    private func line(_ result: Redacted<CaseResult>) -> String {
        let (word, applyColor): (String, (String) -> String) =
            switch result.outcome {
            case .remark: ("REMARK", style.yellow)
            case .failed: ("FAIL", style.red)
            case .unexpectedPass: ("PASSED!", style.red)
            case .inconclusive: ("INCONCL.", style.yellow)
            case .notRun: ("NOT RUN", style.yellow)
            case .passed, .knownFailure, .notApplicable: ("", style.green)
            }
        let code = result.findings.first?.code.rawValue ?? "    "
        let clause = result.contract.clause.printable
        let nameWidth = max(Self.nameWidthMin, style.width - 9 - 5 - clause.count - 2)
        let id = result.contract.caseID.printable
        let name = id.count > nameWidth ? id.prefix(nameWidth - 1) + "…" : id[...]
        let padding = String(repeating: " ", count: 9 - word.count)
        return "\(applyColor(word))\(padding)\(code) \(clause)  \(name)\n"
    }

    private func caseLines(_ results: [Redacted<CaseResult>]) -> [String] {
        let resultsBySetupFailure = Dictionary(grouping: results) { SharedSetupFailure($0) }
        let leadingCases = LeadingCases(Self.reportedIndividually(results))
        return results.compactMap { result in
            guard let cause = SharedSetupFailure(result), let all = resultsBySetupFailure[cause],
                all.count > 1
            else {
                let leadingCaseID = leadingCases[result.contract.caseID]
                return (leadingCaseID.map { followerBlock(result, of: $0) } ?? block(result)) + "\n"
            }
            guard all[0].contract.caseID == result.contract.caseID else { return nil }
            return block(result) + sameCauseLine(all.dropFirst().map(\.contract.caseID)) + "\n"
        }
    }

    /// Returns the cases whose cause no other case shares.
    private static func reportedIndividually(_ results: [Redacted<CaseResult>]) -> [Redacted<
        CaseResult
    >] {
        var counts: [SharedSetupFailure: Int] = [:]
        for case let cause? in results.lazy.map({ SharedSetupFailure($0) }) {
            counts[cause, default: 0] += 1
        }
        return results.filter { result in SharedSetupFailure(result).map { counts[$0] == 1 } ?? true
        }
    }

    /// Returns the short block of a case that fails in the same way as a shorter case, with a
    /// reference to the shorter case.
    private func followerBlock(_ result: Redacted<CaseResult>, of leadingCaseID: String) -> String {
        guard let first = result.findings.first else { return block(result) }
        return headline(style.red("FAIL"), result, "\(first.code.rawValue) \(first.rule)")
            + lines("expected", first.expected, 12) + lines("actual", first.actual, 12)
            + lines("see", "\(leadingCaseID), a shorter case that fails in the same way", 12)
            + replayLine(result)
    }

    private static let namedCaseMax = 12

    /// Returns the line that lists the IDs of the other cases with the same cause.
    private func sameCauseLine(_ caseIDs: [String]) -> String {
        let shown = caseIDs.prefix(Self.namedCaseMax).joined(separator: ", ")
        let more = caseIDs.count - Self.namedCaseMax
        return lines(
            "also",
            "\(caseIDs.count) more case\(caseIDs.count == 1 ? "" : "s") with the same cause: "
                + "\(shown)"
                + (more > 0 ? " and \(more) more" : ""),
            12
        )
    }

    /// Returns the block of lines for one case; an empty string for a case that needs no attention.
    package func block(_ result: Redacted<CaseResult>) -> String {
        switch result.outcome {
        case .passed, .knownFailure, .notApplicable: return ""
        case .notRun:
            return headline(style.yellow("NOT RUN"), result, "")
                + lines("reason", result.note ?? "", 12)
        case .unexpectedPass:
            return headline(style.red("UNEXPECTED PASS"), result, "")
                + lines("note", result.note ?? "", 12)
        case .inconclusive: return finding(style.yellow("INCONCLUSIVE"), result)
        case .remark: return finding(style.yellow("REMARK"), result)
        case .failed: return finding(style.red("FAIL"), result)
        }
    }

    private func headline(_ label: String, _ result: Redacted<CaseResult>, _ code: String) -> String
    {
        let headlineDetails = [
            code, result.contract.clause, result.contract.level.rawValue.uppercased(),
        ]
        .filter { !$0.isEmpty }.joined(separator: "  ")
        return "\(style.bold(label))  \(result.contract.caseID.printable)\n"
            + indented(result.contract.title, 6) + "      \(headlineDetails.printable)\n"
    }

    /// Returns text wrapped to the width of the terminal and indented, with terminal codes escaped.
    private func indented(_ text: String, _ indent: Int) -> String {
        text.printableLines.wrapped(style.width - indent)
            .map { String(repeating: " ", count: indent) + $0 + "\n" }.joined()
    }

    private func finding(_ label: String, _ result: Redacted<CaseResult>) -> String {
        guard let first = result.findings.first else {
            return headline(label, result, "") + lines("reason", result.note ?? "", 12)
        }
        var text = headline(label, result, "\(first.code.rawValue) \(first.rule)")
        for finding in result.findings.prefix(4) {
            if let location = finding.location {
                text += "  \(style.dim("\(location.path.printable):\(location.line)"))\n"
                text += location.excerpt.exactLines
                    .map { "  " + $0.printable.prefix(style.width - 2) + "\n" }.joined()
            }
            if result.findings.count > 1 {
                text += "  \(finding.code.rawValue) \(finding.rule)\n"
            }
            text += lines("expected", finding.expected, 12)
            text += lines("actual", finding.actual, 12)
            for (index, line) in finding.nearMiss.enumerated() {
                let label = index == 0 ? "  closest   " : "            "
                text += label + line.printable.prefix(style.width - 12) + "\n"
            }
        }
        if result.findings.count > 4 {
            let plural = result.findings.count == 5 ? "" : "s"
            text += "  … and \(result.findings.count - 4) more finding\(plural)\n"
        }
        if let note = result.note, note != first.actual { text += lines("note", note, 12) }
        let timeline = Timeline(result).lines(width: style.width)
        if !timeline.isEmpty { text += timeline.map { style.dim($0) + "\n" }.joined() }
        if let output = result.backendOutput, !output.isEmpty {
            text += "  the last lines of the backend's output:\n"
            let last = output.exactLines.filter { !$0.isEmpty }.suffix(8).map {
                "    " + $0.printable.prefix(style.width - 4)
            }
            text += (stop?.enclosed(last) ?? last).map { $0 + "\n" }.joined()
        }
        if result.settleEvidence != .notNeeded {
            text += lines("waited", "\(result.settleEvidence)", 12)
        }
        for hint in result.hints { text += lines("note", hint, 12) }
        let diagnosis = Diagnosis(first, of: result.contract)
        text += lines("cause", diagnosis.cause, 12)
        text += lines("remedy", diagnosis.remedy, 12)
        if let remedyIfIntentional = diagnosis.remedyIfIntended {
            text += lines("intended?", remedyIfIntentional, 12)
        }
        text += replayLine(result)
        text += "  explain   \(replay.value.explanation(of: first.code.rawValue).printable)\n"
        if !first.code.isInconclusive, let clause = Clause.named(result.contract.clause) {
            text += "  explain   \(replay.value.explanation(of: clause.name).printable)\n"
        }
        return text
    }

    private func replayLine(_ result: Redacted<CaseResult>) -> String {
        let command = replay.value.text(result.replayedCaseIDs ?? [result.contract.caseID])
        return "  replay    \(command.printable)\n"
    }

    private func lines(_ label: String, _ text: String, _ indent: Int) -> String {
        let wrapped = text.printableLines.wrapped(style.width - indent)
        return wrapped.enumerated().map { index, line in
            let start = index == 0 ? "  " + label : ""
            return start + String(repeating: " ", count: max(1, indent - start.count)) + line + "\n"
        }.joined()
    }

    /// Returns the summary of a run that stopped before it ran any case, with the reasons.
    private func stop(_ report: Redacted<RunReport>) -> String {
        let message = "stopped before any case ran (\(report.cases.count) selected)"
        return "\(style.bold("summary"))  \(style.red(message))\n"
            + report.skipReasons.map { lines("stop", $0, 9) }.joined()
            + indented("suite \(report.suite.prefix(19)) · seed \(report.seed)", 9)
    }

    private static let namedLeaderMax = 5

    /// Returns the summary of a run: numbers of cases, clauses, values that were not compared, and
    /// the seed.
    package func summary(_ report: Redacted<RunReport>) -> String {
        if !report.skipReasons.isEmpty { return stop(report) }
        let seconds = Int((report.seconds * 100).rounded())
        return "\(style.bold("summary"))  \(report.cases.count) case"
            + "\(report.cases.count == 1 ? "" : "s") in "
            + "\(seconds / 100).\(seconds % 100 < 10 ? "0" : "")\(seconds % 100) s\n"
            + outcomeCounts(report) + backendTime(report) + leadingCases(report)
            + clauses(report) + casesNotRun(report) + volatilePaths(report)
            + report.notesWithKillSummary.map { indented($0, 9) }.joined() + ending(report)
            + indented("suite \(report.suite.prefix(19)) · seed \(report.seed)", 9)
    }

    /// Returns the number of cases of each outcome, in lines of the terminal's width.
    private func outcomeCounts(_ report: Redacted<RunReport>) -> String {
        var lines: [(width: Int, items: [String])] = []
        for outcome in CaseOutcome.allCases where report.count(outcome) > 0 {
            let words = outcome.words(count: report.count(outcome))
            let item = color(of: outcome)(words)
            if let last = lines.last, last.width + 3 + words.count <= style.width {
                lines[lines.count - 1].width += 3 + words.count
                lines[lines.count - 1].items.append(item)
            } else {
                lines.append((9 + words.count, [item]))
            }
        }
        return lines.map { "         \($0.items.joined(separator: " · "))\n" }.joined()
    }

    private func color(of outcome: CaseOutcome) -> (String) -> String {
        switch outcome {
        case .passed: style.green
        case .failed, .unexpectedPass: style.red
        case .inconclusive, .notRun, .remark, .knownFailure: style.yellow
        case .notApplicable: style.dim
        }
    }

    /// Returns the time in which the backends were handling requests; empty if it is not known.
    private func backendTime(_ report: Redacted<RunReport>) -> String {
        guard let backendWorkSeconds = report.backendSeconds else { return "" }
        let tenthsOfSecond = Int((backendWorkSeconds * 10).rounded())
        let backendTimeText = "\(tenthsOfSecond / 10).\(tenthsOfSecond % 10) s"
        return report.backendCount == 1
            ? "         the backend was handling requests for \(backendTimeText) of that time\n"
            : "         \(report.backendCount) backends were handling requests for \(backendTimeText) in "
                + "total\n"
    }

    private func leadingCases(_ report: Redacted<RunReport>) -> String {
        let leadingCases = LeadingCases(Self.reportedIndividually(report.cases)).all
        return leadingCases.prefix(Self.namedLeaderMax).map { caseID, count in
            let cases = "\(count) more case\(count == 1 ? "" : "s")"
            return indented(
                "start with \(caseID): \(cases) containing the same steps failed in the same way",
                9
            )
        }.joined()
    }

    private func clauses(_ report: Redacted<RunReport>) -> String {
        let scorecard = report.scorecard
        var text =
            "         clauses proven \(scorecard.count(.proven)) of \(scorecard.clauses.count)"
        if let grade = scorecard.grade { text += " · grade \(style.bold(grade.rawValue))" }
        text += "\n"
        let failedClauses = scorecard.clauseNames(.failed)
        if !failedClauses.isEmpty {
            text += lines("", "failed clauses: " + failedClauses.joined(separator: " "), 9)
        }
        let unproven = scorecard.clauseNames(.unproven)
        if !unproven.isEmpty {
            text += lines("", "unproven clauses: " + unproven.joined(separator: " "), 9)
        }
        for (line, clauses) in Scorecard.unobservedChecks(report.value.cases) {
            text += indented("\(clauses.joined(separator: " ")) not proven: \(line)", 9)
        }
        return text
    }

    /// Returns the numbers of cases that did not run because the profile declares a feature
    /// unsupported, by reason.
    private func casesNotRun(_ report: Redacted<RunReport>) -> String {
        let casesByNote = Dictionary(
            grouping: report.value.cases.filter {
                $0.outcome == .notApplicable
            },
            by: { $0.note ?? "" }
        )
        return casesByNote.sorted(by: { $0.key < $1.key }).map { note, cases in
            indented("\(cases.count) case\(cases.count == 1 ? "" : "s") not run: \(note)", 9)
        }.joined()
    }

    private func volatilePaths(_ report: Redacted<RunReport>) -> String {
        let volatilePaths = Set(report.cases.flatMap(\.volatilePaths)).sorted()
        guard !volatilePaths.isEmpty else { return "" }
        let list = volatilePaths.prefix(8).joined(separator: ", ")
        let more = volatilePaths.count > 8 ? ", …" : ""
        return indented(
            "not compared, because the values vary between identical runs: \(list)\(more)",
            9
        )
    }

    /// Returns the reason why the run ended before all cases had run; empty for a complete run.
    private func ending(_ report: Redacted<RunReport>) -> String {
        var text = ""
        if report.hasTimedOut {
            let unfinishedCaseCount = report.cases.count {
                $0.outcome == .notRun
            }
            text +=
                "         time limit reached, \(unfinishedCaseCount) case\(unfinishedCaseCount == 1 ? "" : "s") not run\n"
        }
        if report.isInterrupted {
            text += "         interrupted; the report covers the cases that had finished\n"
        }
        return text
    }
}
