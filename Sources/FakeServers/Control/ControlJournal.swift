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
            // Faults of Assay itself that no exchange shows.
            "notes": .strings(world.journal.notes),
        ]
    }

    fileprivate func stream(_ call: Call) throws(Refusal) -> AsyncStream<String> {
        let (filter, after, limit) = try filter(call)
        let journal = world.journal
        let follower = JournalFollower(
            journal: journal,
            passes: filter.passes,
            seen: after,
            left: limit ?? .max
        )
        // Pulled: a line is made when the one before has left, so a reader that does not read costs
        // no memory.
        return AsyncStream {
            switch await follower.next() {
            case .exchange(let exchange): return self.line(exchange)
            case .cut(let reason):
                journal.note("a reader of /journal/stream was cut off: \(reason)")
                return JSONValue.object(["cut_off": .string(reason)]).text
            case nil: return nil
            }
        }
    }

    /// What is secret may have been told since the line before.
    private func line(_ exchange: Exchange) -> String {
        JournalLine.ByProvider(declared, world.providers).value(exchange).text
    }
}

/// The entries that a stream of the journal shows, each once, when it has ended.
///
/// It holds one page of entries at most: what it has not shown stays in the journal, and in numbers.
actor JournalFollower {
    enum Line: Sendable {
        case exchange(Exchange)
        /// The follower lags too far behind to show everything: the reason, after which nothing comes.
        case cut(String)
    }

    private let journal: LiveJournal
    private let passes: @Sendable (Exchange) -> Bool
    private let numbers: AsyncStream<Int>.Iterator
    private var seen: Int
    /// The number of the first entry that the journal held when the stream began.
    private let firstKept: Int
    /// How many are still to be shown.
    private var left: Int
    /// Entries that were there and had not ended; they come later, with a lower number.
    private var unfinished: Set<Int> = []
    /// Entries that were read and are still to be shown, the last first.
    private var page: [Exchange] = []
    /// Whether everything that was there at the start is read.
    private var isPastRead = false
    private var isOver = false

    init(
        journal: LiveJournal,
        passes: @escaping @Sendable (Exchange) -> Bool,
        seen: Int,
        left: Int
    ) {
        self.journal = journal
        self.passes = passes
        self.seen = seen
        self.left = left
        firstKept = journal.read { $0.forgottenCount }
        numbers = journal.follow().makeAsyncIterator()
    }

    /// The next line; nil at the end.
    func next() async -> Line? {
        guard !isOver else { return nil }
        guard left > 0, let line = await found() else {
            isOver = true
            return nil
        }
        switch line {
        case .exchange: left -= 1
        case .cut: isOver = true
        }
        return line
    }

    /// First what is there, then what comes.
    private func found() async -> Line? {
        while true {
            if let exchange = page.popLast() { return .exchange(exchange) }
            guard !isPastRead else { break }
            if let number = readPage() {
                return .cut("the journal forgot entry \(number) before it was read")
            }
        }
        var numbers = numbers
        while let number = await numbers.next(isolation: self) {
            guard number > seen || unfinished.remove(number) != nil else { continue }
            let (exchange, isForgotten) = journal.read { journal in
                (journal.exchange(number), !journal.isComplete(since: number))
            }
            if isForgotten {
                return .cut("the journal forgot entry \(number) before it was read")
            }
            if let exchange, passes(exchange) { return .exchange(exchange) }
        }
        guard !Task.isCancelled, !journal.isEnding else { return nil }
        return .cut("too many entries came while it did not read")
    }

    /// Reads entries that are there.
    ///
    /// - Returns: The number of the first entry that was there when the stream began and that the
    ///   journal has forgotten since; nil when nothing is missing.
    private func readPage() -> Int? {
        let needed = max(seen + 1, firstKept)
        let (found, isForgotten) = journal.read { [seen, passes] journal in
            (
                journal.page(after: seen, limit: 32, where: passes),
                !journal.isComplete(since: needed)
            )
        }
        if isForgotten { return needed }
        isPastRead = found.last <= seen
        seen = max(seen, found.last)
        for exchange in found.exchanges where exchange.completed == nil {
            unfinished.insert(exchange.sequence)
        }
        page = found.exchanges.filter { $0.completed != nil }.reversed()
        return nil
    }
}
