internal import Contracts
package import Judging
package import Redaction
internal import Values

/// Renders the report of a run for the terminal: one block for every cause, then the summary.
package struct TerminalReport: Sendable {
    let style: TerminalStyle
    /// The command that repeats the run, without `--only`.
    private let replay: Redacted<ReplayCommand>

    /// The workflow commands to print around the backend's output; nil when the output does not go
    /// to the log of GitHub Actions.
    private let stop: StopCommandsPair?
    /// Whether the report names every case, finding and path, and shortens no list of them.
    let isVerbose: Bool

    package init(
        style: TerminalStyle,
        replay: Redacted<ReplayCommand>,
        stop: StopCommandsPair? = nil,
        isVerbose: Bool = false
    ) {
        self.style = style
        self.replay = replay
        self.stop = stop
        self.isVerbose = isVerbose
    }

    /// The number of findings of a case in a short report.
    private static let findingMax = 4
    /// The number of paths that were not compared in a short report.
    private static let volatilePathMax = 8

    /// The minimum width of the case ID in a one-line case, in characters, even if the clause is
    /// long.
    private static let nameWidthMin = 12

    /// Returns a case as one line: result, finding code, clause and case ID.
    func line(_ result: Redacted<CaseResult>) -> String {
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

    /// Returns the block of lines for one case; an empty string for a case that needs no attention.
    ///
    /// - Parameters:
    ///   - result: The result of the case.
    ///   - cause: The cause that the case represents; nil to explain its finding alone.
    /// - Returns: The lines of the block.
    package func block(_ result: Redacted<CaseResult>, cause: FailureCause? = nil) -> String {
        switch result.outcome {
        case .passed, .knownFailure, .notApplicable: return ""
        case .notRun:
            return headline(style.yellow("NOT RUN"), result, "")
                + lines("reason", result.note ?? "", 12)
        case .unexpectedPass:
            return headline(style.red("UNEXPECTED PASS"), result, "")
                + lines("note", result.note ?? "", 12)
        case .inconclusive: return finding(style.yellow("INCONCLUSIVE"), result, cause)
        case .remark: return finding(style.yellow("REMARK"), result, cause)
        case .failed: return finding(style.red("FAIL"), result, cause)
        }
    }

    func headline(_ label: String, _ result: Redacted<CaseResult>, _ code: String) -> String {
        let headlineDetails = [
            code, result.contract.clause, result.contract.level.rawValue.uppercased(),
        ]
        .filter { !$0.isEmpty }.joined(separator: "  ")
        return "\(style.bold(label))  \(result.contract.caseID.printable)\n"
            + indented(result.contract.title, 6) + "      \(headlineDetails.printable)\n"
    }

    /// Returns text wrapped to the width of the terminal and indented, with terminal codes escaped.
    func indented(_ text: String, _ indent: Int) -> String {
        text.printableLines.wrapped(style.width - indent)
            .map { String(repeating: " ", count: indent) + $0 + "\n" }.joined()
    }

    private func finding(
        _ label: String,
        _ result: Redacted<CaseResult>,
        _ cause: FailureCause?
    ) -> String {
        guard let first = result.findings.first else {
            return headline(label, result, "") + lines("reason", result.note ?? "", 12)
        }
        let findings = result.distinctFindings
        let shown = findings.prefix(isVerbose ? .max : Self.findingMax)
        var text = headline(
            label,
            result,
            "\(first.code.rawValue) \(first.rule)\(findings.count == 1 ? findings[0].countText : "")"
        )
        for repeated in shown {
            let finding = repeated.finding
            if let location = finding.location {
                text += "  \(style.dim("\(location.path.printable):\(location.line)"))\n"
                text += location.excerpt.exactLines
                    .map { "  " + $0.printable.prefix(style.width - 2) + "\n" }.joined()
            }
            if findings.count > 1 {
                text += "  \(finding.code.rawValue) \(finding.rule)\(repeated.countText)\n"
            }
            text += lines("expected", finding.expected, 12)
            text += lines("actual", finding.actual, 12)
            for (index, line) in finding.nearMiss.enumerated() {
                let label = index == 0 ? "  closest   " : "            "
                text += label + line.printable.prefix(style.width - 12) + "\n"
            }
        }
        let restCount = findings.count - shown.count
        if restCount > 0 {
            let plural = restCount == 1 ? "" : "s"
            text += "  … and \(restCount) more finding\(plural); --verbose shows all\n"
        }
        if let note = result.note, note != first.actual { text += lines("note", note, 12) }
        text += Timeline(result).lines(width: style.width)
            .map { ($0.isEvidence ? $0.text : style.dim($0.text)) + "\n" }.joined()
        text += log(result)
        if result.settleEvidence != .notNeeded {
            text += lines("waited", "\(result.settleEvidence)", 12)
        }
        for hint in result.hints { text += lines("note", hint, 12) }
        text += explanation(of: first, result, cause)
        text += replayLine(result)
        let clause = first.code.isInconclusive ? nil : Clause.named(result.contract.clause)
        let explanation = replay.value.explanation(
            of: [first.code.rawValue] + [clause?.name].compactMap(\.self)
        )
        return text + "  explain   \(explanation.printable)\n"
    }

    /// Returns the output of the backend, beginning with the line that names the error.
    ///
    /// Long lines are wrapped, because the reason of an error is often at the end of a line.
    private func log(_ result: Redacted<CaseResult>) -> String {
        guard let output = result.backendOutput, !output.isEmpty else { return "" }
        let log = BackendLog(output)
        let lines = log.errorFirst.flatMap { $0.wrapped(style.width - 4) }.map { "    " + $0 }
        return "  \(log.title):\n"
            + (stop?.enclosed(lines) ?? lines).map { $0 + "\n" }.joined()
    }

    /// Returns the lines with the cause and the remedy of a finding.
    ///
    /// A cause that lies in an earlier exchange of the case replaces the usual causes of the finding.
    private func explanation(
        of finding: Finding,
        _ result: Redacted<CaseResult>,
        _ cause: FailureCause?
    ) -> String {
        let diagnosis = Diagnosis(finding, of: result.contract)
        if let cause, cause.remedy != diagnosis.remedy {
            return lines("cause", cause.title, 12) + lines("remedy", cause.remedy, 12)
        }
        return lines("cause", diagnosis.cause, 12) + lines("remedy", diagnosis.remedy, 12)
            + (diagnosis.remedyIfIntended.map { lines("intended?", $0, 12) } ?? "")
    }

    func replayLine(_ result: Redacted<CaseResult>) -> String {
        let command = replay.value.text(result.replayedCaseIDs ?? [result.contract.caseID])
        return "  replay    \(command.printable)\n"
    }

    func lines(_ label: String, _ text: String, _ indent: Int) -> String {
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

    /// Returns the summary of a run: numbers of cases, clauses, values that were not compared, and
    /// the seed.
    package func summary(_ report: Redacted<RunReport>) -> String {
        if !report.skipReasons.isEmpty { return stop(report) }
        let seconds = Int((report.seconds * 100).rounded())
        let checkCount = report.cases.count(where: \.isAboutWholeRun)
        return "\(style.bold("summary"))  \(report.cases.count) case"
            + "\(report.cases.count == 1 ? "" : "s") in "
            + "\(seconds / 100).\(seconds % 100 < 10 ? "0" : "")\(seconds % 100) s"
            + (checkCount == 0 ? "\n" : ", \(checkCount) of them about the whole run\n")
            + outcomeCounts(report) + backendTime(report) + causes(of: report)
            + clauses(report) + casesNotRun(report) + volatilePaths(report)
            + report.notesWithSummaries.map { indented($0, 9) }.joined() + ending(report)
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

    /// Returns the numbers of cases that did not run without a change of the exit code, by reason.
    private func casesNotRun(_ report: Redacted<RunReport>) -> String {
        ReasonsNotRun(report.value.cases).lines.map { indented($0, 9) }.joined()
    }

    private func volatilePaths(_ report: Redacted<RunReport>) -> String {
        let volatilePaths = Set(report.cases.flatMap(\.volatilePaths)).sorted()
        guard !volatilePaths.isEmpty else { return "" }
        let shown = volatilePaths.prefix(isVerbose ? .max : Self.volatilePathMax)
        let list = shown.joined(separator: ", ")
        let restCount = volatilePaths.count - shown.count
        let more = restCount == 0 ? "" : " and \(restCount) more; --verbose names all"
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
