internal import Contracts
package import Judging
package import Redaction

/// The causes of failures on the terminal: the block of each cause, and their list in the summary.
extension TerminalReport {
    private static let namedCaseMax = 6
    private static let summaryCauseMax = 5
    private static let indentation = 12

    /// Returns the blocks of lines for the causes of the run, the cause to fix first at the
    /// beginning.
    ///
    /// A block shows the representative case in full and names the other cases; without `--verbose`
    /// at most six of them.
    ///
    /// - Parameters:
    ///   - report: The report of the run.
    ///   - fullCaseMax: The maximum number of cases that are shown in full. Every other cause gets
    ///     its title, the title of one case, and the IDs of its cases. If the run has no more cases
    ///     that need attention, each of them gets a block.
    /// - Returns: The blocks, followed by the blocks or lines of the remarks.
    package func blocks(_ report: Redacted<RunReport>, fullCaseMax: Int = .max) -> [String] {
        // If the run stopped before the first case, only the summary lists the reasons.
        guard report.skipReasons.isEmpty else { return [] }
        let causes = FailureCauses(report.value)
        let results = report.cases
        let remarks = results.filter { $0.outcome == .remark }
        let showsEachCase = causes.caseCount + remarks.count <= fullCaseMax
        var blocks: [String] = []
        for (index, cause) in causes.all.prefix(fullCaseMax).enumerated() {
            let representative = results[cause.representativeIndex]
            let others = cause.caseIndices.filter { $0 != cause.representativeIndex }
                .map { results[$0] }
            let withOwnBlock = others.filter {
                showsEachCase && needsOwnBlock($0, inCauseOf: representative)
            }
            let ownIDs = Set(withOwnBlock.map(\.contract.caseID))
            let namedIDs = others.map(\.contract.caseID).filter { !ownIDs.contains($0) }
            blocks.append(
                heading(cause, number: index + 1, of: causes) + deviations(cause, results)
                    + block(representative, cause: cause)
                    + (namedIDs.isEmpty ? "" : sameCauseLine(namedIDs)) + "\n"
            )
            blocks += withOwnBlock.map {
                followerBlock($0, of: representative.contract.caseID) + "\n"
            }
        }
        let fullRemarks = remarks.prefix(max(0, fullCaseMax - causes.all.count))
        blocks += fullRemarks.map { block($0) + "\n" }
        let shortCauses = causes.all.dropFirst(fullCaseMax)
        let shortText =
            shortCauses.enumerated().map { index, cause in
                heading(cause, number: fullCaseMax + index + 1, of: causes)
                    + shortBlock(cause, results)
            }.joined() + remarks.dropFirst(fullRemarks.count).map(line).joined()
        if !showsEachCase {
            blocks.append(
                shortText
                    + "         --verbose lists every case; --only ID runs one and shows it in full\n\n"
            )
        }
        return blocks
    }

    /// Returns the ID and the title of the case that represents a cause, and the IDs of the others.
    private func shortBlock(_ cause: FailureCause, _ results: [Redacted<CaseResult>]) -> String {
        let representative = results[cause.representativeIndex]
        let others = cause.caseIndices.filter { $0 != cause.representativeIndex }
        return deviations(cause, results) + line(representative)
            + indented(representative.contract.title, 6)
            + (others.isEmpty ? "" : sameCauseLine(others.map { results[$0].contract.caseID }))
    }

    /// Returns the lines with the number, the share and the title of a cause; empty if the run has
    /// only one case with a cause.
    private func heading(_ cause: FailureCause, number: Int, of causes: FailureCauses) -> String {
        guard causes.caseCount > 1 else { return "" }
        let first = number == 1 && causes.all.count > 1 ? ", fix this first" : ""
        let label = "cause \(number) of \(causes.all.count): \(causes.share(of: cause))\(first)"
        return style.bold(label) + "\n" + indented(cause.title, 6)
    }

    private static let deviationMax = 5

    /// Returns the lines with the other deviations of a cause, each with one case.
    private func deviations(_ cause: FailureCause, _ results: [Redacted<CaseResult>]) -> String {
        let shown = cause.otherDeviations.prefix(isVerbose ? .max : Self.deviationMax)
        let restCount = cause.otherDeviations.count - shown.count
        let lines = shown.map { deviation in
            let caseID = results[deviation.representativeIndex].contract.caseID
            return indented("- \(deviation.title), such as in \(caseID)", 6)
        }
        return lines.joined()
            + (restCount > 0 ? indented("- \(restCount) more; --verbose names all", 6) : "")
    }

    /// Whether a case shows something that the block of its cause does not show.
    private func needsOwnBlock(
        _ result: Redacted<CaseResult>,
        inCauseOf representative: Redacted<CaseResult>
    ) -> Bool {
        guard result.outcome.isFailure else { return false }
        func texts(_ result: Redacted<CaseResult>) -> [[String]] {
            result.findings.map { [$0.code.rawValue, $0.expected, $0.actual] }
        }
        return texts(result) != texts(representative)
    }

    /// Returns the short block of a case with the same cause as a shorter case, with a reference to
    /// the shorter case.
    private func followerBlock(_ result: Redacted<CaseResult>, of leadingCaseID: String) -> String {
        guard let first = result.findings.first else { return block(result) }
        return headline(style.red("FAIL"), result, "\(first.code.rawValue) \(first.rule)")
            + lines("expected", first.expected, Self.indentation)
            + lines("actual", first.actual, Self.indentation)
            + lines("see", "\(leadingCaseID), a case with the same cause", Self.indentation)
            + replayLine(result)
    }

    /// Returns the line that lists the IDs of the other cases with the same cause.
    private func sameCauseLine(_ caseIDs: [String]) -> String {
        let shown = caseIDs.prefix(isVerbose ? .max : Self.namedCaseMax)
        let more = caseIDs.count - shown.count
        return lines(
            "also",
            "\(caseIDs.count) more case\(caseIDs.count == 1 ? "" : "s") with the same cause: "
                + shown.joined(separator: ", ")
                + (more > 0 ? " and \(more) more; --verbose names all" : ""),
            Self.indentation
        )
    }

    /// Returns the list of causes in the summary, with one case and the remedy of the first one; empty
    /// if the run has no case with a cause.
    func causes(of report: Redacted<RunReport>) -> String {
        let causes = FailureCauses(report.value)
        guard let first = causes.all.first else { return "" }
        let results = report.cases
        let count = causes.all.count
        var text =
            "         \(style.bold("\(count) cause\(count == 1 ? "" : "s")"))"
            + "; fix this first: \(causes.share(of: first))\n"
        let shown = causes.all.prefix(isVerbose ? .max : Self.summaryCauseMax)
        for (index, cause) in shown.enumerated() {
            let caseID = results[cause.representativeIndex].contract.caseID
            let cases = "\(cause.caseCount) case\(cause.caseCount == 1 ? "" : "s")"
            let isExplained = index == 0 || cause.kind == .inconclusive
            text += lines(
                "       \(index + 1).",
                cause.title + (isExplained ? "" : " (\(cases))"),
                Self.indentation
            )
            guard isExplained else { continue }
            text += lines("", "\(cases), such as \(caseID)", Self.indentation)
            text += lines("", "remedy: \(cause.remedy)", Self.indentation)
        }
        let restCount = count - shown.count
        if restCount > 0 {
            let plural = restCount == 1 ? "" : "s"
            text += lines("", "and \(restCount) more cause\(plural), named above", 9)
        }
        return text
    }
}
