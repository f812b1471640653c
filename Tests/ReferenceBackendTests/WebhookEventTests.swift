import Foundation
import Testing

@testable import ReferenceBackend

@Suite("Reading an event in the backend")
struct WebhookEventTests {
    @Test(
        "a malformed event is refused",
        arguments: [
            "", "null", "[]", "5", "{", "{\"event\": 5}", "{\"event\": {}}",
            "{\"event\": {\"id\": \"\", \"type\": \"RENEWAL\"}}",
            "{\"event\": {\"id\": \"e\", \"type\": \"\"}}", "{\"event\": {\"id\": \"e\"}}",
            "{\"event\": {\"type\": \"RENEWAL\"}}", "{\"event\": {\"id\": 5, \"type\": \"X\"}}",
            "{\"event\": {\"id\": \"e\", \"type\": null}}", "{\"event\": [{\"id\": \"e\"}]}",
            "{\"id\": \"e\", \"type\": \"RENEWAL\"}",
        ]
    )
    func refuses(text: String) {
        #expect(throws: WebhookEvent.MalformedEventError.self) {
            try WebhookEvent(body: Data(text.utf8))
        }
    }

    @Test func `an id and a type are enough, and everything else is nothing`() throws {
        let event = try WebhookEvent(body: Data(#"{"event": {"id": "e", "type": "X"}}"#.utf8))
        #expect(event.timestamp == 0)
        #expect(event.appUserID == nil)
        #expect(event.aliases == [])
        #expect(event.expiresAt == nil)
        #expect(!event.isSandbox)
        #expect(event.entitlements.isEmpty)
        #expect(event.transferredFrom == [])
    }

    @Test(
        "a value of another kind is nothing, and does not stop the rest",
        arguments: [
            ("app_user_id", 5), ("aliases", "ada"), ("expiration_at_ms", "soon"),
            ("event_timestamp_ms", ["x"]), ("entitlement_ids", "premium"),
            ("cancel_reason", ["a": 1]), ("store", false), ("environment", 1),
        ] as [(String, any Sendable)]
    )
    func toleratesKinds(name: String, value: any Sendable) throws {
        let event = try StoreFixture.event([name: value, "type": "RENEWAL"])
        #expect(event.type == "RENEWAL")
        #expect(event.productID == "premium_monthly")
        switch name {
        case "app_user_id": #expect(event.appUserID == nil)
        case "aliases": #expect(event.aliases == [])
        case "expiration_at_ms": #expect(event.expiresAt == nil)
        case "event_timestamp_ms": #expect(event.timestamp == 0)
        case "entitlement_ids": #expect(event.entitlements.isEmpty)
        case "cancel_reason": #expect(event.cancelReason == nil)
        case "store": #expect(event.store == nil)
        default: #expect(!event.isSandbox)
        }
    }

    @Test func `unknown fields and null pass through`() throws {
        let event = try StoreFixture.event([
            "future": ["deep": [1, 2]], "expiration_at_ms": NSNull(), "aliases": NSNull(),
            "new_product_id": "premium_annual",
        ])
        #expect(event.expiresAt == nil)
        #expect(event.aliases == [])
        #expect(event.newProductID == "premium_annual")
    }

    @Test(
        "only the environment SANDBOX is the sandbox",
        arguments: [("SANDBOX", true), ("PRODUCTION", false), ("sandbox", false), ("", false)]
    )
    func environment(text: String, isSandbox: Bool) throws {
        #expect(try StoreFixture.event(["environment": text]).isSandbox == isSandbox)
    }

    private static let purchases = [
        "INITIAL_PURCHASE", "RENEWAL", "CANCELLATION", "UNCANCELLATION", "EXPIRATION",
        "BILLING_ISSUE", "PRODUCT_CHANGE", "SUBSCRIPTION_PAUSED", "SUBSCRIPTION_EXTENDED",
        "NON_RENEWING_PURCHASE", "REFUND_REVERSED", "TEMPORARY_ENTITLEMENT_GRANT",
    ]

    @Test("twelve types are about a purchase", arguments: purchases)
    func concernsPurchase(type: String) throws {
        #expect(try StoreFixture.event(["type": type]).concernsPurchase)
    }

    @Test(
        "all others are acknowledged and change nothing",
        arguments: [
            "TEST", "TRANSFER", "SUBSCRIBER_ALIAS", "INVOICE_ISSUANCE", "FUTURE_TYPE",
            "EXPERIMENT_ENROLLMENT", "VIRTUAL_CURRENCY_TRANSACTION", "PAYWALL_IMPRESSION",
            "renewal", "RENEWAL ",
        ]
    )
    func concernsNothing(type: String) async throws {
        #expect(try !StoreFixture.event(["type": type]).concernsPurchase)
        guard type != "TRANSFER" else { return }
        let fixture = try StoreFixture()
        let outcome = try await fixture.take(["type": type])
        guard case .applied = outcome else {
            Issue.record("\(type): \(outcome)")
            return
        }
        #expect(try await fixture.count("subscriptions") == 0)
        #expect(try await fixture.count("outbox") == 0)
        #expect(try await fixture.count("events") == 1, "it is remembered all the same")
    }
}

@Suite("Reading a Purchasely event in the backend")
struct PurchaselyEventReadingTests {
    private func read(_ members: [String: Any]) throws -> ReceivedPurchaselyEvent {
        var event: [String: Any] = [
            "event_id": "p1", "event_name": "ACTIVATE", "user_id": "ada",
            "event_created_at_ms": 1000, "purchasely_subscription_id": "subs_1",
            "plan": "PLUS_MONTHLY", "environment": "PRODUCTION",
            "effective_next_renewal_at_ms": 5000,
        ]
        for (name, value) in members {
            event[name] = value is NSNull ? nil : value
        }
        return try ReceivedPurchaselyEvent(body: try JSONSerialization.data(withJSONObject: event))
    }

    @Test(
        "a malformed event is refused",
        arguments: [
            "", "[]", "{}", "{\"event_id\": \"p\"}", "{\"event_name\": \"ACTIVATE\"}",
            "{\"event_id\": \"p\", \"event_name\": \"ACTIVATE\"}",
            "{\"event_id\": 5, \"event_name\": \"ACTIVATE\", \"user_id\": \"ada\"}",
            "{\"event\": {\"event_id\": \"p\", \"event_name\": \"A\", \"user_id\": \"ada\"}}",
        ]
    )
    func refuses(text: String) {
        #expect(throws: ReceivedPurchaselyEvent.MalformedEventError.self) {
            try ReceivedPurchaselyEvent(body: Data(text.utf8))
        }
    }

    @Test func `the holder is the account, else the installation`() throws {
        #expect(try read([:]).subscriberID == "ada")
        let anonymous = try read(["user_id": NSNull(), "anonymous_user_id": "anon-1"])
        #expect(anonymous.subscriberID == "anon-1")
        #expect(anonymous.userID == nil)
        #expect(try read(["anonymous_user_id": "anon-1"]).subscriberID == "ada")
    }

    @Test func `a one-time purchase is identified by its purchase id`() throws {
        #expect(try read([:]).subscriptionID == "subs_1")
        let once = try read([
            "purchasely_subscription_id": NSNull(), "purchasely_one_time_purchase_id": "otp_1",
        ])
        #expect(once.subscriptionID == "otp_1")
        #expect(try read(["purchasely_subscription_id": NSNull()]).subscriptionID == "")
    }

    @Test func `access ends with the effective date, not with the theoretical one`() throws {
        #expect(try read(["next_renewal_at_ms": 9000]).expiresAt == 5000)
        #expect(try read(["effective_next_renewal_at_ms": NSNull()]).expiresAt == nil)
    }

    @Test(
        "ACTIVATE and DEACTIVATE alone do something",
        arguments: [
            ("ACTIVATE", PurchaselyWebhookRoute.AccessEffect.grant), ("DEACTIVATE", .revoke),
            ("SUBSCRIPTION_STARTED", .nothing), ("SUBSCRIPTION_TERMINATED", .nothing),
            ("RENEWAL_DISABLED", .nothing), ("TRANSACTION_PROCESSED", .nothing),
            ("FUTURE_THING", .nothing), ("activate", .nothing),
        ]
    )
    func effects(name: String, accessEffect: PurchaselyWebhookRoute.AccessEffect) throws {
        #expect(
            PurchaselyWebhookRoute.accessEffect(of: try read(["event_name": name])) == accessEffect
        )
    }

    @Test(
        "an event is stale only if it is older than the last known event",
        arguments: [(nil, false), (999, false), (1000, false), (1001, true)] as [(Int64?, Bool)]
    )
    func staleness(known: Int64?, isStale: Bool) throws {
        #expect(PurchaselyWebhookRoute.isStale(try read([:]), known: known) == isStale)
    }
}
