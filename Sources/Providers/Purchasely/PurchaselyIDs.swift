/// A seeded generator of the IDs that Purchasely and the stores issue.
struct PurchaselyIDs: Hashable, Codable, Sendable {
    private var source: IDSource

    init(seed: UInt64) {
        source = IDSource(seed: seed, text: "purchasely")
    }

    /// Returns the ID of a new webhook event, in lower case as in every published body.
    mutating func newEventID() -> String { source.uuid() }

    /// Returns the ID of a new purchase: `subs_…` for a subscription, `otp_…` for a one-time
    /// purchase.
    mutating func newPurchaseID(isOneTime: Bool) -> String {
        (isOneTime ? "otp_" : "subs_")
            + source.drawString(17, from: "ABCDEFGHJKLMNPQRSTUVWXYZ0123456789")
    }

    /// Returns the ID of a new transaction, in the format of the store.
    mutating func newTransactionID(in store: String) -> String {
        switch store {
        case "GOOGLE_PLAY_STORE":
            "GPA." + [4, 4, 4, 5].map { source.digits($0) }.joined(separator: "-")
        case "STRIPE": "in_" + source.alphanumerics(14)
        default: "2000000" + source.digits(9)
        }
    }
}
