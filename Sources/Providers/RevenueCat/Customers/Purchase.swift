package import Values

/// RevenueCat's record of a purchase: the latest state of one product of a customer.
package struct Purchase: Hashable, Codable, Sendable {
    package var productID: String
    /// The base plan of a product on Play.
    ///
    /// Webhooks append it to the product ID, while REST keeps it separate.
    package var planID: String?
    /// The store as webhooks spell it, for example `APP_STORE`.
    package var store: String
    package var environment: String
    /// The type of the period as webhooks spell it: `NORMAL`, `TRIAL`, `INTRO` or `PROMOTIONAL`.
    package var period: String
    package var purchased: Instant
    package var originallyPurchased: Instant
    package var expires: Instant?
    package var graceEnd: Instant?
    package var unsubscribed: Instant?
    package var billingIssue: Instant?
    package var refunded: Instant?
    package var resume: Instant?
    package var transactionID: String
    package var originalTransactionID: String
    package var priceUSD: JSONValue
    package var price: JSONValue
    package var currency: JSONValue
    package var entitlements: [String]
    package var offering: String?
    package var offerCode: String?
    package var isFamilyShared = false
    /// The time of the event that set this state of the purchase.
    ///
    /// An older event does not overwrite the state.
    package var asOf: Instant

    // The following members are used only by the store model.
    /// The receipt token that the app sent over REST.
    ///
    /// It identifies the purchase when another user sends the same receipt.
    package var receiptToken: String?
    /// The start of the period according to the latest event from outside the store model; nil when
    /// there was no such event.
    package var beganAt: Instant?
    /// Whether an event from outside the store model set this purchase.
    ///
    /// The model then makes no automatic changes to it.
    package var isScripted = false
    package var willRenew = false
    package var hasEnded = false
    package var isPaused = false
    package var isOneTime = false
    package var isTemporary = false
    @JSONSafeInteger package var renewalNumber: Int64 = 1
    package var cancelReason: String?
    /// The ID of the product that replaces this one at the end of the period; nil for no change.
    package var nextProductID: String?

    /// The transaction ID with which a family member received a shared purchase.
    ///
    /// It distinguishes the members, because all of them share the first transaction ID.
    package var sharedTransactionID: String?

    package var isSandbox: Bool { environment == "SANDBOX" }

    /// The key under which a customer's subscription to the product is stored.
    var subscriptionKey: SubscriptionKey {
        SubscriptionKey(product: productID, environment: environment)
    }

    /// The product ID as webhooks spell it.
    ///
    /// An ID from Play includes the base plan.
    package var webhookProductID: String { planID.map { "\(productID):\($0)" } ?? productID }

    /// The end of the period; the time of the refund if that is earlier.
    ///
    /// A refund cuts the period short (RevenueCat fact sheet, section 2.5, `expiration_at_ms`). All
    /// responses use this time and `shownGraceEnd`, so that none contradicts the refund.
    package var shownEnd: Instant? { Self.cut(expires, at: refunded) }

    /// The end of the grace period; the time of the refund if that is earlier.
    package var shownGraceEnd: Instant? {
        graceEnd.flatMap { Self.cut($0, at: refunded) }
    }

    /// The time at which access ends: the end of the period, or of a later grace period
    /// (*inferred*; RevenueCat fact sheet, section 4.2), or the time of a refund.
    package var effectiveEnd: Instant? {
        guard let end = shownEnd else { return nil }
        return max(end, shownGraceEnd ?? end)
    }

    package func isActive(at now: Instant) -> Bool {
        guard refunded == nil else { return false }
        return effectiveEnd.map { $0 > now } ?? true
    }

    private static func cut(_ end: Instant?, at refund: Instant?) -> Instant? {
        guard let refund else { return end }
        return end.map { min($0, refund) } ?? refund
    }
}

extension Purchase {
    /// An automatic change of a subscription, with its time.
    enum AutomaticChange: Hashable {
        /// A new period of the subscription begins, exactly at this time.
        case periodBegins(Instant)
        /// The last period of the subscription ends at this time.
        ///
        /// The store notices the end later.
        case accessEnds(Instant)
    }

    /// The next automatic change of the purchase.
    ///
    /// Nil for ended purchases, one-time purchases, and purchases that events from outside the
    /// store model set.
    var nextAutomaticChange: AutomaticChange? {
        guard !isScripted, !isOneTime else { return nil }
        if isPaused { return resume.map { .periodBegins($0) } }
        guard !hasEnded, let end = effectiveEnd else { return nil }
        let isRenewal = willRenew && resume == nil && billingIssue == nil && !isTemporary
        return isRenewal ? .periodBegins(end) : .accessEnds(end)
    }
}
