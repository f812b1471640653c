/// Makes two runs of one backend comparable: ids become names, wall-clock times one token.
package struct Masking: Sendable {
    private let tokens: [(id: String, token: String)]
    private let began: Instant
    private let ended: Instant

    /// Slack around the run for clocks that round to whole seconds.
    private static let slack: Duration = .seconds(2)
    /// Shorter ids are replaced only where they stand alone.
    private static let idLengthMin = 8
    package static let wallClock = JSONValue.string("‹wall clock›")

    package init(_ record: RunRecord) {
        tokens = record.namespace.tokens(
            users: record.plan.users,
            deliveries: record.plan.deliveries.map(\.name)
        )
        began = record.began - Self.slack
        ended = record.ended + Self.slack
    }

    package func apply(_ value: JSONValue) -> JSONValue {
        value.mapLeaves { leaf in
            if let moment = Self.instant(leaf), began...ended ~= moment { return Self.wallClock }
            switch leaf {
            case .string(let text): return .string(replaceIDs(in: text))
            case .number(let number):
                let token = tokens.first { $0.id == number.description }?.token
                return token.map(JSONValue.string) ?? leaf
            case .null, .bool, .array, .object: return leaf
            }
        }
    }

    package func replaceIDs(in text: String) -> String {
        if let token = tokens.first(where: { $0.id == text })?.token { return token }
        var result = text
        // A short id, such as 1001, would be found inside dates too, so it has to stand alone.
        for (id, token) in tokens
        where id.utf8.count >= Self.idLengthMin && id.utf8.count <= result.utf8.count {
            // Ids turn up in other cases too: upper-case UUIDs, lower-case columns.
            for spelling in [id, id.lowercased(), id.uppercased()] where result.contains(spelling) {
                result = result.split(separator: spelling, omittingEmptySubsequences: false)
                    .joined(separator: token)
            }
        }
        return result
    }

    /// A moment in any spelling that databases and APIs use: ISO text, seconds or milliseconds.
    package static func instant(_ value: JSONValue) -> Instant? {
        switch value {
        case .string(let text): return Instant(iso8601: text)
        case .number(let number):
            guard let double = number.double, double > 1e9, double < 1e14 else { return nil }
            return Instant(milliseconds: Int64(double < 1e11 ? double * 1000 : double))
        case .null, .bool, .array, .object: return nil
        }
    }
}
