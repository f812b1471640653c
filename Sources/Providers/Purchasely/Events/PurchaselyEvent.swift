package import Values

/// The facts of a Purchasely event, before they are encoded.
///
/// An event in a contract and a change of a subscription in the fake both become this value. Only
/// `PurchaselyEventWriter` knows the JSON keys.
package struct PurchaselyEvent: Hashable, Sendable {
    /// The owner of a purchase.
    ///
    /// An installation of the app owns the purchase under an anonymous ID until a user signs in
    /// (Purchasely fact sheet, section 6).
    package enum Holder: Hashable, Sendable {
        case user(String)
        case anonymous(String)

        package var id: String {
            switch self {
            case .user(let id), .anonymous(let id): id
            }
        }
    }

    /// The payment that an event `TRANSACTION_PROCESSED` reports.
    ///
    /// The amount is negative for a refund.
    package struct Charge: Hashable, Sendable {
        package var amount: Double
        /// The name of the event that caused the payment.
        package var source: String

        package init(amount: Double, source: String) {
            self.amount = amount
            self.source = source
        }
    }

    /// The dates of a purchase.
    ///
    /// A date that does not apply is nil.
    package struct PurchaseDates: Hashable, Sendable {
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
    /// The unique ID of the event, in lower case as in every published body.
    package var id: String
    /// The time at which the event is first delivered.
    package var time: Instant
    package var holder: Holder
    /// The other owner in a transfer: the previous or the new owner of the purchase.
    ///
    /// Nil for an event that is not about a transfer.
    package var other: Holder?
    package var plan: String
    package var previousPlan: String?
    package var product: String
    package var storeProduct: String
    package var store: String
    package var environment: String
    package var purchaseType: String
    /// The ID of the purchase: `subs_…` for a subscription or `otp_…` for a one-time purchase.
    package var purchaseID: String
    package var transactionID: String
    package var originalTransactionID: String
    package var offer: String
    package var previousOffer: String?
    /// Whether the event happens at the start of the purchase, and is neither a change of plan nor
    /// a transfer.
    ///
    /// Some of these events lack the member for the previous offer (Purchasely fact sheet, section
    /// 5).
    package var isFirstPurchaseEvent: Bool
    package var status: String?
    package var price: Double
    /// The total amount that was paid for the purchase until this event.
    package var revenue: Double
    package var charge: Charge?
    package var currency: String
    package var bundleID: String
    package var dates: PurchaseDates

    package var isOneTime: Bool { !purchaseType.hasSuffix("SUBSCRIPTION") }
}
