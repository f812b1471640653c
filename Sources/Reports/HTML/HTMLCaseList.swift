internal import Contracts
internal import Judging
internal import Redaction
internal import Values

/// The list of all cases in the HTML report, with tabs for the outcomes and a search.
///
/// A case that needs attention can be expanded; it shows its findings and its exchanges.
struct HTMLCaseList {
    /// The maximum number of cases that are shown with message bodies, because a page with the
    /// bodies of hundreds of cases would be too long.
    private static let casesWithBodiesMax = 60
    /// The number of failed cases that are expanded when the page opens.
    private static let openCaseMax = 3
    private static let findingMax = 6

    private let report: Redacted<RunReport>
    private let results: [Redacted<CaseResult>]
    private let replay: Redacted<ReplayCommand>?
    /// The indices of the cases that need attention, in the order of the page.
    private let reportedIndices: [Int]
    /// The number of each case's cause, from 1, by the index of the case.
    private let causeNumbers: [Int: Int]

    init(
        _ report: Redacted<RunReport>,
        _ causes: FailureCauses,
        _ replay: Redacted<ReplayCommand>?
    ) {
        let results = report.cases
        (self.report, self.replay, self.results) = (report, replay, results)
        var causeNumbers: [Int: Int] = [:]
        var leadingIndices: [Int] = []
        for (number, cause) in causes.all.enumerated() {
            leadingIndices.append(cause.representativeIndex)
            for index in cause.caseIndices { causeNumbers[index] = number + 1 }
        }
        self.causeNumbers = causeNumbers
        let leading = Set(leadingIndices)
        let others = results.indices.filter { results[$0].isReported && !leading.contains($0) }
        // The case that shows a cause best comes first, and then the other cases of each cause.
        let sorted = others.sorted {
            (causeNumbers[$0] ?? .max, $0) < (causeNumbers[$1] ?? .max, $1)
        }
        reportedIndices = report.skipReasons.isEmpty ? leadingIndices + sorted : []
    }

    /// The numbers in the anchors of the cases that need attention, by the index of the case.
    var blockNumbers: [Int: Int] {
        Dictionary(
            uniqueKeysWithValues: reportedIndices.enumerated().map { ($0.element, $0.offset) }
        )
    }

    var html: String {
        guard !results.isEmpty else { return "" }
        let reported = Set(reportedIndices)
        var text = "<section id=cases><h2>Cases</h2>\n<div class=tools>" + tabs
        text += "<label class=find>Search <input id=search type=search autocomplete=off "
        text += "placeholder=\"title, ID, clause, finding, log line\"></label>"
        text += "<p id=shown class=sub role=status>\(results.count) cases</p></div>\n"
        for (number, index) in reportedIndices.enumerated() { text += expandable(index, number) }
        for (index, result) in results.enumerated() where !reported.contains(index) {
            text += "<div class=\"case quiet\" data-status=\(result.outcome.rawValue)>"
            text += "\(headline(result))</div>\n"
        }
        return text + "</section>\n"
    }

    /// The buttons that show the cases of one outcome.
    private var tabs: String {
        func tab(_ status: String, _ label: String, _ count: Int, isPressed: Bool) -> String {
            "<button type=button data-status=\"\(status)\" aria-pressed=\(isPressed)>"
                + "\(label) <b>\(count)</b></button>"
        }
        var text = "<div class=tabs role=group aria-label=\"Cases by result\">"
        let reportedCount = reportedIndices.count
        if reportedCount > 0 {
            text += tab("attention", "to look at", reportedCount, isPressed: true)
        }
        let others = CaseOutcome.allCases.filter { !$0.isFailure && !$0.isIncomplete }
        let outcomes =
            CaseOutcome.allCases.filter(\.isFailure) + CaseOutcome.allCases.filter(\.isIncomplete)
            + others
        for outcome in outcomes where report.count(outcome) > 0 {
            text += tab(outcome.rawValue, outcome.words, report.count(outcome), isPressed: false)
        }
        return text + tab("", "all", results.count, isPressed: reportedCount == 0) + "</div>"
    }

    private func headline(_ result: Redacted<CaseResult>) -> String {
        let clause = result.contract.clause
        let title = Clause.named(clause).map { ", \($0.title)" } ?? ""
        return "<span class=\"chip \(result.outcome.rawValue)\">\(result.outcome.words)</span>"
            + "<span class=name>\(escaped(result.contract.title))"
            + "<span class=sub><code>\(escaped(result.contract.caseID))</code> "
            + "<span class=clause>\(escaped(clause + title)), "
            + "\(escaped(result.contract.level.rawValue))</span></span></span>"
            + "<span class=num>\(HTMLText.seconds(result.seconds)) s</span>"
    }

    private func expandable(_ index: Int, _ number: Int) -> String {
        let result = results[index]
        let isOpen = result.outcome == .failed && number < Self.openCaseMax
        let cause = causeNumbers[index].map { " data-cause=\($0)" } ?? ""
        var text = "<details class=case id=case-\(number) data-status=\(result.outcome.rawValue)"
        text += " data-attention\(cause)\(isOpen ? " open" : "")>"
        text += "<summary>\(headline(result))</summary>\n"
        let findings = result.distinctFindings
        let shown = findings.prefix(Self.findingMax)
        for (position, finding) in shown.enumerated() {
            let next = shown.dropFirst(position + 1).first
            text += self.finding(finding, of: result.contract, before: next?.finding)
        }
        let restCount = findings.count - shown.count
        if restCount > 0 {
            text += "<p class=sub>and \(restCount) more finding\(restCount == 1 ? "" : "s")</p>\n"
        }
        for hint in result.hints { text += "<p>\(escaped(hint))</p>\n" }
        if let note = result.note, note != result.findings.first?.actual {
            text += "<p>\(escaped(note))</p>\n"
        }
        text += SequenceDiagram(result, showsBodies: number < Self.casesWithBodiesMax).html
        if let output = result.backendOutput, !output.isEmpty {
            let log = BackendLog(output)
            text += "<p class=sub>\(log.title)</p><pre tabindex=0>"
            text += escaped(log.errorFirst.joined(separator: "\n"))
            text += "</pre>\n"
        }
        if let replay {
            text += HTMLReport.command(
                replay.value.text(result.replayedCaseIDs ?? [result.contract.caseID])
            )
        }
        if let screenshot = result.screenshot, !screenshot.isEmpty {
            text += "<img alt=\"screenshot of the page\" width=215 "
            text += "src=\"data:image/png;base64,\(escaped(screenshot))\">\n"
        }
        return text + "</details>\n"
    }

    /// Returns the HTML of a finding, without its diagnosis when the next finding has the same one.
    private func finding(
        _ repeated: RepeatedFinding,
        of contract: Contract,
        before next: Finding?
    ) -> String {
        let finding = repeated.finding
        var text = "<dl><dt>\(finding.code.rawValue)<dd>\(escaped(finding.rule))"
        text += repeated.countText
        if let location = finding.location {
            text += " <span class=sub>\(escaped(location.path)):\(location.line)</span>"
        }
        let (expected, actual) = HTMLText.markingDifferences(finding.expected, finding.actual)
        text += "<dt>expected<dd>\(expected)<dt>actual<dd>\(actual)"
        if !finding.nearMiss.isEmpty {
            let lines = finding.nearMiss.joined(separator: "\n")
            text += "<dt>closest<dd><pre>\(escaped(lines))</pre>"
        }
        let diagnosis = Diagnosis(finding, of: contract)
        let nextCause = next.map { Diagnosis($0, of: contract).cause }
        guard nextCause != diagnosis.cause else { return text + "</dl>\n" }
        text += "<dt>cause<dd>\(escaped(diagnosis.cause))"
        text += "<dt>remedy<dd>\(escaped(diagnosis.remedy))"
        if let remedyIfIntentional = diagnosis.remedyIfIntended {
            text += "<dt>intended?<dd>\(escaped(remedyIfIntentional))"
        }
        return text + "</dl>\n"
    }

    private func escaped(_ text: String) -> String { HTMLText.escaped(text) }
}
