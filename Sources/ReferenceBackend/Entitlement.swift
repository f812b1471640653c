/// What each event means for a subscription: the effect table C.1 of the identity rules.
enum Entitlement {
    struct Policy: Sendable {
        var givesAccess = Entitlement.givesAccess
        var begin = Entitlement.begin
        var cancel = Entitlement.cancel
        var uncancel = Entitlement.uncancel
        var failPayment = Entitlement.failPayment
        var end = Entitlement.end
        var changeProduct = Entitlement.changeProduct
        var pause = Entitlement.pause

        func apply(_ event: WebhookEvent, to subscription: inout Subscription) {
            subscription.asOf = max(subscription.asOf, event.timestamp)
            subscription.store = event.store ?? subscription.store
            switch event.type {
            case "INITIAL_PURCHASE", "RENEWAL", "NON_RENEWING_PURCHASE", "REFUND_REVERSED",
                "SUBSCRIPTION_EXTENDED", "TEMPORARY_ENTITLEMENT_GRANT":
                begin(&subscription, event)
            case "CANCELLATION": cancel(&subscription, event)
            case "UNCANCELLATION": uncancel(&subscription, event)
            case "BILLING_ISSUE": failPayment(&subscription, event)
            case "EXPIRATION": end(&subscription, event)
            case "PRODUCT_CHANGE": changeProduct(&subscription, event)
            case "SUBSCRIPTION_PAUSED": pause(&subscription, event)
            // A type that is not known is answered like any other and changes nothing (S-08).
            default: break
            }
        }
    }

    /// Access is never stored: it follows from the dates (S-10), so no event leaves a stale flag.
    static func givesAccess(_ subscription: Subscription, at now: Int64) -> Bool {
        guard !subscription.hasEnded else { return false }
        guard let expiresAt = subscription.expiresAt else { return true }
        return max(expiresAt, subscription.graceEndsAt ?? expiresAt) > now
    }

    /// A period begins, or is given back; without an expiry it never ends (S-16).
    static func begin(_ subscription: inout Subscription, _ event: WebhookEvent) {
        subscription.expiresAt = event.expiresAt
        subscription.graceEndsAt = nil
        subscription.hasEnded = false
        subscription.refunded = false
        guard event.type == "INITIAL_PURCHASE" || event.type == "RENEWAL" else { return }
        subscription.beganAt = event.purchasedAt ?? subscription.beganAt
        // What was paid heals what was wrong, and settles a change that waited for it (S-13, S-14).
        subscription.willRenew = true
        subscription.billingIssue = false
        subscription.pendingProductID = nil
    }

    /// A cancellation ends the renewal and not the access; a refund ends both (S-11).
    static func cancel(_ subscription: inout Subscription, _ event: WebhookEvent) {
        subscription.willRenew = false
        switch event.cancelReason {
        case "BILLING_ERROR": subscription.billingIssue = true
        case "CUSTOMER_SUPPORT":
            subscription.refunded = true
            // What never ends has no end that a refund could move.
            subscription.expiresAt = event.expiresAt ?? event.timestamp
            subscription.graceEndsAt = nil
        case _ where event.isPromotion: subscription.expiresAt = event.expiresAt
        // Whoever ended it, and for whichever reason: the period that was paid for goes on.
        default: break
        }
    }

    static func uncancel(_ subscription: inout Subscription, _ event: WebhookEvent) {
        subscription.willRenew = true
    }

    /// Access stays until the period is over, and through the grace period where there is one (S-12).
    static func failPayment(_ subscription: inout Subscription, _ event: WebhookEvent) {
        subscription.billingIssue = true
        subscription.graceEndsAt = event.graceEndsAt
    }

    /// This subscription ends, whatever date it carries, and no other (S-15).
    static func end(_ subscription: inout Subscription, _ event: WebhookEvent) {
        subscription.hasEnded = true
        subscription.willRenew = false
    }

    /// The new product waits for its first RENEWAL (S-14).
    static func changeProduct(_ subscription: inout Subscription, _ event: WebhookEvent) {
        subscription.pendingProductID = event.newProductID
    }

    /// A pause begins when the paid period is over, and then an EXPIRATION says so.
    static func pause(_ subscription: inout Subscription, _ event: WebhookEvent) {}
}
