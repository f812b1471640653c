import Conformance
import Foundation
import Providers
import Testing

/// The published bodies that lie beside the repository, with their origin.
enum Published {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("shared/samples")

    static let areThere = FileManager.default.fileExists(atPath: root.path)

    static func json(_ path: String) throws -> JSONValue {
        try JSONValue(parsing: Array(Data(contentsOf: root.appendingPathComponent(path))))
    }

    static func names(_ folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(
            atPath: root.appendingPathComponent(folder).path
        ).filter { $0.hasSuffix(".json") }.sorted()
    }
}

/// One published RevenueCat event and how the model makes its like.
struct SampleCase: Sendable, CustomTestStringConvertible {
    let name: String
    /// Members that only one side has, each for a reason.
    var onlyOurs: Set<String> = []
    var onlyTheirs: Set<String> = []
    /// Members that are null on one side: documented as nullable, dependent on the purchase.
    var nullable: Set<String> = []
    let make: @Sendable (inout RevenueCatState, Instant) throws -> Void

    var testDescription: String { name }
}

@Suite(
    "Bodies against the published ones",
    .enabled(if: Published.areThere, "samples are elsewhere")
)
struct SampleTests {
    private static let now = Instant(milliseconds: 1_790_000_000_000)
    /// Deprecated, and null or filled at RevenueCat's will (fact sheet, section 2.5).
    private static let anywhereNull: Set<String> = [
        "entitlement_id", "presented_offering_id", "offer_code",
    ]
    /// "Sometimes": present when the customer is in an experiment.
    private static let sometimes: Set<String> = ["experiments", "price_experiments"]
    /// Keys that are "always" there today and were not in older revisions.
    private static let younger: Set<String> = ["app_id", "is_family_share", "country_code"]
    /// Percentages, which Play's newer samples leave out and older ones carry.
    private static let shares: Set<String> = ["tax_percentage", "commission_percentage"]

    private static func act(
        _ state: inout RevenueCatState,
        _ kind: StoreAction.Kind,
        _ time: Instant,
        _ change: (inout StoreAction) -> Void = { _ in }
    ) throws {
        var action = StoreAction(kind, user: "ada")
        action.offering = "default"
        change(&action)
        try state.carryOut(action, at: time)
    }

    /// A purchase, then one action.
    private static func after(
        _ kind: StoreAction.Kind,
        store: String = "APP_STORE",
        period: String = "NORMAL",
        _ change: @escaping @Sendable (inout StoreAction) -> Void = { _ in }
    ) -> @Sendable (inout RevenueCatState, Instant) throws -> Void {
        { state, now in
            try act(&state, .purchase, now) {
                $0.store = store
                $0.period = period
            }
            try act(&state, kind, now + .seconds(60)) { change(&$0) }
        }
    }

    private static func buying(
        _ change: @escaping @Sendable (inout StoreAction) -> Void
    ) -> @Sendable (inout RevenueCatState, Instant) throws -> Void {
        { state, now in try act(&state, .purchase, now) { change(&$0) } }
    }

    private static let granted: @Sendable (inout RevenueCatState, Instant) throws -> Void = {
        state,
        now in
        try act(&state, .grant, now)
        try act(&state, .revoke, now + .seconds(60))
    }

    static let cases: [SampleCase] = [
        SampleCase(
            name: "billing_issue-grace",
            make: after(.billingIssue) { $0.grace = .seconds(86_400) }
        ),
        SampleCase(
            name: "billing_issue-legacy_no_grace_key",
            onlyOurs: younger.union(["grace_period_expiration_at_ms"]),
            nullable: shares,
            make: after(.billingIssue)
        ),
        SampleCase(
            name: "billing_issue-no_grace_stripe",
            make: after(.billingIssue, store: "STRIPE")
        ),
        SampleCase(
            name: "cancellation-billing_error_play",
            onlyOurs: younger.union(["offer_code"]),
            make: after(.billingIssue, store: "PLAY_STORE")
        ),
        SampleCase(
            name: "cancellation-billing_error_stripe",
            make: after(.billingIssue, store: "STRIPE")
        ),
        SampleCase(
            name: "cancellation-legacy_no_app_id",
            onlyOurs: younger.union(shares),
            make: after(.cancel)
        ),
        SampleCase(name: "cancellation-promo_revoke", make: granted),
        SampleCase(name: "cancellation-refund", onlyOurs: younger, make: after(.refund)),
        SampleCase(
            name: "cancellation-trial",
            onlyOurs: shares,
            make: after(.cancel, period: "TRIAL")
        ),
        SampleCase(name: "cancellation-unsubscribe", make: after(.cancel)),
        SampleCase(
            name: "cancellation-unsubscribe_stripe",
            make: after(.cancel, store: "STRIPE")
        ),
        SampleCase(
            name: "experiment_enrollment-anonymous",
            make: { try act(&$0, .enroll, $1) }
        ),
        SampleCase(
            name: "expiration-future_expiry_stripe",
            make: after(.expire, store: "STRIPE")
        ),
        SampleCase(name: "expiration-promo_revoke", make: granted),
        SampleCase(
            name: "expiration-subscription_paused_play",
            make: { state, now in
                try after(.pause, store: "PLAY_STORE")(&state, now)
                state.advance(to: now + .seconds(31 * 86_400))
            }
        ),
        SampleCase(name: "expiration-unsubscribe", make: after(.expire)),
        SampleCase(name: "initial_purchase-appstore", make: buying { _ in }),
        SampleCase(name: "initial_purchase-envelope_first", make: buying { _ in }),
        SampleCase(
            name: "initial_purchase-family_share",
            onlyOurs: shares,
            make: after(.familyShare) {
                $0.from = "ada"
                $0.user = "bob"
            }
        ),
        SampleCase(
            name: "initial_purchase-offer_code",
            onlyOurs: ["entitlement_id", "takehome_percentage"],
            make: buying { $0.offerCode = "AUTUMN" }
        ),
        SampleCase(
            name: "initial_purchase-play_sandbox",
            onlyOurs: younger.union(["offer_code"]),
            make: buying {
                $0.store = "PLAY_STORE"
                $0.environment = "SANDBOX"
            }
        ),
        SampleCase(
            name: "initial_purchase-trial_play",
            make: buying {
                $0.store = "PLAY_STORE"
                $0.period = "TRIAL"
            }
        ),
        SampleCase(
            name: "initial_purchase-trial_stripe",
            make: buying {
                $0.store = "STRIPE"
                $0.period = "TRIAL"
            }
        ),
        SampleCase(
            name: "invoice_issuance-web_billing",
            make: { try act(&$0, .invoice, $1) }
        ),
        SampleCase(
            name: "non_renewing_purchase-consumable",
            onlyOurs: shares,
            nullable: ["entitlement_ids"],
            make: buying { $0.product = "coins_100" }
        ),
        SampleCase(
            name: "non_renewing_purchase-lifetime",
            make: buying { $0.product = "lifetime" }
        ),
        SampleCase(name: "non_renewing_purchase-promo_grant", make: granted),
        SampleCase(
            name: "paywall_component_interacted-package",
            make: {
                try act(&$0, .paywall, $1) { $0.type = "PAYWALL_COMPONENT_INTERACTED" }
            }
        ),
        SampleCase(
            name: "price_increase_consent_required-appstore",
            make: after(.priceConsent)
        ),
        SampleCase(
            name: "product_change-play_deferred",
            onlyOurs: younger,
            onlyTheirs: shares,
            make: after(.changeProduct, store: "PLAY_STORE") {
                $0.newProduct = "premium_yearly"
                $0.isAtPeriodEnd = true
            }
        ),
        SampleCase(
            name: "purchase_redeemed-alias",
            make: after(.redeem, store: "RC_BILLING") {
                $0.from = "ada"
                $0.user = "bob"
            }
        ),
        SampleCase(
            name: "refund_reversed-appstore",
            make: { state, now in
                try after(.refund)(&state, now)
                try act(&state, .reverseRefund, now + .seconds(120))
            }
        ),
        SampleCase(name: "renewal-appstore-eur", make: after(.renew)),
        SampleCase(
            name: "renewal-billing_recovery_stripe",
            make: { state, now in
                try after(.billingIssue, store: "STRIPE")(&state, now)
                try act(&state, .recover, now + .seconds(120))
            }
        ),
        SampleCase(
            name: "renewal-trial_conversion_stripe",
            make: after(.renew, store: "STRIPE", period: "TRIAL")
        ),
        SampleCase(name: "subscription_extended-appstore", make: after(.extend)),
        SampleCase(name: "subscription_paused-play", make: after(.pause, store: "PLAY_STORE")),
        SampleCase(
            name: "temporary_entitlement_grant-guaranteed_fields",
            make: { try act(&$0, .temporaryGrant, $1) }
        ),
        SampleCase(name: "test-dashboard_play", make: { try act(&$0, .test, $1) }),
        SampleCase(
            name: "transfer-legacy_no_app_id",
            onlyOurs: ["app_id", "environment"],
            make: after(.transfer) {
                $0.from = "ada"
                $0.user = "bob"
            }
        ),
        SampleCase(
            name: "transfer-multi_alias",
            onlyTheirs: ["subscriber_attributes"],
            make: after(.transfer) {
                $0.from = "ada"
                $0.user = "bob"
            }
        ),
        SampleCase(
            name: "transfer-single",
            make: after(.transfer) {
                $0.from = "ada"
                $0.user = "bob"
            }
        ),
        SampleCase(
            name: "uncancellation-empty_attributes",
            make: { state, now in
                try after(.cancel)(&state, now)
                try act(&state, .uncancel, now + .seconds(120))
            }
        ),
        SampleCase(
            name: "virtual_currency_transaction-purchase",
            make: after(.currency)
        ),
    ]

    @Test("a body of the model has the keys, nulls and types of the sample", arguments: cases)
    func equalsSample(sample: SampleCase) throws {
        let published = try #require(
            try Published.json("revenuecat/\(sample.name).json")["event"]?.object
        )
        var state = RevenueCatState(key: nil)
        try sample.make(&state, Self.now)
        let type = published["type"]
        let made = try #require(
            state.takeEvents().last { $0["type"] == type },
            "no \(type?.text ?? "")"
        )
        let ours = Set(made.keys).subtracting(Self.sometimes)
        let theirs = Set(published.keys).subtracting(Self.sometimes)
        // An exception that is not needed any more is as wrong as one that is missing.
        #expect(ours.subtracting(theirs) == sample.onlyOurs)
        #expect(theirs.subtracting(ours) == sample.onlyTheirs)
        for key in ours.intersection(theirs) {
            let (mine, other) = (made[key] ?? .null, published[key] ?? .null)
            if mine.isNull || other.isNull {
                let mayDiffer = Self.anywhereNull.contains(key) || sample.nullable.contains(key)
                #expect(mayDiffer || mine.isNull == other.isNull, "\(key): \(mine.text)")
            } else {
                #expect(mine.kind == other.kind, "\(key)")
            }
        }
    }

    @Test func `every published event is compared`() throws {
        let known = Set(Self.cases.map { $0.name + ".json" })
        // Not an event of RevenueCat's: a probe for types that do not exist yet.
        let others: Set = ["unknown_type-future.json"]
        #expect(Set(try Published.names("revenuecat")).subtracting(known) == others)
    }

    @Test func `Purchasely's published signatures are ours`() throws {
        let vectors =
            try Published.json("purchasely/signature_vectors.json")["vectors"]?.array ?? []
        #expect(vectors.count >= 5)
        for vector in vectors {
            let secret = try #require(vector["secret"]?.string)
            let timestamp = try #require(vector["timestamp"]?.string)
            let code =
                if let body = vector["body"]?.string {
                    PurchaselySignature.code(
                        of: Array(body.utf8),
                        timestamp: timestamp,
                        secret: secret
                    )
                } else {
                    PurchaselySignature.deprecatedCode(timestamp: timestamp, secret: secret)
                }
            #expect(code == vector["signature"]?.string, "\(vector["name"]?.text ?? "")")
        }
    }
}
