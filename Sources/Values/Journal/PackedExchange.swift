/// An exchange in the compact storage format of the journal: numbers of fixed size, and one byte
/// array (the blob) for all strings and bodies.
struct PackedExchange: Sendable {
    var sequence: Int32
    var from: Exchange.Party
    var to: Exchange.Party
    var purposeKind: UInt8
    var outcomeKind: UInt8
    var deliveryAttempt: Int32
    var status: Int32
    var at: Int64
    var invoked: Int64
    /// The time at which the exchange was completed, in microseconds since the journal began; -1
    /// while it is pending.
    var completed: Int64
    var namespace: String
    var packedContent: [UInt8]

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

    /// Whether the exchange is a real request between two parties, and not a recorded restart, user
    /// action or observation.
    var isRequest: Bool { purposeKind <= 4 || purposeKind == 6 }

    var byteCount: Int { Journal.entryOverheadInBytes + packedContent.count }

    init(_ exchange: Exchange) {
        sequence = Int32(clamping: exchange.sequence)
        from = exchange.from
        to = exchange.to
        at = exchange.at.milliseconds
        invoked = exchange.invoked
        completed = exchange.completed ?? -1
        namespace = exchange.namespace
        deliveryAttempt = 0
        status = 0
        var writer = BlobWriter()
        purposeKind = 0
        outcomeKind = 0
        packedContent = []
        purposeKind = pack(exchange.purpose, &writer)
        writer.write(exchange.request.method)
        writer.write(exchange.request.target)
        writer.write(exchange.request.fields)
        writer.write(exchange.request.body)
        let phone = exchange.phone.map { [$0.name] + ($0.load.map { [$0] } ?? []) } ?? []
        writer.write(phone.count)
        for text in phone { writer.write(text) }
        outcomeKind = pack(exchange.outcome, &writer)
        writer.write(exchange.effects.count)
        for effect in exchange.effects {
            writer.write(effect.kind)
            writer.write(effect.recipients.count)
            for recipient in effect.recipients { writer.write(recipient) }
            writer.write(effect.content.bytes)
            writer.write(effect.idempotencyKey ?? "")
        }
        // The copy has the exact size; the writer's buffer grows by doubling and may be twice as
        // large.
        packedContent = writer.bytes.withUnsafeBufferPointer { Array($0) }
    }

    /// Writes the associated values of the exchange's purpose to the blob, and returns the number
    /// of the enum case.
    private mutating func pack(_ purpose: Exchange.Purpose, _ writer: inout BlobWriter) -> UInt8 {
        switch purpose {
        case .call: return 0
        case .sentinel: return 1
        case .delivery(let name, let attempt):
            deliveryAttempt = Int32(clamping: attempt)
            writer.write(name)
            return 2
        case .registration(let user):
            writer.write(user)
            return 3
        case .probe(let name, let user):
            writer.write(name)
            writer.write(user)
            return 4
        case .restart(let text):
            writer.write(text)
            return 5
        case .appCall(let name):
            writer.write(name)
            return 6
        case .userAction(let name):
            writer.write(name)
            return 7
        case .screen: return 8
        }
    }

    /// Writes the associated values of the exchange's outcome to the blob, and returns the number
    /// of the enum case.
    private mutating func pack(_ outcome: Exchange.Outcome, _ writer: inout BlobWriter) -> UInt8 {
        switch outcome {
        case .pending: return 0
        case .requestCut: return 1
        case .answered(let response):
            pack(response, &writer)
            return 2
        case .answerLost(nil): return 3
        case .answerLost(let response?):
            pack(response, &writer)
            return 4
        case .failed(let failure, let text):
            status = Int32(failure.rawValue)
            writer.write(text)
            return 5
        }
    }

    private mutating func pack(_ response: HTTPMessage.Response, _ writer: inout BlobWriter) {
        status = Int32(clamping: response.status)
        writer.write(response.fields)
        writer.write(response.body)
    }

    var exchange: Exchange {
        var reader = BlobReader(bytes: packedContent)
        let purpose = purpose(&reader)
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
        let effects = (0..<reader.count()).map { _ in Self.effect(&reader) }
        return Exchange(
            from: from,
            to: to,
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

    private func purpose(_ reader: inout BlobReader) -> Exchange.Purpose {
        switch purposeKind {
        case 1: .sentinel
        case 2: .delivery(name: reader.text(), attempt: Int(deliveryAttempt))
        case 3: .registration(user: reader.text())
        case 4: .probe(name: reader.text(), user: reader.text())
        case 5: .restart(reader.text())
        case 6: .appCall(reader.text())
        case 7: .userAction(reader.text())
        case 8: .screen
        default: .call
        }
    }

    private static func effect(_ reader: inout BlobReader) -> Effect {
        let kind = reader.text()
        let recipients = (0..<reader.count()).map { _ in reader.text() }
        let content = JSONValue(ifValid: reader.data()) ?? .null
        let key = reader.text()
        return Effect(
            kind: kind,
            recipients: recipients,
            content: content,
            idempotencyKey: key.isEmpty ? nil : key
        )
    }
}

/// Writes strings and byte arrays into one byte array, each preceded by its length as a base-128
/// varint.
private struct BlobWriter {
    var bytes: [UInt8] = []

    mutating func write(_ count: Int) {
        var remainingBits = UInt(count)
        while remainingBits >= 0x80 {
            bytes.append(UInt8(remainingBits & 0x7f) | 0x80)
            remainingBits >>= 7
        }
        bytes.append(UInt8(remainingBits))
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

/// Reads the byte array that a `BlobWriter` wrote.
///
/// The reader and the writer belong to the same process, so the input is not validated.
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
