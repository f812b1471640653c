package import Conformance

/// The exchanges of a run, a line each, in virtual time.
package struct Timeline: Sendable {
    /// Where the words of an exchange begin.
    private static let indent = 50

    /// How many characters a line has at most.
    private var width = TerminalStyle.standardWidth
    private let exchanges: [Exchange]
    private let base: Instant
    /// What the deliveries say, by their names.
    private let events: [String: String]

    /// - Parameters:
    ///   - exchanges: What was said, in order.
    ///   - base: The moment that virtual times count from.
    ///   - contract: Whose deliveries these are; it knows what each says.
    package init(_ exchanges: [Exchange], base: Instant, of contract: Contract? = nil) {
        self.exchanges = exchanges
        self.base = base
        events = contract?.eventTexts ?? [:]
    }

    /// The exchanges of a case's judged run.
    package init(_ result: Redacted<CaseResult>) {
        self.init(result.timeline, base: result.base, of: result.contract)
    }

    /// At most `lineMax` lines; what lies in the middle is counted instead.
    package func lines(
        lineMax: Int = 40,
        width: Int = TerminalStyle.standardWidth
    ) -> [String] {
        var copy = self
        copy.width = width
        return copy.lines(lineMax)
    }

    private func lines(_ lineMax: Int) -> [String] {
        let shown = Self.withoutRepeatedProbes(exchanges)
        let lines = zip(shown, Self.moments(shown)).flatMap(line)
        guard lines.count > lineMax else { return lines }
        let half = lineMax / 2
        return lines.prefix(half) + ["  … \(lines.count - 2 * half) more exchanges …"]
            + lines.suffix(half)
    }

    /// An exchange as a diagram shows it.
    struct Entry {
        let exchange: Exchange
        /// From the moment that virtual times count from: `+0m05.000`.
        let time: String
        /// What was said.
        let words: String
        /// What became of it.
        let outcome: String
    }

    /// All that is shown, in order.
    var entries: [Entry] {
        let shown = Self.withoutRepeatedProbes(exchanges)
        return zip(shown, Self.moments(shown)).map { exchange, moment in
            Entry(
                exchange: exchange,
                time: (moment - base).offsetText,
                words: "\(subject(exchange)) \(call(exchange))",
                outcome: outcome(exchange)
            )
        }
    }

    /// When each took place in the contract's time.
    ///
    /// What names nobody, such as a fetch of keys, bears the time of the world that all cases share:
    /// it is shown at the moment of what came before.
    private static func moments(_ exchanges: [Exchange]) -> [Instant] {
        let isShared = !exchanges.contains { !$0.namespace.isEmpty }
        var moment = exchanges.first { isShared || !$0.namespace.isEmpty }?.at
        return exchanges.map { exchange in
            if isShared || !exchange.namespace.isEmpty { moment = exchange.at }
            return moment ?? exchange.at
        }
    }

    /// Settling asks the probes again and again, and golden reads are asked until they are answered
    /// as recorded; only the last answers matter.
    private static func withoutRepeatedProbes(_ exchanges: [Exchange]) -> [Exchange] {
        var last: [Exchange.Purpose: Int] = [:]
        for exchange in exchanges { last[exchange.purpose] = exchange.sequence }
        return exchanges.filter { exchange in
            switch exchange.purpose {
            // Each call of an app on a phone is a step of its own.
            case .appCall where exchange.phone != nil: true
            case .probe, .appCall, .screen: last[exchange.purpose] == exchange.sequence
            default: true
            }
        }
    }

    /// An exchange in one line, and what does not fit of an event or of an answer below it.
    private func line(_ exchange: Exchange, at moment: Instant) -> [String] {
        let parties = "\(pad(exchange.from.description, 10)) → \(exchange.to)"
        let start =
            "  \(pad((moment - base).offsetText, 10)) \(pad(parties, 24)) "
            + "\(pad(outcome(exchange), 11)) "
        let said = "\(subject(exchange)) \(call(exchange))".printable
        let rest = Self.answer(exchange).map { cut($0.printable) } ?? []
        if exchange.from == .app {
            // A command is one long word, and its end is what matters.
            let parts = cut(said, lineMax: Self.commandLineMax)
            return [start + (parts.first ?? "")]
                + (parts.dropFirst() + rest).map { String(repeating: " ", count: Self.indent) + $0 }
        }
        guard case .delivery = exchange.purpose else { return shortened(start + said, rest) }
        let parts = said.wrapped(width - start.count)
        return shortened(start + (parts.first ?? ""), parts.dropFirst() + rest)
    }

    private static let answerLineMax = 3
    private static let commandLineMax = 6

    /// JSON has few places to break at, so it is broken anywhere; the first lines say enough.
    private func cut(_ answer: String, lineMax: Int = Self.answerLineMax) -> [String] {
        var (rest, lines) = (Substring(answer), [String]())
        while !rest.isEmpty, lines.count < lineMax {
            lines.append(String(rest.prefix(width - Self.indent)).printableStart)
            rest = rest.dropFirst(width - Self.indent)
        }
        if !rest.isEmpty { lines[lines.count - 1] = lines[lines.count - 1].dropLast() + "…" }
        return lines
    }

    private func shortened(_ first: String, _ rest: [String]) -> [String] {
        let indent = String(repeating: " ", count: Self.indent)
        return ([first] + rest.map { indent + $0 }).map { text in
            text.count <= width ? text : String(text.prefix(width - 1)) + "…"
        }
    }

    /// What was said: on the bridge the command itself, of an app's call the ids in it.
    private func call(_ exchange: Exchange) -> String {
        if case .delivery(let name, _) = exchange.purpose, let text = events[name] { return text }
        let body = try? JSONValue(parsing: exchange.request.body)
        if exchange.from == .app, exchange.to == .despia, let text = body?["command"]?.string {
            return text
        }
        let line = "\(exchange.request.method) \(exchange.request.target)"
        switch exchange.purpose {
        case .gesture:
            let missing = body?["missing"]?.string.map { "finds no '\($0)'" }
            return [exchange.phone?.name, body?["text"]?.string, missing]
                .compactMap { $0 }.joined(separator: " ")
        case .screen:
            return exchange.response.map { String(decoding: $0.body, as: UTF8.self) } ?? ""
        case .appCall where exchange.phone != nil:
            let fields = body?.object?.members.map { "\($0.value.string ?? $0.value.text)" } ?? []
            return line + " " + fields.joined(separator: " ")
        default: return line
        }
    }

    /// What the backend said: the reason often stands there.
    private static func answer(_ exchange: Exchange) -> String? {
        guard exchange.to == .backend, let body = exchange.response?.body, !body.isEmpty else {
            return nil
        }
        switch exchange.purpose {
        case .delivery, .sentinel, .registration, .appCall, .probe:
            let text = String(decoding: body.prefix(200), as: UTF8.self)
            return "→ " + text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        case .call, .restart, .gesture, .screen: return nil
        }
    }

    private func subject(_ exchange: Exchange) -> String {
        switch exchange.purpose {
        case .delivery(let name, let attempt): "\(name) #\(attempt)"
        case .registration(let user): "register \(user)"
        case .probe(let name, let user): "probe \(name) of \(user)"
        case .sentinel: "sentinel"
        case .gesture(let name): name
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
        case .pending: "no answer"
        case .answered(let response): "\(response.status)"
        case .answerLost(let response?): "\(response.status) lost"
        case .answerLost(nil): "hung up"
        case .requestCut: "cut"
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
