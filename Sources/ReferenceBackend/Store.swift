internal import Foundation
internal import GRDB

/// The database of the backend: users and their IDs, subscriptions, processed events and the
/// outbox.
struct Store: Sendable {
    let pool: DatabasePool
    let policies: Policies
    /// The name of the entitlement that gives access.
    let entitlement: String

    init(path: String, policies: Policies, entitlement: String = "premium") throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        pool = try DatabasePool(path: path, configuration: configuration)
        self.policies = policies
        self.entitlement = entitlement
        try StoreSchema.migrator.migrate(pool)
    }
}

/// A user of the backend, with the ID that the app registered or that the first event named.
struct User: Codable, FetchableRecord, MutablePersistableRecord, Sendable {
    static let databaseTableName = "users"
    static let webhookSource = "webhook_safety_net"

    var id: Int64?
    var appUserID: String
    var source: String
    var deviceID: String?
    var platform: String?
    /// The token that the registration returned, which proves the ownership of the user ID (S-26).
    var deviceToken: String?
    /// Whether the account of the user was deleted.
    ///
    /// The record remains, so that a later event neither creates the user again nor sends a
    /// notification.
    var isDeleted = false
    var createdAt: Int64
    var lastSeenAt: Int64

    mutating func didInsert(_ inserted: InsertionSuccess) {
        id = inserted.rowID
    }
}

extension Store {
    func user(_ db: Database, known id: String) throws -> User? {
        try User.fetchOne(
            db,
            sql: "SELECT users.* FROM users JOIN aliases ON aliases.userID = users.id "
                + "WHERE " + policies.identity.aliasCondition,
            arguments: [id]
        )
    }

    func linkAlias(_ db: Database, _ alias: String, to userID: Int64) throws {
        try db.execute(
            sql: "INSERT INTO aliases (alias, userID) VALUES (?, ?) ON CONFLICT DO NOTHING",
            arguments: [alias, userID]
        )
    }

    func isValidUserID(_ id: String) -> Bool { policies.identity.isValidUserID(id) }

    func insert(_ db: Database, _ appUserID: String, source: String) throws -> User {
        let now = WallClock.now()
        var user = User(appUserID: appUserID, source: source, createdAt: now, lastSeenAt: now)
        try user.insert(db)
        if let id = user.id { try linkAlias(db, appUserID, to: id) }
        return user
    }

    func merge(_ db: Database, _ otherUser: User, into userID: Int64) throws {
        guard let otherID = otherUser.id else { return }
        try movePurchases(db, from: otherID, to: userID)
        try db.execute(
            sql: "UPDATE aliases SET userID = ? WHERE userID = ?",
            arguments: [userID, otherID]
        )
        for side in ["source", "target"] {
            try db.execute(
                sql: "UPDATE OR IGNORE transfers SET \(side) = ? WHERE \(side) = ?",
                arguments: [userID, otherID]
            )
        }
        if otherUser.source == User.webhookSource {
            try db.execute(sql: "DELETE FROM users WHERE id = ?", arguments: [otherID])
        }
    }

    /// Moves purchases of a user to another user.
    ///
    /// If both users have the same product, the newer state is kept.
    func movePurchases(
        _ db: Database,
        from source: Int64,
        to target: Int64,
        _ moved: MovedPurchases = MovedPurchases()
    ) throws {
        for var subscription in try policies.identity.ownedPurchases(db, source, moved) {
            subscription.userID = target
            if try policies.identity.hasNewerState(self, db, subscription) { continue }
            try subscription.save(db, onConflict: .replace)
        }
        try policies.identity.removeTransferredPurchases(db, source, moved)
        try EventHistory(store: self).movePurchases(db, from: source, to: target, moved)
    }

    func fetchSubscription(
        _ db: Database,
        _ userID: Int64,
        _ productID: String,
        _ isSandbox: Bool
    ) throws -> Subscription? {
        try Subscription.fetchOne(
            db,
            sql: "SELECT * FROM subscriptions WHERE userID = ? AND productID = ? AND isSandbox = ?",
            arguments: [userID, productID, isSandbox]
        )
    }
}
