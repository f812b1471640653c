internal import Foundation
internal import GRDB

/// Who is meant: all ids of an event lead to one person, who is made when nobody is known.
enum Identity {
    struct Policy: Sendable {
        var isValid = Identity.isValid
        var welcome = Identity.welcome
        var unite = Identity.unite
        var holdings = Identity.holdings
        var leave = Identity.leave
        var holder = Identity.holder
        var welcomeLoser = Identity.welcomeLoser
        var join = History.settleLate
        var isOvertaken = Identity.isOvertaken
    }

    /// Ids that RevenueCat blocks or that only a programming error produces, and over-long ones, are
    /// nobody's (S-21, S-23; RevenueCat fact sheet, section 5.1).
    static func isValid(_ id: String) -> Bool {
        !id.isEmpty && id.count <= 100 && !id.contains("/") && !blocked.contains(id.lowercased())
    }

    static let blocked: Set<String> = [
        "no_user", "null", "none", "nil", "(null)", "nan", "unidentified", "undefined",
        "unknown", "anonymous", "guest", "-1", "0", "[]", "{}", "[object object]", "n/a",
    ]

    /// The person whom an event names under any of its ids (S-20, S-21).
    ///
    /// When the ids lead to several records, they are one person: what a safety net had collected
    /// moves to the registered record.
    static func resolve(_ store: Store, _ db: Database, _ event: WebhookEvent) throws -> User? {
        let ids = ([event.appUserID, event.originalAppUserID] + event.aliases)
            .compactMap { $0 }.filter(store.isValid)
        guard let first = ids.first(where: { !$0.hasPrefix("$RCAnonymousID:") }) ?? ids.first
        else { return nil }
        var found = try known(store, db, ids)
        // The registered record is the person; a safety net only held their place.
        found.sort { ($0.source == User.safetyNet ? 1 : 0) < ($1.source == User.safetyNet ? 1 : 0) }
        let policy = store.policies.identity
        guard let user = try found.first ?? policy.welcome(store, db, first), let userID = user.id
        else { return nil }
        for other in found.dropFirst() { try policy.unite(store, db, other, userID) }
        for id in ids { try store.link(db, id, to: userID) }
        return user
    }

    /// The records behind some ids, each once.
    private static func known(_ store: Store, _ db: Database, _ ids: [String]) throws -> [User] {
        var found: [User] = []
        for id in ids {
            guard let user = try store.user(db, known: id),
                !found.contains(where: { $0.id == user.id })
            else { continue }
            found.append(user)
        }
        return found
    }

    /// Who is unknown may have bought before the app could register: nothing is dropped (S-21).
    static func welcome(_ store: Store, _ db: Database, _ id: String) throws -> User? {
        try store.insert(db, id, source: User.safetyNet)
    }

    /// Two records that turn out to be one person become one (S-20).
    static func unite(_ store: Store, _ db: Database, _ other: User, into userID: Int64) throws {
        try store.merge(db, other, into: userID)
    }

    /// Moves everything from each losing id to the winner (S-17); the body names nobody else.
    static func transfer(_ store: Store, _ db: Database, _ event: WebhookEvent) throws {
        guard let winner = event.transferredTo.first(where: store.isValid) else { return }
        // Each side is one customer under several ids (RevenueCat fact sheet, section 2.4).
        let winners = try known(store, db, event.transferredTo)
        let target = try winners.first ?? store.insert(db, winner, source: User.safetyNet)
        guard let targetID = target.id else { return }
        for other in winners.dropFirst() { try store.merge(db, other, into: targetID) }
        for id in event.transferredTo { try store.link(db, id, to: targetID) }
        try store.policies.identity.welcomeLoser(store, db, event)
        for id in event.transferredFrom {
            if let source = try store.user(db, known: id)?.id, source != targetID {
                let holder = try store.policies.identity.holder(db, targetID, event.timestamp)
                try store.move(db, from: source, to: holder, until: event.timestamp)
                try db.execute(
                    sql: "INSERT INTO transfers (source, target, asOf) VALUES (?, ?, ?) "
                        + "ON CONFLICT DO NOTHING",
                    arguments: [source, targetID, event.timestamp]
                )
            }
        }
    }

    /// Who gives away what nobody has told of yet is somebody too: it may still be told.
    static func welcomeLoser(_ store: Store, _ db: Database, _ event: WebhookEvent) throws {
        guard try known(store, db, event.transferredFrom).isEmpty,
            let loser = event.transferredFrom.first(where: store.isValid),
            let userID = try store.insert(db, loser, source: User.safetyNet).id
        else { return }
        for id in event.transferredFrom { try store.link(db, id, to: userID) }
    }

    /// Who holds what that person bought at that moment: the transfers since then took it along,
    /// although it is told after them (S-09, S-17).
    static func holder(_ db: Database, of userID: Int64, since moment: Int64) throws -> Int64 {
        var (holder, moment) = (userID, moment)
        while let transfer = try Row.fetchOne(
            db,
            sql: "SELECT target, asOf FROM transfers WHERE source = ? AND asOf > ? ORDER BY asOf",
            arguments: [holder, moment]
        ) {
            (holder, moment) = (transfer["target"], transfer["asOf"])
        }
        return holder
    }

    /// Whether its new holder has a newer description of the same purchase.
    static func isOvertaken(
        _ store: Store,
        _ db: Database,
        _ moved: Subscription
    ) throws -> Bool {
        let known = try store.fetch(db, moved.userID, moved.productID, moved.isSandbox)
        return known.map { $0.asOf >= moved.asOf } ?? false
    }

    /// What somebody had at that moment, which a transfer of that moment moves (S-17).
    static func holdings(
        _ db: Database,
        of userID: Int64,
        until moment: Int64
    ) throws -> [Subscription] {
        try Subscription.fetchAll(
            db,
            sql: "SELECT * FROM subscriptions WHERE userID = ? AND asOf <= ?",
            arguments: [userID, moment]
        )
    }

    /// What moved is not where it came from any more; what came after that moment stays.
    static func leave(_ db: Database, _ source: Int64, until moment: Int64) throws {
        try db.execute(
            sql: "DELETE FROM subscriptions WHERE userID = ? AND asOf <= ?",
            arguments: [source, moment]
        )
    }
}
