import Contracts
import Foundation
import Providers
import Testing
import TestSupport
import Values

/// The published bodies that lie beside the repository, with their origin.
enum PublishedSamples {
    static let root = Repository.root.deletingLastPathComponent()
        .appendingPathComponent("shared/samples")

    static let areSamplesPresent = FileManager.default.fileExists(atPath: root.path)

    static func json(_ path: String) throws -> JSONValue {
        try JSONValue(parsing: Array(Data(contentsOf: root.appendingPathComponent(path))))
    }

    static func names(_ folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(
            atPath: root.appendingPathComponent(folder).path
        ).filter { $0.hasSuffix(".json") }.sorted()
    }
}

/// One published RevenueCat event, how the store model makes its like, and where the two differ.
struct PublishedEvent: Sendable, CustomTestStringConvertible {
    /// A difference that the publication forces upon us; where it comes from is part of it.
    struct Difference: Sendable {
        enum Side: Sendable {
            /// Members that we write and the sample has not.
            case ours
            /// Members that the sample has and we do not write.
            case theirs
            /// Members that are null in one of the two.
            case null
        }

        let side: Side
        let members: Set<String>
        let source: String
    }

    let name: String
    var differences: [Difference] = []
    let make: @Sendable (inout RevenueCatState, Instant) throws -> Void

    var testDescription: String { name }

    func members(_ side: Difference.Side) -> Set<String> {
        differences.filter { $0.side == side }.reduce(into: []) { $0.formUnion($1.members) }
    }

    /// Members that a customer in an experiment has, under one of two names.
    static let experimentKeys: Set<String> = ["experiments", "price_experiments"]
    /// Null or not as the purchase was: which offer it was, and where it was presented.
    static let purchaseOnlyKeys: Set<String> = ["presented_offering_id", "offer_code"]
}

extension PublishedEvent.Difference {
    /// An older revision of the documentation, before the field became one of those that are
    /// always there (event types and fields, 2026).
    static func keysAddedLater(_ members: String...) -> Self {
        Self(side: .ours, members: Set(members), source: "sample-events, revision before 2025")
    }

    /// A percentage that this sample leaves out, as "sometimes" fields may be, and that its
    /// siblings of the same store have.
    static let withoutShares = Self(
        side: .ours,
        members: ["tax_percentage", "commission_percentage"],
        source: "sample-events of 2024: no percentages but the takehome"
    )

    /// Deprecated: the documentation's samples fill it in as they like; no capture of a store does.
    static let filledEntitlement = Self(
        side: .null,
        members: ["entitlement_id"],
        source: "sample-events: a deprecated member, null in all captures but promotional ones"
    )

    /// A body made for the test of somebody's client, which leaves out what that does not read.
    static func clientFixture(_ members: String...) -> Self {
        Self(side: .ours, members: Set(members), source: "iktakahiro/revcatgo, event_test.go")
    }

    /// The tables of 2.6 in the fact sheet disagree about a member that nobody captured.
    static func guessedKeys(_ members: String...) -> Self {
        Self(side: .theirs, members: Set(members), source: "constructed from a third party's model")
    }

    static func other(_ side: Side, _ members: Set<String>, _ source: String) -> Self {
        Self(side: side, members: members, source: source)
    }
}

extension PublishedEvent {
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

    private static let transferToBob: @Sendable (inout StoreAction) -> Void = {
        $0.from = "ada"
        $0.user = "bob"
    }

    static let all: [PublishedEvent] = purchases + changes + ends + others

    private static let purchases: [PublishedEvent] = [
        PublishedEvent(name: "initial_purchase-appstore", make: buying { _ in }),
        PublishedEvent(
            name: "initial_purchase-envelope_first",
            differences: [.filledEntitlement],
            make: buying { _ in }
        ),
        PublishedEvent(
            name: "initial_purchase-family_share",
            differences: [.withoutShares],
            make: after(.familyShare, transferToBob)
        ),
        PublishedEvent(
            name: "initial_purchase-offer_code",
            differences: [
                .other(
                    .ours,
                    ["entitlement_id", "takehome_percentage"],
                    "promotional-extension guide: without the deprecated members"
                )
            ],
            make: buying { $0.offerCode = "AUTUMN" }
        ),
        PublishedEvent(
            name: "initial_purchase-play_sandbox",
            differences: [
                .clientFixture("app_id", "is_family_share", "country_code", "offer_code")
            ],
            make: buying {
                $0.store = "PLAY_STORE"
                $0.environment = "SANDBOX"
            }
        ),
        PublishedEvent(
            name: "initial_purchase-trial_play",
            make: buying {
                $0.store = "PLAY_STORE"
                $0.period = "TRIAL"
            }
        ),
        PublishedEvent(
            name: "initial_purchase-trial_stripe",
            make: buying {
                $0.store = "STRIPE"
                $0.period = "TRIAL"
            }
        ),
        PublishedEvent(
            name: "non_renewing_purchase-consumable",
            differences: [.withoutShares],
            make: { state, now in
                // The sample's pack of tokens unlocks something, by mistake.
                state.catalog.products["coins_100"] = Catalog.Product(
                    days: nil,
                    price: 1.99,
                    entitlements: ["pro"]
                )
                try act(&state, .purchase, now) { $0.product = "coins_100" }
            }
        ),
        PublishedEvent(
            name: "non_renewing_purchase-lifetime",
            make: buying { $0.product = "lifetime" }
        ),
        PublishedEvent(name: "non_renewing_purchase-promo_grant", make: granted),
        PublishedEvent(name: "renewal-appstore-eur", make: after(.renew)),
        PublishedEvent(
            name: "renewal-billing_recovery_stripe",
            make: { state, now in
                try after(.billingIssue, store: "STRIPE")(&state, now)
                try act(&state, .recover, now + .seconds(120))
            }
        ),
        PublishedEvent(
            name: "renewal-trial_conversion_stripe",
            make: after(.renew, store: "STRIPE", period: "TRIAL")
        ),
    ]

    private static let changes: [PublishedEvent] = [
        PublishedEvent(
            name: "billing_issue-grace",
            differences: [.filledEntitlement],
            make: after(.billingIssue) { $0.grace = .seconds(86_400) }
        ),
        PublishedEvent(
            name: "billing_issue-legacy_no_grace_key",
            differences: [
                .keysAddedLater(
                    "app_id",
                    "is_family_share",
                    "country_code",
                    "grace_period_expiration_at_ms"
                ),
                .filledEntitlement,
                .other(
                    .null,
                    ["tax_percentage", "commission_percentage"],
                    "sample-events of 2024: percentages that were not known yet"
                ),
            ],
            make: after(.billingIssue)
        ),
        PublishedEvent(
            name: "billing_issue-no_grace_stripe",
            make: after(.billingIssue, store: "STRIPE")
        ),
        PublishedEvent(
            name: "product_change-play_deferred",
            differences: [
                .keysAddedLater("app_id", "is_family_share", "country_code"), .filledEntitlement,
                .other(
                    .theirs,
                    ["tax_percentage", "commission_percentage"],
                    "sample-events_10: the only body from Play with percentages"
                ),
            ],
            make: after(.changeProduct, store: "PLAY_STORE") {
                $0.newProduct = "premium_yearly"
                $0.isAtPeriodEnd = true
            }
        ),
        PublishedEvent(name: "subscription_extended-appstore", make: after(.extend)),
        PublishedEvent(
            name: "subscription_paused-play",
            differences: [.filledEntitlement],
            make: after(.pause, store: "PLAY_STORE")
        ),
        PublishedEvent(
            name: "uncancellation-empty_attributes",
            make: { state, now in
                try after(.cancel)(&state, now)
                try act(&state, .uncancel, now + .seconds(120))
            }
        ),
        PublishedEvent(
            name: "refund_reversed-appstore",
            make: { state, now in
                try after(.refund)(&state, now)
                try act(&state, .reverseRefund, now + .seconds(120))
            }
        ),
    ]

    private static let ends: [PublishedEvent] = [
        PublishedEvent(
            name: "cancellation-billing_error_play",
            differences: [
                .clientFixture("app_id", "is_family_share", "country_code", "offer_code")
            ],
            make: after(.billingIssue, store: "PLAY_STORE")
        ),
        PublishedEvent(
            name: "cancellation-billing_error_stripe",
            make: after(.billingIssue, store: "STRIPE")
        ),
        PublishedEvent(
            name: "cancellation-legacy_no_app_id",
            differences: [
                .keysAddedLater("app_id", "is_family_share", "country_code"), .withoutShares,
                .filledEntitlement,
            ],
            make: after(.cancel)
        ),
        PublishedEvent(name: "cancellation-promo_revoke", make: granted),
        PublishedEvent(
            name: "cancellation-refund",
            differences: [
                .keysAddedLater("app_id", "is_family_share", "country_code"), .filledEntitlement,
            ],
            make: after(.refund)
        ),
        PublishedEvent(
            name: "cancellation-trial",
            differences: [.withoutShares],
            make: after(.cancel, period: "TRIAL")
        ),
        PublishedEvent(
            name: "cancellation-unsubscribe",
            differences: [.filledEntitlement],
            make: after(.cancel)
        ),
        PublishedEvent(
            name: "cancellation-unsubscribe_stripe",
            make: after(.cancel, store: "STRIPE")
        ),
        PublishedEvent(
            name: "expiration-future_expiry_stripe",
            make: after(.expire, store: "STRIPE")
        ),
        PublishedEvent(name: "expiration-promo_revoke", make: granted),
        PublishedEvent(
            name: "expiration-subscription_paused_play",
            differences: [.filledEntitlement],
            make: { state, now in
                try after(.pause, store: "PLAY_STORE")(&state, now)
                state.advance(to: now + .seconds(31 * 86_400))
            }
        ),
        PublishedEvent(name: "expiration-unsubscribe", make: after(.expire)),
    ]

    private static let others: [PublishedEvent] = [
        PublishedEvent(
            name: "experiment_enrollment-anonymous",
            make: { try act(&$0, .enroll, $1) }
        ),
        PublishedEvent(
            name: "invoice_issuance-web_billing",
            make: { try act(&$0, .invoice, $1) }
        ),
        PublishedEvent(
            name: "paywall_component_interacted-package",
            differences: [.clientFixture("id", "event_timestamp_ms")],
            make: {
                try act(&$0, .paywall, $1) { $0.type = "PAYWALL_COMPONENT_INTERACTED" }
            }
        ),
        PublishedEvent(
            name: "price_increase_consent_required-appstore",
            make: after(.priceConsent)
        ),
        PublishedEvent(
            name: "purchase_redeemed-alias",
            make: after(.redeem, store: "RC_BILLING", transferToBob)
        ),
        PublishedEvent(
            name: "temporary_entitlement_grant-guaranteed_fields",
            make: { try act(&$0, .temporaryGrant, $1) }
        ),
        PublishedEvent(name: "test-dashboard_play", make: { try act(&$0, .test, $1) }),
        PublishedEvent(
            name: "transfer-legacy_no_app_id",
            differences: [.keysAddedLater("app_id", "environment")],
            make: after(.transfer, transferToBob)
        ),
        PublishedEvent(
            name: "transfer-multi_alias",
            differences: [.guessedKeys("subscriber_attributes")],
            make: after(.transfer, transferToBob)
        ),
        PublishedEvent(name: "transfer-single", make: after(.transfer, transferToBob)),
        PublishedEvent(
            name: "virtual_currency_transaction-purchase",
            make: after(.currency)
        ),
    ]
}

extension EventSpec {
    /// The line of a contract that states the facts of an event, told or published.
    init(stating event: JSONObject) {
        let type = event["type"]?.string ?? ""
        self.init(type: RevenueCatEventType(rawValue: type), user: type == "TRANSFER" ? nil : "ada")
        store = event["store"]?.string ?? store
        environment = event["environment"]?.string ?? environment
        period = event["period_type"]?.string ?? period
        // Consumables are named so, and unlock nothing.
        if event["entitlement_ids"] == .null { product = "coins_100" }
        reason = (event["cancel_reason"] ?? event["expiration_reason"])?.string
        if event["is_trial_conversion"] == true { reason = "TRIAL_CONVERSION" }
        isLifetime = event["expiration_at_ms"] == .null
        if event["new_product_id"] != nil { newProduct = "premium_yearly" }
        if event["grace_period_expiration_at_ms"]?.int64 != nil { grace = .seconds(86_400) }
        from = ["ada"]
        to = ["bob"]
    }
}
