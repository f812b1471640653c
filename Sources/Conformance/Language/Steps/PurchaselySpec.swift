/// What a Purchasely event says; the provider's factory knows how its bodies say it.
///
/// Source: Purchasely fact sheet, sections 4 and 5.
package struct PurchaselySpec: Hashable, Codable, Sendable {
    package static let stores = [
        "APPLE_APP_STORE", "GOOGLE_PLAY_STORE", "AMAZON_APPSTORE", "HUAWEI_APPGALLERY", "STRIPE",
    ]

    package static let purchaseTypes = [
        "RENEWING_SUBSCRIPTION", "NON_RENEWING_SUBSCRIPTION", "CONSUMABLE", "NON_CONSUMABLE",
    ]

    /// The names of section 4; the set is open, and a contract that wants another says `FUTURE_…`.
    package static let names = [
        "ACTIVATE", "DEACTIVATE", "SUBSCRIPTION_STARTED", "TRIAL_STARTED", "INTRO_OFFER_STARTED",
        "PROMO_CODE_STARTED", "PROMOTIONAL_OFFER_STARTED", "TRIAL_CONVERTED",
        "INTRO_OFFER_CONVERTED", "PROMO_CODE_CONVERTED", "PROMOTIONAL_OFFER_CONVERTED",
        "TRIAL_NOT_CONVERTED", "INTRO_OFFER_NOT_CONVERTED", "PROMO_CODE_NOT_CONVERTED",
        "PROMOTIONAL_OFFER_NOT_CONVERTED", "SUBSCRIPTION_RENEWED", "SUBSCRIPTION_DEFERRED",
        "SUBSCRIPTION_UPGRADED", "SUBSCRIPTION_DOWNGRADED", "SUBSCRIPTION_CROSSGRADED",
        "RENEWAL_DISABLED", "RENEWAL_ENABLED", "SUBSCRIPTION_TERMINATED",
        "FAMILY_SHARED_REVOKED", "SUBSCRIPTION_REACTIVATED", "TRANSACTION_PROCESSED",
        "GRACE_PERIOD_STARTED", "GRACE_PERIOD_TERMINATED", "ENTERED_BILLING_RETRY",
        "SUBSCRIPTION_CANCELLED_DURING_GRACE_PERIOD", "SUBSCRIPTION_RECOVERED_FROM_GRACE_PERIOD",
        "SUBSCRIPTION_RECOVERED_FROM_BILLING_RETRY", "SUBSCRIPTION_WILL_PAUSE",
        "SUBSCRIPTION_WILL_NOT_PAUSE", "SUBSCRIPTION_PAUSED", "SUBSCRIPTION_UNPAUSED",
        "SUBSCRIPTION_CANCELLED_DURING_PAUSE", "SUBSCRIPTION_TRANSFERRED",
        "SUBSCRIPTION_RECEIVED", "ONE_TIME_PURCHASE_TRANSFERRED", "ONE_TIME_PURCHASE_RECEIVED",
        "SUBSCRIPTION_REFUNDED_REVOKED",
    ]

    package var name: String
    package var user: String
    /// The holder is named by `anonymous_user_id` instead of `user_id` (section 6).
    package var isAnonymous = false
    package var plan = "PLUS_MONTHLY"
    package var previousPlan: String?
    /// Which of the case's subscriptions the event is about; the same word is the same id.
    package var subscription = "main"
    package var purchaseType = "RENEWING_SUBSCRIPTION"
    package var store = "APPLE_APP_STORE"
    package var environment = "PRODUCTION"
    package var status: String?
    /// Who had it before or has it now, for the events of a transfer (section 7).
    package var other: String?
    /// When the event was first sent, relative to the start of the run.
    package var time: Duration = .zero
    /// Start of the period; by default the time of the event.
    package var purchased: Duration?
    /// `effective_next_renewal_at`; by default 30 days after the start of the period.
    package var expires: Duration?
    /// `next_renewal_at`; by default the same as the effective one.
    package var renews: Duration?

    package init(name: String, user: String) {
        self.name = name
        self.user = user
    }

    package var users: [String] { [user] + (other.map { [$0] } ?? []) }

    package var isOneTime: Bool { !purchaseType.hasSuffix("SUBSCRIPTION") }
}

extension PurchaselySpec {
    package static let grammar = Construct<PurchaselySpec>(
        "purchasely",
        "a Purchasely event",
        "What a Purchasely event says; the factory fills in a realistic body.",
        blank: { _ in PurchaselySpec(name: "", user: "") }
    ) {
        Field.required(
            "name",
            \.name,
            .openWord("event name", among: names),
            "Purchasely's name of what happened."
        )
        Field.required("user", \.user, .name(.user, .mentions), "Whom it happened to.")
        Field.flag(
            "anonymous",
            \.isAnonymous,
            "The user is named by `anonymous_user_id` instead of `user_id`."
        )
        planFields
        Field.optional(
            "other",
            \.other,
            .name(.user, .mentions),
            "Who had it before or has it now, for the events of a transfer."
        )
        timeFields
    }

    @FieldBuilder<PurchaselySpec> private static var planFields: [Field<PurchaselySpec>] {
        Field.value(
            "plan",
            \.plan,
            .text("a plan, by Purchasely's name"),
            default: "PLUS_MONTHLY",
            "What was bought."
        )
        Field.optional(
            "previous-plan",
            \.previousPlan,
            .text("a plan"),
            "What it replaces, for upgrades and downgrades."
        )
        Field.value(
            "subscription",
            \.subscription,
            .text("a word of the contract's own"),
            default: "main",
            "Which of the case's subscriptions it is about; the same word is the same id."
        )
        Field.value(
            "purchase-type",
            \.purchaseType,
            .word("purchase type", among: purchaseTypes),
            default: "RENEWING_SUBSCRIPTION",
            "Which kind of purchase it is."
        )
        Field.value(
            "store",
            \.store,
            .word("store", among: stores),
            default: "APPLE_APP_STORE",
            "Where it was bought."
        )
        Field.value(
            "environment",
            \.environment,
            .word("environment", among: ["PRODUCTION", "SANDBOX"]),
            default: "PRODUCTION",
            "Whether money changed hands."
        )
        Field.optional(
            "status",
            \.status,
            .text("a status, by Purchasely's name"),
            "What `subscription_status` says.",
            fallback: "what the event's name implies"
        )
    }

    @FieldBuilder<PurchaselySpec> private static var timeFields: [Field<PurchaselySpec>] {
        Field.value(
            "time",
            \.time,
            .moment,
            default: .zero,
            "When the event was first sent, relative to the start of the run."
        )
        Field.optional(
            "purchased",
            \.purchased,
            .moment,
            "When the period began, relative to the start of the run.",
            fallback: "the time of the event"
        )
        Field.optional(
            "expires",
            \.expires,
            .moment,
            "What `effective_next_renewal_at` says, relative to the start of the run.",
            fallback: "30 days after the start of the period"
        )
        Field.optional(
            "renews",
            \.renews,
            .moment,
            "What `next_renewal_at` says, relative to the start of the run.",
            fallback: "the same as `expires`"
        )
    }
}
