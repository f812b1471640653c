internal import Conformance
internal import Providers

/// Exchanges, a page at a time and as they end.
extension ControlRoute {
    static let journalRoutes = [
        ControlRoute(
            "journal",
            "GET",
            "/journal",
            "Exchanges in order, a page at a time.",
            parameters: filters,
            work: .answer { (api, call) async throws(ControlRefusal) in try api.journal(call) }
        ),
        ControlRoute(
            "journalStream",
            "GET",
            "/journal/stream",
            "Exchanges as they end, one JSON object a line.",
            parameters: filters,
            work: .lines { (api, call) throws(ControlRefusal) in try api.stream(call) }
        ),
    ]

    private static let filters = [
        ControlParameter("after", "Only entries with a higher number."),
        ControlParameter(
            "limit",
            "How many entries at most, 1 to 1000 (default 100; a stream goes on without one)."
        ),
        ControlParameter(
            "party",
            "Only exchanges from or to this party, for example onesignal."
        ),
        ControlParameter("effects", "true: only exchanges with an effect."),
        ControlParameter("all", "true: of all namespaces."),
    ]
}

extension ControlAPI {
    fileprivate struct JournalFilter: Sendable {
        let namespace: String?
        let party: Exchange.Party?
        let hasEffects: Bool

        func passes(_ exchange: Exchange) -> Bool {
            (namespace == nil || exchange.namespace == namespace)
                && (party == nil || exchange.from == party || exchange.to == party)
                && (!hasEffects || !exchange.effects.isEmpty)
        }
    }

    private func filter(_ call: Call) throws(Refusal) -> (JournalFilter, after: Int, limit: Int?) {
        var party: Exchange.Party?
        if let name = call.query("party") {
            party = Exchange.Party.allCases.first { $0.description == name }
            guard party != nil else {
                let names = Exchange.Party.allCases.map(\.description)
                throw Refusal(
                    400,
                    "'party' is '\(name)', which is none of " + names.joined(separator: ", "),
                    hint: Suggestion.nearest(to: name, among: names).map {
                        "did you mean '\($0)'?"
                    }
                )
            }
        }
        let after = try number(call, "after") ?? -1
        let limit = try limit(call)
        let filter = JournalFilter(
            namespace: try flag(call, "all") ? nil : call.namespace,
            party: party,
            hasEffects: try flag(call, "effects")
        )
        return (filter, after, limit)
    }

    /// How many are asked for; nil when nobody says so.
    func limit(_ call: Call) throws(Refusal) -> Int? {
        let limit = try number(call, "limit")
        guard limit.map((1...1000).contains) ?? true else {
            throw Refusal(400, "'limit' takes 1 to 1000")
        }
        return limit
    }

    private func flag(_ call: Call, _ name: String) throws(Refusal) -> Bool {
        switch call.query(name) {
        case "true", "": true
        case "false", nil: false
        case let text?:
            throw Refusal(400, "'\(name)' is '\(text)', which is neither true nor false")
        }
    }

    /// The numbers that a query may give: those that JSON numbers hold exactly in every language,
    /// and -1, the number before the first entry.
    private static let numbers = -1...(1 << 53)

    private func number(_ call: Call, _ name: String) throws(Refusal) -> Int? {
        guard let text = call.query(name) else { return nil }
        guard let number = Int(text) else {
            throw Refusal(400, "'\(name)' is '\(text)', which is no number")
        }
        guard Self.numbers.contains(number) else {
            throw Refusal(
                400,
                "'\(name)' is '\(text)'; it takes \(Self.numbers.lowerBound) to "
                    + "\(Self.numbers.upperBound)"
            )
        }
        return number
    }

    fileprivate func journal(_ call: Call) throws(Refusal) -> JSONValue {
        let (filter, after, limit) = try filter(call)
        let (page, last, forgotten, next) = world.journal.read { journal in
            let page = journal.page(after: after, limit: limit ?? 100, where: filter.passes)
            return (page.exchanges, page.last, journal.forgottenCount, journal.nextSequence)
        }
        let lines = JournalLine.ByProvider(declared, world.providers)
        return [
            "entries": .array(page.map(lines.value)),
            "after": .integer(Int64(last)),
            "more": .bool(last + 1 < next),
            // A full journal cannot prove that something did not happen.
            "forgotten": .integer(Int64(forgotten)),
        ]
    }

    fileprivate func stream(_ call: Call) throws(Refusal) -> AsyncStream<String> {
        let (filter, after, limit) = try filter(call)
        let numbers = world.journal.follow()
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        let task = Task {
            var follower = Follower(
                journal: world.journal,
                filter: filter,
                seen: after,
                left: limit ?? .max
            )
            // First what is there, then what comes.
            for exchange in follower.past() { continuation.yield(line(exchange)) }
            if follower.left > 0 {
                for await number in numbers {
                    if let exchange = follower.next(number) { continuation.yield(line(exchange)) }
                    if follower.left == 0 { break }
                }
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return lines
    }

    /// Which entries a stream shows, each once, when it has ended.
    private struct Follower {
        let journal: LiveJournal
        let filter: JournalFilter
        var seen: Int
        /// How many are still to be shown.
        var left: Int
        /// Entries that were there and had not ended; they come later, with a lower number.
        private var unfinished: Set<Int> = []

        init(journal: LiveJournal, filter: JournalFilter, seen: Int, left: Int) {
            self.journal = journal
            self.filter = filter
            self.seen = seen
            self.left = left
        }

        mutating func past() -> [Exchange] {
            var found: [Exchange] = []
            while left > 0 {
                let page = journal.read { [seen, filter] in
                    $0.page(after: seen, limit: 500, where: filter.passes)
                }
                for exchange in page.exchanges where left > 0 {
                    if exchange.completed == nil {
                        unfinished.insert(exchange.sequence)
                    } else {
                        found.append(exchange)
                        left -= 1
                    }
                }
                guard page.last > seen else { break }
                seen = page.last
            }
            return found
        }

        /// The entry of that number, which has just ended, when it is one to show.
        mutating func next(_ number: Int) -> Exchange? {
            let isNew = number > seen || unfinished.remove(number) != nil
            guard isNew, let exchange = journal.read({ $0.exchange(number) }),
                filter.passes(exchange)
            else { return nil }
            left -= 1
            return exchange
        }
    }

    /// What is secret may have been told since the line before.
    private func line(_ exchange: Exchange) -> String {
        JournalLine.ByProvider(declared, world.providers).value(exchange).text
    }
}
