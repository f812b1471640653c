internal import Foundation
internal import GRDB

/// The stored events of each purchase, ordered by the time at which they happened.
///
/// An event that arrives late may contain information that no newer event has. Examples are a
/// renewal that arrives after its cancellation, and a product change that arrives after the end.
/// Therefore the state of the purchase is recomputed from all of its events, in the order in which
/// they happened (S-09).
struct EventHistory: Sendable {
    /// The key of a purchase: a user, a product and the environment.
    struct PurchaseKey: Hashable, Sendable {
        var userID: Int64
        var productID: String
        var isSandbox: Bool

        /// Returns the state of the purchase before its first event.
        func initialState(_ event: WebhookEvent) -> Subscription {
            Subscription(
                userID: userID,
                productID: productID,
                isSandbox: isSandbox,
                expiresAt: event.expiresAt,
                asOf: .min
            )
        }
    }

    let store: Store

    private static let purchaseCondition = "userID = ? AND productID = ? AND isSandbox = ?"

    /// Stores an event in the history of a purchase.
    func recordEvent(_ db: Database, _ event: WebhookEvent, of purchaseKey: PurchaseKey) throws {
        try db.execute(
            sql: "INSERT INTO history (userID, productID, isSandbox, timestamp, event) "
                + "VALUES (?, ?, ?, ?, ?)",
            arguments: [
                purchaseKey.userID, purchaseKey.productID, purchaseKey.isSandbox, event.timestamp,
                try JSONEncoder().encode(event),
            ]
        )
    }

    /// Returns the stored events of a purchase in the order in which they happened.
    func events(_ db: Database, _ purchaseKey: PurchaseKey) throws -> [WebhookEvent] {
        try Data.fetchAll(
            db,
            sql: "SELECT event FROM history WHERE \(Self.purchaseCondition) ORDER BY timestamp, id",
            arguments: [purchaseKey.userID, purchaseKey.productID, purchaseKey.isSandbox]
        ).map { try JSONDecoder().decode(WebhookEvent.self, from: $0) }
    }

    /// Returns the last event of a purchase that satisfies a condition.
    func last(
        _ db: Database,
        _ purchaseKey: PurchaseKey,
        where condition: (WebhookEvent) -> Bool
    ) throws -> WebhookEvent? {
        try events(db, purchaseKey).last(where: condition)
    }

    /// Applies an event that arrived late, together with all newer events of the same purchase.
    static func applyLateEvent(_ history: EventHistory, _ db: Database, _ purchaseKey: PurchaseKey)
        throws
    {
        try history.recomputeState(db, purchaseKey)
    }

    /// Recomputes the state of a purchase from its first event on.
    private func recomputeState(_ db: Database, _ purchaseKey: PurchaseKey) throws {
        let events = try events(db, purchaseKey)
        var subscription: Subscription?
        for event in events where !store.policies.delivery.isStale(event, subscription) {
            var nextSubscription = subscription ?? purchaseKey.initialState(event)
            store.policies.entitlement.apply(event, to: &nextSubscription)
            subscription = nextSubscription
        }
        try subscription?.save(db, onConflict: .replace)
    }

    /// Assigns the events of moved purchases to another user.
    func movePurchases(
        _ db: Database,
        from source: Int64,
        to target: Int64,
        _ moved: MovedPurchases
    ) throws {
        let movedKeys = try Row.fetchAll(
            db,
            sql: "SELECT DISTINCT productID, isSandbox FROM history "
                + "WHERE userID = ? AND timestamp <= ? " + moved.environmentCondition,
            arguments: [source, moved.until]
        ).map { row in
            [source, target].map {
                PurchaseKey(userID: $0, productID: row["productID"], isSandbox: row["isSandbox"])
            }
        }
        // The purchases of which the new owner already had events must be recomputed.
        let targetHasEvents = try movedKeys.map { try hasEvents(db, $0[1]) }
        try db.execute(
            sql: "UPDATE history SET userID = ? WHERE userID = ? AND timestamp <= ? "
                + moved.environmentCondition,
            arguments: [target, source, moved.until]
        )
        for (purchaseKeys, wasKnown) in zip(movedKeys, targetHasEvents) {
            let hasRemainingEvents = try hasEvents(db, purchaseKeys[0])
            guard hasRemainingEvents || wasKnown else { continue }
            // The transfer split the stored events of this purchase between two users, or added
            // them to events that the new owner already had. The state of the purchase is therefore
            // recomputed for each user who has events of it.
            let recomputeHistory = store.policies.identity.recomputeHistory
            if hasRemainingEvents { try recomputeHistory(self, db, purchaseKeys[0]) }
            try recomputeHistory(self, db, purchaseKeys[1])
        }
    }

    private func hasEvents(_ db: Database, _ purchaseKey: PurchaseKey) throws -> Bool {
        try Bool.fetchOne(
            db,
            sql: "SELECT EXISTS (SELECT 1 FROM history WHERE \(Self.purchaseCondition))",
            arguments: [purchaseKey.userID, purchaseKey.productID, purchaseKey.isSandbox]
        ) ?? false
    }
}
