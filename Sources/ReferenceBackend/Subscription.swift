internal import GRDB

/// A user's purchase of one product, in the state that the newest event described.
struct Subscription: Codable, Hashable, FetchableRecord, PersistableRecord, Sendable {
    static let databaseTableName = "subscriptions"

    var userID: Int64
    var productID: String
    var isSandbox: Bool
    /// The end of the paid period, in milliseconds since 1970; nil for a purchase without an end.
    var expiresAt: Int64?
    var graceEndsAt: Int64?
    var hasEnded = false
    var willRenew = true
    var billingIssue = false
    var refunded = false
    var pendingProductID: String?
    var store: String?
    /// The `event_timestamp_ms` of the newest event in this row (S-09).
    var asOf: Int64
    /// The start (`purchased_at_ms`) of the latest paid period (S-15).
    var beganAt: Int64 = .min
}

/// The access of one user through one plan of a Purchasely subscription.
///
/// The key consists of the subscription, the plan and the user. The events of a transfer therefore
/// have the same result in either order (P-07).
struct Grant: Codable, FetchableRecord, Sendable {
    var subscriptionID: String
    var plan: String
    var userID: Int64
    var isActive: Bool
    var expiresAt: Int64?
    var asOf: Int64

    func givesAccess(at now: Int64) -> Bool {
        isActive && (expiresAt.map { $0 > now } ?? true)
    }
}
