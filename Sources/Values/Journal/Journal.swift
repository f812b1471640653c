/// The journal: all exchanges (requests with responses) of a run in one total order.
///
/// The rules that judge a run use only the journal as evidence.
///
/// An entry is written when its request starts, and completed when its response arrives. The
/// journal's size in bytes is limited. A full journal drops its oldest entries and counts them, so
/// that no rule concludes from a gap that something did *not* happen.
package struct Journal: Sendable {
    /// The number of bytes that each entry adds to the journal's size, not counting the entry's
    /// strings and bodies.
    package static let entryOverheadInBytes = MemoryLayout<PackedExchange>.stride + 32

    package let bytesMax: Int
    package private(set) var byteCount = 0
    /// The number of entries that were dropped to keep the journal within its maximum size.
    package private(set) var droppedEntryCount = 0
    /// The sequence number of the first entry that the journal still contains.
    private var firstSequence = 0
    private var entries = EntryBlocks()

    package init(bytesMax: Int = 256 << 20) {
        self.bytesMax = bytesMax
    }

    package var count: Int { entries.count }

    /// The sequence number that the next request will get.
    package var nextSequence: Int { firstSequence + count }

    /// An exchange in the journal's storage format.
    ///
    /// A writer makes this value before it locks the journal, so that other writers do not wait for
    /// the conversion.
    package struct Entry: Sendable {
        fileprivate var packed: PackedExchange

        package init(_ exchange: Exchange) {
            packed = PackedExchange(exchange)
        }
    }

    /// Appends the entry of a request and returns its sequence number.
    package mutating func append(_ exchange: Exchange) -> Int { append(Entry(exchange)) }

    package mutating func append(_ entry: Entry) -> Int {
        var packed = entry.packed
        let sequence = nextSequence
        packed.sequence = Int32(clamping: sequence)
        byteCount += packed.byteCount
        entries.append(packed)
        dropOldEntries()
        return sequence
    }

    /// Records the header fields and the body of a request once the whole request has been sent.
    ///
    /// Nothing happens when the request's entry has been dropped.
    package mutating func sent(
        _ sequence: Int,
        _ fields: [HTTPMessage.Field],
        _ body: [UInt8]
    ) {
        updateEntry(sequence) { exchange in
            exchange.request.fields = fields
            exchange.request.body = body
        }
    }

    /// Records the outcome of a request; does nothing when the request's entry has been dropped.
    package mutating func complete(
        _ sequence: Int,
        _ outcome: Exchange.Outcome,
        effects: [Effect] = [],
        namespace: String? = nil,
        at completed: Int64
    ) {
        updateEntry(sequence) { exchange in
            exchange.outcome = outcome
            exchange.completed = completed
            exchange.effects = effects
            if let namespace { exchange.namespace = namespace }
        }
    }

    private mutating func updateEntry(_ sequence: Int, _ updateEntry: (inout Exchange) -> Void) {
        guard sequence >= firstSequence, sequence < nextSequence else { return }
        let index = sequence - firstSequence
        var exchange = entries[index].exchange
        updateEntry(&exchange)
        byteCount -= entries[index].byteCount
        entries[index] = PackedExchange(exchange)
        byteCount += entries[index].byteCount
        dropOldEntries()
    }

    /// Returns the exchanges of one namespace of the fakes in order, starting at a sequence number.
    ///
    /// When a party is given, only the exchanges whose request this party sent are returned.
    package func exchanges(
        in namespace: String,
        from sequence: Int = 0,
        by party: Exchange.Party? = nil
    ) -> [Exchange] {
        let firstEntryIndex = max(0, sequence - firstSequence)
        guard firstEntryIndex < entries.count else { return [] }
        return entries[firstEntryIndex...].compactMap {
            let isWanted =
                $0.namespace == namespace && (party ?? $0.from) == $0.from
            return isWanted ? $0.exchange : nil
        }
    }

    /// Returns the exchange with that sequence number; nil when it was dropped or does not exist
    /// yet.
    package func exchange(_ sequence: Int) -> Exchange? {
        guard sequence >= firstSequence, sequence < nextSequence else { return nil }
        return entries[sequence - firstSequence].exchange
    }

    /// Returns up to `limit` matching exchanges after a sequence number, and the sequence number of
    /// the last entry that was examined.
    package func page(
        after sequence: Int,
        limit: Int,
        where isWanted: (Exchange) -> Bool
    ) -> (exchanges: [Exchange], last: Int) {
        var matchingExchanges: [Exchange] = []
        var last = max(sequence, firstSequence - 1)
        while matchingExchanges.count < limit, let next = exchange(last + 1) {
            if isWanted(next) { matchingExchanges.append(next) }
            last += 1
        }
        return (matchingExchanges, last)
    }

    package var exchanges: [Exchange] { entries.map(\.exchange) }

    /// Whether no entry from that sequence number on has been dropped.
    ///
    /// Only then does a missing exchange prove that the exchange did not happen.
    package func isComplete(since sequence: Int) -> Bool { sequence >= firstSequence }

    /// Returns the last time at which an exchange of that namespace started or ended, in
    /// microseconds since the journal began; nil without an exchange.
    package func lastActivityTime(in namespace: String, from sequence: Int = 0) -> Int64? {
        let firstEntryIndex = max(0, sequence - firstSequence)
        guard firstEntryIndex < entries.count else { return nil }
        return entries[firstEntryIndex...].lazy.filter { $0.namespace == namespace }
            .map { max($0.invoked, $0.completed) }.max()
    }

    /// Returns, for each namespace of the fakes, the last time at which the backend made a call or
    /// got a response.
    ///
    /// Times are in microseconds since the journal began.
    package func lastBackendCallTimes() -> [String: Int64] {
        var last: [String: Int64] = [:]
        for entry in entries where entry.from == .backend {
            last[entry.namespace] = max(last[entry.namespace] ?? 0, entry.invoked, entry.completed)
        }
        return last
    }

    /// Returns the total time during which at least one request to that party was waiting for its
    /// response.
    ///
    /// - Returns: The time; nil when entries were dropped, so that the time is unknown.
    package func totalResponseWaitTime(of party: Exchange.Party) -> Duration? {
        guard droppedEntryCount == 0 else { return nil }
        var (totalWaitInMicroseconds, latestWaitEnd): (Int64, Int64) = (0, 0)
        for entry in entries where entry.to == party && entry.isRequest {
            let waitStart = max(entry.invoked, latestWaitEnd)
            totalWaitInMicroseconds += max(0, entry.completed - waitStart)
            latestWaitEnd = max(latestWaitEnd, entry.completed)
        }
        return .microseconds(totalWaitInMicroseconds)
    }

    private mutating func dropOldEntries() {
        while byteCount > bytesMax, count > 1 {
            byteCount -= entries[0].byteCount
            entries.dropOldest()
            firstSequence += 1
            droppedEntryCount += 1
        }
    }
}
