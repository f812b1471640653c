internal import Foundation
internal import GRDB

/// What was told of each purchase, by the time at which it happened.
///
/// An event that comes late may hold what no newer one says: the renewal behind its cancellation, the
/// change behind the end. Whoever drops it whole loses that, so the purchase is told anew from its
/// beginning, in the order in which everything happened (S-09).
struct History: Sendable {
    /// One person's purchase of one product.
    struct Line: Hashable, Sendable {
        var userID: Int64
        var productID: String
        var isSandbox: Bool

        /// Before anything was told of it.
        func fresh(_ event: WebhookEvent) -> Subscription {
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

    private static let place = "userID = ? AND productID = ? AND isSandbox = ?"

    /// Keeps an event.
    func note(_ db: Database, _ event: WebhookEvent, of line: Line) throws {
        try db.execute(
            sql: "INSERT INTO history (userID, productID, isSandbox, timestamp, event) "
                + "VALUES (?, ?, ?, ?, ?)",
            arguments: [
                line.userID, line.productID, line.isSandbox, event.timestamp,
                try JSONEncoder().encode(event),
            ]
        )
    }

    /// In the order in which they happened.
    func events(_ db: Database, _ line: Line) throws -> [WebhookEvent] {
        try Data.fetchAll(
            db,
            sql: "SELECT event FROM history WHERE \(Self.place) ORDER BY timestamp, id",
            arguments: [line.userID, line.productID, line.isSandbox]
        ).map { try JSONDecoder().decode(WebhookEvent.self, from: $0) }
    }

    /// The last of them that is so.
    func last(
        _ db: Database,
        _ line: Line,
        where isSo: (WebhookEvent) -> Bool
    ) throws -> WebhookEvent? {
        try events(db, line).last(where: isSo)
    }

    /// What an older event means beside everything that happened since.
    static func settleLate(_ history: History, _ db: Database, _ line: Line) throws {
        try history.tellAnew(db, line)
    }

    /// Works a purchase out from its beginning.
    private func tellAnew(_ db: Database, _ line: Line) throws {
        let events = try events(db, line)
        var subscription: Subscription?
        for event in events where !store.policies.delivery.isStale(event, subscription) {
            var next = subscription ?? line.fresh(event)
            store.policies.entitlement.apply(event, to: &next)
            subscription = next
        }
        try subscription?.save(db, onConflict: .replace)
    }

    /// What was told of somebody's purchases until a moment belongs to somebody else from then on.
    func move(
        _ db: Database,
        from source: Int64,
        to target: Int64,
        until moment: Int64
    ) throws {
        let moved = try Row.fetchAll(
            db,
            sql: "SELECT DISTINCT productID, isSandbox FROM history "
                + "WHERE userID = ? AND timestamp <= ?",
            arguments: [source, moment]
        ).map { row in
            [source, target].map {
                Line(userID: $0, productID: row["productID"], isSandbox: row["isSandbox"])
            }
        }
        // Of the winner's, what was told before that it comes from somebody else.
        let known = try moved.map { try isTold(db, $0[1]) }
        try db.execute(
            sql: "UPDATE history SET userID = ? WHERE userID = ? AND timestamp <= ?",
            arguments: [target, source, moment]
        )
        for (lines, wasKnown) in zip(moved, known) {
            let isLeft = try isTold(db, lines[0])
            guard isLeft || wasKnown else { continue }
            // Each has a part of the past that belonged to both.
            let join = store.policies.identity.join
            if isLeft { try join(self, db, lines[0]) }
            try join(self, db, lines[1])
        }
    }

    private func isTold(_ db: Database, _ line: Line) throws -> Bool {
        try Bool.fetchOne(
            db,
            sql: "SELECT EXISTS (SELECT 1 FROM history WHERE \(Self.place))",
            arguments: [line.userID, line.productID, line.isSandbox]
        ) ?? false
    }
}
