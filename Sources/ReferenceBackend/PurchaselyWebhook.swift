internal import Foundation
internal import GRDB
internal import HTTPTypes
internal import Hummingbird

/// `POST /api/webhooks/purchasely`: flat events, signed with their time; ACTIVATE grants, DEACTIVATE
/// revokes, everything else is acknowledged.
///
/// Facts: Purchasely fact sheet, sections 2, 3 and 9.
struct PurchaselyWebhook: Sendable {
    let store: Store
    let outbox: Outbox
    let secret: String?

    struct Policy: Sendable {
        var isSigned = PurchaselyWebhook.isSigned
        /// How far a signature's time may be from ours, in seconds.
        var ageMax: Int64 = 900
        var read = PurchaselyWebhook.read
        var unreadable = PurchaselyWebhook.unreadable
        var answer = PurchaselyWebhook.answer
        var failed = PurchaselyWebhook.failed
        var mark = PurchaselyWebhook.mark
        var effect = PurchaselyWebhook.effect
        var welcome = PurchaselyWebhook.welcome
        var isStale = PurchaselyWebhook.isStale
        var write = PurchaselyWebhook.write
    }

    private var policy: Policy { store.policies.purchasely }

    func respond(to request: Request) async -> Response {
        do {
            let body = Data(try await request.body.collect(upTo: JSON.bodyMax).readableBytesView)
            let signature = Signature { name in
                HTTPField.Name(name).flatMap { request.headers[$0] }
            }
            if let secret, !policy.isSigned(signature, body, secret, policy.ageMax) {
                return JSON.response(.unauthorized, ["error": "unauthorized"])
            }
            let event: PurchaselyEvent
            do { event = try policy.read(body) } catch { return policy.unreadable(error) }
            let isNew = try await store.pool.write { db in try take(db, event) }
            return await policy.answer(isNew, outbox)
        } catch {
            return policy.failed(error)
        }
    }

    /// Nothing was stored, so the sender has to come again (P-03).
    static func failed(_ error: any Error) -> Response {
        JSON.response(.internalServerError, ["error": "try_again"])
    }

    /// The header fields that prove who sent a body.
    struct Signature: Sendable {
        let time: String?
        let code: String?
        /// The signature of old, which covers the time and not the body, and so proves nothing.
        let deprecated: String?

        init(_ field: (String) -> String?) {
            time = field("X-PURCHASELY-TIMESTAMP")
            code = field("X-PURCHASELY-REQUEST-SIGNATURE")
            deprecated = field("X-PURCHASELY-SIGNATURE")
        }
    }

    /// HMAC-SHA256 over the timestamp's text and the raw body; the request is young, whatever the
    /// event's own time (P-01, P-02).
    static func isSigned(
        _ signature: Signature,
        body: Data,
        secret: String,
        ageMax: Int64
    ) -> Bool {
        guard let time = signature.time, let code = signature.code, let seconds = Int64(time),
            Authenticity.isYoung(seconds, ageMax: ageMax)
        else { return false }
        return Authenticity.isEqual(
            code,
            Authenticity.code(of: Data(time.utf8) + body, key: secret)
        )
    }

    static func read(_ body: Data) throws -> PurchaselyEvent { try PurchaselyEvent(body: body) }

    static func unreadable(_ error: any Error) -> Response {
        JSON.response(.badRequest, ["error": "not_an_event"])
    }

    /// Exactly 200, new or not; messages leave by themselves (P-04).
    static func answer(isNew: Bool, _ outbox: Outbox) async -> Response {
        outbox.wake()
        return JSON.response(.ok, ["received": true])
    }

    // MARK: Applying

    /// What an event does to the holder's access.
    enum Effect: Sendable {
        case grant
        case revoke
        case nothing
    }

    /// Applies the event in one transaction with its mark and its message; false for a duplicate.
    private func take(_ db: Database, _ event: PurchaselyEvent) throws -> Bool {
        guard try policy.mark(db, event) else { return false }
        let effect = policy.effect(event)
        guard effect != .nothing, store.isValid(event.holder),
            let user = try store.user(db, known: event.holder)
                ?? policy.welcome(store, db, event.holder),
            let userID = user.id
        else { return true }
        try policy.write(
            store,
            db,
            GrantChange(event: event, userID: userID, isActive: effect == .grant)
        )
        guard !event.isSandbox else { return true }
        let text = effect == .revoke ? "Your access has ended." : "Your access is active."
        try Outbox.enqueue(store, db, event.id, recipient: user.appUserID, text: text)
        return true
    }

    /// Remembers the event; false when it had been seen (P-03).
    static func mark(_ db: Database, _ event: PurchaselyEvent) throws -> Bool {
        try db.execute(
            sql: "INSERT INTO events (id, type, receivedAt) VALUES (?, ?, ?) "
                + "ON CONFLICT DO NOTHING",
            arguments: ["purchasely/" + event.id, event.name, WallClock.now()]
        )
        return db.changesCount > 0
    }

    /// ACTIVATE and DEACTIVATE alone; the others tell why, and may come in any order (P-05).
    static func effect(of event: PurchaselyEvent) -> Effect {
        switch event.name {
        case "ACTIVATE": .grant
        case "DEACTIVATE": .revoke
        default: .nothing
        }
    }

    /// Who is unknown may have bought before the app could register (P-06).
    static func welcome(_ store: Store, _ db: Database, _ id: String) throws -> User? {
        try store.insert(db, id, source: User.safetyNet)
    }

    /// What becomes of one holder's grant.
    struct GrantChange: Sendable {
        let event: PurchaselyEvent
        let userID: Int64
        var isActive: Bool
        var isSandbox: Bool

        init(event: PurchaselyEvent, userID: Int64, isActive: Bool) {
            self.event = event
            self.userID = userID
            self.isActive = isActive
            isSandbox = event.isSandbox
        }
    }

    /// An event that is older than the one that wrote what is there says nothing new (P-08).
    static func isStale(_ event: PurchaselyEvent, known: Int64?) -> Bool {
        known.map { event.timestamp < $0 } ?? false
    }

    /// Touches this subscription, this plan and this holder, and nothing else (P-07, P-08).
    static func write(_ store: Store, _ db: Database, _ change: GrantChange) throws {
        let event = change.event
        let known = try Int64.fetchOne(
            db,
            sql: "SELECT asOf FROM grants WHERE subscriptionID = ? AND plan = ? AND userID = ?",
            arguments: [event.subscriptionID, event.plan, change.userID]
        )
        guard !store.policies.purchasely.isStale(event, known) else { return }
        try db.execute(
            sql: """
                INSERT OR REPLACE INTO grants
                    (subscriptionID, plan, userID, isActive, expiresAt, isSandbox, asOf)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                event.subscriptionID, event.plan, change.userID, change.isActive,
                event.expiresAt, change.isSandbox, event.timestamp,
            ]
        )
    }
}
