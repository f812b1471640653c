internal import Foundation
internal import GRDB
internal import HTTPTypes
internal import Hummingbird

/// The route `POST /api/webhooks/purchasely`, which receives Purchasely's events.
///
/// ACTIVATE grants access, DEACTIVATE revokes access, and all other events are only acknowledged.
///
/// Source: Purchasely fact sheet, sections 2, 3 and 9.
struct PurchaselyWebhookRoute: Sendable {
    let store: Store
    let outbox: Outbox
    let secret: String?

    struct Policy: Sendable {
        var isSigned = PurchaselyWebhookRoute.isSigned
        var acceptsUnsetSecret = false
        /// The maximum difference between the signed time and the clock, in seconds.
        var ageMaxInSeconds: Int64 = 900
        var read = PurchaselyWebhookRoute.read
        var unreadableBodyResponse = PurchaselyWebhookRoute.unreadableBodyResponse
        var successResponse = PurchaselyWebhookRoute.successResponse
        var serverErrorResponse = PurchaselyWebhookRoute.serverErrorResponse
        var markProcessed = PurchaselyWebhookRoute.markProcessed
        var accessEffect = PurchaselyWebhookRoute.accessEffect
        var createUserIfUnknown = PurchaselyWebhookRoute.createUserIfUnknown
        var isStale = PurchaselyWebhookRoute.isStale
        var write = PurchaselyWebhookRoute.write
    }

    private var policy: Policy { store.policies.purchasely }

    func respond(to request: Request) async -> Response {
        do {
            let body = Data(
                try await request.body.collect(upTo: JSON.bodyBytesMax).readableBytesView
            )
            let signature = Signature { name in
                HTTPField.Name(name).flatMap { request.headers[$0] }
            }
            guard isAuthentic(signature, body) else {
                return JSON.response(.unauthorized, ["error": "unauthorized"])
            }
            let event: ReceivedPurchaselyEvent
            do { event = try policy.read(body) } catch {
                return policy.unreadableBodyResponse(error)
            }
            let isNewEvent = try await store.pool.write { db in try applyIfNew(db, event) }
            return await policy.successResponse(isNewEvent, outbox)
        } catch {
            return policy.serverErrorResponse(error)
        }
    }

    /// Returns whether Purchasely sent the request.
    ///
    /// Without a configured secret, no sender is authentic.
    private func isAuthentic(_ signature: Signature, _ body: Data) -> Bool {
        guard let secret, !secret.isEmpty else { return policy.acceptsUnsetSecret }
        return policy.isSigned(signature, body, secret, policy.ageMaxInSeconds)
    }

    /// Returns a server error, because nothing was stored and Purchasely must retry the event
    /// (P-03).
    static func serverErrorResponse(_ error: any Error) -> Response {
        JSON.response(.internalServerError, ["error": "try_again"])
    }

    /// The header fields of a request that authenticate its body.
    struct Signature: Sendable {
        let time: String?
        let hmac: String?
        /// The deprecated signature.
        ///
        /// It covers the time but not the body, so it does not authenticate the body.
        let deprecatedHMAC: String?

        init(_ field: (String) -> String?) {
            time = field("X-PURCHASELY-TIMESTAMP")
            hmac = field("X-PURCHASELY-REQUEST-SIGNATURE")
            deprecatedHMAC = field("X-PURCHASELY-SIGNATURE")
        }
    }

    /// Returns whether the HMAC-SHA256 over the timestamp and the raw body is valid and the
    /// timestamp is recent.
    ///
    /// The time of the event itself does not matter (P-01, P-02).
    static func isSigned(
        _ signature: Signature,
        body: Data,
        secret: String,
        ageMaxInSeconds: Int64
    ) -> Bool {
        guard let time = signature.time, let hmac = signature.hmac, let seconds = Int64(time),
            Authenticity.isRecent(seconds, ageMaxInSeconds: ageMaxInSeconds)
        else { return false }
        return Authenticity.isEqual(
            hmac,
            Authenticity.hmac(of: Data(time.utf8) + body, key: secret)
        )
    }

    static func read(_ body: Data) throws -> ReceivedPurchaselyEvent {
        try ReceivedPurchaselyEvent(body: body)
    }

    static func unreadableBodyResponse(_ error: any Error) -> Response {
        JSON.response(.badRequest, ["error": "not_an_event"])
    }

    /// Returns the status 200 for new events and duplicates alike.
    ///
    /// Push messages are sent separately (P-04).
    static func successResponse(isNewEvent: Bool, _ outbox: Outbox) async -> Response {
        outbox.wake()
        return JSON.response(.ok, ["received": true])
    }

    // MARK: Applying

    /// The effect of a Purchasely event on the access of its user.
    enum AccessEffect: Sendable {
        case grant
        case revoke
        case nothing
    }

    /// Processes an event that was not processed before: stores its ID, its effect on access and
    /// its push message in one transaction.
    ///
    /// Returns false for a duplicate.
    private func applyIfNew(_ db: Database, _ event: ReceivedPurchaselyEvent) throws -> Bool {
        guard try policy.markProcessed(db, event) else { return false }
        let accessEffect = policy.accessEffect(event)
        guard accessEffect != .nothing, store.isValidUserID(event.subscriberID),
            let user = try store.user(db, known: event.subscriberID)
                ?? policy.createUserIfUnknown(store, db, event.subscriberID),
            let userID = user.id
        else { return true }
        try policy.write(
            store,
            db,
            GrantChange(event: event, userID: userID, isActive: accessEffect == .grant)
        )
        guard !event.isSandbox, store.policies.notification.mayNotify(user) else { return true }
        let text = accessEffect == .revoke ? "Your access has ended." : "Your access is active."
        try Outbox.enqueue(store, db, event.id, recipient: user.appUserID, text: text)
        return true
    }

    /// Stores the event ID as processed.
    ///
    /// Returns false for an event that was already processed (P-03).
    static func markProcessed(_ db: Database, _ event: ReceivedPurchaselyEvent) throws -> Bool {
        try db.execute(
            sql: "INSERT INTO events (id, type, receivedAt) VALUES (?, ?, ?) "
                + "ON CONFLICT DO NOTHING",
            arguments: ["purchasely/" + event.id, event.name, WallClock.now()]
        )
        return db.changesCount > 0
    }

    /// Returns the effect of an event on access.
    ///
    /// Only ACTIVATE and DEACTIVATE have an effect. All other events only give the reason for a
    /// change, and may arrive in any order (P-05).
    static func accessEffect(of event: ReceivedPurchaselyEvent) -> AccessEffect {
        switch event.name {
        case "ACTIVATE": .grant
        case "DEACTIVATE": .revoke
        default: .nothing
        }
    }

    /// Creates an unknown user, who may have bought something before the app could register (P-06).
    static func createUserIfUnknown(_ store: Store, _ db: Database, _ id: String) throws -> User? {
        try store.insert(db, id, source: User.webhookSource)
    }

    /// A change of the access that one user has through one plan of a subscription.
    struct GrantChange: Sendable {
        let event: ReceivedPurchaselyEvent
        let userID: Int64
        var isActive: Bool
        var isSandbox: Bool

        init(event: ReceivedPurchaselyEvent, userID: Int64, isActive: Bool) {
            self.event = event
            self.userID = userID
            self.isActive = isActive
            isSandbox = event.isSandbox
        }
    }

    /// Returns whether an event is older than the event that wrote the grant, and therefore reports
    /// nothing new (P-08).
    static func isStale(_ event: ReceivedPurchaselyEvent, known: Int64?) -> Bool {
        known.map { event.timestamp < $0 } ?? false
    }

    /// Writes the grant for the subscription, plan and user of the change, and changes no other
    /// grant (P-07, P-08).
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
