internal import Foundation
internal import GRDB
internal import HTTPTypes
internal import Hummingbird
internal import NIOConcurrencyHelpers

/// The error with which a defect refuses a valid request.
///
/// It contains the status of the response.
struct DefectRefusal: Error {
    let status: HTTPResponse.Status

    init(_ status: HTTPResponse.Status) { self.status = status }

    var response: Response { JSON.response(status, ["error": "refused"]) }
}

/// Changes of the backend's decisions that several defects share.
extension Policies {
    /// Adds a change to each RevenueCat event between parsing and processing.
    mutating func changeParsedEvents(
        _ change: @escaping @Sendable (inout WebhookEvent, Data) throws -> Void
    ) {
        let (read, unreadableBodyResponse) = (route.read, route.unreadableBodyResponse)
        route.read = { body in
            var event = try read(body)
            try change(&event, body)
            return event
        }
        route.unreadableBodyResponse = {
            ($0 as? DefectRefusal)?.response ?? unreadableBodyResponse($0)
        }
    }

    /// Refuses those valid RevenueCat events to which a condition applies.
    mutating func refuseEvents(
        _ status: HTTPResponse.Status,
        _ condition: @escaping @Sendable (WebhookEvent, Data) -> Bool
    ) {
        changeParsedEvents { event, body in
            if condition(event, body) { throw DefectRefusal(status) }
        }
    }

    /// Acknowledges those RevenueCat events to which a condition applies, without processing them.
    mutating func ignoreEvents(_ condition: @escaping @Sendable (WebhookEvent) -> Bool) {
        changeParsedEvents { event, _ in if condition(event) { event.type = "IGNORED" } }
    }

    /// Adds an effect to the events that should only be acknowledged.
    mutating func addEffectToIgnoredEvents(
        _ work: @escaping @Sendable (Store, Database, WebhookEvent) throws -> Void
    ) {
        let correctRule = delivery.handleIgnoredEvent
        delivery.handleIgnoredEvent = { store, db, event in
            try correctRule(store, db, event)
            try work(store, db, event)
        }
    }

    /// Adds database changes to the transaction of each RevenueCat event.
    mutating func afterApplyingEvent(
        _ work: @escaping @Sendable (Database, WebhookEvent) throws -> Void
    ) {
        let correctRule = delivery.performSteps
        delivery.performSteps = { steps in
            let (apply, event) = (steps.apply, steps.event)
            var steps = steps
            steps.apply = { db, subscribers in
                try apply(db, subscribers)
                try work(db, event)
            }
            return try await correctRule(steps)
        }
    }

    /// Ignores events of one type that should start a paid period.
    mutating func ignorePeriodStart(_ type: String) {
        let correctRule = entitlement.begin
        entitlement.begin = { if $1.type != type { correctRule(&$0, $1) } }
    }

    /// Changes the purchases that a reconciliation receives from RevenueCat.
    mutating func changeReconciledPurchases(
        _ change: @escaping @Sendable (inout [Subscriber.SubscriberPurchase]) -> Void
    ) {
        let correctRule = reconciliation.repairPurchases
        reconciliation.repairPurchases = { store, db, subscriber, id in
            var currentPurchases = subscriber.currentPurchases
            change(&currentPurchases)
            try correctRule(store, db, Subscriber(currentPurchases: currentPurchases), id)
        }
    }

    /// Changes the body of the requests to OneSignal.
    mutating func changePushBody(_ change: @escaping @Sendable (inout [String: Any]) -> Void) {
        let correctRule = outbox.body
        outbox.body = { message, pushService in
            var body = correctRule(message, pushService)
            change(&body)
            return body
        }
    }

    /// Adds database changes before a registration is stored.
    mutating func beforeStoringRegistration(
        _ work: @escaping @Sendable (Store, Database, Registration, String) throws -> Void
    ) {
        let correctRule = registration.upsert
        registration.upsert = { store, db, body, id in
            try work(store, db, body, id)
            return try correctRule(store, db, body, id)
        }
    }

    /// Ignores all later events of a user ID once a registration of this ID satisfies a condition.
    mutating func ignoreEventsAfterRegistration(
        _ condition: @escaping @Sendable (User?, Registration) -> Bool
    ) {
        let retiredUserIDs = NIOLockedValueBox<Set<String>>([])
        beforeStoringRegistration { store, db, registration, id in
            guard condition(try store.user(db, known: id), registration) else { return }
            retiredUserIDs.withLockedValue { _ = $0.insert(id) }
        }
        ignoreEvents { event in
            retiredUserIDs.withLockedValue { $0.contains(event.appUserID ?? "") }
        }
    }

    /// Adds changes to the update of a user by a registration.
    mutating func changeRegistrationUpdate(
        _ change: @escaping @Sendable (inout User, Registration) -> Void
    ) {
        let correctRule = registration.update
        registration.update = { user, registration in
            correctRule(&user, registration)
            change(&user, registration)
        }
    }

    /// Accepts the tokens that satisfy a condition, without verifying their signature.
    mutating func acceptUnverifiedTokens(
        _ condition: @escaping @Sendable (TokenVerifier.Token) -> Bool
    ) {
        let correctRule = tokens.isSigned
        tokens.isSigned = { verifier, token in
            if verifier.keysURL != nil, condition(token) { return true }
            return await correctRule(verifier, token)
        }
    }

    /// Refuses those valid Purchasely events to which a condition applies.
    mutating func refusePurchaselyEvents(
        _ status: HTTPResponse.Status,
        _ condition: @escaping @Sendable (ReceivedPurchaselyEvent, [String: Any]) -> Bool
    ) {
        let (read, unreadableBodyResponse) = (purchasely.read, purchasely.unreadableBodyResponse)
        purchasely.read = { body in
            let event = try read(body)
            let raw = try JSONSerialization.jsonObject(with: body) as? [String: Any]
            if condition(event, raw ?? [:]) { throw DefectRefusal(status) }
            return event
        }
        purchasely.unreadableBodyResponse = {
            ($0 as? DefectRefusal)?.response ?? unreadableBodyResponse($0)
        }
    }

    /// Adds database changes before a Purchasely grant is written.
    ///
    /// The change may also modify the grant.
    mutating func beforeWritingGrant(
        _ work:
            @escaping @Sendable (Database, inout PurchaselyWebhookRoute.GrantChange) throws -> Void
    ) {
        let correctRule = purchasely.write
        purchasely.write = { store, db, change in
            var change = change
            try work(db, &change)
            try correctRule(store, db, change)
        }
    }
}

/// Changes of database rows that several defects share.
extension Defect {
    /// Returns a new idempotency key for each push.
    ///
    /// With one key for each event, OneSignal would hide a second push.
    static let newKeyForEachPush: @Sendable (String) -> String = { _ in
        UUID().uuidString.lowercased()
    }

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
    static func updateSubscriptions(
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

    /// Changes all subscriptions of an event's user, for an event that concerns no purchase.
    ///
    /// `change` is the part of the SQL statement after SET.
    static func update(
        _ change: String,
        _ store: Store,
        _ db: Database,
        _ event: WebhookEvent
    ) throws {
        guard try Identity.resolveUser(store, db, event) != nil else { return }
        try updateSubscriptions(change, db, event)
    }

    /// Processes an event of any type as a purchase of its product.
    static func applyAsPurchase(_ store: Store, _ db: Database, _ event: WebhookEvent) throws {
        guard let userID = try Identity.resolveUser(store, db, event)?.id,
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
    static func markTruncatedEventProcessed(_ body: Data, _ store: Store) async {
        let text = String(decoding: body, as: UTF8.self)
        guard let start = text.range(of: "\"id\":\"") else { return }
        let id = String(text[start.upperBound...].prefix { $0 != "\"" })
        // The work runs in a separate task, because the end of the connection cancels the task of
        // the request.
        await Task {
            // If the write fails, the defect does not show.
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

extension WebhookProcessor.ProcessingSteps {
    /// Returns whether the event ID is stored as processed.
    ///
    /// Two concurrent requests may both get false.
    func isMarkedProcessed() async throws -> Bool {
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
    func isUnknownUser(_ id: String) async throws -> Bool {
        try await store.pool.read { db in try store.user(db, known: id) == nil }
    }

    /// Stores the event ID as processed before the event is applied.
    ///
    /// A crash or failure between the two transactions loses the event.
    func markProcessedThenApply(pause: Duration) async throws -> WebhookProcessor.Outcome {
        guard try await store.pool.write({ db in try markProcessed(db) }) else { return .duplicate }
        try await Task.sleep(for: pause)
        let subscribers = try await read()
        try await store.pool.write { db in try apply(db, subscribers) }
        return .applied
    }
}

extension Accounts {
    /// Returns the user with the ID; nil if the user does not exist or has an account.
    func userWithoutAccount(_ id: String) async throws -> User? {
        try await store.pool.read { db in
            guard let user = try store.user(db, known: id), let userID = user.id,
                !(try Self.hasAccount(db, userID))
            else { return nil }
            return user
        }
    }
}
