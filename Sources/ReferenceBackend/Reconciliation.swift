internal import Foundation
internal import GRDB

/// Makes what RevenueCat says the state: after an event in the style `sync`, and for everybody when
/// somebody asks for it (S-34).
struct Reconciliation: Sendable {
    let store: Store
    /// Nil in the style `body`, which has nothing to compare with.
    let reader: SubscriberReader?

    struct Policy: Sendable {
        var unread = Reconciliation.unread
        var repair = Reconciliation.repair
        var remove = Reconciliation.remove
    }

    /// Compares every user with RevenueCat and repairs what differs.
    func run() async throws {
        guard let reader else { return }
        let ids = try await store.pool.read { db in
            try String.fetchAll(db, sql: "SELECT appUserID FROM users")
        }
        for id in ids {
            // One customer that cannot be read must not keep the others from being repaired.
            let policy = store.policies.reconciliation
            guard let subscriber = (try? await reader.subscriber(id)) ?? policy.unread() else {
                continue
            }
            try await store.pool.write { db in
                try policy.repair(store, db, subscriber, id)
            }
        }
    }

    /// Who cannot be read may have everything: nothing is known, and nothing changes.
    static func unread() -> Subscriber? { nil }

    /// In silence: nothing happened that people would have to be told.
    static func repair(
        _ store: Store,
        _ db: Database,
        _ subscriber: Subscriber,
        of id: String
    ) throws {
        try take(store, db, subscriber, of: id, nil)
    }

    /// What RevenueCat does not know is not there.
    static func remove(_ db: Database, _ subscription: Subscription) throws {
        try subscription.delete(db)
    }

    /// Makes what RevenueCat says the state of whoever carries that id.
    ///
    /// An event says only that something is new; without one, what is gone is removed as well.
    static func take(
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
        for item in subscriber.items {
            var subscription =
                known.first { item.describes($0) }
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
        for old in known where !subscriber.items.contains(where: { $0.describes(old) }) {
            // One that takes money back says of what: bought once, it is shown no more (fact sheet 4.2).
            guard event.map({ $0.refunds(old) }) ?? true else { continue }
            try store.policies.reconciliation.remove(db, old)
        }
    }

    /// After a transfer each purchase is shown at one side, at the old one while REST lags: what was
    /// bought once and neither shows has been refunded since.
    ///
    /// A subscription is shown even then.
    static func dropUnshown(
        _ store: Store,
        _ db: Database,
        _ subscribers: [String: Subscriber]
    ) throws {
        for id in subscribers.keys {
            guard let userID = try store.user(db, known: id)?.id else { continue }
            let known = try Subscription.fetchAll(
                db,
                sql: "SELECT * FROM subscriptions WHERE userID = ?",
                arguments: [userID]
            )
            for old in known
            where (old.expiresAt == nil || old.refunded)
                && !subscribers.values.contains(where: { $0.items.contains { $0.describes(old) } })
            {
                try store.policies.reconciliation.remove(db, old)
            }
        }
    }
}

extension WebhookEvent {
    /// Whether the money for it is given back.
    fileprivate func refunds(_ subscription: Subscription) -> Bool {
        type == "CANCELLATION" && cancelReason == "CUSTOMER_SUPPORT"
            && productID == subscription.productID && isSandbox == subscription.isSandbox
    }
}
