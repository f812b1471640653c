package import Values

/// A subscription or a one-time purchase of a user or of an app's installation.
package struct PurchaselySubscription: Hashable, Codable, Sendable {
    package let id: String
    package var userID: String?
    package var anonymousID: String?
    package var plan: String
    package var product: String
    package var storeProduct: String
    package var store: String
    package var purchaseType: String
    package var environment: String
    package var offerType: String
    package var previousOfferType: String?
    package var transactionID: String
    package var originalTransactionID: String
    package var purchased: Instant
    package var originallyPurchased: Instant
    package var nextRenewal: Instant?
    package var effectiveEnd: Instant?
    package var graceEnd: Instant?
    package var resume: Instant?
    package var status: String?
    package var price: Double
    package var revenue: Double
    @JSONSafeInteger package var renewalCount: Int64 = 0
    package var isActive = true

    package var isOneTime: Bool { !purchaseType.hasSuffix("SUBSCRIPTION") }

    /// The ID of the current owner of the subscription.
    ///
    /// The events of one owner are delivered one after the other (Purchasely fact sheet,
    /// section 3).
    package var holder: String { userID ?? anonymousID ?? "" }

    /// The next time at which this subscription changes without an action, for example by a
    /// renewal; nil when there is none.
    var nextChangeTime: Instant? {
        guard !isOneTime else { return nil }
        if status == "PAUSED" { return resume }
        return isActive ? effectiveEnd : nil
    }
}
