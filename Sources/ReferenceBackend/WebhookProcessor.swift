internal import Foundation
internal import GRDB

/// What an event does: exactly once, in one transaction, with its messages in the same transaction.
///
/// In the style `body` the event's own fields become the state; in the style `sync` the event only
/// says whom to look up, and what RevenueCat answers becomes the state.
struct WebhookProcessor: Sendable {
    let store: Store
    /// Nil in the style `body`.
    let reader: SubscriberReader?

    /// What became of a delivery.
    enum Outcome: Sendable {
        case applied
        case duplicate
    }

    /// What a delivery takes; `Policy.perform` says in which order.
    struct Steps: Sendable {
        let store: Store
        let event: WebhookEvent
        /// What a duplicate is told by.
        let key: String
        /// What RevenueCat says about everybody whom the event names, by id.
        var read: @Sendable () async throws -> [String: Subscriber]
        /// Changes the state and puts the messages beside it.
        var apply: @Sendable (Database, [String: Subscriber]) throws -> Void

        /// Remembers the event; false when it had been seen.
        ///
        /// The unique key decides, not a look before.
        func mark(_ db: Database) throws -> Bool {
            try db.execute(
                sql: "INSERT INTO events (id, type, receivedAt) VALUES (?, ?, ?) "
                    + "ON CONFLICT DO NOTHING",
                arguments: [key, event.type, WallClock.now()]
            )
            return db.changesCount > 0
        }
    }

    struct Policy: Sendable {
        var key = WebhookProcessor.key
        var perform = WebhookProcessor.perform
        var unread = WebhookProcessor.unread
        var ignore = WebhookProcessor.ignore
        var isApart = WebhookProcessor.isApart
        var isStale = WebhookProcessor.isStale
        var settleLate = History.settleLate
        var unlocks = WebhookProcessor.unlocks
    }

    private var policy: Policy { store.policies.delivery }

    func process(_ event: WebhookEvent, body: Data) async throws -> Outcome {
        let steps = Steps(
            store: store,
            event: event,
            key: policy.key(event, body),
            read: { try await subscribers(of: event) },
            apply: { db, subscribers in try apply(db, event, subscribers) }
        )
        return try await policy.perform(steps)
    }

    /// The mark, the state and the messages are one transaction: all of them are there, or none
    /// (S-03, S-04, S-05).
    ///
    /// RevenueCat is asked before, for a transaction must not wait.
    static func perform(_ steps: Steps) async throws -> Outcome {
        let subscribers = try await steps.read()
        return try await steps.store.pool.write { db in
            guard try steps.mark(db) else { return .duplicate }
            try steps.apply(db, subscribers)
            return .applied
        }
    }

    /// All attempts carry the same event id, whatever else of them changes (S-03).
    static func key(of event: WebhookEvent, body: Data) -> String { event.id }

    // MARK: Reading

    /// Nothing in the style `body`.
    private func subscribers(of event: WebhookEvent) async throws -> [String: Subscriber] {
        guard let reader, event.concernsPurchase || event.type == "TRANSFER" else { return [:] }
        var found: [String: Subscriber] = [:]
        let ids = [event.appUserID].compactMap { $0 } + event.transferredFrom + event.transferredTo
        for id in ids.filter(store.isValid) where found[id] == nil {
            do { found[id] = try await reader.subscriber(id) } catch { try policy.unread(error) }
        }
        return found
    }

    /// Who cannot be read now can be read later: the sender has to come again (S-07).
    static func unread(_ error: any Error) throws { throw error }

    // MARK: Applying

    private func apply(
        _ db: Database,
        _ event: WebhookEvent,
        _ subscribers: [String: Subscriber]
    ) throws {
        if event.type == "TRANSFER" {
            try Identity.transfer(store, db, event)
            for (id, subscriber) in subscribers {
                try Reconciliation.take(store, db, subscriber, of: id, event)
            }
            try Reconciliation.dropUnshown(store, db, subscribers)
            if reader != nil {
                for user in try event.transferredTo.compactMap({ try store.user(db, known: $0)?.id }
                ) {
                    try settleChanges(db, of: user)
                }
            }
            return
        }
        guard event.concernsPurchase else { return try policy.ignore(store, db, event) }
        try applyPurchase(db, event, subscribers)
    }

    private func applyPurchase(
        _ db: Database,
        _ event: WebhookEvent,
        _ subscribers: [String: Subscriber]
    ) throws {
        guard let user = try Identity.resolve(store, db, event), let buyer = user.id,
            let productID = event.productID
        else { return }
        let holder = try store.policies.identity.holder(db, buyer, event.timestamp)
        // What RevenueCat is asked for has moved already.
        let userID = reader == nil ? holder : buyer
        let isSandbox = policy.isApart(event)
        let known = try store.fetch(db, userID, productID, isSandbox)
        let isStale = policy.isStale(event, known)
        let unlocks = policy.unlocks(event)
        if let id = event.appUserID, reader != nil {
            if let subscriber = subscribers[id] {
                try Reconciliation.take(store, db, subscriber, of: id, event)
            }
            // What only the event knows belongs to whoever has the purchase by now.
            let line = History.Line(userID: holder, productID: productID, isSandbox: isSandbox)
            try note(db, event, line)
        } else if unlocks {
            let history = History(store: store)
            let line = History.Line(userID: userID, productID: productID, isSandbox: isSandbox)
            try history.note(db, event, of: line)
            if isStale {
                try policy.settleLate(history, db, line)
            } else {
                var subscription = known ?? line.fresh(event)
                store.policies.entitlement.apply(event, to: &subscription)
                try subscription.save(db, onConflict: .replace)
            }
        }
        guard unlocks else { return }
        // To somebody who has given it away it is no news.
        try Notification.announce(store, db, event, to: user, isStale: isStale || holder != buyer)
    }

    /// TEST, informational and unknown types are acknowledged and change nothing (S-08, S-18).
    static func ignore(_ store: Store, _ db: Database, _ event: WebhookEvent) throws {}

    /// Sandbox purchases are kept, apart from those that cost money (S-19).
    static func isApart(_ event: WebhookEvent) -> Bool { event.isSandbox }

    /// An older event says nothing new about this subscription (S-09), and the end of a period that
    /// was renewed since says nothing of the one that runs, however late it is told (S-15).
    static func isStale(_ event: WebhookEvent, beside known: Subscription?) -> Bool {
        guard let known else { return false }
        let endsEarlier =
            event.type == "EXPIRATION" && (event.purchasedAt ?? .max) < known.beganAt
        return event.timestamp < known.asOf || endsEarlier
    }

    /// A purchase without entitlements, such as coins, unlocks nothing (S-16).
    static func unlocks(_ event: WebhookEvent) -> Bool {
        event.hasEntitlements || event.type != "NON_RENEWING_PURCHASE"
    }

    /// What only events know, beside what RevenueCat said about the subscription: which product comes
    /// next, whatever comes late.
    private func note(_ db: Database, _ event: WebhookEvent, _ line: History.Line) throws {
        try History(store: store).note(db, event, of: line)
        guard
            var subscription = try store.fetch(
                db,
                line.userID,
                line.productID,
                line.isSandbox
            )
        else { return }
        subscription.asOf = max(subscription.asOf, event.timestamp)
        try settleChange(db, &subscription)
        try subscription.update(db)
    }

    /// What was told of a purchase before it moved was told of whoever had it then.
    private func settleChanges(_ db: Database, of userID: Int64) throws {
        for var subscription in try Subscription.fetchAll(
            db,
            sql: "SELECT * FROM subscriptions WHERE userID = ?",
            arguments: [userID]
        ) {
            try settleChange(db, &subscription)
            try subscription.update(db)
        }
    }

    private func settleChange(_ db: Database, _ subscription: inout Subscription) throws {
        let line = History.Line(
            userID: subscription.userID,
            productID: subscription.productID,
            isSandbox: subscription.isSandbox
        )
        let last = try History(store: store).last(db, line) {
            ["INITIAL_PURCHASE", "PRODUCT_CHANGE", "RENEWAL"].contains($0.type)
        }
        if let last {
            subscription.pendingProductID =
                last.type == "PRODUCT_CHANGE" ? last.newProductID : nil
        }
    }
}
