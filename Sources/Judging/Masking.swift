package import Contracts
internal import Providers
package import Values

/// Masks the values that differ between two runs: IDs are replaced by names, and times within the
/// run by one token.
package struct Masking: Sendable {
    /// One spelling of an ID, such as its lower-case form, and the token that replaces it.
    private struct TokenReplacement {
        let bytes: [UInt8]
        let token: [UInt8]
    }

    private let tokensByID: [ExactText: String]
    private let tokensInStrings: [TokenReplacement]
    /// The time ranges of the run on the backend's clock; a time within them is masked.
    private let maskedTimes: [ClosedRange<Instant>]

    /// The time by which the masked ranges extend the run, for clocks that round to whole seconds.
    private static let timeTolerance: Duration = .seconds(2)
    /// The minimum length in bytes of an ID that is replaced inside longer strings.
    ///
    /// A shorter ID such as 1001 also occurs inside dates.
    private static let idLengthMin = 8
    package static let wallClockToken = JSONValue.string("‹wall clock›")

    /// Creates the masking for the values of one run.
    ///
    /// - Parameters:
    ///   - record: The run whose IDs and times are masked.
    ///   - reader: A user whose ID is replaced by a token without the user's name, so that messages
    ///     to two users can be compared; nil: all tokens contain names.
    package init(_ record: RunRecord, reader: String? = nil) {
        let tokens = record.namespace.tokens(
            users: record.plan.users,
            accounts: record.plan.accounts,
            deliveries: record.plan.deliveries.map(\.name),
            reader: reader
        )
        tokensByID = Dictionary(
            tokens.map { (ExactText($0.id), $0.token) },
            uniquingKeysWith: { first, _ in first }
        )
        let ids = Set(tokens.map { ExactText($0.id) })
        tokensInStrings = tokens.filter { $0.id.utf8.count >= Self.idLengthMin }.flatMap {
            id,
            token in
            // Some backends change the case of IDs, as in upper-case UUIDs or lower-case columns.
            let (lowercasedID, uppercasedID) = (id.lowercased(), id.uppercased())
            let idSpellings =
                [id] + (lowercasedID == id ? [] : [lowercasedID])
                + (uppercasedID == id ? [] : [uppercasedID])
            // A spelling that is the ID of another user means that user.
            return idSpellings.filter { $0.isExactly(id) || !ids.contains(ExactText($0)) }.map {
                TokenReplacement(bytes: Array($0.utf8), token: Array(token.utf8))
            }
        }
        let (began, ended) = (record.began - Self.timeTolerance, record.ended + Self.timeTolerance)
        let clockOffsets = Set([.zero] + (record.plan.clock ?? []))
        maskedTimes = began > ended ? [] : clockOffsets.map { began + $0...ended + $0 }
    }

    /// Returns a copy of a value in which the IDs and the times of the run are masked.
    ///
    /// - Parameter value: A JSON body or a part of one.
    /// - Returns: The value with names in place of IDs, in values and keys, and one token in place
    ///   of each time of the run.
    package func masked(_ value: JSONValue) -> JSONValue {
        value.mapLeaves(keys: replaceIDs) { leaf in
            if let time = Instant(timeValue: leaf), maskedTimes.contains(where: { $0 ~= time }) {
                return Self.wallClockToken
            }
            switch leaf {
            case .string(let text): return .string(replaceIDs(in: text))
            case .number(let number):
                return tokensByID[ExactText(number.description)].map(JSONValue.string) ?? leaf
            case .null, .bool, .array, .object: return leaf
            }
        }
    }

    package func replaceIDs(in text: String) -> String {
        if let token = tokensByID[ExactText(text)] { return token }
        guard text.utf8.count >= Self.idLengthMin else { return text }
        var bytes = Array(text.utf8)
        var isChanged = false
        for replacement in tokensInStrings {
            // The loop terminates, because no token contains an ID.
            while let start = bytes.position(of: replacement.bytes) {
                bytes.replaceSubrange(
                    start..<(start + replacement.bytes.count),
                    with: replacement.token
                )
                isChanged = true
            }
        }
        return isChanged ? String(decoding: bytes, as: UTF8.self) : text
    }
}
