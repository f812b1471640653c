internal import Foundation
internal import GRDB

/// The database of the backend: users and their IDs, subscriptions, processed events and the
/// outbox.
struct Store: Sendable {
    let pool: DatabasePool
    let policies: Policies

    init(path: String, policies: Policies) throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        pool = try DatabasePool(path: path, configuration: configuration)
        self.policies = policies
        try Self.migrator.migrate(pool)
    }

    private static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("first") { db in
            try db.create(table: "users") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("appUserID", .text).notNull().unique()
                table.column("source", .text).notNull()
                table.column("deviceID", .text)
                table.column("platform", .text)
                table.column("deviceToken", .text)
                table.column("createdAt", .integer).notNull()
                table.column("lastSeenAt", .integer).notNull()
            }
            // This table contains every ID of a user, including the registered ID.
            try db.create(table: "aliases") { table in
                table.primaryKey("alias", .text)
                table.column("userID", .integer).notNull().references("users", onDelete: .cascade)
            }
            try db.create(table: "subscriptions") { table in
                table.column("userID", .integer).notNull().references("users", onDelete: .cascade)
                table.column("productID", .text).notNull()
                table.column("isSandbox", .boolean).notNull()
                table.column("expiresAt", .integer)
                table.column("graceEndsAt", .integer)
                table.column("hasEnded", .boolean).notNull()
                table.column("willRenew", .boolean).notNull()
                table.column("billingIssue", .boolean).notNull()
                table.column("refunded", .boolean).notNull()
                table.column("pendingProductID", .text)
                table.column("store", .text)
                table.column("asOf", .integer).notNull()
                table.column("beganAt", .integer).notNull()
                table.primaryKey(["userID", "productID", "isSandbox"])
            }
            // This table contains the events of each purchase, so that an event that arrives late
            // can be applied in the order in which the events happened.
            try db.create(table: "history") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("userID", .integer).notNull().references("users", onDelete: .cascade)
                table.column("productID", .text).notNull()
                table.column("isSandbox", .boolean).notNull()
                table.column("timestamp", .integer).notNull()
                table.column("event", .blob).notNull()
            }
            try db.create(index: "historyOfLine", on: "history", columns: ["userID", "productID"])
            // This table contains the transfers between users with their times. A transfer also
            // moves earlier purchases whose events arrive after the transfer (S-17).
            try db.create(table: "transfers") { table in
                table.column("source", .integer).notNull().references("users", onDelete: .cascade)
                table.column("target", .integer).notNull().references("users", onDelete: .cascade)
                table.column("asOf", .integer).notNull()
                table.primaryKey(["source", "asOf"])
            }
            // This table contains Purchasely's grants. The user is part of the key, so that the
            // events of a transfer have the same result in either order (P-07).
            try db.create(table: "grants") { table in
                table.column("subscriptionID", .text).notNull()
                table.column("plan", .text).notNull()
                table.column("userID", .integer).notNull().references("users", onDelete: .cascade)
                table.column("isActive", .boolean).notNull()
                table.column("expiresAt", .integer)
                table.column("isSandbox", .boolean).notNull()
                table.column("asOf", .integer).notNull()
                table.primaryKey(["subscriptionID", "plan", "userID"])
            }
            try db.create(table: "events") { table in
                table.primaryKey("id", .text)
                table.column("type", .text).notNull()
                table.column("receivedAt", .integer).notNull()
            }
            try db.create(table: "outbox") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("key", .text).notNull()
                table.column("recipient", .text).notNull()
                table.column("text", .text).notNull()
                table.column("attemptCount", .integer).notNull().defaults(to: 0)
                table.column("dueAt", .integer).notNull()
                table.column("state", .text).notNull().defaults(to: "waiting")
            }
            try db.create(table: "accounts") { table in
                table.primaryKey("accountID", .text)
                table.column("salt", .blob).notNull()
                table.column("passwordHash", .blob).notNull()
                table.column("userID", .integer).unique().references("users")
            }
        }
        return migrator
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
                + "WHERE aliases.alias = ?",
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

    /// Moves the purchases that a user had at a time to another user.
    ///
    /// If both users have the same product, the newer state is kept.
    func movePurchases(
        _ db: Database,
        from source: Int64,
        to target: Int64,
        until timestamp: Int64 = .max
    ) throws {
        for var subscription in try policies.identity.ownedPurchases(db, source, timestamp) {
            subscription.userID = target
            if try policies.identity.hasNewerState(self, db, subscription) { continue }
            try subscription.save(db, onConflict: .replace)
        }
        try policies.identity.removeTransferredPurchases(db, source, timestamp)
        try EventHistory(store: self).movePurchases(db, from: source, to: target, until: timestamp)
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
