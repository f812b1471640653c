internal import Foundation
internal import GRDB

/// Finds the user of a RevenueCat event.
///
/// All IDs in an event lead to one user, who is created if no ID is known.
enum Identity {
    struct Policy: Sendable {
        var isValidUserID = Identity.isValidUserID
        /// The SQL condition that finds the record of a user ID.
        var aliasCondition = "aliases.alias = ?"
        var createUserIfUnknown = Identity.createUserIfUnknown
        var mergeUsers = Identity.mergeUsers
        var isUsableAlias = Identity.isUsableAlias
        var movedPurchases = Identity.movedPurchases
        var ownedPurchases = Identity.ownedPurchases
        var removeTransferredPurchases = Identity.removeTransferredPurchases
        var currentOwnerID = Identity.currentOwnerID
        var createPreviousOwner = Identity.createPreviousOwner
        var recomputeHistory = EventHistory.applyLateEvent
        var hasNewerState = Identity.hasNewerState
    }

    /// Returns whether a user ID is valid.
    ///
    /// IDs that RevenueCat blocks, IDs that only programming errors produce, and overlong IDs are
    /// not valid (S-21, S-23; RevenueCat fact sheet, section 5.1).
    static func isValidUserID(_ id: String) -> Bool {
        !id.isEmpty && id.count <= 100 && !id.contains("/") && !blockedIDs.contains(id.lowercased())
    }

    /// Returns whether an alias in an event identifies a user.
    ///
    /// Events of different users may have the same blocked ID among their aliases, so such an alias
    /// identifies no user (S-21).
    static func isUsableAlias(_ store: Store, _ id: String) -> Bool { store.isValidUserID(id) }

    static let blockedIDs: Set<String> = [
        "no_user", "null", "none", "nil", "(null)", "nan", "unidentified", "undefined",
        "unknown", "anonymous", "guest", "-1", "0", "[]", "{}", "[object object]", "n/a",
    ]

    /// Returns the user that an event names by any of its IDs, and creates an unknown user (S-20,
    /// S-21).
    ///
    /// If the IDs lead to several database records, these records are one user. The data of records
    /// that events created moves to the registered record.
    static func resolveUser(_ store: Store, _ db: Database, _ event: WebhookEvent) throws -> User? {
        let ids =
            [event.appUserID, event.originalAppUserID].compactMap { $0 }.filter(store.isValidUserID)
            + event.aliases.filter { store.policies.identity.isUsableAlias(store, $0) }
        guard let first = ids.first(where: { !$0.hasPrefix("$RCAnonymousID:") }) ?? ids.first
        else { return nil }
        var users = try known(store, db, ids)
        // The record from a registration is kept. A record that an event created was only a
        // placeholder.
        users.sort {
            ($0.source == User.webhookSource ? 1 : 0) < ($1.source == User.webhookSource ? 1 : 0)
        }
        let policy = store.policies.identity
        guard let user = try users.first ?? policy.createUserIfUnknown(store, db, first),
            let userID = user.id
        else { return nil }
        for otherUser in users.dropFirst() { try policy.mergeUsers(store, db, otherUser, userID) }
        for id in ids { try store.linkAlias(db, id, to: userID) }
        return user
    }

    /// Returns the users with the given IDs, each user once.
    private static func known(_ store: Store, _ db: Database, _ ids: [String]) throws -> [User] {
        var users: [User] = []
        for id in ids {
            guard let user = try store.user(db, known: id),
                !users.contains(where: { $0.id == user.id })
            else { continue }
            users.append(user)
        }
        return users
    }

    /// Creates an unknown user, who may have bought something before the app could register.
    ///
    /// No event is dropped (S-21).
    static func createUserIfUnknown(_ store: Store, _ db: Database, _ id: String) throws -> User? {
        try store.insert(db, id, source: User.webhookSource)
    }

    /// Merges two database records that belong to the same user (S-20).
    static func mergeUsers(_ store: Store, _ db: Database, _ otherUser: User, into userID: Int64)
        throws
    {
        try store.merge(db, otherUser, into: userID)
    }

    /// Applies a TRANSFER event: moves the purchases of each old owner to the new owner (S-17).
    static func transfer(_ store: Store, _ db: Database, _ event: WebhookEvent) throws {
        guard let newOwnerID = event.transferredTo.first(where: store.isValidUserID) else { return }
        // All IDs in `transferred_to` belong to one customer (RevenueCat fact sheet, section 2.4).
        let newOwners = try known(store, db, event.transferredTo)
        let target = try newOwners.first ?? store.insert(db, newOwnerID, source: User.webhookSource)
        guard let newOwnerUserID = target.id else { return }
        for otherUser in newOwners.dropFirst() {
            try store.merge(db, otherUser, into: newOwnerUserID)
        }
        for id in event.transferredTo { try store.linkAlias(db, id, to: newOwnerUserID) }
        try store.policies.identity.createPreviousOwner(store, db, event)
        for id in event.transferredFrom {
            if let source = try store.user(db, known: id)?.id, source != newOwnerUserID {
                let currentOwnerID = try store.policies.identity.currentOwnerID(
                    db,
                    newOwnerUserID,
                    event.timestamp,
                    event.isSandbox
                )
                try store.movePurchases(
                    db,
                    from: source,
                    to: currentOwnerID,
                    store.policies.identity.movedPurchases(event)
                )
                try db.execute(
                    sql: "INSERT INTO transfers (source, target, asOf, isSandbox) "
                        + "VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                    arguments: [source, newOwnerUserID, event.timestamp, event.isSandbox]
                )
            }
        }
    }

    /// Creates an unknown old owner of transferred purchases, because events of these purchases may
    /// still arrive.
    static func createPreviousOwner(_ store: Store, _ db: Database, _ event: WebhookEvent) throws {
        guard try known(store, db, event.transferredFrom).isEmpty,
            let previousOwnerID = event.transferredFrom.first(where: store.isValidUserID),
            let userID = try store.insert(db, previousOwnerID, source: User.webhookSource).id
        else { return }
        for id in event.transferredFrom { try store.linkAlias(db, id, to: userID) }
    }

    /// Returns the ID of the current owner of a purchase, given the user and the time of the
    /// purchase.
    ///
    /// Later transfers moved the purchase to other users, even if the event of the purchase arrives
    /// after the transfers (S-09, S-17).
    static func currentOwnerID(
        _ db: Database,
        of userID: Int64,
        since timestamp: Int64,
        isSandbox: Bool
    ) throws -> Int64 {
        var (currentOwnerID, timestamp) = (userID, timestamp)
        while let transfer = try Row.fetchOne(
            db,
            sql: "SELECT target, asOf FROM transfers "
                + "WHERE source = ? AND asOf > ? AND isSandbox = ? ORDER BY asOf",
            arguments: [currentOwnerID, timestamp, isSandbox]
        ) {
            (currentOwnerID, timestamp) = (transfer["target"], transfer["asOf"])
        }
        return currentOwnerID
    }

    /// Returns whether the new owner already has a newer state of the transferred purchase.
    static func hasNewerState(
        _ store: Store,
        _ db: Database,
        _ moved: Subscription
    ) throws -> Bool {
        let known = try store.fetchSubscription(db, moved.userID, moved.productID, moved.isSandbox)
        return known.map { $0.asOf >= moved.asOf } ?? false
    }

    /// Returns the purchases that a TRANSFER event moves: those that the old owner had at that
    /// time, in the environment of the event (S-17, S-19).
    static func movedPurchases(by event: WebhookEvent) -> MovedPurchases {
        MovedPurchases(until: event.timestamp, isSandbox: event.isSandbox)
    }

    /// Returns the purchases of a user that a transfer or a merge moves.
    static func ownedPurchases(
        _ db: Database,
        of userID: Int64,
        _ moved: MovedPurchases
    ) throws -> [Subscription] {
        try Subscription.fetchAll(
            db,
            sql: "SELECT * FROM subscriptions WHERE userID = ? AND asOf <= ? "
                + moved.environmentCondition,
            arguments: [userID, moved.until]
        )
    }

    /// Removes transferred purchases from the old owner.
    ///
    /// Purchases after the time of the transfer remain.
    static func removeTransferredPurchases(
        _ db: Database,
        _ source: Int64,
        _ moved: MovedPurchases
    ) throws {
        try db.execute(
            sql: "DELETE FROM subscriptions WHERE userID = ? AND asOf <= ? "
                + moved.environmentCondition,
            arguments: [source, moved.until]
        )
    }
}

/// The purchases of a user that a transfer or a merge moves to another user.
struct MovedPurchases: Sendable {
    /// The latest time of the state of a moved purchase, in milliseconds since 1970.
    var until: Int64 = .max
    /// Whether purchases of the sandbox are moved, or of production; nil for both.
    var isSandbox: Bool?

    /// The end of an SQL condition that selects the environment.
    var environmentCondition: String {
        isSandbox.map { "AND isSandbox = \($0 ? 1 : 0)" } ?? ""
    }
}
