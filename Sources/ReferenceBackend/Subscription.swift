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
    /// Only a defect looks at it.
    var lastType: String?
    /// `event_timestamp_ms` of the event that wrote this row (S-09).
    var asOf: Int64

    func givesAccess(at now: Int64, _ defects: Set<Defect> = []) -> Bool {
        // Defect: status-from-type, expiry-ignored
        if defects.contains(.statusFromType), let lastType {
            return ["INITIAL_PURCHASE", "RENEWAL", "UNCANCELLATION"].contains(lastType)
        }
        guard !hasEnded else { return false }
        guard let expiresAt else { return true }
        return max(expiresAt, graceEndsAt ?? expiresAt) > now || defects.contains(.expiryIgnored)
    }

    /// Applies an event as the effect table C.1 says.
    mutating func apply(_ event: WebhookEvent, _ defects: Set<Defect>) {
        asOf = max(asOf, event.timestamp)
        store = event.store ?? store
        lastType = event.type
        switch event.type {
        // Defect: refund-is-final, renewal-keeps-expiry
        case _ where refunded && defects.contains(.refundIsFinal): break
        case "RENEWAL" where defects.contains(.renewalKeepsExpiry): willRenew = true
        case "INITIAL_PURCHASE", "RENEWAL", "NON_RENEWING_PURCHASE": begin(event, defects)
        // Defect: refund-reversed-ignored, extension-ignored, temporary-grant-ignored
        case "REFUND_REVERSED" where !defects.contains(.refundReversedIgnored),
            "SUBSCRIPTION_EXTENDED" where !defects.contains(.extensionIgnored),
            "TEMPORARY_ENTITLEMENT_GRANT" where !defects.contains(.temporaryGrantIgnored):
            begin(event, defects)
        // Defect: promotion-not-revoked, expiration-ignored
        case "CANCELLATION" where event.isPromotion && defects.contains(.promotionNotRevoked),
            "EXPIRATION" where event.isPromotion && defects.contains(.promotionNotRevoked),
            "EXPIRATION" where defects.contains(.expirationIgnored):
            break
        case "CANCELLATION": cancel(event, defects)
        // Defect: uncancellation-ignored
        case "UNCANCELLATION": willRenew = willRenew || !defects.contains(.uncancellationIgnored)
        case "BILLING_ISSUE":
            billingIssue = true
            // Defect: grace-ignored, billing-issue-revokes
            graceEndsAt = defects.contains(.graceIgnored) ? nil : event.graceEndsAt
            if defects.contains(.billingIssueRevokes) { hasEnded = true }
        case "EXPIRATION":
            // Defect: expiration-by-date
            hasEnded = !defects.contains(.expirationByDate)
            if defects.contains(.expirationByDate) { expiresAt = event.expiresAt }
            willRenew = false
        case "PRODUCT_CHANGE":
            // Defect: pending-product-forgotten, product-change-at-once
            pendingProductID = defects.contains(.pendingProductForgotten) ? nil : event.newProductID
            if defects.contains(.productChangeAtOnce) {
                productID = event.newProductID ?? productID
            }
        // Defect: pause-revokes
        case "SUBSCRIPTION_PAUSED": hasEnded = hasEnded || defects.contains(.pauseRevokes)
        default: break
        }
    }

    /// A period begins, or is given back.
    private mutating func begin(_ event: WebhookEvent, _ defects: Set<Defect>) {
        // Defect: lifetime-expires, expiry-by-day
        expiresAt = event.expiresAt ?? (defects.contains(.lifetimeExpires) ? 0 : nil)
        if defects.contains(.expiryByDay) {
            expiresAt = expiresAt.map { $0 / 86_400_000 * 86_400_000 }
        }
        // Defect: promotion-for-ever
        if event.isPromotion, defects.contains(.promotionForEver) { expiresAt = nil }
        graceEndsAt = nil
        hasEnded = false
        refunded = false
        guard event.type == "INITIAL_PURCHASE" || event.type == "RENEWAL" else { return }
        // Defect: renewal-keeps-flags
        guard !defects.contains(.renewalKeepsFlags) else { return }
        willRenew = true
        billingIssue = false
        pendingProductID = nil
    }

    private mutating func cancel(_ event: WebhookEvent, _ defects: Set<Defect>) {
        willRenew = false
        // Defect: cancellation-revokes, billing-flag-recomputed
        if defects.contains(.cancellationRevokes) { hasEnded = true }
        if defects.contains(.billingFlagRecomputed) { billingIssue = false }
        switch event.cancelReason {
        case "BILLING_ERROR":
            billingIssue = billingIssue || !defects.contains(.billingFlagRecomputed)
        case "CUSTOMER_SUPPORT":
            refunded = true
            // Defect: refund-keeps-access
            if defects.contains(.refundKeepsAccess) { return }
            expiresAt = event.expiresAt
            graceEndsAt = nil
        case _ where event.isPromotion: expiresAt = event.expiresAt
        default: break
        }
    }
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
