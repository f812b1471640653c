import Contracts
import Providers
import Testing
import Values

@Suite("RevenueCat events")
struct EventFactoryTests {
    private static let context = EventContext(
        namespace: Namespace(name: "run", idForm: .string),
        base: Instant(milliseconds: 1_790_000_000_000)
    )

    private func event(_ spec: EventSpec) throws -> JSONObject {
        try #require(EventFactory(Self.context).body(spec, name: "purchase")["event"]?.object)
    }

    private func spec(_ type: String, store: String = "APP_STORE") -> EventSpec {
        var spec = EventSpec(
            type: RevenueCatEventType(rawValue: type),
            user: type == "TRANSFER" ? nil : "ada"
        )
        spec.store = store
        if type == "TRANSFER" {
            spec.from = ["ada"]
            spec.to = ["bob"]
        }
        return spec
    }

    @Test("every type has the common fields", arguments: EventSpec.types)
    func hasCommonFields(type: String) throws {
        let body = EventFactory(Self.context).body(spec(type), name: "purchase")
        #expect(body.object?.keys.sorted() == ["api_version", "event"])
        #expect(body["api_version"] == "1.0")
        let event = try event(spec(type))
        #expect(event["type"] == .string(type))
        #expect(event["event_timestamp_ms"] == 1_790_000_000_000)
        let id = try #require(event["id"]?.string)
        #expect(id == id.uppercased())
        #expect(id.split(separator: "-").map(\.count) == [8, 4, 4, 4, 12])
        #expect(Set(event.keys).count == event.keys.count)
    }

    @Test func `the same run makes the same bytes, another run other ids`() {
        let first = EventFactory(Self.context).body(spec("RENEWAL"), name: "a").bytes
        #expect(EventFactory(Self.context).body(spec("RENEWAL"), name: "a").bytes == first)
        let other = EventContext(
            namespace: Namespace(name: "other", idForm: .string),
            base: Self.context.base
        )
        let second = EventFactory(other).body(spec("RENEWAL"), name: "a")
        #expect(
            second["event"]?["id"]
                != EventFactory(Self.context).body(spec("RENEWAL"), name: "a")["event"]?["id"]
        )
    }

    @Test func `keys that one type carries are on no other`() throws {
        let special = [
            "grace_period_expiration_at_ms": "BILLING_ISSUE",
            "auto_resume_at_ms": "SUBSCRIPTION_PAUSED", "is_trial_conversion": "RENEWAL",
            "cancel_reason": "CANCELLATION", "expiration_reason": "EXPIRATION",
            "transferred_from": "TRANSFER", "transferred_to": "TRANSFER",
        ]
        for type in EventSpec.types {
            let keys = try event(spec(type)).keys
            for (key, owner) in special { #expect(keys.contains(key) == (type == owner), "\(key)") }
        }
    }

    @Test func `a transfer names no user and no product`() throws {
        let event = try event(spec("TRANSFER"))
        for key in [
            "app_user_id", "original_app_user_id", "aliases", "product_id", "entitlement_ids",
        ] {
            #expect(event[key] == nil, "\(key)")
        }
        #expect(event["transferred_to"] == [.string(Self.context.namespace.id(of: "bob"))])
    }

    @Test
    func `an immediate Play product change omits new_product_id instead of setting it to null`()
        throws
    {
        var change = spec("PRODUCT_CHANGE", store: "PLAY_STORE")
        #expect(try event(change)["new_product_id"] == nil)
        change.newProduct = "premium_yearly"
        #expect(try event(change)["new_product_id"] == "premium_yearly:base-plan")
    }

    @Test func `a transaction that continues another product keeps its original transaction id`()
        throws
    {
        let first = try event(spec("INITIAL_PURCHASE"))
        var renewal = spec("RENEWAL")
        renewal.product = "premium_yearly"
        let name = "original_transaction_id"
        #expect(try event(renewal)[name] != first[name])
        renewal.continuedProduct = first["product_id"]?.string
        let continued = try event(renewal)
        #expect(continued[name] == first[name])
        #expect(continued["transaction_id"] != first["transaction_id"])
        #expect(continued["product_id"] == "premium_yearly")
    }

    @Test func `stores have their own forms`() throws {
        let play = try event(spec("RENEWAL", store: "PLAY_STORE"))
        #expect(play["product_id"] == "premium_monthly:base-plan")
        #expect(play["transaction_id"]?.string?.hasPrefix("GPA.") == true)
        #expect(play["transaction_id"]?.string?.hasSuffix("..0") == true)
        let stripe = [
            try event(spec("INITIAL_PURCHASE", store: "STRIPE")),
            try event(spec("RENEWAL", store: "STRIPE")),
        ]
        #expect(stripe[0]["transaction_id"] == stripe[1]["transaction_id"])
        #expect(stripe[0]["country_code"] == .null)
        #expect(stripe[0]["price_id"] != nil)
        let promo = try event(spec("NON_RENEWING_PURCHASE", store: "PROMOTIONAL"))
        #expect(promo["app_id"] == nil)
        #expect(promo["is_family_share"] == .null)
        #expect(promo["period_type"] == "PROMOTIONAL")
        #expect(promo["price"] == 0)
    }

    @Test func `TEST carries the fifteen nulls of the capture`() throws {
        let event = try event(spec("TEST"))
        #expect(event.members.count { $0.value.isNull } == 15)
        #expect(event["environment"] == "SANDBOX")
        #expect(event["store"] == "PLAY_STORE")
        #expect(event["product_id"] == "test_product")
    }

    @Test func `a user can be named by any of its ids`() throws {
        let id = Self.context.namespace.id(of: "ada")
        func ids(_ userIDLocation: EventSpec.UserIDLocation) throws -> [Bool] {
            var spec = spec("RENEWAL")
            spec.userIDLocation = userIDLocation
            let event = try event(spec)
            return [
                event["app_user_id"]?.string == id, event["original_app_user_id"]?.string == id,
                event["aliases"]?.strings.contains(id) == true,
            ]
        }
        #expect(try ids(.appUserID) == [true, false, true])
        #expect(try ids(.aliases) == [false, false, true])
        #expect(try ids(.originalAppUserID) == [false, true, false])
        #expect(try ids(.anonymous) == [false, false, false])
    }
}
