internal import GRDB

/// What people are told, in the guide's spirit: one message for one incident, and the truth.
enum Notification {
    struct Policy: Sendable {
        var text = Notification.text
        var isNews = Notification.isNews
        var isTrue = Notification.isTrue
        var recipient = Notification.recipient
    }

    /// Puts the message into the transaction that changes the state.
    static func announce(
        _ store: Store,
        _ db: Database,
        _ event: WebhookEvent,
        to user: User,
        isStale: Bool
    ) throws {
        let policy = store.policies.notification
        guard policy.isNews(event, isStale), let text = policy.text(event),
            try policy.isTrue(store, db, event, user)
        else { return }
        try Outbox.enqueue(
            store,
            db,
            event.id,
            recipient: policy.recipient(user, event),
            text: text
        )
    }

    /// What was overtaken is no news, and what cost nothing is nobody's business (S-31).
    static func isNews(_ event: WebhookEvent, isStale: Bool) -> Bool {
        !isStale && !event.isSandbox
    }

    /// Access has not ended for whoever has it still, by another purchase, and whoever has none keeps
    /// none (S-31).
    static func isTrue(
        _ store: Store,
        _ db: Database,
        _ event: WebhookEvent,
        of user: User
    ) throws -> Bool {
        let isCancelled = endsRenewalOnly(event)
        guard event.type == "EXPIRATION" || isCancelled else { return true }
        let all = try Subscription.fetchAll(
            db,
            sql: "SELECT * FROM subscriptions WHERE userID = ? AND isSandbox = 0",
            arguments: [user.id]
        )
        let hasAccess = all.contains { store.policies.entitlement.givesAccess($0, WallClock.now()) }
        return hasAccess == isCancelled
    }

    /// The id of today, under which the app has logged in, not one of those before (O-01).
    static func recipient(_ user: User, _ event: WebhookEvent) -> String { user.appUserID }

    static let cancelled = "Your subscription will not renew. You keep access until it ends."

    /// Neither a refund nor the companion of a failed payment.
    private static func endsRenewalOnly(_ event: WebhookEvent) -> Bool {
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
        case _ where endsRenewalOnly(event): cancelled
        // For a failed payment the BILLING_ISSUE that comes with it has been announced (S-31).
        case "CANCELLATION" where event.cancelReason == "CUSTOMER_SUPPORT":
            "Your purchase has been refunded."
        default: nil
        }
    }
}
