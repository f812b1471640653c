internal import Judging
internal import Redaction
internal import Values

/// The exchanges (requests with their responses) of a case as an HTML sequence diagram.
///
/// Each party, such as the backend, is a column, and time runs downward. Each message is an arrow
/// that expands to show its bodies.
struct SequenceDiagram {
    private static let rowCountMax = 60
    private static let bodyCharacterMax = 1600

    private let entries: [Timeline.Entry]
    private let parties: [Exchange.Party]
    /// The names of users in the diagram with the IDs that they replace.
    private let legend: [String]
    private let showsBodies: Bool

    /// Creates the diagram of a case.
    ///
    /// - Parameters:
    ///   - result: The result of the case.
    ///   - showsBodies: Whether each message can be expanded to show its bodies. A page with the
    ///     bodies of hundreds of cases would be too long.
    init(_ result: Redacted<CaseResult>, showsBodies: Bool) {
        let timeline = Timeline(result)
        entries = timeline.entries
        legend = timeline.legend
        self.showsBodies = showsBodies
        parties = Self.parties(entries.map(\.exchange))
    }

    /// Returns the parties of the exchanges from left to right: callers of the backend, the
    /// backend, and the services that the backend calls.
    ///
    /// Parties of one kind have the order of their first exchange.
    private static func parties(_ exchanges: [Exchange]) -> [Exchange.Party] {
        let senders = Set(exchanges.map(\.from))
        func lanePosition(_ party: Exchange.Party) -> Int {
            switch party {
            case .assay: 0
            case .app: 1
            case .backend: 3
            case _ where senders.contains(party): 2
            default: 4
            }
        }
        var parties: [Exchange.Party] = []
        for party in exchanges.flatMap({ [$0.from, $0.to] }) where !parties.contains(party) {
            parties.append(party)
        }
        return parties.enumerated()
            .sorted { (lanePosition($0.1), $0.0) < (lanePosition($1.1), $1.0) }
            .map(\.element)
    }

    /// The HTML of the diagram; empty when the case has no exchanges.
    var html: String {
        guard !entries.isEmpty else { return "" }
        var text = "<div class=seq role=region tabindex=0 aria-label=\"Requests of the case, "
        text += "in order\" style=\"--n:\(parties.count)\"><div class=\"row head\"><span></span>"
        text += "<span class=lanes>"
        for party in parties { text += "<b>\(HTMLText.escaped(party.description))</b>" }
        text += "</span><span></span></div>\n"
        var shownBodies: [String: [String]] = [:]
        let visibleHalfCount = Self.rowCountMax / 2
        for (index, entry) in entries.enumerated() {
            let isLeftOut =
                entries.count > Self.rowCountMax
                && (visibleHalfCount..<(entries.count - visibleHalfCount)).contains(index)
            let bodies = bodies(entry.exchange, &shownBodies)
            guard !isLeftOut else {
                if index == visibleHalfCount {
                    text += "<p class=sub>\(entries.count - Self.rowCountMax) messages are left out"
                    text += " here</p>\n"
                }
                continue
            }
            text += row(entry, bodies)
        }
        text += "</div>\n"
        guard !legend.isEmpty else { return text }
        return text
            + "<p class=sub>\(HTMLText.escaped(legend.joined(separator: ", ").printable))</p>\n"
    }

    private func row(_ entry: Timeline.Entry, _ bodies: String) -> String {
        let exchange = entry.exchange
        let from = parties.firstIndex(of: exchange.from) ?? 0
        let to = parties.firstIndex(of: exchange.to) ?? 0
        var cssClasses = ["x"]
        if entry.isEvidence { cssClasses.append("seen") }
        if !isComplete(exchange) { cssClasses.append("lost") }
        if (exchange.response?.status ?? 0) >= 400 { cssClasses.append("bad") }
        let direction = from == to ? "self" : from < to ? "right" : "left"
        let style = "--a:\(min(from, to));--w:\(abs(from - to))"
        let parties = "\(exchange.from) to \(exchange.to)"
        let head =
            "<time>\(HTMLText.escaped(entry.isAtNewTime ? entry.time : ""))</time>"
            + "<span class=lanes style=\"\(style)\"><span class=\"arrow \(direction)\" role=img "
            + "aria-label=\"\(HTMLText.escaped(parties))\"></span></span>" + words(entry)
        let cssClassText = cssClasses.joined(separator: " ")
        guard showsBodies, !bodies.isEmpty else {
            return "<div class=\"row \(cssClassText)\">\(head)</div>\n"
        }
        return
            "<details class=\"\(cssClassText)\"><summary class=row>\(head)</summary><div class=said>\(bodies)</div></details>\n"
    }

    /// Returns the HTML of the text of an exchange: its subject, its outcome with the time that the
    /// response took, and further lines.
    private func words(_ entry: Timeline.Entry) -> String {
        var text = "<span class=say>\(HTMLText.escaped(entry.subject.printable)) "
        text += "<b>\(HTMLText.escaped(entry.words.printable))</b> "
        text += "<i>\(HTMLText.escaped(entry.outcome))</i>"
        if let milliseconds = Self.milliseconds(entry.exchange) {
            text += " <span class=sub>\(milliseconds) ms</span>"
        }
        for line in entry.details {
            text += "<span class=more>\(HTMLText.escaped(line.printable))</span>"
        }
        if let response = entry.response {
            text += "<span class=more>← \(HTMLText.escaped(response.printable))</span>"
        }
        return text + "</span>"
    }

    /// Returns the real time between a request and its response; nil when none was measured.
    private static func milliseconds(_ exchange: Exchange) -> Int64? {
        exchange.completed.flatMap { completed in
            completed > exchange.invoked ? (completed - exchange.invoked + 500) / 1000 : nil
        }
    }

    private func isComplete(_ exchange: Exchange) -> Bool {
        switch exchange.outcome {
        case .answered: true
        // A user action or a restart has no response.
        case .pending: exchange.purpose.expectsNoResponse
        case .answerLost, .requestCut, .failed: false
        }
    }

    // MARK: Bodies

    /// Returns the HTML of the request and response bodies of an exchange.
    ///
    /// Lines that differ from the previous message of the same kind are marked.
    private func bodies(_ exchange: Exchange, _ shownBodies: inout [String: [String]]) -> String {
        guard showsBodies else { return "" }
        var text = ""
        let request = "\(exchange.request.method) \(exchange.request.target)"
        text += bodySection(
            request,
            exchange.request.body,
            key(exchange).map { "> " + $0 },
            &shownBodies
        )
        switch exchange.outcome {
        case .answered(let response), .answerLost(let response?):
            text += bodySection(
                "\(response.status)",
                response.body,
                key(exchange).map { "< " + $0 },
                &shownBodies
            )
        case .failed(_, let reason): text += bodySection(reason, [], nil, &shownBodies)
        case .pending, .answerLost(nil), .requestCut: break
        }
        return text
    }

    /// Returns the key that exchanges with comparable bodies share; nil for an exchange that is not
    /// compared.
    private func key(_ exchange: Exchange) -> String? {
        switch exchange.purpose {
        case .delivery(let name, _): "delivery \(name)"
        case .probe(let name, let user): "probe \(name) \(user)"
        case .appCall(let name): "call \(name)"
        case .call: "\(exchange.from) \(exchange.to) \(exchange.request.path)"
        case .registration, .sentinel, .restart, .userAction, .screen: nil
        }
    }

    private func bodySection(
        _ head: String,
        _ body: [UInt8],
        _ key: String?,
        _ shownBodies: inout [String: [String]]
    ) -> String {
        let lines = Self.lines(body)
        let previousBody = key.flatMap { shownBodies[$0] }
        if let key { shownBodies[key] = lines }
        let title = "<p class=sub>\(HTMLText.escaped(head.printable))</p>"
        guard !lines.isEmpty else { return "<div>\(title)</div>" }
        return
            "<div>\(title)<pre>\(HTMLText.markingChangedLines(lines, since: previousBody))</pre></div>"
    }

    private static func lines(_ body: [UInt8]) -> [String] {
        guard !body.isEmpty else { return [] }
        let value = JSONValue(ifValid: body)
        let text = value?.prettyText ?? String(decoding: body, as: UTF8.self)
        let visibleText =
            text.count > bodyCharacterMax ? String(text.prefix(bodyCharacterMax)) + "…" : text
        return visibleText.printableLines.split(separator: "\n", omittingEmptySubsequences: false)
            .map(String.init)
    }
}

extension Exchange.Purpose {
    /// Whether the journal entry is an event without a response, such as a user action or a
    /// restart, instead of a request.
    fileprivate var expectsNoResponse: Bool {
        switch self {
        case .restart, .userAction, .screen: true
        case .delivery, .registration, .appCall, .probe, .call, .sentinel: false
        }
    }
}
