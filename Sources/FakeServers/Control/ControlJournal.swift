internal import Contracts
internal import Grammar
internal import Providers
internal import Values

/// Operations of the control API that read the journal, page by page or as a stream.
extension ControlRoute {
    static let journalRoutes = [
        ControlRoute(
            "journal",
            "GET",
            "/journal",
            "Returns the exchanges of the journal in order, one page at a time.",
            parameters: filterParameters,
            handler: .response { (api, call) async throws(ControlRefusal) in try api.journal(call) }
        ),
        ControlRoute(
            "journalStream",
            "GET",
            "/journal/stream",
            "Streams exchanges as they end, one JSON object per line.",
            parameters: filterParameters,
            handler: .lines { (api, call) throws(ControlRefusal) in try api.stream(call) }
        ),
    ]

    private static let filterParameters = [
        ControlParameter("after", "Only entries with a number higher than this one."),
        ControlParameter(
            "limit",
            "The maximum number of entries, 1 to 1000 (default 100; a stream has no default)."
        ),
        ControlParameter(
            "party",
            "Only exchanges from or to this party, for example backend."
        ),
        ControlParameter("effects", "true: only exchanges with an effect, such as a push message."),
        ControlParameter("all", "true: exchanges of all namespaces."),
    ]
}

extension ControlAPI {
    fileprivate struct JournalFilter: Sendable {
        let namespace: String?
        let party: Exchange.Party?
        let requiresEffects: Bool

        func matches(_ exchange: Exchange) -> Bool {
            (namespace == nil || exchange.namespace == namespace)
                && (party == nil || exchange.from == party || exchange.to == party)
                && (!requiresEffects || !exchange.effects.isEmpty)
        }
    }

    private func filter(_ call: Call) throws(Refusal) -> (JournalFilter, after: Int, limit: Int?) {
        var party: Exchange.Party?
        if let name = call.query("party") {
            party = fakes.providers.party(named: name)
            guard party != nil else {
                let partyNames = fakes.providers.parties.map(\.name)
                throw Refusal(
                    400,
                    "'party' is '\(name)', which is not one of "
                        + partyNames.joined(separator: ", "),
                    hint: Suggestion.nearest(to: name, among: partyNames).map {
                        "did you mean '\($0)'?"
                    }
                )
            }
        }
        let after = try number(call, "after") ?? -1
        let limit = try limit(call)
        let filter = JournalFilter(
            namespace: try booleanParameter(call, "all") ? nil : call.namespace,
            party: party,
            requiresEffects: try booleanParameter(call, "effects")
        )
        return (filter, after, limit)
    }

    /// Returns the `limit` parameter of a call; nil when the call has none.
    func limit(_ call: Call) throws(Refusal) -> Int? {
        let limit = try number(call, "limit")
        guard limit.map((1...1000).contains) ?? true else {
            throw Refusal(400, "'limit' must be 1 to 1000")
        }
        return limit
    }

    private func booleanParameter(_ call: Call, _ name: String) throws(Refusal) -> Bool {
        switch call.query(name) {
        case "true", "": true
        case "false", nil: false
        case let text?:
            throw Refusal(400, "'\(name)' is '\(text)', which is neither true nor false")
        }
    }

    /// The allowed numbers in a query: integers that JSON represents exactly in every language.
    ///
    /// The number -1 means the position before the first entry of the journal.
    private static let entryNumbers = -1...(1 << 53)

    private func number(_ call: Call, _ name: String) throws(Refusal) -> Int? {
        guard let text = call.query(name) else { return nil }
        guard let number = Int(text) else {
            throw Refusal(400, "'\(name)' is '\(text)', which is not a number")
        }
        guard Self.entryNumbers.contains(number) else {
            throw Refusal(
                400,
                "'\(name)' is '\(text)'; it must be \(Self.entryNumbers.lowerBound) to "
                    + "\(Self.entryNumbers.upperBound)"
            )
        }
        return number
    }

    fileprivate func journal(_ call: Call) throws(Refusal) -> JSONValue {
        let (filter, after, limit) = try filter(call)
        let (page, last, droppedEntryCount, next) = fakes.journal.read { journal in
            let page = journal.page(after: after, limit: limit ?? 100, where: filter.matches)
            return (page.exchanges, page.last, journal.droppedEntryCount, journal.nextSequence)
        }
        let lines = JournalLine.RedactionByProvider(declared, fakes.providers)
        return [
            "entries": .array(page.map(lines.value)),
            "after": .integer(Int64(last)),
            "more": .bool(last + 1 < next),
            // A journal that dropped entries cannot prove that something did not happen.
            "forgotten": .integer(Int64(droppedEntryCount)),
            // Errors of Assay itself, which no exchange shows.
            "notes": .strings(fakes.journal.notes),
        ]
    }

    fileprivate func stream(_ call: Call) throws(Refusal) -> AsyncStream<String> {
        let (filter, after, limit) = try filter(call)
        let journal = fakes.journal
        let follower = JournalFollower(
            journal: journal,
            matches: filter.matches,
            lastReadSequence: after,
            remainingLineCount: limit ?? .max
        )
        // Each line is created only when the previous one has been sent, so that a client that does
        // not read uses no memory.
        return AsyncStream {
            switch await follower.next() {
            case .exchange(let exchange): return self.line(exchange)
            case .interrupted(let reason):
                journal.note("a client of /journal/stream was disconnected: \(reason)")
                return JSONValue.object(["cut_off": .string(reason)]).text
            case nil: return nil
            }
        }
    }

    /// Returns the line of an exchange in a stream of the journal.
    ///
    /// The redaction is created for each line, because secrets may have been added since the last
    /// line.
    private func line(_ exchange: Exchange) -> String {
        JournalLine.RedactionByProvider(declared, fakes.providers).value(exchange).text
    }
}

/// Reads a stream of the journal for one client: returns each entry once, when its exchange has
/// ended.
///
/// It keeps at most one page of entries in memory. All other entries stay in the journal.
actor JournalFollower {
    enum StreamLine: Sendable {
        case exchange(Exchange)
        /// The reason why the stream ends: its client reads too slowly to receive every entry.
        case interrupted(String)
    }

    private let journal: LiveJournal
    private let matches: @Sendable (Exchange) -> Bool
    private let entryNumbers: AsyncStream<Int>.Iterator
    private var lastReadSequence: Int
    /// The number of the first entry in the journal when the stream began.
    private let firstKeptSequence: Int
    /// The number of entries that the stream may still send.
    private var remainingLineCount: Int
    /// The numbers of entries that were read before their exchanges had ended.
    ///
    /// These entries are sent later, out of order.
    private var unfinishedSequences: Set<Int> = []
    /// The entries that were read from the journal but not sent yet, in reverse order.
    private var page: [Exchange] = []
    /// Whether all entries that existed when the stream began have been read.
    private var hasReadExistingEntries = false
    private var hasEnded = false

    init(
        journal: LiveJournal,
        matches: @escaping @Sendable (Exchange) -> Bool,
        lastReadSequence: Int,
        remainingLineCount: Int
    ) {
        self.journal = journal
        self.matches = matches
        self.lastReadSequence = lastReadSequence
        self.remainingLineCount = remainingLineCount
        firstKeptSequence = journal.read { $0.droppedEntryCount }
        entryNumbers = journal.follow().makeAsyncIterator()
    }

    /// Returns the next line of the stream; nil at the end of the stream.
    func next() async -> StreamLine? {
        guard !hasEnded else { return nil }
        guard remainingLineCount > 0, let line = await nextMatch() else {
            hasEnded = true
            return nil
        }
        switch line {
        case .exchange: remainingLineCount -= 1
        case .interrupted: hasEnded = true
        }
        return line
    }

    /// Returns the next line of the stream: first from the existing entries of the journal, then
    /// from new entries.
    private func nextMatch() async -> StreamLine? {
        while true {
            if let exchange = page.popLast() { return .exchange(exchange) }
            guard !hasReadExistingEntries else { break }
            if let number = readPage() {
                return .interrupted("the journal dropped entry \(number) before the client read it")
            }
        }
        var entryNumbers = entryNumbers
        while let number = await entryNumbers.next(isolation: self) {
            guard number > lastReadSequence || unfinishedSequences.remove(number) != nil else {
                continue
            }
            let (exchange, isEntryDropped) = journal.read { journal in
                (journal.exchange(number), !journal.isComplete(since: number))
            }
            if isEntryDropped {
                return .interrupted("the journal dropped entry \(number) before the client read it")
            }
            if let exchange, matches(exchange) { return .exchange(exchange) }
        }
        guard !Task.isCancelled, !journal.isEnding else { return nil }
        return .interrupted("too many entries were written while the client did not read")
    }

    /// Reads the next page of the entries that the journal already has.
    ///
    /// - Returns: The number of the first entry that existed when the stream began and was dropped
    ///   since; nil when none was dropped.
    private func readPage() -> Int? {
        let firstNeededSequence = max(lastReadSequence + 1, firstKeptSequence)
        let (nextMatch, isEntryDropped) = journal.read { [lastReadSequence, matches] journal in
            (
                journal.page(after: lastReadSequence, limit: 32, where: matches),
                !journal.isComplete(since: firstNeededSequence)
            )
        }
        if isEntryDropped { return firstNeededSequence }
        hasReadExistingEntries = nextMatch.last <= lastReadSequence
        lastReadSequence = max(lastReadSequence, nextMatch.last)
        for exchange in nextMatch.exchanges where exchange.completed == nil {
            unfinishedSequences.insert(exchange.sequence)
        }
        page = nextMatch.exchanges.filter { $0.completed != nil }.reversed()
        return nil
    }
}
