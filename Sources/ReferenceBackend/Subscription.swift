internal import GRDB

/// One user's purchase of one product, as the newest event described it.
struct Subscription: Codable, Hashable, FetchableRecord, PersistableRecord, Sendable {
    static let databaseTableName = "subscriptions"

    var userID: Int64
    var productID: String
    var isSandbox: Bool
    /// Milliseconds since 1970; nil means that it never ends.
    var expiresAt: Int64?
    var graceEndsAt: Int64?
    var hasEnded = false
    var willRenew = true
    var billingIssue = false
    var refunded = false
    var pendingProductID: String?
    var store: String?
    /// `event_timestamp_ms` of the event that wrote this row (S-09).
    var asOf: Int64
    /// `purchased_at_ms` of the period that was paid for last (S-15).
    var beganAt: Int64 = .min
}

/// What Purchasely granted to one holder: the key is the subscription, the plan and the holder, so
/// that both orders of a transfer end alike (P-07).
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
