internal import Foundation
internal import GRDB
internal import HTTPTypes
internal import Hummingbird
internal import NIOConcurrencyHelpers

/// A refusal of what should have passed, answered with a status of its own.
struct Strictness: Error {
    let status: HTTPResponse.Status

    init(_ status: HTTPResponse.Status) { self.status = status }

    var response: Response { JSON.response(status, ["error": "refused"]) }
}

/// What several defects do alike.
extension Policies {
    /// Does something to each event between its body and its processing.
    mutating func onReading(
        _ change: @escaping @Sendable (inout WebhookEvent, Data) throws -> Void
    ) {
        let (read, unreadable) = (route.read, route.unreadable)
        route.read = { body in
            var event = try read(body)
            try change(&event, body)
            return event
        }
        route.unreadable = { ($0 as? Strictness)?.response ?? unreadable($0) }
    }

    /// Answers what should have passed with a refusal.
    mutating func refuse(
        _ status: HTTPResponse.Status,
        _ applies: @escaping @Sendable (WebhookEvent, Data) -> Bool
    ) {
        onReading { event, body in if applies(event, body) { throw Strictness(status) } }
    }

    /// Acknowledges events and forgets them.
    mutating func drop(_ applies: @escaping @Sendable (WebhookEvent) -> Bool) {
        onReading { event, _ in if applies(event) { event.type = "IGNORED" } }
    }

    /// Does something about events that should be acknowledged and forgotten.
    mutating func meddle(
        _ work: @escaping @Sendable (Store, Database, WebhookEvent) throws -> Void
    ) {
        let correct = delivery.ignore
        delivery.ignore = { store, db, event in
            try correct(store, db, event)
            try work(store, db, event)
        }
    }

    /// Does something more in the transaction of each event.
    mutating func afterApplying(_ work: @escaping @Sendable (Database, WebhookEvent) throws -> Void)
    {
        let correct = delivery.perform
        delivery.perform = { steps in
            let (apply, event) = (steps.apply, steps.event)
            var steps = steps
            steps.apply = { db, subscribers in
                try apply(db, subscribers)
                try work(db, event)
            }
            return try await correct(steps)
        }
    }

    /// Leaves a subscription as it was when an event of that type should begin a period.
    mutating func ignoreBeginning(_ type: String) {
        let correct = entitlement.begin
        entitlement.begin = { if $1.type != type { correct(&$0, $1) } }
    }

    /// Lets a reconciliation see something else than there is.
    mutating func repairs(_ change: @escaping @Sendable (inout [Subscriber.Item]) -> Void) {
        let correct = reconciliation.repair
        reconciliation.repair = { store, db, subscriber, id in
            var items = subscriber.items
            change(&items)
            try correct(store, db, Subscriber(items: items), id)
        }
    }

    /// Sends another body to OneSignal.
    mutating func changeBody(_ change: @escaping @Sendable (inout [String: Any]) -> Void) {
        let correct = outbox.body
        outbox.body = { message, service in
            var body = correct(message, service)
            change(&body)
            return body
        }
    }

    /// Does something before a registration is stored.
    mutating func beforeUpsert(
        _ work: @escaping @Sendable (Store, Database, Registration, String) throws -> Void
    ) {
        let correct = registration.upsert
        registration.upsert = { store, db, body, id in
            try work(store, db, body, id)
            return try correct(store, db, body, id)
        }
    }

    /// Events for an id go nowhere once such a registration of it came, of somebody known or not.
    mutating func retire(_ applies: @escaping @Sendable (User?, Registration) -> Bool) {
        let retired = NIOLockedValueBox<Set<String>>([])
        beforeUpsert { store, db, registration, id in
            guard applies(try store.user(db, known: id), registration) else { return }
            retired.withLockedValue { _ = $0.insert(id) }
        }
        drop { event in retired.withLockedValue { $0.contains(event.appUserID ?? "") } }
    }

    /// Lets a registration change more of a user than it may.
    mutating func changeUpdate(_ change: @escaping @Sendable (inout User, Registration) -> Void) {
        let correct = registration.update
        registration.update = { user, registration in
            correct(&user, registration)
            change(&user, registration)
        }
    }

    /// Takes tokens for signed that nobody verified.
    mutating func believe(_ applies: @escaping @Sendable (TokenVerifier.Token) -> Bool) {
        let correct = tokens.isSigned
        tokens.isSigned = { verifier, token in
            if verifier.keysURL != nil, applies(token) { return true }
            return await correct(verifier, token)
        }
    }

    /// Answers an event of Purchasely's that should have passed with a refusal.
    mutating func refusePurchasely(
        _ status: HTTPResponse.Status,
        _ applies: @escaping @Sendable (PurchaselyEvent, [String: Any]) -> Bool
    ) {
        let (read, unreadable) = (purchasely.read, purchasely.unreadable)
        purchasely.read = { body in
            let event = try read(body)
            let raw = try JSONSerialization.jsonObject(with: body) as? [String: Any]
            if applies(event, raw ?? [:]) { throw Strictness(status) }
            return event
        }
        purchasely.unreadable = { ($0 as? Strictness)?.response ?? unreadable($0) }
    }

    /// Does something before a grant is written, or to the grant.
    mutating func beforeWriting(
        _ work: @escaping @Sendable (Database, inout PurchaselyWebhook.GrantChange) throws -> Void
    ) {
        let correct = purchasely.write
        purchasely.write = { store, db, change in
            var change = change
            try work(db, &change)
            try correct(store, db, change)
        }
    }
}

/// What several defects do to rows that are not theirs.
extension Defect {
    /// A key for each message, where one for each event would hide the second message.
    static let ownKey: @Sendable (String) -> String = { _ in UUID().uuidString.lowercased() }

    static func userID(_ db: Database, _ event: WebhookEvent) throws -> Int64? {
        try Int64.fetchOne(
            db,
            sql: "SELECT userID FROM aliases WHERE alias = ?",
            arguments: [event.appUserID]
        )
    }

    /// Changes every subscription of an event's user; `change` is what follows SET.
    static func updateAll(
        _ change: String,
        _ db: Database,
        _ event: WebhookEvent,
        except productID: String = ""
    ) throws {
        try db.execute(
            sql: "UPDATE subscriptions SET \(change) WHERE userID = ? AND productID <> ?",
            arguments: [try userID(db, event), productID]
        )
    }

    /// Writes into what an event that concerns no purchase has nothing to do with.
    static func update(
        _ change: String,
        _ store: Store,
        _ db: Database,
        _ event: WebhookEvent
    ) throws {
        guard try Identity.resolve(store, db, event) != nil else { return }
        try updateAll(change, db, event)
    }

    /// Takes the event for a purchase of what it names.
    static func grant(_ store: Store, _ db: Database, _ event: WebhookEvent) throws {
        guard let userID = try Identity.resolve(store, db, event)?.id,
            let productID = event.productID
        else { return }
        try Subscription(
            userID: userID,
            productID: productID,
            isSandbox: event.isSandbox,
            expiresAt: event.expiresAt,
            asOf: event.timestamp
        ).save(db, onConflict: .replace)
    }

    /// Takes the event id from a body that is not complete, and remembers it.
    static func markStump(_ body: Data, _ store: Store) async {
        let text = String(decoding: body, as: UTF8.self)
        guard let start = text.range(of: "\"id\":\"") else { return }
        let id = String(text[start.upperBound...].prefix { $0 != "\"" })
        // The end of the connection cancels the task of its request, and the mark with it.
        await Task {
            try? await store.pool.write { db in
                try db.execute(
                    sql: "INSERT INTO events (id, type, receivedAt) VALUES (?, '', ?) "
                        + "ON CONFLICT DO NOTHING",
                    arguments: [id, WallClock.now()]
                )
            }
        }.value
    }

    /// The message of an event that was applied, for those who cannot wait.
    static func message(
        _ outcome: WebhookProcessor.Outcome,
        _ event: WebhookEvent,
        _ outbox: Outbox
    ) -> Outbox.Message? {
        guard outcome == .applied, let recipient = event.appUserID,
            let text = outbox.store.policies.notification.text(event)
        else { return nil }
        return Outbox.Message(
            id: 0,
            key: Outbox.key(for: event.id),
            recipient: recipient,
            text: text,
            attemptCount: 0
        )
    }
}

extension WebhookProcessor.Steps {
    /// Looks before it writes, which two at once can do.
    func isMarked() async throws -> Bool {
        try await store.pool.read { db in
            try Bool.fetchOne(
                db,
                sql: "SELECT EXISTS(SELECT 1 FROM events WHERE id = ?)",
                arguments: [key]
            ) ?? false
        }
    }

    /// What the person whom the event names has now.
    func subscriptions() async throws -> [Subscription] {
        guard let id = event.appUserID else { return [] }
        return try await store.pool.read { db in
            guard let user = try store.user(db, known: id)?.id else { return [] }
            return try Subscription.fetchAll(
                db,
                sql: "SELECT * FROM subscriptions WHERE userID = ?",
                arguments: [user]
            )
        }
    }

    /// Whether nobody is known by that id yet.
    func isStranger(_ id: String) async throws -> Bool {
        try await store.pool.read { db in try store.user(db, known: id) == nil }
    }

    /// The mark is durable before the work is; a crash or a failure between them loses the event.
    func markThenApply(pause: Duration) async throws -> WebhookProcessor.Outcome {
        guard try await store.pool.write({ db in try mark(db) }) else { return .duplicate }
        try await Task.sleep(for: pause)
        let subscribers = try await read()
        try await store.pool.write { db in try apply(db, subscribers) }
        return .applied
    }
}

extension Accounts {
    /// The user behind an id, when nobody owns it.
    func free(_ id: String) async throws -> User? {
        try await store.pool.read { db in
            guard let user = try store.user(db, known: id), let userID = user.id,
                !(try isOwned(db, userID))
            else { return nil }
            return user
        }
    }
}
