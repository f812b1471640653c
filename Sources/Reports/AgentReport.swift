internal import Contracts
package import Judging
package import Redaction
internal import Values

/// Renders a run for a coding agent: the causes in the order in which to fix them, each with one
/// case, in as few tokens as possible.
///
/// The text has no colors and no times of the machine, so equal runs have equal reports.
package enum AgentReport {
    /// The largest length of a report in bytes of UTF-8.
    ///
    /// A token has about four bytes, so this is less than 4,000 tokens.
    package static let lengthMax = 14_000

    /// The largest number of causes that are shown with a case.
    private static let fullCauseMax = 5
    /// The length that is kept for the end of the report.
    private static let footerLengthMax = 800
    /// The largest number of causes that are shown without a case.
    private static let shortCauseMax = 25
    /// The largest length of the line that counts the causes that are not shown, in bytes.
    private static let restLengthMax = 30
    private static let shortHeading = "\nFurther causes; --only and a case ID show one in full:\n"

    /// Renders a run as plain text.
    ///
    /// - Parameters:
    ///   - report: The report of the run.
    ///   - replay: The command that repeats the run, without `--only`.
    /// - Returns: A text of at most `lengthMax` bytes.
    package static func render(_ report: Redacted<RunReport>, replay: Redacted<ReplayCommand>)
        -> String
    {
        let causes = FailureCauses(report.value)
        let text = header(report, causes) + stops(report)
        let body = causeBlocks(
            causes,
            report,
            replay,
            lengthMax: lengthMax - footerLengthMax - text.utf8.count
        )
        let lengthLeft = lengthMax - text.utf8.count - body.utf8.count
        return text + body + footer(report, causes, replay, lengthMax: lengthLeft)
    }

    /// Returns the blocks of the causes: the first ones with a case, as many as leave room for the
    /// short blocks of the others.
    private static func causeBlocks(
        _ causes: FailureCauses,
        _ report: Redacted<RunReport>,
        _ replay: Redacted<ReplayCommand>,
        lengthMax: Int
    ) -> String {
        let shortBlocks = causes.all.enumerated().map { shortBlock($1, number: $0 + 1, report) }
        var text = ""
        var fullCount = 0
        for (index, cause) in causes.all.prefix(fullCauseMax).enumerated()
        where cause.kind != .notRun {
            let block = "\n" + AgentCase(report, cause, replay).text(index + 1, of: causes)
            let reserved = shortBlocks.dropFirst(index + 1).prefix(shortCauseMax)
                .reduce(shortHeading.utf8.count + restLengthMax) { $0 + $1.utf8.count }
            let isFirst = index == 0 && block.utf8.count <= lengthMax
            guard isFirst || text.utf8.count + block.utf8.count + reserved <= lengthMax else {
                break
            }
            text += block
            fullCount += 1
        }
        guard fullCount < shortBlocks.count else { return text }
        text += shortHeading
        var shownCount = fullCount
        for block in shortBlocks.dropFirst(fullCount).prefix(shortCauseMax) {
            // If a block is too long, its first line may still fit.
            let heading = block.prefix { $0 != "\n" } + "\n"
            let shown = [block, String(heading)].first {
                text.utf8.count + $0.utf8.count <= lengthMax - restLengthMax
            }
            guard let shown else { break }
            text += shown
            shownCount += 1
        }
        let restCount = shortBlocks.count - shownCount
        return text + (restCount > 0 ? "… and \(restCount) more\n" : "")
    }

    /// Returns the block of a cause that is not shown with a case: the values, the title of one case
    /// and the remedy.
    private static func shortBlock(
        _ cause: FailureCause,
        number: Int,
        _ report: Redacted<RunReport>
    ) -> String {
        let contract = report.cases[cause.representativeIndex].contract
        if cause.kind == .notRun {
            return "\(number). \(cause.title.shortened(160)); cases: \(cause.caseCount), such as "
                + "\(contract.caseID.shortened(70))\n"
        }
        let code = cause.finding.map { " \($0.code.rawValue)" } ?? ""
        let deviations = cause.otherDeviations.prefix(2)
            .map { "   deviation \($0.title.shortened(120))\n" }.joined()
        let otherIDs = cause.caseIndices.filter { $0 != cause.representativeIndex }
            .prefix(2).map { report.cases[$0].contract.caseID.shortened(70) }
        let events = AgentCase.eventsLine(report.cases[cause.representativeIndex], cause)
        return "\(number). \(contract.clause.shortened(20))\(code) \(cause.title.shortened(160)); "
            + "cases: \(cause.caseCount)\n\(deviations)"
            + "   case \(contract.caseID.shortened(70)): \(contract.title.shortened(100))\n\(events)"
            + (otherIDs.isEmpty ? "" : "   also \(otherIDs.joined(separator: ", "))\n")
            + "   remedy \(cause.remedy.shortened(160))\n"
    }

    private static func header(_ report: Redacted<RunReport>, _ causes: FailureCauses) -> String {
        let counts = CaseOutcome.allCases.filter { report.count($0) > 0 }
            .map { $0.words(count: report.count($0)) }.joined(separator: ", ")
        let result = report.exitCode == 0 ? "green" : "not green"
        var line = "Assay: \(result)"
        if !report.cases.isEmpty, report.skipReasons.isEmpty { line += "; \(counts)" }
        line += "; seed \(report.seed.shortened(60))\n"
        guard let first = causes.all.first else { return line }
        let count = causes.all.count
        return line + "\(count) cause\(count == 1 ? "" : "s"); fix cause 1 first: "
            + "\(causes.share(of: first))\n"
    }

    /// Returns the reasons why the run stopped before the first case or before its end.
    private static func stops(_ report: Redacted<RunReport>) -> String {
        var lines = report.skipReasons.prefix(4).map { "stopped: \($0.shortened(1_000))" }
        if report.isInterrupted { lines.append("interrupted: later cases did not run") }
        if report.hasTimedOut { lines.append("time limit reached: later cases did not run") }
        return lines.map { $0 + "\n" }.joined()
    }

    /// Returns the notes of the run and the commands to type next.
    private static func footer(
        _ report: Redacted<RunReport>,
        _ causes: FailureCauses,
        _ replay: Redacted<ReplayCommand>,
        lengthMax: Int
    ) -> String {
        var lines = report.notesWithSummaries.prefix(3).map { "note: \($0.shortened(160))" }
        let unproven = report.scorecard.clauseNames(.unproven)
        if causes.all.isEmpty, !unproven.isEmpty {
            lines.append("unproven clauses: \(unproven.joined(separator: " ").shortened(400))")
            lines += ReasonsNotRun(report.value.cases).lines.map { $0.shortened(260) }
        }
        if !causes.all.isEmpty {
            let example = causes.all[0].finding?.code.rawValue ?? "S-03"
            lines.append("explain a code or a clause: \(replay.value.explanation(of: [example]))")
        }
        var text = ""
        for line in lines where text.utf8.count + line.utf8.count + 2 <= lengthMax {
            text += (text.isEmpty ? "\n" : "") + line.printable + "\n"
        }
        return text
    }
}

/// The representative case of one cause, as an agent needs it to find the code to change.
private struct AgentCase {
    private let result: Redacted<CaseResult>
    private let cause: FailureCause
    private let replay: Redacted<ReplayCommand>
    private let otherCaseIDs: [String]

    init(
        _ report: Redacted<RunReport>,
        _ cause: FailureCause,
        _ replay: Redacted<ReplayCommand>
    ) {
        let results = report.cases
        result = results[cause.representativeIndex]
        otherCaseIDs = cause.caseIndices.filter { $0 != cause.representativeIndex }
            .map { results[$0].contract.caseID }
        (self.cause, self.replay) = (cause, replay)
    }

    func text(_ number: Int, of causes: FailureCauses) -> String {
        let contract = result.contract
        let code = cause.finding.map { ", \($0.code.rawValue)" } ?? ""
        var text = "\(number). \(cause.title.shortened(220)) (\(causes.share(of: cause)))\n"
        text += line(
            "case",
            "\(contract.caseID) (\(contract.clause) \(contract.level.rawValue)\(code)): "
                + contract.title,
            max: 260
        )
        text += otherCases + otherDeviations + requests
        for repeated in result.distinctFindings.prefix(2) {
            let finding = repeated.finding
            text += line("expected", finding.expected, max: 300)
            text += line("actual", finding.actual + repeated.countText, max: 300)
            for nearMiss in finding.nearMiss.prefix(3) {
                text += line("closest", nearMiss, max: 160)
            }
        }
        if let note = result.note, note != result.findings.first?.actual {
            text += line("note", note, max: 200)
        }
        for hint in result.hints.prefix(2) { text += line("note", hint, max: 200) }
        for logLine in logLines { text += line("log", logLine, max: 200) }
        text += line("remedy", cause.remedy, max: 420)
        if let finding = cause.finding,
            let intended = Diagnosis(finding, of: contract).remedyIfIntended
        {
            text += line("intended", intended, max: 200)
        }
        return text + replayLine
    }

    /// The largest length of the list of other cases with the same cause.
    private static let otherCasesLengthMax = 200

    /// The IDs of the other cases with the same cause, and the place of those that do not fit.
    private var otherCases: String {
        var shown = ""
        for (index, caseID) in otherCaseIDs.enumerated() {
            let next = (index == 0 ? "" : ", ") + caseID.shortened(Self.otherCasesLengthMax / 2)
            guard shown.utf8.count + next.utf8.count <= Self.otherCasesLengthMax else {
                let place = "'cases' of the cause in --report json=PATH"
                return "   also \(shown) and \(otherCaseIDs.count - index) more: \(place)\n"
            }
            shown += next
        }
        return line("also", shown, max: Self.otherCasesLengthMax)
    }

    private static let otherDeviationMax = 4

    /// The other deviations of the cause, with the IDs of cases that show them.
    private var otherDeviations: String {
        let lines = cause.otherDeviations.prefix(Self.otherDeviationMax).map { deviation in
            line("deviation", deviation.title, max: 150)
        }
        let restCount = cause.otherDeviations.count - lines.count
        return lines.joined() + (restCount > 0 ? "   … \(restCount) more deviations\n" : "")
    }

    /// The largest length of a replay command; a longer one is useless when it is cut.
    private static let replayLengthMax = 700

    private var replayLine: String {
        let command = replay.value.text(result.replayedCaseIDs ?? [result.contract.caseID])
            .printable
        guard command.utf8.count > Self.replayLengthMax else { return "   replay \(command)\n" }
        let caseID = result.contract.caseID.shortened(200)
        return "   replay your command with --only \(caseID), with the seed above\n"
    }

    private func line(_ label: String, _ text: String, max: Int) -> String {
        text.isEmpty ? "" : "   \(label) \(text.shortened(max))\n"
    }

    // MARK: Requests

    private static let responseLengthMax = 200
    private static let decidingLengthMax = 500
    /// The largest length of the request that decides the case; most webhook bodies are shorter.
    private static let requestLengthMax = 1_400
    private static let acceptedRequestLengthMax = 400

    /// The requests of the case, with the responses of the backend.
    ///
    /// Equal requests in a row are one line. The body of the request that decides the case is
    /// longer than the others.
    private var requests: String {
        let groups = groupedEntries
        let deciding = decidingSequence(groups.flatMap { $0.map(\.exchange) })
        let decidingIndex = groups.firstIndex { $0.contains { $0.exchange.sequence == deciding } }
        let shown = Self.shownIndices(groups.map { $0[0].exchange }, around: decidingIndex)
        var text = ""
        var time = (result.base - result.base).briefOffsetText
        var hiddenCount = 0
        for (index, group) in groups.enumerated() {
            guard shown.contains(index) else {
                hiddenCount += group.count
                continue
            }
            if hiddenCount > 0 { text += "   … \(hiddenCount) more requests\n" }
            hiddenCount = 0
            text += lines(group, isDeciding: index == decidingIndex, after: time)
            time = group[0].time
        }
        return text
    }

    private func lines(_ group: [Timeline.Entry], isDeciding: Bool, after time: String) -> String {
        let entry = group[0]
        let exchange = entry.exchange
        let text = line(
            isDeciding ? ">" : "-",
            (entry.time == time ? "" : entry.time + " ")
                + "\(exchange.from)→\(exchange.to) \(Self.words(entry)): \(entry.outcome)"
                + (group.count > 1 ? " (\(group.count) times)" : "")
                + responseBody(exchange, isDeciding),
            max: 220 + Self.decidingLengthMax
        )
        guard isDeciding, !exchange.request.body.isEmpty,
            let lengthMax = requestLengthMax(exchange)
        else { return text }
        let request = "\(exchange.request.method) \(exchange.request.target) "
        return text
            + line(
                "  request",
                request + Self.bodyText(exchange.request.body),
                max: lengthMax
            )
    }

    /// Returns the largest length of the request that decides the case; nil to leave it out.
    ///
    /// The body of a refused request can show the cause. The line of an accepted event has its key
    /// values already, so a wrong value needs no body.
    private func requestLengthMax(_ exchange: Exchange) -> Int? {
        let isAccepted = exchange.response.map { (200..<300).contains($0.status) } ?? false
        guard exchange.to == .backend, isAccepted else { return Self.requestLengthMax }
        return [.wrongValue, .userMissing].contains(cause.kind)
            ? nil : Self.acceptedRequestLengthMax
    }

    /// The entries of the timeline, in groups of adjacent entries that look the same to an agent.
    private var groupedEntries: [[Timeline.Entry]] {
        var groups: [[Timeline.Entry]] = []
        for entry in Timeline(result).entries {
            if let last = groups.last?.last, Self.areAlike(last, entry) {
                groups[groups.count - 1].append(entry)
            } else {
                groups.append([entry])
            }
        }
        return groups
    }

    private static func areAlike(_ left: Timeline.Entry, _ right: Timeline.Entry) -> Bool {
        // Attempts of the same delivery and copies of an event differ only in a number.
        func generalWords(_ entry: Timeline.Entry) -> String {
            words(entry).replacing(/#[0-9]+/, with: "#")
        }
        return left.exchange.from == right.exchange.from && left.exchange.to == right.exchange.to
            && left.time == right.time && left.outcome == right.outcome
            && generalWords(left) == generalWords(right)
            && left.exchange.response?.body == right.exchange.response?.body
    }

    /// Returns the description of a request: its subject, and the values that decide its meaning.
    private static func words(_ entry: Timeline.Entry) -> String {
        ([entry.subject, entry.words] + entry.details).filter { !$0.isEmpty }
            .joined(separator: " ")
    }

    private static let headCount = 2
    private static let tailCount = 5
    private static let essentialCountMax = 10

    /// Returns the indices of the exchanges to show: those that the contract orders, the first and
    /// the last ones, and those around the one that decides the case.
    private static func shownIndices(_ exchanges: [Exchange], around deciding: Int?) -> Set<Int> {
        let count = exchanges.count
        var shown = Set(0..<count).filter { $0 < headCount || $0 >= count - tailCount }
        shown.formUnion(
            exchanges.indices.filter { exchanges[$0].isOrdered }.prefix(essentialCountMax)
        )
        if let deciding { shown.formUnion((deciding - 1)...(deciding + 1)) }
        // A line that one request is missing is as long as the request.
        let singleGaps = (0..<count).filter { shown.contains($0 - 1) && shown.contains($0 + 1) }
        return shown.union(singleGaps)
    }

    private func responseBody(_ exchange: Exchange, _ isDeciding: Bool) -> String {
        guard exchange.to == .backend, let body = exchange.response?.body, !body.isEmpty else {
            return ""
        }
        let lengthMax = isDeciding ? Self.decidingLengthMax : Self.responseLengthMax
        return " " + Self.bodyText(body).shortened(lengthMax)
    }

    private static func bodyText(_ body: [UInt8]) -> String {
        // The longest body that is shown is much shorter.
        String(decoding: body.prefix(4_096), as: UTF8.self)
    }

    /// Returns the number of the exchange that decides the case: the first evidence of the finding
    /// that the backend answered, else a refused request, else the last delivery.
    private func decidingSequence(_ exchanges: [Exchange]) -> Int? {
        let evidence = Set(cause.finding?.evidence ?? [])
        let requests = exchanges.filter { $0.to == .backend && $0.isOrdered }
        let isAboutEarlierResponse =
            [.unexpectedStatus, .missingResponse].contains(cause.kind)
            && ![.responseStatus, .noResponse].contains(cause.finding?.code)
        let refused = requests.first { exchange in
            exchange.response.map { $0.status >= 400 } ?? true
        }
        let deciding =
            (isAboutEarlierResponse ? refused : nil)
            ?? exchanges.last { $0.to == .backend && evidence.contains($0.sequence) }
            ?? exchanges.first { evidence.contains($0.sequence) } ?? refused
            ?? requests.last { if case .delivery = $0.purpose { true } else { false } }
        return deciding?.sequence
    }

    // MARK: Events

    private static let shortEventMax = 6
    private static let eventsLengthMax = 240

    /// Returns the line with the types and the dates of the events of a case; empty if they do not
    /// explain the cause.
    static func eventsLine(_ result: Redacted<CaseResult>, _ cause: FailureCause) -> String {
        guard [.wrongValue, .userMissing, .unmetRequirement].contains(cause.kind) else { return "" }
        let events = Timeline(result).entries.compactMap { entry -> String? in
            guard case .delivery = entry.exchange.purpose else { return nil }
            return ([entry.words] + shortFacts(entry.details)).joined(separator: " ")
        }
        guard !events.isEmpty else { return "" }
        let first = events.count > shortEventMax ? "… → " : ""
        let line = first + events.suffix(shortEventMax).joined(separator: " → ")
        return "   events \(line.shortened(eventsLengthMax))\(transactionText(of: result))\n"
    }

    /// Returns whether the events of a case share their transaction; empty if fewer than two events
    /// have one.
    private static func transactionText(of result: Redacted<CaseResult>) -> String {
        let transactions = Timeline(result).entries.flatMap(\.details)
            .flatMap { $0.split(separator: ", ") }.filter { $0.hasPrefix("transaction ") }
        guard transactions.count > 1 else { return "" }
        return Set(transactions).count == 1 ? " (one transaction)" : " (several transactions)"
    }

    /// Returns the facts of an event without those that most events share: the user, the store, the
    /// production environment and the transaction.
    private static func shortFacts(_ details: [String]) -> [String] {
        var facts = details.flatMap { $0.split(separator: ", ").map(String.init) }
        if let environment = facts.firstIndex(where: { ["PRODUCTION", "SANDBOX"].contains($0) }),
            environment > 0
        {
            facts.remove(at: environment - 1)
        }
        return facts.filter {
            !$0.hasPrefix("user ") && !$0.hasPrefix("transaction ") && $0 != "PRODUCTION"
        }
    }

    // MARK: Log

    private static let logLineMax = 4

    /// The last lines of the backend's output, after the last line that names an error and the
    /// innermost frame of its stack trace.
    private var logLines: [String] {
        let lines = (result.backendOutput ?? "").exactLines.filter { line in
            line.contains { !$0.isWhitespace }
        }
        let last = lines.suffix(Self.logLineMax)
        let errorIndex = lines.lastIndex {
            !LogLine.isFrame($0)
                && $0.contains(/error|exception|traceback|panic|fatal/.ignoresCase())
        }
        guard let errorIndex, errorIndex < last.startIndex else { return Array(last) }
        let frames = lines[(errorIndex + 1)...].prefix(1).filter { LogLine.isFrame($0) }
        return [lines[errorIndex]] + frames + last.suffix(Self.logLineMax - 1 - frames.count)
    }
}

extension Exchange {
    /// Whether a step of the contract orders the exchange, and does not only observe the backend.
    fileprivate var isOrdered: Bool {
        switch purpose {
        case .delivery, .registration, .appCall, .restart, .userAction: true
        case .probe, .call, .sentinel, .screen: false
        }
    }
}

extension String {
    /// The text on one line of at most `max` bytes, with terminal codes escaped.
    fileprivate func shortened(_ max: Int) -> String {
        // Reads no more of a long text than can be shown.
        let words = prefix(4 * max).split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let line = words.printable
        guard line.utf8.count > max || count > 4 * max else { return line }
        var shortened = ""
        for character in line {
            guard shortened.utf8.count + character.utf8.count <= max - 3 else { break }
            shortened.append(character)
        }
        return shortened + "…"
    }
}
