internal import GRDB

/// The tables of the backend's database.
enum StoreSchema {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("first") { db in
            try createUsers(db)
            try createPurchases(db)
            try createMessages(db)
            try createAccounts(db)
        }
        return migrator
    }

    private static func createUsers(_ db: Database) throws {
        try db.create(table: "users") { table in
            table.autoIncrementedPrimaryKey("id")
            table.column("appUserID", .text).notNull().unique()
            table.column("source", .text).notNull()
            table.column("deviceID", .text)
            table.column("platform", .text)
            table.column("deviceToken", .text)
            table.column("isDeleted", .boolean).notNull()
            table.column("createdAt", .integer).notNull()
            table.column("lastSeenAt", .integer).notNull()
        }
        // This table contains every ID of a user, including the registered ID.
        try db.create(table: "aliases") { table in
            table.primaryKey("alias", .text)
            table.column("userID", .integer).notNull().references("users", onDelete: .cascade)
        }
    }

    private static func createPurchases(_ db: Database) throws {
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
            table.column("isSandbox", .boolean).notNull()
            table.primaryKey(["source", "asOf", "isSandbox"])
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
    }

    /// Creates the tables of the events received and of the push messages to send.
    private static func createMessages(_ db: Database) throws {
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
    }

    private static func createAccounts(_ db: Database) throws {
        try db.create(table: "accounts") { table in
            table.primaryKey("accountID", .text)
            table.column("salt", .blob).notNull()
            table.column("passwordHash", .blob).notNull()
            table.column("userID", .integer).unique().references("users")
        }
    }
}
