package import Contracts
package import Judging
internal import Providers
package import Redaction
package import Values

/// The trace of a case: its exchanges (requests with their responses), with the values that decide
/// the verdict.
package struct Timeline: Sendable {
    private let exchanges: [Exchange]
    private let base: Instant
    /// A short summary of the event in each delivery, by the name of the delivery, for bodies that
    /// cannot be read.
    private let eventTextsByDelivery: [String: String]
    private let concurrentDeliveries: Set<String>
    /// The IDs of the run's users, each with the name that replaces it.
    private let namesByID: [CaseResult.NamedID]
    /// The sequence numbers of the exchanges that the findings cite as evidence.
    private let evidence: Set<Int>
    /// The words of the findings and the members that probes read, which a shortened body keeps.
    private let judgedWords: Set<String>

    /// Creates the trace of a list of exchanges.
    ///
    /// - Parameters:
    ///   - exchanges: The exchanges, in the order of the journal.
    ///   - base: The time to which the virtual times are relative.
    ///   - contract: The contract that contains the deliveries, for summaries of events whose body
    ///     cannot be read; nil for no summaries.
    package init(_ exchanges: [Exchange], base: Instant, of contract: Contract? = nil) {
        self.init(exchanges, base: base, of: contract, result: nil)
    }

    /// Creates the trace of the run by which a case was judged.
    package init(_ result: Redacted<CaseResult>) {
        self.init(result.timeline, base: result.base, of: result.contract, result: result)
    }

    private init(
        _ exchanges: [Exchange],
        base: Instant,
        of contract: Contract?,
        result: Redacted<CaseResult>?
    ) {
        self.exchanges = Self.withoutRepeatedProbes(exchanges)
        self.base = base
        eventTextsByDelivery = contract?.eventTexts ?? [:]
        concurrentDeliveries = contract?.concurrentDeliveries ?? []
        namesByID = result?.namedIDs ?? []
        let findings = result?.findings ?? []
        evidence = Set(findings.flatMap(\.evidence))
        judgedWords = BodyExcerpt.words(
            of: findings.flatMap { [$0.expected, $0.actual] + $0.nearMiss }
        ).union(result?.probedMembers ?? [])
    }

    /// An exchange in the form in which reports show it.
    struct Entry {
        let exchange: Exchange
        /// The virtual time of the exchange relative to the base, such as `+5m`.
        let time: String
        /// Whether the virtual time differs from that of the previous entry.
        let isAtNewTime: Bool
        /// The subject of the request, such as the name of a delivery or the kind of an effect.
        let subject: String
        /// The description of the request: the type of an event, the recipients and the text of a
        /// message, or the method and path.
        let words: String
        /// Further lines about the request, such as the user, the product and the dates of an event.
        let details: [String]
        /// The body of the response; nil when it explains nothing.
        let response: String?
        /// The status of the response, or the way in which the request failed.
        let outcome: String
        /// Whether a finding cites the exchange as evidence.
        let isEvidence: Bool
    }

    /// The exchanges in order.
    var entries: [Entry] {
        var previousTime: String?
        return zip(exchanges, Self.displayTimes(exchanges)).map { exchange, timestamp in
            let time = (timestamp - base).briefOffsetText
            defer { previousTime = time }
            let (words, details) = description(exchange)
            return Entry(
                exchange: exchange,
                time: time,
                isAtNewTime: time != previousTime,
                subject: subject(exchange),
                words: named(words),
                details: details.map(named),
                response: responseText(exchange).map(named),
                outcome: outcome(exchange),
                isEvidence: evidence.contains(exchange.sequence)
            )
        }
    }

    /// The names of users in the trace with the IDs that they replace, such as `‹ada› is 4711`.
    var legend: [String] {
        let text = entries.flatMap { [$0.words, $0.response ?? ""] + $0.details }.joined(
            separator: " "
        )
        return namesByID.filter { text.contains($0.name) }.map { "\($0.name) is \($0.id)" }
    }

    private func named(_ text: String) -> String {
        namesByID.reduce(text) { text, named in
            let encodedID = named.id.percentEncoded
            let plain = text.replacingExactly(named.id, with: named.name)
            return encodedID == named.id
                ? plain : plain.replacingExactly(encodedID, with: named.name)
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

    // MARK: Requests

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

    /// Returns the description of a request, and further lines about it.
    private func description(_ exchange: Exchange) -> (words: String, details: [String]) {
        let body = exchange.request.bodyJSON
        let line = "\(exchange.request.method) \(exchange.request.target)"
        switch exchange.purpose {
        case .delivery(let name, _): return event(exchange, name) ?? (line, [])
        case .userAction:
            let missingElementText = body?["missing"]?.string.map { "did not find '\($0)'" }
            let words = [exchange.phone?.name, body?["text"]?.string, missingElementText]
            return (words.compactMap { $0 }.joined(separator: " "), [])
        case .screen:
            return (exchange.response.map { String(decoding: $0.body, as: UTF8.self) } ?? "", [])
        case .appCall where exchange.phone != nil:
            let fields = body?.object?.members.map { "\($0.value.string ?? $0.value.text)" } ?? []
            return (line + " " + fields.joined(separator: " "), [])
        case .call where exchange.from == .app && exchange.to == .despia:
            return (body?["command"]?.string ?? line, [])
        case .call:
            guard let text = ProviderTable.all[exchange.to]?.callText(exchange) else {
                return (line, [])
            }
            return (text, Self.isSuccess(exchange) ? [] : [line])
        default: return (line, [])
        }
    }

    /// Returns the type of a delivered event, and the values that decide what it means.
    ///
    /// They come from the body, or from the contract when the body cannot be read.
    private func event(_ exchange: Exchange, _ name: String) -> (String, [String])? {
        let sender = ProviderTable.all[exchange.from]?.sender
        let suffix = concurrentDeliveries.contains(name) ? ", concurrent with the next step" : ""
        if let event = sender?.format.description(of: exchange.request) {
            let facts = event.facts { ($0 - base).briefOffsetText }
            return (event.type + suffix, facts.isEmpty ? [] : [facts])
        }
        return eventTextsByDelivery[name].map { ($0 + suffix, []) }
    }

    // MARK: Responses

    private static func isSuccess(_ exchange: Exchange) -> Bool {
        switch exchange.outcome {
        case .answered(let response), .answerLost(let response?): response.status < 400
        case .pending, .answerLost(nil), .requestCut, .failed: false
        }
    }

    /// Returns the body of a response that may explain a finding: of the backend, or of a fake that
    /// refused a call.
    private func responseText(_ exchange: Exchange) -> String? {
        guard let body = exchange.response?.body, !body.isEmpty else { return nil }
        let isShown =
            switch exchange.purpose {
            case .delivery, .sentinel, .registration, .appCall, .probe: exchange.to == .backend
            case .call: exchange.to != .backend && !Self.isSuccess(exchange)
            case .restart, .userAction, .screen: false
            }
        return isShown ? BodyExcerpt.text(body, keeping: judgedWords) : nil
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
        case .failed(.loginRefused, _): "no login"
        }
    }
}
