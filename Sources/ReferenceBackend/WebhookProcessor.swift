internal import Crypto
internal import Foundation
internal import GRDB
internal import NIOConcurrencyHelpers

/// What an event does: exactly once, in one transaction, with its messages in the same transaction.
struct WebhookProcessor: Sendable {
    let store: Store
    let defects: Set<Defect>
    /// Only defects keep anything here; a correct backend has no state outside its database.
    private let memory = Memory()

    init(store: Store) {
        self.store = store
        defects = store.defects
    }

    private final class Memory: Sendable {
        let seen = NIOLockedValueBox<Set<String>>([])
    }

    /// What became of a delivery.
    enum Outcome: Sendable {
        case applied
        case duplicate
    }

    func process(_ event: WebhookEvent, body: Data) async throws -> Outcome {
        let key = dedupeKey(event, body)
        // Defect: dedupe-check-then-write
        if defects.contains(.dedupeCheckThenWrite) {
            return try await checkThenWrite(event, key)
        }
        // Defect: dedupe-in-memory
        if defects.contains(.dedupeInMemory) {
            guard memory.seen.withLockedValue({ $0.insert(key).inserted }) else {
                return .duplicate
            }
            try await store.pool.write { db in try apply(db, event) }
            return .applied
        }
        return try await store.pool.write { db in
            guard try mark(db, event, key) else { return .duplicate }
            try apply(db, event)
            return .applied
        }
    }

    /// Remembers the event; false when it had been seen.
    ///
    /// The unique key decides, not a look before.
    private func mark(_ db: Database, _ event: WebhookEvent, _ key: String) throws -> Bool {
        // Defect: no-dedupe
        if defects.contains(.noDedupe) { return true }
        try db.execute(
            sql: "INSERT INTO events (id, type, receivedAt) VALUES (?, ?, ?) "
                + "ON CONFLICT DO NOTHING",
            arguments: [key, event.type, Store.now()]
        )
        return db.changesCount > 0
    }

    /// Takes the event id from a body that is not complete; only a defect does.
    func markStump(_ body: Data) async {
        let text = String(decoding: body, as: UTF8.self)
        guard let start = text.range(of: "\"id\":\"") else { return }
        let id = String(text[start.upperBound...].prefix { $0 != "\"" })
        try? await store.pool.write { db in
            try db.execute(
                sql: "INSERT INTO events (id, type, receivedAt) VALUES (?, '', ?) "
                    + "ON CONFLICT DO NOTHING",
                arguments: [id, Store.now()]
            )
        }
    }

    private func dedupeKey(_ event: WebhookEvent, _ body: Data) -> String {
        // Defect: dedupe-by-content, dedupe-by-transaction
        if defects.contains(.dedupeByContent) {
            return SHA256.hash(data: body).map { String(format: "%02x", $0) }.joined()
        }
        if defects.contains(.dedupeByTransaction), let transaction = event.transactionID {
            return transaction
        }
        return event.id
    }

    private func checkThenWrite(_ event: WebhookEvent, _ key: String) async throws -> Outcome {
        let isSeen = try await store.pool.read { db in
            try Bool.fetchOne(
                db,
                sql: "SELECT EXISTS(SELECT 1 FROM events WHERE id = ?)",
                arguments: [key]
            ) ?? false
        }
        if isSeen { return .duplicate }
        try await store.pool.write { db in try apply(db, event) }
        _ = try await store.pool.write { db in try mark(db, event, key) }
        return .applied
    }

    private func apply(_ db: Database, _ event: WebhookEvent) throws {
        if event.type == "TRANSFER" {
            try transfer(db, event)
            return
        }
        // Defect: test-event-grants, unknown-type-overwrites, informational-extends
        let isGranting = event.type == "TEST" && defects.contains(.testEventGrants)
        let overwrites = defects.contains(.unknownTypeOverwrites) && !event.concernsPurchase
        let extends = event.type == "INVOICE_ISSUANCE" && defects.contains(.informationalExtends)
        guard event.concernsPurchase || isGranting || overwrites || extends,
            let user = try store.resolve(db, event), let userID = user.id
        else { return }
        if overwrites || extends {
            try db.execute(
                sql: "UPDATE subscriptions SET expiresAt = ?, hasEnded = ? WHERE userID = ?",
                arguments: [overwrites ? 0 : nil, overwrites, userID]
            )
            return
        }
        guard let productID = event.productID else { return }
        var subscription =
            try store.fetch(db, userID, productID, event.isSandbox)
            ?? Subscription(
                userID: userID,
                productID: productID,
                isSandbox: event.isSandbox,
                expiresAt: event.expiresAt,
                asOf: .min
            )
        // An older event says nothing new about this subscription (S-09).
        // Defect: last-write-wins
        if event.timestamp < subscription.asOf, !defects.contains(.lastWriteWins) { return }
        // A purchase without entitlements unlocks nothing (S-16).
        guard event.hasEntitlements || event.type != "NON_RENEWING_PURCHASE" else { return }
        subscription.apply(event)
        try subscription.save(db, onConflict: .replace)
        if let text = Notification.text(for: event), !event.isSandbox {
            try Outbox.enqueue(
                db,
                event,
                recipient: user.appUserID,
                text: text,
                defects: defects
            )
        }
    }

    /// Moves everything from each losing id to the winner (S-17); the body names nobody else.
    private func transfer(_ db: Database, _ event: WebhookEvent) throws {
        // Defect: transfer-fails, transfer-ignored
        if defects.contains(.transferFails), event.appUserID == nil { throw Store.UnknownUser() }
        if defects.contains(.transferIgnored) { return }
        guard let winner = event.transferredTo.first(where: Store.isValid) else { return }
        var known: User?
        for id in event.transferredTo where known == nil { known = try store.user(db, known: id) }
        let target = try known ?? store.insert(db, winner, source: User.safetyNet)
        guard let targetID = target.id else { return }
        for id in event.transferredTo { try store.link(db, id, to: targetID) }
        for id in event.transferredFrom {
            if let source = try store.user(db, known: id)?.id, source != targetID {
                try store.move(db, from: source, to: targetID)
            }
            // Defect: transfer-first-only
            if defects.contains(.transferFirstOnly) { break }
        }
    }
}

/// What people are told, in the guide's spirit: one message for one incident, and the truth.
enum Notification {
    static func text(for event: WebhookEvent) -> String? {
        switch event.type {
        case "INITIAL_PURCHASE": "Welcome! Your subscription is active."
        case "RENEWAL": "Your subscription has been renewed."
        case "UNCANCELLATION": "Good to have you back: your subscription continues."
        case "BILLING_ISSUE": "There is a problem with your payment."
        case "EXPIRATION": "Your subscription has ended."
        case "CANCELLATION":
            switch event.cancelReason {
            // The BILLING_ISSUE that comes with it has been announced (S-31).
            case "BILLING_ERROR": nil
            case "CUSTOMER_SUPPORT": "Your purchase has been refunded."
            default: "Your subscription will not renew. You keep access until it ends."
            }
        default: nil
        }
    }
}
