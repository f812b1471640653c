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
    /// A ring without wrap: entries before `head` are gone and trimmed now and then.
    private var entries: [PackedExchange] = []
    private var head = 0

    package init(bytesMax: Int = 256 << 20) {
        self.bytesMax = bytesMax
    }

    package var count: Int { entries.count - head }

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

    /// Writes a completion; one that belongs to a forgotten entry is dropped with it.
    package mutating func complete(
        _ sequence: Int,
        _ outcome: Exchange.Outcome,
        effects: [Effect] = [],
        namespace: String? = nil,
        at completed: Int64
    ) {
        guard sequence >= first, sequence < nextSequence else { return }
        let index = head + sequence - first
        var exchange = entries[index].exchange
        exchange.outcome = outcome
        exchange.completed = completed
        exchange.effects = effects
        if let namespace { exchange.namespace = namespace }
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
        let start = head + max(0, sequence - first)
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
        return entries[head + sequence - first].exchange
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

    package var exchanges: [Exchange] { entries[head...].map(\.exchange) }

    /// Whether everything since that number is still here, so that absence can be proven.
    package func isComplete(since sequence: Int) -> Bool { sequence >= first }

    /// When something in that namespace last started or ended; nil if nothing did.
    package func lastActivity(in namespace: String, from sequence: Int = 0) -> Int64? {
        let start = head + max(0, sequence - first)
        guard start < entries.count else { return nil }
        return entries[start...].lazy.filter { $0.namespace == namespace }
            .map { max($0.invoked, $0.completed) }.max()
    }

    /// When the backend last made a call in each namespace, or was answered.
    package func lastCalls() -> [String: Int64] {
        var last: [String: Int64] = [:]
        for entry in entries[head...] where entry.from == Exchange.Party.backend.rawValue {
            last[entry.namespace] = max(last[entry.namespace] ?? 0, entry.invoked, entry.completed)
        }
        return last
    }

    private mutating func trim() {
        while byteCount > bytesMax, count > 1 {
            byteCount -= entries[head].byteCount
            entries[head] = PackedExchange.empty
            head += 1
            first += 1
            forgottenCount += 1
        }
        if head > 1024, head > entries.count / 2 {
            entries.removeSubrange(..<head)
            head = 0
        }
    }
}

/// An exchange as the journal stores it: numbers in place, every text and body in one blob.
private struct PackedExchange: Sendable {
    var sequence: Int32
    var from: UInt8
    var to: UInt8
    var purposeKind: UInt8
    var outcomeKind: UInt8
    var detail: Int32
    var status: Int32
    var at: Int64
    var invoked: Int64
    /// -1 while pending.
    var completed: Int64
    var namespace: String
    var blob: [UInt8]

    static let empty = PackedExchange(
        Exchange(
            from: .assay,
            to: .assay,
            namespace: "",
            purpose: .call,
            at: Instant(milliseconds: 0),
            request: HTTPMessage.Request("", "")
        )
    )

    var byteCount: Int { Journal.entryOverhead + blob.count }

    init(_ exchange: Exchange) {
        sequence = Int32(clamping: exchange.sequence)
        from = exchange.from.rawValue
        to = exchange.to.rawValue
        at = exchange.at.milliseconds
        invoked = exchange.invoked
        completed = exchange.completed ?? -1
        namespace = exchange.namespace
        detail = 0
        status = 0
        var writer = BlobWriter()
        switch exchange.purpose {
        case .call: purposeKind = 0
        case .sentinel: purposeKind = 1
        case .delivery(let name, let attempt):
            purposeKind = 2
            detail = Int32(clamping: attempt)
            writer.write(name)
        case .registration(let user):
            purposeKind = 3
            writer.write(user)
        case .probe(let name, let user):
            purposeKind = 4
            writer.write(name)
            writer.write(user)
        case .restart(let text):
            purposeKind = 5
            writer.write(text)
        case .appCall(let name):
            purposeKind = 6
            writer.write(name)
        case .gesture(let name):
            purposeKind = 7
            writer.write(name)
        case .screen: purposeKind = 8
        }
        writer.write(exchange.request.method)
        writer.write(exchange.request.target)
        writer.write(exchange.request.fields)
        writer.write(exchange.request.body)
        let phone = exchange.phone.map { [$0.name] + ($0.load.map { [$0] } ?? []) } ?? []
        writer.write(phone.count)
        for text in phone { writer.write(text) }
        switch exchange.outcome {
        case .pending: outcomeKind = 0
        case .requestCut: outcomeKind = 1
        case .answered(let response):
            outcomeKind = 2
            status = Int32(clamping: response.status)
            writer.write(response.fields)
            writer.write(response.body)
        case .answerLost(nil): outcomeKind = 3
        case .answerLost(let response?):
            outcomeKind = 4
            status = Int32(clamping: response.status)
            writer.write(response.fields)
            writer.write(response.body)
        case .failed(let failure, let text):
            outcomeKind = 5
            status = Int32(failure.rawValue)
            writer.write(text)
        }
        writer.write(exchange.effects.count)
        for effect in exchange.effects {
            writer.write(effect.kind)
            writer.write(effect.recipients.count)
            for recipient in effect.recipients { writer.write(recipient) }
            writer.write(effect.content.bytes)
            writer.write(effect.idempotencyKey ?? "")
        }
        // An exact copy: a buffer that grew by doubling would hold twice what it needs.
        blob = writer.bytes.withUnsafeBufferPointer { Array($0) }
    }

    var exchange: Exchange {
        var reader = BlobReader(bytes: blob)
        let purpose: Exchange.Purpose =
            switch purposeKind {
            case 1: .sentinel
            case 2: .delivery(name: reader.text(), attempt: Int(detail))
            case 3: .registration(user: reader.text())
            case 4: .probe(name: reader.text(), user: reader.text())
            case 5: .restart(reader.text())
            case 6: .appCall(reader.text())
            case 7: .gesture(reader.text())
            case 8: .screen
            default: .call
            }
        let request = HTTPMessage.Request(
            reader.text(),
            reader.text(),
            fields: reader.fields(),
            body: reader.data()
        )
        let phone = (0..<reader.count()).map { _ in reader.text() }
        func response() -> HTTPMessage.Response {
            HTTPMessage.Response(Int(status), fields: reader.fields(), body: reader.data())
        }
        let outcome: Exchange.Outcome =
            switch outcomeKind {
            case 1: .requestCut
            case 2: .answered(response())
            case 3: .answerLost(nil)
            case 4: .answerLost(response())
            case 5:
                .failed(Exchange.Failure(rawValue: UInt8(status)) ?? .closed, reader.text())
            default: .pending
            }
        let effects = (0..<reader.count()).map { _ in
            let kind = reader.text()
            let recipients = (0..<reader.count()).map { _ in reader.text() }
            let content = (try? JSONValue(parsing: reader.data())) ?? .null
            let key = reader.text()
            return Effect(
                kind: kind,
                recipients: recipients,
                content: content,
                idempotencyKey: key.isEmpty ? nil : key
            )
        }
        return Exchange(
            from: Exchange.Party(rawValue: from) ?? .assay,
            to: Exchange.Party(rawValue: to) ?? .assay,
            namespace: namespace,
            purpose: purpose,
            at: Instant(milliseconds: at),
            request: request,
            phone: phone.first.map { PhoneRef($0, load: phone.count > 1 ? phone[1] : nil) },
            sequence: Int(sequence),
            invoked: invoked,
            completed: completed < 0 ? nil : completed,
            outcome: outcome,
            effects: effects
        )
    }
}

/// Appends texts with their length in front, in base 128.
private struct BlobWriter {
    var bytes: [UInt8] = []

    mutating func write(_ count: Int) {
        var rest = UInt(count)
        while rest >= 0x80 {
            bytes.append(UInt8(rest & 0x7f) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    mutating func write(_ data: [UInt8]) {
        write(data.count)
        bytes.append(contentsOf: data)
    }

    mutating func write(_ text: String) {
        write(text.utf8.count)
        bytes.append(contentsOf: text.utf8)
    }

    mutating func write(_ fields: [HTTPMessage.Field]) {
        write(fields.count)
        for field in fields {
            write(field.name)
            write(field.value)
        }
    }
}

/// Reads what `BlobWriter` wrote; both are private to one process, so nothing is checked twice.
private struct BlobReader {
    let bytes: [UInt8]
    var index = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    mutating func count() -> Int {
        var value: UInt = 0
        var shift: UInt = 0
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            value |= UInt(byte & 0x7f) << shift
            if byte < 0x80 { break }
            shift += 7
        }
        return Int(value)
    }

    mutating func data() -> [UInt8] {
        let length = count()
        defer { index += length }
        return Array(bytes[index..<(index + length)])
    }

    mutating func text() -> String { String(decoding: data(), as: UTF8.self) }

    mutating func fields() -> [HTTPMessage.Field] {
        (0..<count()).map { _ in HTTPMessage.Field(text(), text()) }
    }
}
