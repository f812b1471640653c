internal import Crypto
internal import Foundation
internal import GRDB
internal import HTTPTypes
internal import Hummingbird
internal import NIOConcurrencyHelpers

/// Built-in defects of the reference backend in processing a webhook delivery: exactly once,
/// completely or not at all, and with one response.
extension Defect {
    static let delivery: [Defect] = [
        Defect(
            "no-dedupe",
            "event IDs are not stored, so duplicates are processed again",
            breaks: "S-03",
            "S-07",
            "A-01"
        ) {
            $0.delivery.performSteps = { steps in
                let subscribers = try await steps.read()
                try await steps.store.pool.write { db in try steps.apply(db, subscribers) }
                return .applied
            }
            $0.outbox.key = Defect.newKeyForEachPush
        },
        Defect(
            "dedupe-check-then-write",
            "the check for duplicates runs before the event's transaction",
            breaks: "S-03"
        ) {
            $0.delivery.performSteps = { steps in
                if try await steps.isMarkedProcessed() { return .duplicate }
                let subscribers = try await steps.read()
                try await steps.store.pool.write { db in try steps.apply(db, subscribers) }
                _ = try await steps.store.pool.write { db in try steps.markProcessed(db) }
                return .applied
            }
            $0.outbox.key = Defect.newKeyForEachPush
        },
        Defect(
            "update-lost",
            "an event overwrites the changes by a concurrent event",
            breaks: "S-09",
            "S-12"
        ) {
            let rendezvous = Rendezvous()
            $0.delivery.performSteps = { steps in
                let knownSubscriptions = try await steps.subscriptions()
                if let id = steps.event.appUserID, !knownSubscriptions.isEmpty {
                    await rendezvous.waitForSecondRequest(id)
                }
                let subscribers = try await steps.read()
                return try await steps.store.pool.write { db in
                    guard try steps.markProcessed(db) else { return .duplicate }
                    for subscription in knownSubscriptions {
                        try subscription.save(db, onConflict: .replace)
                    }
                    try steps.apply(db, subscribers)
                    return .applied
                }
            }
        },
        Defect(
            "gives-up-beside-another",
            "an event is dropped while another event creates its user",
            breaks: "S-21"
        ) {
            let rendezvous = Rendezvous()
            let correctRule = $0.delivery.performSteps
            $0.delivery.performSteps = { steps in
                let event = steps.event
                guard let id = event.appUserID, try await steps.isUnknownUser(id),
                    await rendezvous.waitForSecondRequest(id), event.type != "INITIAL_PURCHASE"
                else { return try await correctRule(steps) }
                _ = try await steps.store.pool.write { db in try steps.markProcessed(db) }
                return .applied
            }
        },
        Defect(
            "dedupe-in-memory",
            "processed event IDs are forgotten on a restart",
            breaks: "S-03",
            "S-04"
        ) {
            let processedKeys = NIOLockedValueBox<Set<String>>([])
            $0.delivery.performSteps = { steps in
                guard processedKeys.withLockedValue({ $0.insert(steps.key).inserted }) else {
                    return .duplicate
                }
                let subscribers = try await steps.read()
                try await steps.store.pool.write { db in try steps.apply(db, subscribers) }
                return .applied
            }
            $0.outbox.key = Defect.newKeyForEachPush
        },
        Defect("dedupe-for-a-day", "processed event IDs are forgotten after a day", breaks: "S-03")
        {
            $0.delivery.performSteps = { steps in
                let subscribers = try await steps.read()
                return try await steps.store.pool.write { db in
                    try db.execute(
                        sql: "DELETE FROM events WHERE receivedAt < ?",
                        arguments: [WallClock.now() - 86_400_000]
                    )
                    guard try steps.markProcessed(db) else { return .duplicate }
                    try steps.apply(db, subscribers)
                    return .applied
                }
            }
            $0.outbox.key = Defect.newKeyForEachPush
        },
        Defect(
            "dedupe-by-content",
            "duplicates are recognized by the body instead of the event ID",
            breaks: "S-03"
        ) {
            $0.delivery.key = { _, body in
                SHA256.hash(data: body).map { String(format: "%02x", $0) }.joined()
            }
            $0.outbox.key = Defect.newKeyForEachPush
        },
        Defect(
            "dedupe-by-type-and-transaction",
            "duplicates are recognized by event type and transaction ID",
            breaks: "S-03"
        ) {
            let correctRule = $0.delivery.key
            $0.delivery.key = { event, body in
                RawEvent(body).text("transaction_id").map { "\(event.type) \($0)" }
                    ?? correctRule(event, body)
            }
        },
        Defect(
            "dedupe-by-transaction",
            "duplicates are recognized by the transaction ID",
            breaks: "S-03"
        ) {
            let correctRule = $0.delivery.key
            $0.delivery.key = { event, body in
                RawEvent(body).text("transaction_id") ?? correctRule(event, body)
            }
        },
        Defect(
            "dedupe-by-user-and-type",
            "duplicates are recognized by the user and the event type",
            breaks: "S-03"
        ) {
            $0.delivery.key = { event, _ in "\(event.appUserID ?? event.id) \(event.type)" }
        },
        Defect(
            "unusual-event-blocks-user",
            "after an event with a field of a wrong type, later events of its user are lost",
            breaks: "S-07"
        ) {
            let blockedUserIDs = NIOLockedValueBox<Set<String>>([])
            $0.changeParsedEvents { event, body in
                guard let userID = event.appUserID else { return }
                if blockedUserIDs.withLockedValue({ $0.contains(userID) }) {
                    event.type = "IGNORED"
                } else if ["product_id", "expiration_at_ms", "aliases", "store"].contains(
                    where: RawEvent(body).isObject
                ) {
                    blockedUserIDs.withLockedValue { _ = $0.insert(userID) }
                }
            }
        },
        Defect(
            "broken-body-marked",
            "an event is stored as processed although its request was truncated",
            breaks: "S-07",
            "S-04",
            "A-01"
        ) {
            let correctRule = $0.route.truncatedRequestResponse
            $0.route.truncatedRequestResponse = { receivedPart, store in
                await Defect.markTruncatedEventProcessed(receivedPart, store)
                return await correctRule(receivedPart, store)
            }
        },
        Defect("duplicate-rejected", "a duplicate of an event gets status 409", breaks: "S-03") {
            let correctRule = $0.route.successResponse
            $0.route.successResponse = { outcome, event, outbox in
                guard outcome == .duplicate else {
                    return await correctRule(outcome, event, outbox)
                }
                return JSON.response(.conflict, ["error": "duplicate"])
            }
        },
        Defect(
            "duplicate-drops-connection",
            "a duplicate of an event gets no response",
            breaks: "S-33"
        ) {
            let correctRule = $0.route.successResponse
            $0.route.successResponse = { outcome, event, outbox in
                guard outcome == .duplicate else {
                    return await correctRule(outcome, event, outbox)
                }
                return Response(status: .ok, body: ResponseBody { _ in throw CancellationError() })
            }
        },
        Defect("last-write-wins", "an older event overwrites newer state", breaks: "S-09", "S-15") {
            $0.delivery.isStale = { _, _ in false }
        },
        Defect(
            "late-event-dropped",
            "an event that is older than the known state is dropped completely",
            breaks: "S-09"
        ) {
            $0.delivery.applyLateEvent = { _, _, _ in }
        },
        Defect(
            "late-event-and-the-sandbox",
            "a late production event is ordered together with sandbox events",
            breaks: "S-19"
        ) {
            let correctRule = $0.delivery.applyLateEvent
            let entitlement = $0.entitlement
            $0.delivery.applyLateEvent = { history, db, purchaseKey in
                try correctRule(history, db, purchaseKey)
                let otherPurchaseKey = EventHistory.PurchaseKey(
                    userID: purchaseKey.userID,
                    productID: purchaseKey.productID,
                    isSandbox: !purchaseKey.isSandbox
                )
                let isSandbox = purchaseKey.isSandbox
                guard
                    var otherSubscription = try history.store.fetchSubscription(
                        db,
                        purchaseKey.userID,
                        purchaseKey.productID,
                        isSandbox
                    )
                else { return }
                for event in try history.events(db, otherPurchaseKey) {
                    entitlement.apply(event, to: &otherSubscription)
                }
                try otherSubscription.save(db, onConflict: .replace)
            }
        },
        Defect(
            "marked-before-work",
            "an event is stored as processed before its changes are made",
            breaks: "S-07",
            style: .sync
        ) {
            $0.delivery.performSteps = { steps in
                try await steps.markProcessedThenApply(pause: .zero)
            }
        },
        Defect(
            "two-transactions",
            "the processed event ID and the new state are stored in two transactions",
            breaks: "S-04"
        ) {
            // The pause between the two transactions leaves time for a test to kill the backend.
            $0.delivery.performSteps = { steps in
                try await steps.markProcessedThenApply(pause: .milliseconds(400))
            }
        },
        Defect(
            "answer-before-store",
            "the response 200 is sent before the event is stored",
            breaks: "S-04"
        ) {
            // The delay leaves time for a test to kill the backend before the event is stored.
            $0.route.storeThenRespond = { store, successResponse in
                Task {
                    try await Task.sleep(for: .milliseconds(300))
                    _ = await successResponse(try await store())
                }
                return JSON.response(.ok, ["received": true])
            }
        },
        Defect(
            "stored-from-memory",
            "an event that cannot be stored gets status 200 and waits in memory",
            breaks: "S-07",
            "S-04"
        ) {
            // The list contains events that the database could not store. They are stored when the
            // next event arrives; a crash before that loses them.
            let waitingMessages = NIOLockedValueBox<[UnstoredEvent]>([])
            $0.route.storeThenRespond = { store, successResponse in
                let earlierEvents = waitingMessages.withLockedValue { all in
                    defer { all = [] }
                    return all
                }
                // The defect is that it loses events that the database cannot store.
                for event in earlierEvents { try? await event.store() }
                if let outcome = try? await store() { return await successResponse(outcome) }
                let event = UnstoredEvent { _ = await successResponse(try await store()) }
                waitingMessages.withLockedValue { $0.append(event) }
                return JSON.response(.ok, ["received": true])
            }
        },
        Defect(
            "store-error-acknowledged",
            "an event that could not be stored gets status 200",
            breaks: "S-07",
            "S-04",
            "S-21"
        ) {
            $0.route.serverErrorResponse = { _ in JSON.response(.ok, [:]) }
        },
        Defect(
            "mark-outlives-failure",
            "an event is stored as processed although its changes failed",
            breaks: "S-04",
            "S-07",
            "S-21"
        ) {
            $0.delivery.performSteps = { steps in
                try await steps.markProcessedThenApply(pause: .zero)
            }
        },
        Defect(
            "failure-acknowledged",
            "an event whose processing failed gets status 200",
            breaks: "S-07",
            style: .sync
        ) {
            $0.route.serverErrorResponse = { _ in JSON.response(.ok, [:]) }
        },
        Defect(
            "read-failure-swallowed",
            "an event whose customer cannot be read from RevenueCat is skipped",
            breaks: "S-07",
            style: .sync
        ) {
            $0.delivery.handleUnreadableCustomer = { _ in }
        },
        Defect(
            "ignored-answers-204",
            "an event that changes nothing gets status 204",
            breaks: "S-07"
        ) {
            let correctRule = $0.route.successResponse
            $0.route.successResponse = { outcome, event, outbox in
                let successResponse = await correctRule(outcome, event, outbox)
                return event.concernsPurchase ? successResponse : Response(status: .noContent)
            }
        },
        Defect(
            "push-before-answer",
            "the response to an event waits for the push",
            breaks: "S-06",
            "S-04"
        ) {
            let correctRule = $0.route.successResponse
            $0.route.successResponse = { outcome, event, outbox in
                guard let message = Defect.message(outcome, event, outbox) else {
                    return JSON.response(.ok, ["received": true])
                }
                _ = await outbox.store.policies.outbox.sendOnce(outbox, message, .seconds(90))
                return JSON.response(.ok, ["received": true])
            }
        },
        Defect(
            "push-failure-fails-webhook",
            "a failed push causes an error response after the event was stored",
            breaks: "S-06",
            "S-04"
        ) {
            $0.route.successResponse = { outcome, event, outbox in
                let receivedResponse = JSON.response(.ok, ["received": true])
                guard let message = Defect.message(outcome, event, outbox) else {
                    return receivedResponse
                }
                let result = await outbox.store.policies.outbox.sendOnce(
                    outbox,
                    message,
                    .seconds(2)
                )
                if case .accepted = result { return receivedResponse }
                return JSON.response(.internalServerError, ["error": "push_failed"])
            }
        },
        Defect("secret-shown", "a response contains the backend's OneSignal key", breaks: "O-02") {
            let correctRule = $0.route.successResponse
            $0.route.successResponse = { outcome, event, outbox in
                _ = await correctRule(outcome, event, outbox)
                return JSON.response(
                    .ok,
                    ["received": true, "notifier": outbox.pushService.apiKey]
                )
            }
        },
        Defect(
            "outbox-full-waits",
            "an event waits while the queue of pushes is full",
            breaks: "S-06"
        ) {
            let correctRule = $0.delivery.performSteps
            $0.delivery.performSteps = { steps in
                func waitingCount() async throws -> Int {
                    try await steps.store.pool.read { db in
                        try Outbox.waitingMessages(db).count
                    }
                }
                while try await waitingCount() >= 8 {
                    try await Task.sleep(for: .milliseconds(50))
                }
                return try await correctRule(steps)
            }
        },
    ]
}

/// An event that waits in memory until the database works again.
private struct UnstoredEvent: Sendable {
    let store: @Sendable () async throws -> Void
}
