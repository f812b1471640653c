/// Makes two runs of one backend comparable: ids become names, wall-clock times one token.
package struct Masking: Sendable {
    /// One spelling of an id, and what stands in for it.
    private struct Token {
        let bytes: [UInt8]
        let token: [UInt8]
    }

    private let whole: [String: String]
    private let parts: [Token]
    /// When the backend's clock may have been read.
    private let moments: [ClosedRange<Instant>]

    /// Slack around the run for clocks that round to whole seconds.
    private static let slack: Duration = .seconds(2)
    /// Shorter ids are replaced only where they stand alone: 1001 would be found inside dates too.
    private static let idLengthMin = 8
    package static let wallClock = JSONValue.string("‹wall clock›")

    /// - Parameters:
    ///   - record: The run whose ids and times are masked.
    ///   - reader: A user who is called so, whatever his name: see `Namespace.tokens`.
    package init(_ record: RunRecord, reader: String? = nil) {
        let tokens = record.namespace.tokens(
            users: record.plan.users,
            deliveries: record.plan.deliveries.map(\.name),
            reader: reader
        )
        whole = Dictionary(
            tokens.map { ($0.id, $0.token) },
            uniquingKeysWith: { first, _ in first }
        )
        parts = tokens.filter { $0.id.utf8.count >= Self.idLengthMin }.flatMap { id, token in
            // Ids turn up in other cases too: upper-case UUIDs, lower-case columns.
            let (lower, upper) = (id.lowercased(), id.uppercased())
            let spellings = [id] + (lower == id ? [] : [lower]) + (upper == id ? [] : [upper])
            return spellings.map { Token(bytes: Array($0.utf8), token: Array(token.utf8)) }
        }
        let (began, ended) = (record.began - Self.slack, record.ended + Self.slack)
        let aheads = Set([.zero] + (record.plan.clock ?? []))
        moments = began > ended ? [] : aheads.map { began + $0...ended + $0 }
    }

    /// - Parameter value: A body, or a part of one.
    /// - Returns: It with names for ids, as values and as keys, and one token for the run's moments.
    package func apply(_ value: JSONValue) -> JSONValue {
        value.mapLeaves(keys: replaceIDs) { leaf in
            if let moment = Self.instant(leaf), moments.contains(where: { $0 ~= moment }) {
                return Self.wallClock
            }
            switch leaf {
            case .string(let text): return .string(replaceIDs(in: text))
            case .number(let number): return whole[number.description].map(JSONValue.string) ?? leaf
            case .null, .bool, .array, .object: return leaf
            }
        }
    }

    package func replaceIDs(in text: String) -> String {
        if let token = whole[text] { return token }
        guard text.utf8.count >= Self.idLengthMin else { return text }
        var bytes = Array(text.utf8)
        var isChanged = false
        for part in parts {
            // No token contains an id, so replacing comes to an end.
            while let start = bytes.place(of: part.bytes) {
                bytes.replaceSubrange(start..<(start + part.bytes.count), with: part.token)
                isChanged = true
            }
        }
        return isChanged ? String(decoding: bytes, as: UTF8.self) : text
    }

    /// A moment in any spelling that databases and APIs use: ISO text, seconds or milliseconds.
    package static func instant(_ value: JSONValue) -> Instant? {
        switch value {
        case .string(let text):
            guard (19...40).contains(text.utf8.count) else { return nil }
            return Instant(iso8601: text)
        case .number(let number):
            guard let double = number.double, double > 1e9, double < 1e14 else { return nil }
            return Instant(milliseconds: Int64(double < 1e11 ? double * 1000 : double))
        case .null, .bool, .array, .object: return nil
        }
    }
}
