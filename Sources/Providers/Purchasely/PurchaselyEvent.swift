package import Conformance

/// One event of Purchasely: what happened, before it is text.
///
/// A contract's line and a subscription of the fake both become this value; only
/// `PurchaselyEventWriter` knows keys.
package struct PurchaselyEvent: Hashable, Sendable {
    /// Who has it: an installation until somebody signed in (fact sheet, section 6).
    package enum Holder: Hashable, Sendable {
        case user(String)
        case anonymous(String)

        package var id: String {
            switch self {
            case .user(let id), .anonymous(let id): id
            }
        }
    }

    /// What `TRANSACTION_PROCESSED` tells: less than nothing for a refund.
    package struct Charge: Hashable, Sendable {
        package var amount: Double
        /// The event that it belongs to.
        package var source: String

        package init(amount: Double, source: String) {
            self.amount = amount
            self.source = source
        }
    }

    /// The dates of a purchase; what has none does not apply.
    package struct Dates: Hashable, Sendable {
        package var purchased: Instant
        package var originallyPurchased: Instant
        package var nextRenewal: Instant?
        package var effectiveRenewal: Instant?
        package var graceEnd: Instant?
        package var resume: Instant?

        package init(purchased: Instant, originallyPurchased: Instant) {
            self.purchased = purchased
            self.originallyPurchased = originallyPurchased
        }
    }

    package var name: String
    /// Unique per event, in lower case as in every published body.
    package var id: String
    /// When it was first sent.
    package var time: Instant
    package var holder: Holder
    /// Who had it before, or has it now.
    package var other: Holder?
    package var plan: String
    package var previousPlan: String?
    package var product: String
    package var storeProduct: String
    package var store: String
    package var environment: String
    package var purchaseType: String
    /// `subs_…` or `otp_…`.
    package var purchaseID: String
    package var transactionID: String
    package var originalTransactionID: String
    package var offer: String
    package var previousOffer: String?
    /// Whether the holder's purchase began with it.
    package var isFirst: Bool
    package var status: String?
    package var price: Double
    /// All that was paid for it so far.
    package var revenue: Double
    package var charge: Charge?
    package var currency: String
    package var bundleID: String
    package var dates: Dates

    package var isOneTime: Bool { !purchaseType.hasSuffix("SUBSCRIPTION") }
}
