internal import Foundation
internal import GRDB

/// Replaces the backend's state with the state from RevenueCat's REST API: after each event in the
/// style `sync`, and for all users on request (S-34).
struct Reconciliation: Sendable {
    let store: Store
    /// The reader of customers from RevenueCat's REST API; nil in the style `body`, in which the
    /// events alone determine the state.
    let reader: SubscriberReader?

    struct Policy: Sendable {
        var handleUnreadableCustomer = Reconciliation.handleUnreadableCustomer
        var repairPurchases = Reconciliation.repairPurchases
        var removePurchase = Reconciliation.removePurchase
    }

    /// Compares every user with the state at RevenueCat and repairs the differences.
    func run() async throws {
        guard let reader else { return }
        let ids = try await store.pool.read { db in
            try String.fetchAll(db, sql: "SELECT appUserID FROM users")
        }
        for id in ids {
            // If one customer cannot be read, the other customers are still repaired.
            let policy = store.policies.reconciliation
            guard
                let subscriber = (try? await reader.subscriber(id))
                    ?? policy.handleUnreadableCustomer()
            else {
                continue
            }
            try await store.pool.write { db in
                try policy.repairPurchases(store, db, subscriber, id)
            }
        }
    }

    /// Returns nil as the substitute for a customer who cannot be read, so that nothing changes.
    static func handleUnreadableCustomer() -> Subscriber? { nil }

    /// Repairs the stored state of a user, without a notification, because nothing happened that
    /// the user should learn of.
    static func repairPurchases(
        _ store: Store,
        _ db: Database,
        _ subscriber: Subscriber,
        of id: String
    ) throws {
        try replaceState(store, db, subscriber, of: id, nil)
    }

    /// Removes a stored subscription that RevenueCat does not know.
    static func removePurchase(_ db: Database, _ subscription: Subscription) throws {
        try subscription.delete(db)
    }

    /// Replaces the stored state of a user with RevenueCat's state; `id` is an ID of the user.
    ///
    /// If an event caused the replacement, purchases that RevenueCat does not return are kept,
    /// unless the event refunds them. Without an event, these purchases are removed.
    static func replaceState(
        _ store: Store,
        _ db: Database,
        _ subscriber: Subscriber,
        of id: String,
        _ event: WebhookEvent?
    ) throws {
        guard let userID = try store.user(db, known: id)?.id else { return }
        let known = try Subscription.fetchAll(
            db,
            sql: "SELECT * FROM subscriptions WHERE userID = ?",
            arguments: [userID]
        )
        for item in subscriber.currentPurchases {
            let existing = known.first { item.matches($0) }
            // Only an event shows that such a purchase unlocks this entitlement too (S-10).
            if existing == nil, item.isSourceOfOthers { continue }
            var subscription =
                existing
                ?? Subscription(
                    userID: userID,
                    productID: item.productID,
                    isSandbox: item.isSandbox,
                    asOf: event?.timestamp ?? WallClock.now()
                )
            subscription.store = item.store
            subscription.expiresAt = item.expiresAt
            subscription.graceEndsAt = item.graceEndsAt
            subscription.refunded = item.refunded
            subscription.hasEnded = item.refunded
            subscription.willRenew = item.willRenew && !item.refunded
            subscription.billingIssue = item.billingIssue
            try subscription.save(db, onConflict: .replace)
        }
        for old in known where !subscriber.currentPurchases.contains(where: { $0.matches(old) }) {
            // After the refund of a one-time purchase, RevenueCat's REST API no longer returns the
            // purchase. The refund event names its product (RevenueCat fact sheet 4.2).
            guard event.map({ $0.isRefund(old) }) ?? true else { continue }
            try store.policies.reconciliation.removePurchase(db, old)
        }
    }

    /// Removes one-time and refunded purchases that RevenueCat returns for neither user of a
    /// transfer.
    ///
    /// After a transfer, RevenueCat's REST API returns each purchase for one of the two users, and
    /// for a while still for the old owner. A one-time purchase that it returns for neither user
    /// was refunded. A subscription is returned even after a refund.
    static func removeUnreturnedPurchases(
        _ store: Store,
        _ db: Database,
        _ subscribers: [UserID: Subscriber]
    ) throws {
        for id in subscribers.keys {
            guard let userID = try store.user(db, known: id.text)?.id else { continue }
            let known = try Subscription.fetchAll(
                db,
                sql: "SELECT * FROM subscriptions WHERE userID = ?",
                arguments: [userID]
            )
            for old in known
            where (old.expiresAt == nil || old.refunded)
                && !subscribers.values.contains(where: {
                    $0.currentPurchases.contains { $0.matches(old) }
                })
            {
                try store.policies.reconciliation.removePurchase(db, old)
            }
        }
    }
}

extension WebhookEvent {
    /// Returns whether this event refunds a subscription.
    fileprivate func isRefund(_ subscription: Subscription) -> Bool {
        type == "CANCELLATION" && cancelReason == "CUSTOMER_SUPPORT"
            && productID == subscription.productID && isSandbox == subscription.isSandbox
    }
}
