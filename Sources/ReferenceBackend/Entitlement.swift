/// The effect of each RevenueCat event on a subscription, according to effect table C.1 of the
/// identity rules.
enum Entitlement {
    struct Policy: Sendable {
        var givesAccess = Entitlement.givesAccess
        var begin = Entitlement.begin
        var cancel = Entitlement.cancel
        var uncancel = Entitlement.uncancel
        var recordFailedPayment = Entitlement.recordFailedPayment
        var endSubscription = Entitlement.endSubscription
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
            case "BILLING_ISSUE": recordFailedPayment(&subscription, event)
            case "EXPIRATION": endSubscription(&subscription, event)
            case "PRODUCT_CHANGE": changeProduct(&subscription, event)
            case "SUBSCRIPTION_PAUSED": pause(&subscription, event)
            // An event of an unknown type is acknowledged and changes nothing (S-08).
            default: break
            }
        }
    }

    /// Returns whether a subscription gives access at a time.
    ///
    /// The result is computed from the dates, so that no event leaves an outdated flag (S-10).
    static func givesAccess(_ subscription: Subscription, at now: Int64) -> Bool {
        guard !subscription.hasEnded else { return false }
        guard let expiresAt = subscription.expiresAt else { return true }
        return max(expiresAt, subscription.graceEndsAt ?? expiresAt) > now
    }

    /// Starts a paid period, or restores a refunded period.
    ///
    /// A period without an expiry never ends (S-16).
    static func begin(_ subscription: inout Subscription, _ event: WebhookEvent) {
        subscription.expiresAt = event.expiresAt
        subscription.graceEndsAt = nil
        subscription.hasEnded = false
        subscription.refunded = false
        guard event.type == "INITIAL_PURCHASE" || event.type == "RENEWAL" else { return }
        subscription.beganAt = event.purchasedAt ?? subscription.beganAt
        // A payment clears an earlier cancellation and billing issue, and completes a pending
        // product change (S-13, S-14).
        subscription.willRenew = true
        subscription.billingIssue = false
        subscription.pendingProductID = nil
    }

    /// Turns the renewal off but keeps access.
    ///
    /// A refund also ends access (S-11).
    static func cancel(_ subscription: inout Subscription, _ event: WebhookEvent) {
        subscription.willRenew = false
        switch event.cancelReason {
        case "BILLING_ERROR": subscription.billingIssue = true
        case "CUSTOMER_SUPPORT":
            subscription.refunded = true
            // The refund event of a purchase that never ends may contain no expiry.
            subscription.expiresAt = event.expiresAt ?? event.timestamp
            subscription.graceEndsAt = nil
        case _ where event.isPromotion: subscription.expiresAt = event.expiresAt
        // After a cancellation for any other reason, the paid period continues.
        default: break
        }
    }

    static func uncancel(_ subscription: inout Subscription, _ event: WebhookEvent) {
        subscription.willRenew = true
    }

    /// Records a failed payment.
    ///
    /// Access continues until the end of the paid period or of the grace period (S-12).
    static func recordFailedPayment(_ subscription: inout Subscription, _ event: WebhookEvent) {
        subscription.billingIssue = true
        subscription.graceEndsAt = event.graceEndsAt
    }

    /// Ends the subscription that the event names, and no other, whatever date the event contains
    /// (S-15).
    static func endSubscription(_ subscription: inout Subscription, _ event: WebhookEvent) {
        subscription.hasEnded = true
        subscription.willRenew = false
    }

    /// Stores the new product of a product change as pending until its first RENEWAL (S-14).
    static func changeProduct(_ subscription: inout Subscription, _ event: WebhookEvent) {
        subscription.pendingProductID = event.newProductID
    }

    /// Changes nothing: a pause starts at the end of the paid period, and an EXPIRATION event then
    /// reports it.
    static func pause(_ subscription: inout Subscription, _ event: WebhookEvent) {}
}
