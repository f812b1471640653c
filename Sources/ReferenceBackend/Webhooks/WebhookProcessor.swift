internal import Foundation
internal import GRDB

/// Processes a RevenueCat event exactly once, in one transaction that also contains its push
/// messages.
///
/// In the style `body`, the event's fields become the state. In the style `sync`, the event only
/// names the customer to read, and RevenueCat's response becomes the state.
struct WebhookProcessor: Sendable {
    let store: Store
    /// The reader of customers from RevenueCat's REST API; nil in the style `body`, in which the
    /// events alone determine the state.
    let reader: SubscriberReader?

    /// The result of processing a delivery.
    enum Outcome: Sendable {
        case applied
        case duplicate
    }

    /// The steps of processing a delivery.
    ///
    /// `Policy.performSteps` determines the order of the steps.
    struct ProcessingSteps: Sendable {
        let store: Store
        let event: WebhookEvent
        /// The key by which duplicates of the event are recognized.
        let key: String
        /// A function that returns RevenueCat's data of all users that the event names, by their
        /// ID.
        var read: @Sendable () async throws -> [UserID: Subscriber]
        /// A function that changes the state and adds the push messages.
        var apply: @Sendable (Database, [UserID: Subscriber]) throws -> Void

        /// Stores the event's key as processed.
        ///
        /// Returns false for an event that was already processed.
        ///
        /// The unique key in the database detects a duplicate, not an earlier query.
        func markProcessed(_ db: Database) throws -> Bool {
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
        var performSteps = WebhookProcessor.performSteps
        var handleUnreadableCustomer = WebhookProcessor.handleUnreadableCustomer
        var handleIgnoredEvent = WebhookProcessor.handleIgnoredEvent
        var isSandboxEvent = WebhookProcessor.isSandboxEvent
        var isStale = WebhookProcessor.isStale
        var applyLateEvent = EventHistory.applyLateEvent
        var unlocksAccess = WebhookProcessor.unlocksAccess
    }

    private var policy: Policy { store.policies.delivery }

    func process(_ event: WebhookEvent, body: Data) async throws -> Outcome {
        let steps = ProcessingSteps(
            store: store,
            event: event,
            key: policy.key(event, body),
            read: { try await subscribers(of: event) },
            apply: { db, subscribers in try apply(db, event, subscribers) }
        )
        return try await policy.performSteps(steps)
    }

    /// Processes an event in one transaction: either its key, the new state and the push messages
    /// are all stored, or nothing is (S-03, S-04, S-05).
    ///
    /// The customers are read from RevenueCat before the transaction, because a transaction must
    /// not wait.
    static func performSteps(_ steps: ProcessingSteps) async throws -> Outcome {
        let subscribers = try await steps.read()
        return try await steps.store.pool.write { db in
            guard try steps.markProcessed(db) else { return .duplicate }
            try steps.apply(db, subscribers)
            return .applied
        }
    }

    /// Returns the key by which duplicates are recognized: the event ID, which is the same in all
    /// delivery attempts (S-03).
    static func key(of event: WebhookEvent, body: Data) -> String { event.id }

    // MARK: Reading

    /// Reads all users that an event names from RevenueCat, by their ID; empty in the style `body`.
    private func subscribers(of event: WebhookEvent) async throws -> [UserID: Subscriber] {
        guard let reader, event.concernsPurchase || event.type == "TRANSFER" else { return [:] }
        var subscribersByID: [UserID: Subscriber] = [:]
        let ids = [event.appUserID].compactMap { $0 } + event.transferredFrom + event.transferredTo
        for id in ids.filter(store.isValidUserID) where subscribersByID[UserID(id)] == nil {
            do { subscribersByID[UserID(id)] = try await reader.subscriber(id) } catch {
                try policy.handleUnreadableCustomer(error)
            }
        }
        return subscribersByID
    }

    /// Handles a customer who cannot be read from RevenueCat.
    ///
    /// The delivery fails, so that the sender delivers the event again (S-07).
    static func handleUnreadableCustomer(_ error: any Error) throws { throw error }

    // MARK: Applying

    private func apply(
        _ db: Database,
        _ event: WebhookEvent,
        _ subscribers: [UserID: Subscriber]
    ) throws {
        if event.type == "TRANSFER" {
            try Identity.transfer(store, db, event)
            for (id, subscriber) in subscribers {
                try Reconciliation.replaceState(store, db, subscriber, of: id.text, event)
            }
            try Reconciliation.removeUnreturnedPurchases(store, db, subscribers)
            if reader != nil {
                for user in try event.transferredTo.compactMap({ try store.user(db, known: $0)?.id }
                ) {
                    try recomputePendingProducts(db, of: user)
                }
            }
            return
        }
        guard event.concernsPurchase else { return try policy.handleIgnoredEvent(store, db, event) }
        try applyPurchase(db, event, subscribers)
    }

    private func applyPurchase(
        _ db: Database,
        _ event: WebhookEvent,
        _ subscribers: [UserID: Subscriber]
    ) throws {
        guard let user = try Identity.resolveUser(store, db, event), let buyerID = user.id,
            let productID = event.productID
        else { return }
        let currentOwnerID = try store.policies.identity.currentOwnerID(
            db,
            buyerID,
            event.timestamp,
            event.isSandbox
        )
        // In the style `sync`, RevenueCat's response already takes transfers into account.
        let userID = reader == nil ? currentOwnerID : buyerID
        let isSandbox = policy.isSandboxEvent(event)
        let known = try store.fetchSubscription(db, userID, productID, isSandbox)
        let isStale = policy.isStale(event, known)
        let unlocksAccess = policy.unlocksAccess(event, store.entitlement)
        if let id = event.appUserID, reader != nil {
            if let subscriber = subscribers[UserID(id)] {
                try Reconciliation.replaceState(store, db, subscriber, of: id, event)
            }
            // Facts that only the event contains are stored for the current owner of the purchase.
            let purchaseKey = EventHistory.PurchaseKey(
                userID: currentOwnerID,
                productID: productID,
                isSandbox: isSandbox
            )
            try recordEvent(db, event, purchaseKey)
        } else if unlocksAccess {
            let history = EventHistory(store: store)
            let purchaseKey = EventHistory.PurchaseKey(
                userID: userID,
                productID: productID,
                isSandbox: isSandbox
            )
            try history.recordEvent(db, event, of: purchaseKey)
            if isStale {
                try policy.applyLateEvent(history, db, purchaseKey)
            } else {
                var subscription = known ?? purchaseKey.initialState(event)
                store.policies.entitlement.apply(event, to: &subscription)
                try subscription.save(db, onConflict: .replace)
            }
        }
        guard unlocksAccess else { return }
        // A user whose purchase was transferred to another user gets no notification.
        try Notification.enqueueNotification(
            store,
            db,
            event,
            to: user,
            isStale: isStale || currentOwnerID != buyerID
        )
    }

    /// Changes nothing for an event of the type TEST or of an informational or unknown type, which
    /// is only acknowledged (S-08, S-18).
    static func handleIgnoredEvent(_ store: Store, _ db: Database, _ event: WebhookEvent) throws {}

    /// Returns whether an event belongs to the sandbox.
    ///
    /// Sandbox purchases are kept separately (S-19).
    static func isSandboxEvent(_ event: WebhookEvent) -> Bool { event.isSandbox }

    /// Returns whether an event is outdated.
    ///
    /// An event that is older than the known state reports nothing new (S-09). The end of a period
    /// that was renewed since does not end the current period, however late the event arrives
    /// (S-15).
    static func isStale(_ event: WebhookEvent, comparedTo known: Subscription?) -> Bool {
        guard let known else { return false }
        let endsEarlier =
            event.type == "EXPIRATION" && (event.purchasedAt ?? .max) < known.beganAt
        return event.timestamp < known.asOf || endsEarlier
    }

    /// Returns whether the purchase in an event unlocks access, which means the given entitlement.
    ///
    /// A purchase without entitlements, such as coins, does not (S-16), nor does a product that
    /// unlocks other entitlements only (S-10).
    static func unlocksAccess(_ event: WebhookEvent, to entitlement: String) -> Bool {
        event.entitlements.isEmpty
            ? event.type != "NON_RENEWING_PURCHASE" : event.entitlements.contains(entitlement)
    }

    /// Stores an event, and updates the pending product of its purchase.
    ///
    /// RevenueCat's state does not contain the pending product, which is therefore derived from the
    /// stored events. The event may arrive late.
    private func recordEvent(
        _ db: Database,
        _ event: WebhookEvent,
        _ purchaseKey: EventHistory.PurchaseKey
    ) throws {
        try EventHistory(store: store).recordEvent(db, event, of: purchaseKey)
        guard
            var subscription = try store.fetchSubscription(
                db,
                purchaseKey.userID,
                purchaseKey.productID,
                purchaseKey.isSandbox
            )
        else { return }
        subscription.asOf = max(subscription.asOf, event.timestamp)
        try recomputePendingProduct(db, &subscription)
        try subscription.update(db)
    }

    /// Recomputes the pending products of a user after a transfer, because earlier events were
    /// stored for the previous owner.
    private func recomputePendingProducts(_ db: Database, of userID: Int64) throws {
        for var subscription in try Subscription.fetchAll(
            db,
            sql: "SELECT * FROM subscriptions WHERE userID = ?",
            arguments: [userID]
        ) {
            try recomputePendingProduct(db, &subscription)
            try subscription.update(db)
        }
    }

    private func recomputePendingProduct(_ db: Database, _ subscription: inout Subscription) throws
    {
        let purchaseKey = EventHistory.PurchaseKey(
            userID: subscription.userID,
            productID: subscription.productID,
            isSandbox: subscription.isSandbox
        )
        let last = try EventHistory(store: store).last(db, purchaseKey) {
            ["INITIAL_PURCHASE", "PRODUCT_CHANGE", "RENEWAL"].contains($0.type)
        }
        if let last {
            subscription.pendingProductID =
                last.type == "PRODUCT_CHANGE" ? last.newProductID : nil
        }
    }
}
