package import Contracts
package import Judging
internal import Providers
package import Redaction
package import Values

/// The timeline of a case: its exchanges (requests with their responses), one per line, with
/// virtual times.
package struct Timeline: Sendable {
    /// The column at which the description of an exchange starts in its line.
    private static let continuationIndent = 50

    /// The maximum number of characters in a line.
    private var width = TerminalStyle.standardWidth
    private let exchanges: [Exchange]
    private let base: Instant
    /// A short summary of the event in each delivery, by the name of the delivery.
    private let eventTextsByDelivery: [String: String]

    /// Creates the timeline of a list of exchanges.
    ///
    /// - Parameters:
    ///   - exchanges: The exchanges, in the order of the journal.
    ///   - base: The time to which the virtual times are relative.
    ///   - contract: The contract that contains the deliveries, for summaries of their events; nil
    ///     for no summaries.
    package init(_ exchanges: [Exchange], base: Instant, of contract: Contract? = nil) {
        self.exchanges = exchanges
        self.base = base
        eventTextsByDelivery = contract?.eventTexts ?? [:]
    }

    /// Creates the timeline of the run by which a case was judged.
    package init(_ result: Redacted<CaseResult>) {
        self.init(result.timeline, base: result.base, of: result.contract)
    }

    /// Returns the timeline in about `lineMax` lines.
    ///
    /// Lines in the middle are replaced by their number.
    package func lines(
        lineMax: Int = 40,
        width: Int = TerminalStyle.standardWidth
    ) -> [String] {
        var copy = self
        copy.width = width
        return copy.lines(lineMax)
    }

    private func lines(_ lineMax: Int) -> [String] {
        let shownExchanges = Self.withoutRepeatedProbes(exchanges)
        let lines = zip(shownExchanges, Self.displayTimes(shownExchanges)).flatMap(line)
        guard lines.count > lineMax else { return lines }
        let visibleHalfCount = lineMax / 2
        return lines.prefix(visibleHalfCount) + [
            "  … \(lines.count - 2 * visibleHalfCount) more exchanges …"
        ]
            + lines.suffix(visibleHalfCount)
    }

    /// An exchange in the form in which a sequence diagram shows it.
    struct Entry {
        let exchange: Exchange
        /// The virtual time of the exchange relative to the base, such as `+0m05.000`.
        let time: String
        /// The description of the request.
        let words: String
        /// The status of the response, or the way in which the request failed.
        let outcome: String
    }

    /// The exchanges that a sequence diagram shows, in order.
    var entries: [Entry] {
        let shownExchanges = Self.withoutRepeatedProbes(exchanges)
        return zip(shownExchanges, Self.displayTimes(shownExchanges)).map { exchange, timestamp in
            Entry(
                exchange: exchange,
                time: (timestamp - base).offsetText,
                words: "\(subject(exchange)) \(call(exchange))",
                outcome: outcome(exchange)
            )
        }
    }

    /// Returns the virtual times of the exchanges.
    ///
    /// An exchange outside of the case's namespace, such as a fetch of public keys, has no time on
    /// the case's clock. It gets the time of the exchange before it.
    private static func displayTimes(_ exchanges: [Exchange]) -> [Instant] {
        let isShared = !exchanges.contains { !$0.namespace.isEmpty }
        var timestamp = exchanges.first { isShared || !$0.namespace.isEmpty }?.at
        return exchanges.map { exchange in
            if isShared || !exchange.namespace.isEmpty { timestamp = exchange.at }
            return timestamp ?? exchange.at
        }
    }

    /// Removes repeated reads of the same kind (the same probe, app call or screen), except for the
    /// last one.
    ///
    /// A run repeats its probes while it waits for the backend to finish. The replay of a recorded
    /// run repeats its reads until the response matches the recording. Only the last response
    /// matters.
    private static func withoutRepeatedProbes(_ exchanges: [Exchange]) -> [Exchange] {
        var lastSequences: [Exchange.Purpose: Int] = [:]
        for exchange in exchanges { lastSequences[exchange.purpose] = exchange.sequence }
        return exchanges.filter { exchange in
            switch exchange.purpose {
            // A call by the app on a phone is part of the app's behavior and is never removed.
            case .appCall where exchange.phone != nil: true
            case .probe, .appCall, .screen: lastSequences[exchange.purpose] == exchange.sequence
            default: true
            }
        }
    }

    /// Returns the line of an exchange, followed by lines with the rest of a long event or
    /// response.
    private func line(_ exchange: Exchange, at timestamp: Instant) -> [String] {
        let parties = "\(pad(exchange.from.description, 10)) → \(exchange.to)"
        let start =
            "  \(pad((timestamp - base).offsetText, 10)) \(pad(parties, 24)) "
            + "\(pad(outcome(exchange), 11)) "
        let messageText = "\(subject(exchange)) \(call(exchange))".printable
        let rest = Self.responseText(exchange).map { wrappedLines($0.printable) } ?? []
        if exchange.from == .app {
            // A bridge command is one long word whose end is important, so it gets more lines than
            // other text.
            let messageLines = wrappedLines(messageText, lineMax: Self.commandLineMax)
            return [start + (messageLines.first ?? "")]
                + (messageLines.dropFirst() + rest).map {
                    String(repeating: " ", count: Self.continuationIndent) + $0
                }
        }
        guard case .delivery = exchange.purpose else {
            return truncatedLines(start + messageText, rest)
        }
        let messageLines = messageText.wrapped(width - start.count)
        return truncatedLines(start + (messageLines.first ?? ""), messageLines.dropFirst() + rest)
    }

    private static let responseLineMax = 3
    private static let commandLineMax = 6

    /// Breaks JSON into lines at any character, because JSON has few spaces, and returns at most
    /// `lineMax` lines.
    private func wrappedLines(_ responseText: String, lineMax: Int = Self.responseLineMax)
        -> [String]
    {
        var (rest, lines) = (Substring(responseText), [String]())
        while !rest.isEmpty, lines.count < lineMax {
            lines.append(String(rest.prefix(width - Self.continuationIndent)).printableStart)
            rest = rest.dropFirst(width - Self.continuationIndent)
        }
        if !rest.isEmpty { lines[lines.count - 1] = lines[lines.count - 1].dropLast() + "…" }
        return lines
    }

    private func truncatedLines(_ first: String, _ rest: [String]) -> [String] {
        let continuationIndent = String(repeating: " ", count: Self.continuationIndent)
        return ([first] + rest.map { continuationIndent + $0 }).map { text in
            text.count <= width ? text : String(text.prefix(width - 1)) + "…"
        }
    }

    /// Returns the description of a request: the bridge command, the summary of the event, or the
    /// method and path.
    private func call(_ exchange: Exchange) -> String {
        if case .delivery(let name, _) = exchange.purpose, let text = eventTextsByDelivery[name] {
            return text
        }
        let body = exchange.request.bodyJSON
        if exchange.from == .app, exchange.to == .despia, let text = body?["command"]?.string {
            return text
        }
        let line = "\(exchange.request.method) \(exchange.request.target)"
        switch exchange.purpose {
        case .userAction:
            let missingElementText = body?["missing"]?.string.map { "did not find '\($0)'" }
            return [exchange.phone?.name, body?["text"]?.string, missingElementText]
                .compactMap { $0 }.joined(separator: " ")
        case .screen:
            return exchange.response.map { String(decoding: $0.body, as: UTF8.self) } ?? ""
        case .appCall where exchange.phone != nil:
            let fields = body?.object?.members.map { "\($0.value.string ?? $0.value.text)" } ?? []
            return line + " " + fields.joined(separator: " ")
        default: return line
        }
    }

    /// Returns the start of the backend's response body, which often contains the reason for an
    /// error.
    private static func responseText(_ exchange: Exchange) -> String? {
        guard exchange.to == .backend, let body = exchange.response?.body, !body.isEmpty else {
            return nil
        }
        switch exchange.purpose {
        case .delivery, .sentinel, .registration, .appCall, .probe:
            let text = String(decoding: body.prefix(200), as: UTF8.self)
            return "→ " + text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        case .call, .restart, .userAction, .screen: return nil
        }
    }

    private func subject(_ exchange: Exchange) -> String {
        switch exchange.purpose {
        case .delivery(let name, let attempt): "\(name) #\(attempt)"
        case .registration(let user): "register \(user)"
        case .probe(let name, let user): "probe \(name) of \(user)"
        case .sentinel: "sentinel"
        case .userAction(let name): name
        case .screen: "screen"
        case .restart(let text): text
        case .appCall(let name): name
        case .call where exchange.from == .app && exchange.to == .despia: "bridge"
        case .call:
            exchange.effects.isEmpty
                ? "call" : exchange.effects.map(\.kind).joined(separator: ", ")
        }
    }

    private func outcome(_ exchange: Exchange) -> String {
        switch exchange.outcome {
        case .pending: "no response"
        case .answered(let response): "\(response.status)"
        case .answerLost(let response?): "lost (\(response.status))"
        case .answerLost(nil): "disconnect"
        case .requestCut: "truncated"
        case .failed(.refused, _): "refused"
        case .failed(.closed, _): "closed"
        case .failed(.timedOut, _): "timed out"
        case .failed(.malformed, _): "not HTTP"
        case .failed(.shortage, let text): text
        }
    }

    private func pad(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
