internal import GRDB

/// The push notifications of users: one true message for each incident, such as a purchase or a
/// failed payment.
enum Notification {
    struct Policy: Sendable {
        var text = Notification.text
        var shouldNotify = Notification.shouldNotify
        var isMessageStillTrue = Notification.isMessageStillTrue
        var recipient = Notification.recipient
        var mayNotify = Notification.mayNotify
    }

    /// Adds the message about an event to the database transaction that changes the state.
    static func enqueueNotification(
        _ store: Store,
        _ db: Database,
        _ event: WebhookEvent,
        to user: User,
        isStale: Bool
    ) throws {
        let policy = store.policies.notification
        guard policy.mayNotify(user), policy.shouldNotify(event, isStale),
            let text = policy.text(event),
            try policy.isMessageStillTrue(store, db, event, user)
        else { return }
        try Outbox.enqueue(
            store,
            db,
            event.id,
            recipient: policy.recipient(user, event),
            text: text
        )
    }

    /// Returns whether a user may get notifications: only until the deletion of the user's account
    ///
    static func mayNotify(_ user: User) -> Bool { !user.isDeleted }

    /// Returns whether a user should be notified of an event.
    ///
    /// Outdated events and sandbox events cause no notification (S-31).
    static func shouldNotify(_ event: WebhookEvent, isStale: Bool) -> Bool {
        !isStale && !event.isSandbox
    }

    /// Returns whether the message about an event is true for the user.
    ///
    /// After an EXPIRATION, the message that access has ended is false if another purchase gives
    /// access. After a CANCELLATION, the message that access continues until the end of the period
    /// is false if the user has no access (S-31).
    static func isMessageStillTrue(
        _ store: Store,
        _ db: Database,
        _ event: WebhookEvent,
        of user: User
    ) throws -> Bool {
        let isCancelled = onlyStopsRenewal(event)
        guard event.type == "EXPIRATION" || isCancelled else { return true }
        let subscriptions = try Subscription.fetchAll(
            db,
            sql: "SELECT * FROM subscriptions WHERE userID = ? AND isSandbox = 0",
            arguments: [user.id]
        )
        let hasAccess = subscriptions.contains {
            store.policies.entitlement.givesAccess($0, WallClock.now())
        }
        return hasAccess == isCancelled
    }

    /// Returns the ID to which a push is addressed: the current ID of the user, with which the app
    /// has logged in, not an earlier ID (O-01).
    static func recipient(_ user: User, _ event: WebhookEvent) -> String { user.appUserID }

    static let cancelledText = "Your subscription will not renew. You keep access until it ends."

    /// Returns whether an event is a cancellation that only turns the renewal off.
    ///
    /// The event is neither a refund nor the CANCELLATION that RevenueCat sends together with the
    /// BILLING_ISSUE of a failed payment.
    private static func onlyStopsRenewal(_ event: WebhookEvent) -> Bool {
        event.type == "CANCELLATION"
            && !["BILLING_ERROR", "CUSTOMER_SUPPORT"].contains(event.cancelReason)
    }

    static func text(for event: WebhookEvent) -> String? {
        switch event.type {
        case "INITIAL_PURCHASE": "Welcome! Your subscription is active."
        case "RENEWAL": "Your subscription has been renewed."
        case "UNCANCELLATION": "Good to have you back: your subscription continues."
        case "BILLING_ISSUE": "There is a problem with your payment."
        case "EXPIRATION": "Your subscription has ended."
        case _ where onlyStopsRenewal(event): cancelledText
        // The CANCELLATION of a failed payment has no message, because its BILLING_ISSUE event has
        // one (S-31).
        case "CANCELLATION" where event.cancelReason == "CUSTOMER_SUPPORT":
            "Your purchase has been refunded."
        default: nil
        }
    }
}
