package import Grammar

/// A short description of a Purchasely event, from which the provider's event factory generates a
/// realistic request body.
///
/// Source: sections 4 and 5 of the Purchasely fact sheet.
package struct PurchaselySpec: ProviderEvent {
    /// The store of an event that names none.
    package static let usualStore = "APPLE_APP_STORE"

    package static let stores = [
        usualStore, "GOOGLE_PLAY_STORE", "AMAZON_APPSTORE", "HUAWEI_APPGALLERY", "STRIPE",
    ]

    package static let purchaseTypes = [
        "RENEWING_SUBSCRIPTION", "NON_RENEWING_SUBSCRIPTION", "CONSUMABLE", "NON_CONSUMABLE",
    ]

    /// Purchasely's event names, from section 4 of the Purchasely fact sheet.
    ///
    /// A contract may also use an unknown name that starts with `FUTURE_`.
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
    /// Whether the event names its user by `anonymous_user_id` instead of `user_id` (section 6 of
    /// the Purchasely fact sheet).
    package var isAnonymous = false
    package var plan = "PLUS_MONTHLY"
    package var previousPlan: String?
    /// The contract's name for the subscription of the event.
    ///
    /// Events with the same name have the same subscription ID.
    package var subscription = "main"
    package var purchaseType = "RENEWING_SUBSCRIPTION"
    package var store = usualStore
    package var environment = "PRODUCTION"
    package var status: String?
    /// The previous or new owner of the purchase, in the events of a transfer (section 7 of the
    /// Purchasely fact sheet); nil: none.
    package var other: String?
    /// The time at which the event was first sent, relative to the start of the run.
    package var time: Duration = .zero
    /// The start of the subscription period, relative to the start of the run; nil: the time of the
    /// event.
    package var purchased: Duration?
    /// The value of the event's field `effective_next_renewal_at`, relative to the start of the
    /// run; nil: 30 days after the start of the period.
    package var expires: Duration?
    /// The value of the event's field `next_renewal_at`, relative to the start of the run; nil: the
    /// value of `effective_next_renewal_at`.
    package var renewalTime: Duration?

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
        "A Purchasely event. Assay generates the rest of a realistic body.",
        makeEmptyOwner: { _ in PurchaselySpec(name: "", user: "") }
    ) {
        Field.required(
            "name",
            \.name,
            .openWord("event name", among: names),
            "The Purchasely event name."
        )
        Field.required("user", \.user, .name(.user, .mentions), "The user of the event.")
        Field.flag(
            "anonymous",
            \.isAnonymous,
            "Whether the user is named by `anonymous_user_id` instead of `user_id`."
        )
        planFields
        Field.optional(
            "other",
            \.other,
            .name(.user, .mentions),
            "The previous or new owner of the purchase, in the events of a transfer."
        )
        timeFields
    }

    @FieldBuilder<PurchaselySpec> private static var planFields: [Field<PurchaselySpec>] {
        Field.value(
            "plan",
            \.plan,
            .text("a Purchasely plan"),
            default: "PLUS_MONTHLY",
            "The plan that was bought."
        )
        Field.optional(
            "previous-plan",
            \.previousPlan,
            .text("a plan"),
            "The plan that is replaced, for upgrades and downgrades."
        )
        Field.value(
            "subscription",
            \.subscription,
            .text("a name"),
            default: "main",
            "A name for the subscription. The same name means the same subscription ID."
        )
        Field.value(
            "purchase-type",
            \.purchaseType,
            .word("purchase type", among: purchaseTypes),
            default: "RENEWING_SUBSCRIPTION",
            "The type of the purchase."
        )
        Field.value(
            "store",
            \.store,
            .word("store", among: stores),
            default: "APPLE_APP_STORE",
            "The store of the purchase."
        )
        Field.value(
            "environment",
            \.environment,
            .word("environment", among: ["PRODUCTION", "SANDBOX"]),
            default: "PRODUCTION",
            "Whether the purchase is real or a sandbox test."
        )
        Field.optional(
            "status",
            \.status,
            .text("a Purchasely status"),
            "The value of `subscription_status`.",
            fallback: "the status that the event's name implies"
        )
    }

    @FieldBuilder<PurchaselySpec> private static var timeFields: [Field<PurchaselySpec>] {
        Field.value(
            "time",
            \.time,
            .signedDuration,
            default: .zero,
            "The time at which the event was first sent, relative to the start of the run."
        )
        Field.optional(
            "purchased",
            \.purchased,
            .signedDuration,
            "The start of the period, relative to the start of the run.",
            fallback: "the time of the event"
        )
        Field.optional(
            "expires",
            \.expires,
            .signedDuration,
            "The value of `effective_next_renewal_at`, relative to the start of the run.",
            fallback: "30 days after the start of the period"
        )
        Field.optional(
            "renews",
            \.renewalTime,
            .signedDuration,
            "The value of `next_renewal_at`, relative to the start of the run.",
            fallback: "the value of `expires`"
        )
    }
}
