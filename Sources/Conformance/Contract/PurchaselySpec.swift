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
