internal import Foundation
internal import GRDB

/// One user's purchase of one product, as the newest event described it.
///
/// Access is never stored: it follows from the dates (S-10), so no event can leave a stale flag.
struct Subscription: Codable, FetchableRecord, PersistableRecord, Sendable {
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

    func givesAccess(at now: Int64) -> Bool {
        guard !hasEnded else { return false }
        guard let expiresAt else { return true }
        return max(expiresAt, graceEndsAt ?? expiresAt) > now
    }

    /// Applies an event as the effect table C.1 says.
    mutating func apply(_ event: WebhookEvent) {
        asOf = max(asOf, event.timestamp)
        store = event.store ?? store
        switch event.type {
        case "INITIAL_PURCHASE", "RENEWAL", "NON_RENEWING_PURCHASE", "REFUND_REVERSED",
            "SUBSCRIPTION_EXTENDED", "TEMPORARY_ENTITLEMENT_GRANT":
            expiresAt = event.expiresAt
            graceEndsAt = nil
            hasEnded = false
            refunded = false
            if event.type == "INITIAL_PURCHASE" || event.type == "RENEWAL" {
                willRenew = true
                billingIssue = false
                pendingProductID = nil
            }
        case "CANCELLATION":
            willRenew = false
            switch event.cancelReason {
            case "BILLING_ERROR": billingIssue = true
            case "CUSTOMER_SUPPORT":
                refunded = true
                expiresAt = event.expiresAt
                graceEndsAt = nil
            case _ where event.store == "PROMOTIONAL": expiresAt = event.expiresAt
            default: break
            }
        case "UNCANCELLATION":
            willRenew = true
        case "BILLING_ISSUE":
            billingIssue = true
            graceEndsAt = event.graceEndsAt
        case "EXPIRATION":
            hasEnded = true
            willRenew = false
        case "PRODUCT_CHANGE":
            pendingProductID = event.newProductID
        default: break
        }
    }
}
