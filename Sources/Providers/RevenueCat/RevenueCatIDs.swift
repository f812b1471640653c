/// A seeded generator of the IDs that RevenueCat and the stores issue.
package struct RevenueCatIDs: Hashable, Codable, Sendable {
    private var source: IDSource

    init(seed: UInt64) {
        source = IDSource(seed: seed, text: "revenuecat")
    }

    /// Returns the ID of a new webhook event, in upper case as in every captured event.
    package mutating func newEventID() -> String { source.uuid().uppercased() }

    /// Returns a new UUID in lower case.
    mutating func uuid() -> String { source.uuid() }

    /// Returns the ID of a new resource: a prefix that names its type, and random digits.
    mutating func resourceID(_ prefix: String, digits count: Int) -> String {
        prefix + source.hex(count)
    }

    /// Returns the ID of a new transaction, in the format of the store.
    mutating func transactionID(in store: String) -> String {
        switch store {
        case "PLAY_STORE":
            "GPA." + [4, 4, 4, 5].map { source.digits($0) }.joined(separator: "-")
        case "STRIPE": "si_" + source.alphanumerics(14)
        case "PROMOTIONAL": source.hex(32)
        default: "2000000" + source.digits(9)
        }
    }

    /// Returns the ID of the transaction for the current period of a renewed purchase.
    mutating func renewalTransactionID(of purchase: Purchase) -> String {
        switch purchase.store {
        // Stripe repeats one transaction ID, and Play appends a counter (RevenueCat fact sheet,
        // section 2.5).
        case "STRIPE": purchase.transactionID
        case "PLAY_STORE": purchase.originalTransactionID + "..\(purchase.renewalNumber - 2)"
        default: transactionID(in: purchase.store)
        }
    }
}
