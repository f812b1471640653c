internal import Values

/// Two users of a case whose IDs are different, but equal for a backend that normalizes IDs.
///
/// User IDs are case-sensitive strings of at most 100 characters (RevenueCat fact sheet, section
/// 5.1). A change of an ID by the backend therefore joins two users. No ID has spaces at its ends,
/// because a backend may refuse such an ID.
package struct SimilarUserIDs: Hashable, Codable, Sendable {
    /// The difference between the IDs of the two users.
    package enum Difference: String, Hashable, Codable, Sendable, CaseIterable {
        /// The second ID is the first one in upper case.
        case letterCase = "letter-case"
        /// Both IDs consist of digits, and the second one begins with additional zeros.
        case leadingZeros = "leading-zeros"
        /// The second ID contains `%41` in place of the letter `A`.
        case percentEncoding = "percent-encoding"
        /// The IDs have 100 characters, and only the last one differs.
        case lastCharacter = "last-character"
        /// Both IDs are the same UUID, and the second one is in upper case.
        case uuidCase = "uuid-case"
        /// The IDs end with the same letter, in one code point and in two (Unicode normalization
        /// forms C and D).
        case unicodeForm = "unicode-form"
    }

    package let difference: Difference
    /// The names of the two users in the contract.
    package let first: String
    package let second: String

    package init(_ difference: Difference, first: String, second: String) {
        self.difference = difference
        self.first = first
        self.second = second
    }

    /// The length of the longest user ID, in characters.
    private static let idLengthMax = 100

    /// Returns the ID of one of the two users.
    ///
    /// - Parameters:
    ///   - user: The name of the user in the contract.
    ///   - namespace: The name of the namespace, which is part of each ID.
    ///   - uuid: A lower-case UUID that no other run uses.
    ///   - digits: A number that no other run uses, without leading zeros.
    /// - Returns: The ID; nil for a user who is not one of the two.
    func id(of user: String, in namespace: String, uuid: String, digits: String) -> String? {
        guard user == first || user == second else { return nil }
        let isSecond = user == second
        let id = "assay-\(namespace)-\(first)"
        switch difference {
        case .letterCase: return isSecond ? id.uppercased() : id
        case .leadingZeros: return isSecond ? "00" + digits : digits
        case .percentEncoding: return id + (isSecond ? "-%41" : "-A")
        case .lastCharacter:
            let fillLength = max(0, Self.idLengthMax - 2 - id.utf8.count)
            return id + "-" + String(repeating: "x", count: fillLength) + (isSecond ? "b" : "a")
        case .uuidCase: return isSecond ? uuid.uppercased() : uuid
        case .unicodeForm: return id + (isSecond ? "-Zoe\u{308}" : "-Zo\u{eb}")
        }
    }

    /// A summary for people, such as "the IDs of ada and bob differ in letter-case".
    package var summary: String {
        "the IDs of \(first) and \(second) differ in \(difference.rawValue)"
    }
}
