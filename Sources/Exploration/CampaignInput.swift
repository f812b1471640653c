internal import Contracts
internal import Values

/// The input of one run of a campaign (`assay explore`): a customer history, or the history of an
/// app on a phone.
package enum CampaignInput: Hashable, Sendable {
    case users(CustomerHistory)
    case phone(PhoneHistory)

    package var title: String {
        switch self {
        case .users(let history): history.title
        case .phone(let history): history.title
        }
    }

    /// Returns the ID of a failed history, which depends only on the operations, the faults and the
    /// failure signature.
    package func id(_ failureSignature: FailureSignature) -> String {
        switch self {
        case .users(let history): history.failureID(failureSignature)
        case .phone(let history): history.failureID(failureSignature)
        }
    }

    /// Returns six hexadecimal digits that depend only on a string, as the end of an ID.
    static func hexHash(of text: String) -> String {
        var generator = SeededGenerator(seed: 0, text: text)
        let hexHash = String(generator.next() % (1 << 24), radix: 16)
        return String(repeating: "0", count: 6 - hexHash.count) + hexHash
    }

    /// The number of steps in the history, plus the faults of a customer history.
    package var size: Int {
        switch self {
        case .users(let history): history.stepAndFaultCount
        case .phone(let history): history.steps.count
        }
    }

    /// Smaller variants of the history, the smallest first.
    ///
    /// They are used to shrink a failure.
    package var shorterVariants: [CampaignInput] {
        switch self {
        case .users(let history): history.shorterVariants.map(CampaignInput.users)
        case .phone(let history): history.shorterVariants.map(CampaignInput.phone)
        }
    }

    /// Variants of the history with the same number of steps but fewer details.
    package var simplerVariants: [CampaignInput] {
        switch self {
        case .users(let history): history.simplerVariants.map(CampaignInput.users)
        // A variant of a phone's history with fewer details is already part of `shorterVariants`.
        case .phone: []
        }
    }

    /// The customer history; nil for the history of a phone.
    package var history: CustomerHistory? {
        if case .users(let history) = self { history } else { nil }
    }

    /// The history of a phone; nil for a customer history.
    package var phone: PhoneHistory? {
        if case .phone(let history) = self { history } else { nil }
    }

    /// Returns whether this history contains every operation of the other history, in the same
    /// order.
    package func contains(_ other: CampaignInput) -> Bool {
        switch (self, other) {
        case (.users(let thisHistory), .users(let otherHistory)):
            thisHistory.contains(otherHistory)
        case (.phone(let thisHistory), .phone(let otherHistory)): thisHistory.contains(otherHistory)
        case (.users, .phone), (.phone, .users): false
        }
    }
}
