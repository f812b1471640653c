/// All exchanges of a run in one total order: the only evidence that judges may use.
///
/// An entry is written when its request starts and completed when its answer is there. The journal
/// is bounded by bytes; when it is full it forgets the oldest entries and remembers that it did,
/// so that nobody concludes from it that something did *not* happen.
package struct Journal: Sendable {
    /// What an entry costs beside its texts and bodies, in bytes, as the bound counts it.
    package static let entryOverhead = MemoryLayout<PackedExchange>.stride + 32

    package let bytesMax: Int
    package private(set) var byteCount = 0
    /// How many entries were forgotten to keep within the bound.
    package private(set) var forgottenCount = 0
    /// Sequence number of the first entry still held.
    private var first = 0
    private var entries = EntryBlocks()

    package init(bytesMax: Int = 256 << 20) {
        self.bytesMax = bytesMax
    }

    package var count: Int { entries.count }

    /// The number that the next invocation will get.
    package var nextSequence: Int { first + count }

    /// An exchange in the form in which it is stored; made by whoever writes it, so that others who
    /// share the journal do not wait for that.
    package struct Entry: Sendable {
        fileprivate var packed: PackedExchange

        package init(_ exchange: Exchange) {
            packed = PackedExchange(exchange)
        }
    }

    /// Writes an invocation and gives it its number.
    package mutating func append(_ exchange: Exchange) -> Int { append(Entry(exchange)) }

    package mutating func append(_ entry: Entry) -> Int {
        var packed = entry.packed
        let sequence = nextSequence
        packed.sequence = Int32(clamping: sequence)
        byteCount += packed.byteCount
        entries.append(packed)
        trim()
        return sequence
    }

    /// Writes what was sent, once all of it has been; one that belongs to a forgotten entry is dropped
    /// with it.
    package mutating func sent(
        _ sequence: Int,
        _ fields: [HTTPMessage.Field],
        _ body: [UInt8]
    ) {
        change(sequence) { exchange in
            exchange.request.fields = fields
            exchange.request.body = body
        }
    }

    /// Writes a completion; one that belongs to a forgotten entry is dropped with it.
    package mutating func complete(
        _ sequence: Int,
        _ outcome: Exchange.Outcome,
        effects: [Effect] = [],
        namespace: String? = nil,
        at completed: Int64
    ) {
        change(sequence) { exchange in
            exchange.outcome = outcome
            exchange.completed = completed
            exchange.effects = effects
            if let namespace { exchange.namespace = namespace }
        }
    }

    private mutating func change(_ sequence: Int, _ change: (inout Exchange) -> Void) {
        guard sequence >= first, sequence < nextSequence else { return }
        let index = sequence - first
        var exchange = entries[index].exchange
        change(&exchange)
        byteCount -= entries[index].byteCount
        entries[index] = PackedExchange(exchange)
        byteCount += entries[index].byteCount
        trim()
    }

    /// The exchanges of one namespace, in order, from a sequence number on; only those that one
    /// party began, when it is named.
    package func exchanges(
        in namespace: String,
        from sequence: Int = 0,
        by party: Exchange.Party? = nil
    ) -> [Exchange] {
        let start = max(0, sequence - first)
        guard start < entries.count else { return [] }
        return entries[start...].compactMap {
            let isWanted =
                $0.namespace == namespace && (party.map(\.rawValue) ?? $0.from) == $0.from
            return isWanted ? $0.exchange : nil
        }
    }

    /// The entry of that number; nil when it is forgotten or not written yet.
    package func exchange(_ sequence: Int) -> Exchange? {
        guard sequence >= first, sequence < nextSequence else { return nil }
        return entries[sequence - first].exchange
    }

    /// Up to `limit` entries after a number that the filter lets pass, and the number of the last
    /// entry that was looked at.
    package func page(
        after sequence: Int,
        limit: Int,
        where isWanted: (Exchange) -> Bool
    ) -> (exchanges: [Exchange], last: Int) {
        var found: [Exchange] = []
        var last = max(sequence, first - 1)
        while found.count < limit, let next = exchange(last + 1) {
            if isWanted(next) { found.append(next) }
            last += 1
        }
        return (found, last)
    }

    package var exchanges: [Exchange] { entries.map(\.exchange) }

    /// Whether everything since that number is still here, so that absence can be proven.
    package func isComplete(since sequence: Int) -> Bool { sequence >= first }

    /// When something in that namespace last started or ended; nil if nothing did.
    package func lastActivity(in namespace: String, from sequence: Int = 0) -> Int64? {
        let start = max(0, sequence - first)
        guard start < entries.count else { return nil }
        return entries[start...].lazy.filter { $0.namespace == namespace }
            .map { max($0.invoked, $0.completed) }.max()
    }

    /// When the backend last made a call in each namespace, or was answered.
    package func lastCalls() -> [String: Int64] {
        var last: [String: Int64] = [:]
        for entry in entries where entry.from == Exchange.Party.backend.rawValue {
            last[entry.namespace] = max(last[entry.namespace] ?? 0, entry.invoked, entry.completed)
        }
        return last
    }

    /// So long at least one request to that party waited for its answer.
    ///
    /// - Returns: Nil when entries were forgotten, so that nobody knows.
    package func openTime(of party: Exchange.Party) -> Duration? {
        guard forgottenCount == 0 else { return nil }
        var (total, end): (Int64, Int64) = (0, 0)
        for entry in entries where entry.to == party.rawValue && entry.isRequest {
            let begin = max(entry.invoked, end)
            total += max(0, entry.completed - begin)
            end = max(end, entry.completed)
        }
        return .microseconds(total)
    }

    private mutating func trim() {
        while byteCount > bytesMax, count > 1 {
            byteCount -= entries[0].byteCount
            entries.forgetFirst()
            first += 1
            forgottenCount += 1
        }
    }
}
