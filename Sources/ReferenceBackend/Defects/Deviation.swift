internal import Foundation
internal import GRDB
internal import HTTPTypes
internal import Hummingbird
internal import NIOConcurrencyHelpers

/// The error with which a defect refuses a valid request.
///
/// It contains the status of the response.
struct Strictness: Error {
    let status: HTTPResponse.Status

    init(_ status: HTTPResponse.Status) { self.status = status }

    var response: Response { JSON.response(status, ["error": "refused"]) }
}

/// Changes of the backend's decisions that several defects share.
extension Policies {
    /// Adds a change to each RevenueCat event between parsing and processing.
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

    /// Refuses those valid RevenueCat events to which a condition applies.
    mutating func refuse(
        _ status: HTTPResponse.Status,
        _ applies: @escaping @Sendable (WebhookEvent, Data) -> Bool
    ) {
        onReading { event, body in if applies(event, body) { throw Strictness(status) } }
    }

    /// Acknowledges those RevenueCat events to which a condition applies, without processing them.
    mutating func drop(_ applies: @escaping @Sendable (WebhookEvent) -> Bool) {
        onReading { event, _ in if applies(event) { event.type = "IGNORED" } }
    }

    /// Adds an effect to the events that should only be acknowledged.
    mutating func meddle(
        _ work: @escaping @Sendable (Store, Database, WebhookEvent) throws -> Void
    ) {
        let correct = delivery.ignore
        delivery.ignore = { store, db, event in
            try correct(store, db, event)
            try work(store, db, event)
        }
    }

    /// Adds database changes to the transaction of each RevenueCat event.
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

    /// Ignores events of one type that should start a paid period.
    mutating func ignoreBeginning(_ type: String) {
        let correct = entitlement.begin
        entitlement.begin = { if $1.type != type { correct(&$0, $1) } }
    }

    /// Changes the purchases that a reconciliation receives from RevenueCat.
    mutating func repairs(_ change: @escaping @Sendable (inout [Subscriber.Item]) -> Void) {
        let correct = reconciliation.repair
        reconciliation.repair = { store, db, subscriber, id in
            var items = subscriber.items
            change(&items)
            try correct(store, db, Subscriber(items: items), id)
        }
    }

    /// Changes the body of the requests to OneSignal.
    mutating func changeBody(_ change: @escaping @Sendable (inout [String: Any]) -> Void) {
        let correct = outbox.body
        outbox.body = { message, service in
            var body = correct(message, service)
            change(&body)
            return body
        }
    }

    /// Adds database changes before a registration is stored.
    mutating func beforeUpsert(
        _ work: @escaping @Sendable (Store, Database, Registration, String) throws -> Void
    ) {
        let correct = registration.upsert
        registration.upsert = { store, db, body, id in
            try work(store, db, body, id)
            return try correct(store, db, body, id)
        }
    }

    /// Drops all events of a user ID after a registration of this ID that satisfies a condition.
    mutating func retire(_ applies: @escaping @Sendable (User?, Registration) -> Bool) {
        let retired = NIOLockedValueBox<Set<String>>([])
        beforeUpsert { store, db, registration, id in
            guard applies(try store.user(db, known: id), registration) else { return }
            retired.withLockedValue { _ = $0.insert(id) }
        }
        drop { event in retired.withLockedValue { $0.contains(event.appUserID ?? "") } }
    }

    /// Adds changes to the update of a user by a registration.
    mutating func changeUpdate(_ change: @escaping @Sendable (inout User, Registration) -> Void) {
        let correct = registration.update
        registration.update = { user, registration in
            correct(&user, registration)
            change(&user, registration)
        }
    }

    /// Accepts the tokens that satisfy a condition, without verifying their signature.
    mutating func believe(_ applies: @escaping @Sendable (TokenVerifier.Token) -> Bool) {
        let correct = tokens.isSigned
        tokens.isSigned = { verifier, token in
            if verifier.keysURL != nil, applies(token) { return true }
            return await correct(verifier, token)
        }
    }

    /// Refuses those valid Purchasely events to which a condition applies.
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

    /// Adds database changes before a Purchasely grant is written.
    ///
    /// The change may also modify the grant.
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

/// Changes of database rows that several defects share.
extension Defect {
    /// Returns a new idempotency key for each push.
    ///
    /// With one key for each event, OneSignal would hide a second push.
    static let ownKey: @Sendable (String) -> String = { _ in UUID().uuidString.lowercased() }

    static func userID(_ db: Database, _ event: WebhookEvent) throws -> Int64? {
        try Int64.fetchOne(
            db,
            sql: "SELECT userID FROM aliases WHERE alias = ?",
            arguments: [event.appUserID]
        )
    }

    /// Changes all subscriptions of the event's user, except for one product.
    ///
    /// `change` is the part of the SQL statement after SET.
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

    /// Changes all subscriptions of the user of an event that concerns no purchase.
    static func update(
        _ change: String,
        _ store: Store,
        _ db: Database,
        _ event: WebhookEvent
    ) throws {
        guard try Identity.resolve(store, db, event) != nil else { return }
        try updateAll(change, db, event)
    }

    /// Processes an event of any type as a purchase of its product.
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

    /// Stores the ID of an event as processed although the request body was truncated.
    static func markStump(_ body: Data, _ store: Store) async {
        let text = String(decoding: body, as: UTF8.self)
        guard let start = text.range(of: "\"id\":\"") else { return }
        let id = String(text[start.upperBound...].prefix { $0 != "\"" })
        // The work runs in a separate task, because the end of the connection cancels the task of
        // the request.
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

    /// Returns the push message for an applied event, for defects that send the message
    /// immediately.
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
    /// Returns whether the event ID is stored as processed.
    ///
    /// Two concurrent requests may both get false.
    func isMarked() async throws -> Bool {
        try await store.pool.read { db in
            try Bool.fetchOne(
                db,
                sql: "SELECT EXISTS(SELECT 1 FROM events WHERE id = ?)",
                arguments: [key]
            ) ?? false
        }
    }

    /// Returns the stored subscriptions of the event's user.
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

    /// Returns whether no user with the ID exists yet.
    func isStranger(_ id: String) async throws -> Bool {
        try await store.pool.read { db in try store.user(db, known: id) == nil }
    }

    /// Stores the event ID as processed before the event is applied.
    ///
    /// A crash or failure between the two transactions loses the event.
    func markThenApply(pause: Duration) async throws -> WebhookProcessor.Outcome {
        guard try await store.pool.write({ db in try mark(db) }) else { return .duplicate }
        try await Task.sleep(for: pause)
        let subscribers = try await read()
        try await store.pool.write { db in try apply(db, subscribers) }
        return .applied
    }
}

extension Accounts {
    /// Returns the user with the ID; nil if the user does not exist or has an account.
    func free(_ id: String) async throws -> User? {
        try await store.pool.read { db in
            guard let user = try store.user(db, known: id), let userID = user.id,
                !(try isOwned(db, userID))
            else { return nil }
            return user
        }
    }
}
