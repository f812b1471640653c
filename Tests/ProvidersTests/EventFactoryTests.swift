import Conformance
import Foundation
import Providers
import Testing

@Suite("RevenueCat events")
struct EventFactoryTests {
    private static let context = EventFactory.Context(
        namespace: Namespace(name: "run", idForm: .string),
        base: Instant(milliseconds: 1_790_000_000_000)
    )

    private func event(_ spec: EventSpec) throws -> JSONObject {
        try #require(EventFactory(Self.context).body(spec, name: "purchase")["event"]?.object)
    }

    private func spec(_ type: String, store: String = "APP_STORE") -> EventSpec {
        var spec = EventSpec(type: type, user: type == "TRANSFER" ? nil : "ada")
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
        let other = EventFactory.Context(
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

    @Test func `an immediate Play product change has no new_product_id, never null`() throws {
        var change = spec("PRODUCT_CHANGE", store: "PLAY_STORE")
        #expect(try event(change)["new_product_id"] == nil)
        change.newProduct = "premium_yearly"
        #expect(try event(change)["new_product_id"] == "premium_yearly:base-plan")
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
        func ids(_ knownBy: EventSpec.KnownBy) throws -> [Bool] {
            var spec = spec("RENEWAL")
            spec.knownBy = knownBy
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

    /// Where the real samples are at hand, every body is compared with its sample key by key.
    @Test(
        "a body has the keys of the real sample, with the same kinds",
        .enabled(if: Samples.folder != nil, "the shared samples are not at hand"),
        arguments: Samples.pairs
    )
    func matchesSample(pair: Samples.Pair) throws {
        let sample = try #require(try Samples.event(pair.file))
        var spec = spec(pair.type, store: pair.store)
        spec.product = pair.product
        if pair.type == "PRODUCT_CHANGE" { spec.newProduct = "premium_yearly" }
        spec.isLifetime = pair.isLifetime
        let made = try event(spec)
        for member in sample.members where !pair.absent.contains(member.key) {
            let mine = made[member.key]
            #expect(mine != nil, "\(pair.file): '\(member.key)' is missing")
            guard let mine, !mine.isNull, !member.value.isNull else { continue }
            #expect(mine.kind == member.value.kind, "\(pair.file): \(member.key)")
        }
        let extra = Set(made.keys).subtracting(sample.keys).subtracting(pair.extra)
        #expect(extra.isEmpty, "\(pair.file): \(extra.sorted())")
    }
}

/// The real payloads that lie beside the repository on a developer's machine and in CI.
enum Samples {
    struct Pair: Sendable, CustomTestStringConvertible {
        let file: String
        let type: String
        var store = "APP_STORE"
        var product = "premium_monthly"
        var isLifetime = false
        /// Keys that this sample alone has.
        var absent: Set<String> = []
        /// Keys that our body has beyond the sample, which is older than they are.
        var extra: Set<String> = []

        var testDescription: String { file }
    }

    /// Docs samples leave these out or had them for a while.
    private static let docsExtra: Set<String> = [
        "metadata", "renewal_number", "app_id", "country_code", "takehome_percentage",
        "is_family_share",
        "tax_percentage", "commission_percentage",
    ]
    private static let docsOnly: Set<String> = ["experiments", "price_experiments", "quantity"]
    private static let captureOnly: Set<String> = [
        "discount_percentage", "discount_amount", "discount_identifier",
    ]

    static let pairs: [Pair] = [
        Pair(
            file: "initial_purchase-appstore",
            type: "INITIAL_PURCHASE",
            absent: docsOnly,
            extra: docsExtra
        ),
        Pair(file: "renewal-appstore-eur", type: "RENEWAL", absent: docsOnly, extra: docsExtra),
        Pair(
            file: "renewal-trial_conversion_stripe",
            type: "RENEWAL",
            store: "STRIPE",
            absent: captureOnly
        ),
        Pair(
            file: "cancellation-unsubscribe",
            type: "CANCELLATION",
            absent: docsOnly,
            extra: docsExtra
        ),
        Pair(
            file: "cancellation-unsubscribe_stripe",
            type: "CANCELLATION",
            store: "STRIPE",
            absent: captureOnly
        ),
        Pair(
            file: "cancellation-promo_revoke",
            type: "CANCELLATION",
            store: "PROMOTIONAL",
            absent: captureOnly
        ),
        Pair(
            file: "uncancellation-empty_attributes",
            type: "UNCANCELLATION",
            absent: docsOnly,
            extra: docsExtra
        ),
        Pair(
            file: "billing_issue-no_grace_stripe",
            type: "BILLING_ISSUE",
            store: "STRIPE",
            absent: captureOnly
        ),
        Pair(
            file: "billing_issue-grace",
            type: "BILLING_ISSUE",
            absent: docsOnly,
            extra: docsExtra
        ),
        Pair(
            file: "expiration-unsubscribe",
            type: "EXPIRATION",
            absent: docsOnly,
            extra: docsExtra
        ),
        Pair(
            file: "expiration-future_expiry_stripe",
            type: "EXPIRATION",
            store: "STRIPE",
            absent: captureOnly
        ),
        Pair(
            file: "non_renewing_purchase-promo_grant",
            type: "NON_RENEWING_PURCHASE",
            store: "PROMOTIONAL",
            absent: captureOnly
        ),
        Pair(
            file: "non_renewing_purchase-lifetime",
            type: "NON_RENEWING_PURCHASE",
            isLifetime: true,
            absent: docsOnly,
            extra: docsExtra
        ),
        Pair(
            file: "subscription_paused-play",
            type: "SUBSCRIPTION_PAUSED",
            store: "PLAY_STORE",
            absent: docsOnly,
            extra: docsExtra
        ),
        Pair(
            file: "product_change-play_deferred",
            type: "PRODUCT_CHANGE",
            store: "PLAY_STORE",
            absent: docsOnly,
            extra: docsExtra
        ),
        Pair(
            file: "subscription_extended-appstore",
            type: "SUBSCRIPTION_EXTENDED",
            absent: docsOnly,
            extra: docsExtra
        ),
        Pair(
            file: "refund_reversed-appstore",
            type: "REFUND_REVERSED",
            absent: docsOnly,
            extra: docsExtra
        ),
        Pair(file: "transfer-single", type: "TRANSFER"),
        Pair(file: "test-dashboard_play", type: "TEST", store: "PLAY_STORE"),
        Pair(
            file: "invoice_issuance-web_billing",
            type: "INVOICE_ISSUANCE",
            store: "RC_BILLING",
            absent: docsOnly,
            extra: docsExtra
        ),
        Pair(
            file: "virtual_currency_transaction-purchase",
            type: "VIRTUAL_CURRENCY_TRANSACTION",
            absent: docsOnly
        ),
        Pair(
            file: "experiment_enrollment-anonymous",
            type: "EXPERIMENT_ENROLLMENT",
            extra: ["offering_id"]
        ),
        Pair(
            file: "temporary_entitlement_grant-guaranteed_fields",
            type: "TEMPORARY_ENTITLEMENT_GRANT"
        ),
        Pair(file: "purchase_redeemed-alias", type: "PURCHASE_REDEEMED"),
        Pair(
            file: "price_increase_consent_required-appstore",
            type: "PRICE_INCREASE_CONSENT_REQUIRED"
        ),
    ]

    static var folder: String? {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let folder = root.appendingPathComponent("../shared/samples/revenuecat").path
        return FileManager.default.fileExists(atPath: folder) ? folder : nil
    }

    static func event(_ file: String) throws -> JSONObject? {
        let path = try #require(folder) + "/\(file).json"
        let data = try #require(FileManager.default.contents(atPath: path))
        return try JSONValue(parsing: Array(data))["event"]?.object
    }
}
