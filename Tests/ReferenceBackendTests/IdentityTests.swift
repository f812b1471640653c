import Foundation
import GRDB
import Testing

@testable import ReferenceBackend

@Suite("User identity")
struct IdentityTests {
    @Test(
        "invalid user IDs",
        arguments: [
            "", "null", "NULL", "None", "(null)", "nan", "undefined", "guest", "-1", "0", "[]",
            "{}", "[object Object]", "n/a", "a/b", "no_user", "anonymous",
            String(repeating: "x", count: 101),
        ]
    )
    func invalid(id: String) {
        #expect(!Identity.isValidUserID(id))
    }

    @Test(
        "valid user IDs",
        arguments: [
            "ada", "$RCAnonymousID:0123", "1", "nulled", "a b", "ünï-cödé", "ada@example.com",
            String(repeating: "x", count: 100),
        ]
    )
    func valid(id: String) {
        #expect(Identity.isValidUserID(id))
    }

    private func owner(_ fixture: StoreFixture, _ id: String) async throws -> String? {
        try await fixture.store.pool.read { db in
            try fixture.store.user(db, known: id)?.appUserID
        }
    }

    @Test func `an event finds a person under any of its ids, and remembers the others`()
        async throws
    {
        let fixture = try StoreFixture()
        try await fixture.take(["id": "e1", "aliases": ["ada", "old-ada"]])
        try await fixture.take([
            "id": "e2", "type": "CANCELLATION", "app_user_id": "new-ada",
            "original_app_user_id": "old-ada", "aliases": [], "event_timestamp_ms": 2000,
        ])
        #expect(try await fixture.count("users") == 1)
        for id in ["ada", "old-ada", "new-ada"] {
            #expect(try await owner(fixture, id) == "ada", "\(id)")
        }
        #expect(try await fixture.subscription(of: "new-ada")?.willRenew == false)
    }

    @Test func `a named id is preferred to an anonymous one`() async throws {
        let fixture = try StoreFixture()
        try await fixture.take([
            "app_user_id": "$RCAnonymousID:1", "original_app_user_id": "$RCAnonymousID:1",
            "aliases": ["$RCAnonymousID:1", "ada"],
        ])
        #expect(try await owner(fixture, "$RCAnonymousID:1") == "ada")
    }

    @Test func `an event with only invalid IDs creates no user`() async throws {
        let fixture = try StoreFixture()
        try await fixture.take([
            "app_user_id": "null", "original_app_user_id": "", "aliases": ["undefined", "a/b"],
        ])
        #expect(try await fixture.count("users") == 0)
        #expect(try await fixture.count("subscriptions") == 0)
        #expect(try await fixture.count("events") == 1)
    }

    @Test func `two records that turn out to be one person become one`() async throws {
        let fixture = try StoreFixture()
        try await fixture.take([
            "id": "e1", "app_user_id": "a", "original_app_user_id": "a", "aliases": ["a"],
        ])
        try await fixture.take([
            "id": "e2", "app_user_id": "b", "original_app_user_id": "b", "aliases": ["b"],
            "product_id": "other",
        ])
        #expect(try await fixture.count("users") == 2)
        try await fixture.take([
            "id": "e3", "type": "RENEWAL", "app_user_id": "a", "original_app_user_id": "a",
            "aliases": ["a", "b"], "event_timestamp_ms": 3000,
        ])
        #expect(try await fixture.count("users") == 1, "what a safety net held is gone")
        #expect(try await owner(fixture, "b") == owner(fixture, "a"))
        #expect(try await fixture.subscription(of: "a", "other") != nil, "purchases move along")
    }

    @Test func `a registered record identifies the person`() async throws {
        let fixture = try StoreFixture()
        try await fixture.take([
            "id": "e1", "app_user_id": "first", "original_app_user_id": "first",
            "aliases": ["first"],
        ])
        try await fixture.store.pool.write { db in
            _ = try fixture.store.insert(db, "registered", source: "app")
        }
        try await fixture.take([
            "id": "e2", "type": "RENEWAL", "app_user_id": "first",
            "original_app_user_id": "first", "aliases": ["first", "registered"],
            "event_timestamp_ms": 3000,
        ])
        #expect(try await owner(fixture, "first") == "registered")
    }

    // MARK: Transfers

    private func transfer(_ from: [String], _ to: [String], at time: Int = 9000) -> [String: Any] {
        [
            "id": "t\(time)", "type": "TRANSFER", "transferred_from": from,
            "transferred_to": to, "event_timestamp_ms": time, "app_user_id": NSNull(),
            "original_app_user_id": NSNull(), "aliases": [],
        ]
    }

    @Test func `two spellings of a letter are two user IDs`() {
        let ids = ["Zo\u{eb}", "Zoe\u{308}", "Zoe", "zoe"].map(UserID.init)
        #expect(Set(ids).count == 4)
        #expect(Set(ids + ids).count == 4)
    }

    @Test func `a transfer moves everything and leaves nothing`() async throws {
        let fixture = try StoreFixture()
        try await fixture.take(["id": "e1"])
        try await fixture.take(["id": "e2", "product_id": "coins"])
        try await fixture.take(transfer(["ada"], ["bob"]))
        for product in ["premium_monthly", "coins"] {
            #expect(try await fixture.subscription(of: "ada", product) == nil)
            #expect(try await fixture.subscription(of: "bob", product)?.expiresAt == 5000)
        }
    }

    @Test func `of two descriptions the newer stays`() async throws {
        for (own, expected) in [(500, 5000), (1500, 7000)] as [(Int, Int64)] {
            let fixture = try StoreFixture()
            try await fixture.take(["id": "e1"])
            try await fixture.take([
                "id": "e2", "app_user_id": "bob", "original_app_user_id": "bob",
                "aliases": ["bob"], "expiration_at_ms": 7000, "event_timestamp_ms": own,
            ])
            try await fixture.take(transfer(["ada"], ["bob"]))
            #expect(try await fixture.subscription(of: "bob")?.expiresAt == expected)
        }
    }

    @Test func `a transfer onto oneself loses nothing`() async throws {
        let fixture = try StoreFixture()
        try await fixture.take(["aliases": ["ada", "ada-2"]])
        try await fixture.take(transfer(["ada"], ["ada-2"]))
        #expect(try await fixture.subscription(of: "ada")?.expiresAt == 5000)
    }

    @Test func `a transfer to an invalid user does nothing, from one creates the receiver`()
        async throws
    {
        let fixture = try StoreFixture()
        try await fixture.take(["id": "e1"])
        try await fixture.take(transfer(["ada"], ["null", "a/b"]))
        #expect(try await fixture.subscription(of: "ada") != nil)
        try await fixture.take(transfer(["stranger"], ["winner"], at: 9001))
        #expect(try await owner(fixture, "winner") == "winner")
        // What they gave away may still be told.
        #expect(try await owner(fixture, "stranger") == "stranger")
    }
}

/// What holds for every order and every number of deliveries.
@Suite("Event order")
struct ProcessorPropertyTests {
    /// A life of a subscription, as events with rising times.
    private static var history: [[String: Any]] {
        [
            ["type": "INITIAL_PURCHASE", "expiration_at_ms": 5000],
            ["type": "PRODUCT_CHANGE", "new_product_id": "premium_annual"],
            ["type": "RENEWAL", "expiration_at_ms": 9000],
            ["type": "BILLING_ISSUE", "grace_period_expiration_at_ms": 12_000],
            ["type": "RENEWAL", "expiration_at_ms": 15_000],
            ["type": "CANCELLATION", "cancel_reason": "UNSUBSCRIBE"],
            ["type": "UNCANCELLATION"], ["type": "EXPIRATION"],
        ]
    }

    private static func events(_ count: Int) -> [[String: Any]] {
        history.prefix(count).enumerated().map { index, event in
            event.merging(["id": "e\(index)", "event_timestamp_ms": 1000 + index * 100]) { $1 }
        }
    }

    /// A generator whose draws a seed repeats.
    private struct SeededRandom: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9e37_79b9_7f4a_7c15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
            return mixed ^ (mixed >> 31)
        }
    }

    @Test("an event counts once, however often it comes", arguments: 1...8)
    func duplicates(count: Int) async throws {
        let (once, often) = (try StoreFixture(), try StoreFixture())
        for event in Self.events(count) { try await once.take(event) }
        for event in Self.events(count) {
            try await often.take(event)
            guard case .duplicate = try await often.take(event) else {
                Issue.record("the second time it is new")
                return
            }
        }
        for event in Self.events(count).reversed() { try await often.take(event) }
        #expect(try await once.purchases() == often.purchases())
        #expect(try await once.count("events") == often.count("events"))
        let (few, many) = (try await once.messages(), try await often.messages())
        #expect(few.map(\.key) == many.map(\.key), "a message is written once")
        #expect(few.map(\.text) == many.map(\.text))
    }

    @Test(
        "the newest event decides, in any order",
        arguments: 0..<UInt64(24)
    )
    func orders(seed: UInt64) async throws {
        var dice = SeededRandom(state: seed)
        let events = Self.events(Int.random(in: 2...8, using: &dice))
        let (straight, mixed) = (try StoreFixture(), try StoreFixture())
        for event in events { try await straight.take(event) }
        for event in events.shuffled(using: &dice) { try await mixed.take(event) }
        let (one, other) = (
            try await straight.subscription(of: "ada"), try await mixed.subscription(of: "ada")
        )
        #expect(one?.asOf == other?.asOf)
        // What the newest event decides by itself is the same; what older ones said may be unknown.
        let newest = events.last?["type"] as? String
        switch newest {
        case "EXPIRATION": #expect(other?.hasEnded == true)
        case "RENEWAL", "INITIAL_PURCHASE":
            #expect(other?.expiresAt == one?.expiresAt)
            #expect(other?.hasEnded == false)
        case "CANCELLATION": #expect(other?.willRenew == false)
        case "UNCANCELLATION": #expect(other?.willRenew == true)
        case "BILLING_ISSUE": #expect(other?.graceEndsAt == 12_000)
        default: #expect(newest == "PRODUCT_CHANGE")
        }
    }

    @Test func `sandbox and production are two subscriptions`() async throws {
        let fixture = try StoreFixture()
        try await fixture.take(["id": "e1"])
        try await fixture.take([
            "id": "e2", "type": "EXPIRATION", "environment": "SANDBOX",
            "event_timestamp_ms": 2000,
        ])
        #expect(try await fixture.subscription(of: "ada")?.hasEnded == false)
    }

    @Test func `two concurrent copies count once`() async throws {
        let fixture = try StoreFixture()
        let outcomes = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    if case .applied = try await fixture.take([:]) { true } else { false }
                }
            }
            return try await group.reduce(into: [Bool]()) { $0.append($1) }
        }
        #expect(outcomes.count { $0 } == 1)
        #expect(try await fixture.messages().count == 1)
    }

    @Test func `a failed event is not marked as processed and is retried`() async throws {
        struct Broken: Error {}
        let isBroken = Flag()
        var policies = Policies()
        policies.notification.text = { _ in "Hello" }
        let persist = policies.outbox.persist
        policies.outbox.persist = { db, draft in
            if isBroken.value { throw Broken() }
            try persist(db, draft)
        }
        let fixture = try StoreFixture(policies)
        isBroken.value = true
        await #expect(throws: Broken.self) { try await fixture.take([:]) }
        for table in ["events", "users", "subscriptions", "outbox"] {
            #expect(try await fixture.count(table) == 0, "\(table): all of them are there, or none")
        }
        isBroken.value = false
        guard case .applied = try await fixture.take([:]) else {
            Issue.record("it is new")
            return
        }
        #expect(try await fixture.count("outbox") == 1)
    }

    /// A switch that a policy reads.
    private final class Flag: @unchecked Sendable {
        private let lock = NSLock()
        private var stored = false

        var value: Bool {
            get { lock.withLock { stored } }
            set { lock.withLock { stored = newValue } }
        }
    }
}

@Suite("Customers in REST responses")
struct SubscriberTests {
    private func read(_ subscriber: [String: Any]) throws -> Subscriber? {
        Subscriber(
            try JSONSerialization.data(withJSONObject: ["subscriber": subscriber]),
            entitlement: "premium"
        )
    }

    @Test(
        "a malformed customer is read as nil",
        arguments: [
            "", "[]", "{}", "{\"subscriber\": {}}", "{\"subscriber\": {\"subscriptions\": []}}",
            "<html>", "null",
        ]
    )
    func refuses(text: String) {
        #expect(Subscriber(Data(text.utf8), entitlement: "premium") == nil)
    }

    @Test func `a subscription is read field by field`() throws {
        let currentPurchases = try read([
            "subscriptions": [
                "premium": [
                    "expires_date": "2026-09-24T12:00:00Z", "is_sandbox": true,
                    "store": "app_store", "grace_period_expires_date": "2026-09-25T12:00:00.5Z",
                    "refunded_at": "2026-09-20T12:00:00Z",
                    "unsubscribe_detected_at": "2026-09-20T12:00:00Z",
                    "billing_issues_detected_at": "2026-09-20T12:00:00Z",
                ]
            ]
        ])?.currentPurchases
        let item = try #require(currentPurchases?.first)
        #expect(item.productID == "premium")
        #expect(item.expiresAt == 1_790_251_200_000)
        #expect(item.graceEndsAt == 1_790_337_600_500)
        #expect(item.store == "APP_STORE")
        #expect(item.isSandbox && item.refunded && item.billingIssue && !item.willRenew)
    }

    @Test func `null is nothing, and a plan is part of the product`() throws {
        let currentPurchases = try read([
            "subscriptions": [
                "premium": [
                    "product_plan_identifier": "monthly", "expires_date": NSNull(),
                    "refunded_at": NSNull(), "unsubscribe_detected_at": NSNull(),
                    "billing_issues_detected_at": NSNull(),
                ]
            ]
        ])?.currentPurchases
        let item = try #require(currentPurchases?.first)
        #expect(item.productID == "premium:monthly")
        #expect(item.expiresAt == nil && item.graceEndsAt == nil)
        #expect(item.willRenew && !item.refunded && !item.billingIssue && !item.isSandbox)
    }

    @Test func `a one-time purchase counts when an entitlement rests on it`() throws {
        let currentPurchases = try read([
            "subscriptions": [String: Any](),
            "entitlements": [
                "premium": ["product_identifier": "lifetime"],
                "extras": ["product_identifier": "skins"],
            ],
            "non_subscriptions": [
                "lifetime": [["store": "play_store", "is_sandbox": false]],
                "skins": [["store": "play_store", "is_sandbox": false]],
                "coins": [["store": "play_store"]], "none": [[String: Any]](),
            ],
        ])?.currentPurchases
        #expect(currentPurchases?.map(\.productID) == ["lifetime"])
        #expect(currentPurchases?.first?.expiresAt == nil)
        #expect(currentPurchases?.first?.store == "PLAY_STORE")
    }

    @Test func `a subscription that unlocks only another entitlement is left out`() throws {
        let currentPurchases = try read([
            "subscriptions": [
                "monthly": [String: Any](), "addon": [String: Any](), "bundle": [String: Any](),
            ],
            "entitlements": [
                "premium": ["product_identifier": "bundle"],
                "extras": ["product_identifier": "addon"],
                "themes": ["product_identifier": "bundle"],
            ],
        ])?.currentPurchases.filter { !$0.isSourceOfOthers }
        #expect(Set(currentPurchases?.map(\.productID) ?? []) == ["monthly", "bundle"])
    }

    @Test("a time that cannot be read is none", arguments: ["soon", "", "2026-09-24", "0"])
    func times(text: String) throws {
        let currentPurchases = try read(["subscriptions": ["p": ["expires_date": text]]])?
            .currentPurchases
        #expect(currentPurchases?.first?.expiresAt == nil)
    }

    @Test func `an item describes one subscription of one environment`() throws {
        let item = try #require(
            try read(["subscriptions": ["p": [String: Any]()]])?.currentPurchases.first
        )
        func subscription(_ product: String, _ isSandbox: Bool) -> Subscription {
            Subscription(userID: 1, productID: product, isSandbox: isSandbox, asOf: 0)
        }
        #expect(item.matches(subscription("p", false)))
        #expect(!item.matches(subscription("p", true)))
        #expect(!item.matches(subscription("q", false)))
    }
}
