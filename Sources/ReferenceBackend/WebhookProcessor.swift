internal import Crypto
internal import Foundation
internal import GRDB
internal import NIOConcurrencyHelpers

/// What an event does: exactly once, in one transaction, with its messages in the same transaction.
///
/// In the style `body` the event's own fields become the state; in the style `sync` the event only
/// says whom to look up, and what RevenueCat answers becomes the state.
struct WebhookProcessor: Sendable {
    let store: Store
    /// Nil in the style `body`.
    let reader: SubscriberReader?
    let defects: Set<Defect>
    /// Only defects keep anything here; a correct backend has no state outside its database.
    private let memory = Memory()

    init(store: Store, reader: SubscriberReader?) {
        self.store = store
        self.reader = reader
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
        // Defect: anonymous-ignored
        if defects.contains(.anonymousIgnored), event.appUserID?.hasPrefix("$RCAnon") == true {
            return .applied
        }
        // Defect: dedupe-check-then-write
        if defects.contains(.dedupeCheckThenWrite) {
            return try await checkThenWrite(event, key)
        }
        // Defect: dedupe-in-memory
        if defects.contains(.dedupeInMemory) {
            guard memory.seen.withLockedValue({ $0.insert(key).inserted }) else {
                return .duplicate
            }
            let subscribers = try await subscribers(of: event)
            try await store.pool.write { db in try apply(db, event, subscribers) }
            return .applied
        }
        // Defect: marked-before-work, two-transactions
        if defects.contains(.markedBeforeWork) || defects.contains(.twoTransactions) {
            return try await markThenApply(event, key)
        }
        let subscribers = try await subscribers(of: event)
        return try await store.pool.write { db in
            guard try mark(db, event, key) else { return .duplicate }
            try apply(db, event, subscribers)
            return .applied
        }
    }

    /// What RevenueCat says about everybody the event names; nothing in the style `body`.
    private func subscribers(of event: WebhookEvent) async throws -> [String: Subscriber] {
        guard let reader, event.concernsPurchase || event.type == "TRANSFER" else { return [:] }
        var found: [String: Subscriber] = [:]
        let ids = [event.appUserID].compactMap { $0 } + event.transferredFrom + event.transferredTo
        for id in ids.filter(store.isValid) where found[id] == nil {
            do {
                found[id] = try await reader.subscriber(id)
            } catch {
                // Defect: read-failure-swallowed
                guard defects.contains(.readFailureSwallowed) else { throw error }
            }
        }
        return found
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
        let subscribers = try await subscribers(of: event)
        try await store.pool.write { db in try apply(db, event, subscribers) }
        _ = try await store.pool.write { db in try mark(db, event, key) }
        return .applied
    }

    /// The mark is durable before the work is; a crash or a failure between them loses the event.
    private func markThenApply(_ event: WebhookEvent, _ key: String) async throws -> Outcome {
        guard try await store.pool.write({ db in try mark(db, event, key) }) else {
            return .duplicate
        }
        if defects.contains(.twoTransactions) { try await Task.sleep(for: .milliseconds(400)) }
        let subscribers = try await subscribers(of: event)
        try await store.pool.write { db in try apply(db, event, subscribers) }
        return .applied
    }

    // MARK: Applying

    private func apply(
        _ db: Database,
        _ event: WebhookEvent,
        _ subscribers: [String: Subscriber]
    ) throws {
        if event.type == "TRANSFER" {
            try transfer(db, event)
            for (id, subscriber) in subscribers { try take(db, subscriber, of: id, event) }
            return
        }
        // Defect: test-event-pushes
        if event.type == "TEST", defects.contains(.testEventPushes), let id = event.appUserID {
            try Outbox.enqueue(db, event.id, recipient: id, text: "Hello.", defects: defects)
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
        // Defect: webhook-clears-owner
        if defects.contains(.webhookClearsOwner) {
            try db.execute(
                sql: "UPDATE accounts SET userID = NULL WHERE userID = ?",
                arguments: [userID]
            )
        }
        // Defect: sandbox-counts
        let isSandbox = event.isSandbox && !defects.contains(.sandboxCounts)
        let known = try store.fetch(db, userID, productID, isSandbox)
        // An older event says nothing new about this subscription (S-09).
        // Defect: last-write-wins
        let isStale =
            event.timestamp < known?.asOf ?? .min && !defects.contains(.lastWriteWins)
        // A purchase without entitlements unlocks nothing (S-16).
        // Defect: consumable-grants
        let unlocks =
            event.hasEntitlements || event.type != "NON_RENEWING_PURCHASE"
            || defects.contains(.consumableGrants)
        if let id = event.appUserID, reader != nil {
            if let subscriber = subscribers[id] { try take(db, subscriber, of: id, event) }
            if !isStale { try note(db, event, userID, productID, isSandbox) }
        } else if !isStale, unlocks {
            // Defect: new-product-ignored
            if known == nil, event.type == "RENEWAL", defects.contains(.newProductIgnored) {
                return
            }
            var subscription =
                known
                ?? Subscription(
                    userID: userID,
                    productID: productID,
                    isSandbox: isSandbox,
                    expiresAt: event.expiresAt,
                    asOf: .min
                )
            subscription.apply(event, defects)
            try subscription.save(db, onConflict: .replace)
            try spread(db, event, userID, productID)
        }
        // Defect: consumable-overwrites
        if event.type == "NON_RENEWING_PURCHASE", defects.contains(.consumableOverwrites) {
            try db.execute(
                sql: "UPDATE subscriptions SET expiresAt = 0 WHERE userID = ? AND productID <> ?",
                arguments: [userID, productID]
            )
        }
        // Defect: stale-event-announced
        guard !isStale || defects.contains(.staleEventAnnounced), unlocks else { return }
        try announce(db, event, to: user)
    }

    /// What only the event knows, beside what RevenueCat said about its subscription.
    private func note(
        _ db: Database,
        _ event: WebhookEvent,
        _ userID: Int64,
        _ productID: String,
        _ isSandbox: Bool
    ) throws {
        guard var subscription = try store.fetch(db, userID, productID, isSandbox) else { return }
        subscription.asOf = event.timestamp
        if event.type == "PRODUCT_CHANGE" { subscription.pendingProductID = event.newProductID }
        if event.type == "RENEWAL" { subscription.pendingProductID = nil }
        try subscription.update(db)
    }

    /// What only defects do to a user's other subscriptions.
    private func spread(
        _ db: Database,
        _ event: WebhookEvent,
        _ userID: Int64,
        _ productID: String
    ) throws {
        // Defect: expiration-ends-all, recovery-clears-all
        if event.type == "EXPIRATION", defects.contains(.expirationEndsAll) {
            try db.execute(
                sql: "UPDATE subscriptions SET hasEnded = 1 WHERE userID = ?",
                arguments: [userID]
            )
        }
        if ["RENEWAL", "UNCANCELLATION"].contains(event.type), defects.contains(.recoveryClearsAll)
        {
            try db.execute(
                sql: "UPDATE subscriptions SET billingIssue = 0, willRenew = 1 WHERE userID = ?",
                arguments: [userID]
            )
        }
    }

    private func announce(_ db: Database, _ event: WebhookEvent, to user: User) throws {
        guard let text = Notification.text(for: event, defects) else { return }
        // Defect: sandbox-pushes
        guard !event.isSandbox || defects.contains(.sandboxPushes) else { return }
        // Defect: push-to-alias
        let recipient =
            defects.contains(.pushToAlias)
            ? event.originalAppUserID ?? user.appUserID : user.appUserID
        try Outbox.enqueue(db, event.id, recipient: recipient, text: text, defects: defects)
    }

    /// Makes what RevenueCat says the state of whoever carries that id.
    func take(
        _ db: Database,
        _ subscriber: Subscriber,
        of id: String,
        _ event: WebhookEvent?
    ) throws {
        guard let userID = try store.user(db, known: id)?.id else { return }
        let known = try Subscription.fetchAll(
            db,
            sql: "SELECT * FROM subscriptions WHERE userID = ?",
            arguments: [userID]
        )
        for item in subscriber.items {
            let old = known.first {
                $0.productID == item.productID && $0.isSandbox == item.isSandbox
            }
            var subscription =
                old
                ?? Subscription(
                    userID: userID,
                    productID: item.productID,
                    isSandbox: item.isSandbox,
                    asOf: event?.timestamp ?? Store.now()
                )
            subscription.store = item.store
            subscription.expiresAt = item.expiresAt
            subscription.graceEndsAt = item.graceEndsAt
            subscription.refunded = item.refunded
            subscription.hasEnded = item.refunded
            subscription.willRenew = item.willRenew && !item.refunded
            subscription.billingIssue = item.billingIssue
            try subscription.save(db, onConflict: .replace)
        }
        // Defect: reconcile-adds-only
        guard event == nil, !defects.contains(.reconcileAddsOnly) else { return }
        for old in known
        where !subscriber.items.contains(where: {
            $0.productID == old.productID && $0.isSandbox == old.isSandbox
        }) {
            try old.delete(db)
        }
    }

    /// Moves everything from each losing id to the winner (S-17); the body names nobody else.
    private func transfer(_ db: Database, _ event: WebhookEvent) throws {
        // Defect: transfer-fails, transfer-ignored
        if defects.contains(.transferFails), event.appUserID == nil { throw Store.UnknownUser() }
        if defects.contains(.transferIgnored) { return }
        guard let winner = event.transferredTo.first(where: store.isValid) else { return }
        // Each side is one customer under several ids (RevenueCat fact sheet, section 2.4).
        var known: [User] = []
        for id in event.transferredTo {
            guard let user = try store.user(db, known: id),
                !known.contains(where: { $0.id == user.id })
            else { continue }
            known.append(user)
        }
        let target = try known.first ?? store.insert(db, winner, source: User.safetyNet)
        guard let targetID = target.id else { return }
        for other in known.dropFirst() { try store.merge(db, other, into: targetID) }
        for id in event.transferredTo { try store.link(db, id, to: targetID) }
        for id in event.transferredFrom {
            if let source = try store.user(db, known: id)?.id, source != targetID {
                try store.move(db, from: source, to: targetID)
            }
            // Defect: transfer-first-only
            if defects.contains(.transferFirstOnly) { break }
        }
    }

    // MARK: Reconciliation

    /// Compares every user with RevenueCat and repairs what differs (S-34).
    func reconcile() async throws {
        guard let reader, !defects.contains(.reconcileIgnored) else { return }
        let ids = try await store.pool.read { db in
            try String.fetchAll(db, sql: "SELECT appUserID FROM users")
        }
        for id in ids {
            // One customer that cannot be read must not keep the others from being repaired.
            guard let subscriber = try? await reader.subscriber(id) else { continue }
            try await store.pool.write { db in
                try take(db, subscriber, of: id, nil)
                // Defect: reconcile-announces
                guard defects.contains(.reconcileAnnounces) else { return }
                let text = "Your subscription was checked."
                try Outbox.enqueue(
                    db,
                    UUID().uuidString,
                    recipient: id,
                    text: text,
                    defects: defects
                )
            }
        }
    }
}

/// What people are told, in the guide's spirit: one message for one incident, and the truth.
enum Notification {
    static func text(for event: WebhookEvent, _ defects: Set<Defect>) -> String? {
        switch event.type {
        case "INITIAL_PURCHASE": "Welcome! Your subscription is active."
        case "RENEWAL": "Your subscription has been renewed."
        case "UNCANCELLATION": "Good to have you back: your subscription continues."
        case "BILLING_ISSUE": "There is a problem with your payment."
        case "EXPIRATION": "Your subscription has ended."
        case "CANCELLATION":
            switch event.cancelReason {
            // The BILLING_ISSUE that comes with it has been announced (S-31).
            // Defect: billing-announced-twice, refund-text-same
            case "BILLING_ERROR" where !defects.contains(.billingAnnouncedTwice): nil
            case "CUSTOMER_SUPPORT" where !defects.contains(.refundTextSame):
                "Your purchase has been refunded."
            default: "Your subscription will not renew. You keep access until it ends."
            }
        default: nil
        }
    }
}
