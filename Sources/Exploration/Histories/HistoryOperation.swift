internal import Contracts
package import Providers

/// One operation of a generated customer history: an action of a user, a store or a developer, or
/// the passing of time.
package struct HistoryOperation: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case purchase, renew, cancel, uncancel, pause, resume, extend, refund, expire, transfer
        case grant, revoke
        case billingIssue = "billing-issue"
        case recover
        case changeProduct = "change-product"
        case reverseRefund = "reverse-refund"
        case temporaryGrant = "temporary-grant"
        /// A family member of the user who bought a purchase gets access to that purchase.
        case share = "family-share"
        case unshare = "stop-family-share"
        /// A seller sends an event of a type that changes no subscription, such as a test event.
        case irrelevantEvent = "irrelevant-event"
        /// The app registers the user at the backend, for the first time or again.
        case register
        /// The user signs up, and the new account claims the user ID of the user's device.
        case signUp = "sign-up"
        /// The user's device signs in to an existing account, which may belong to another user.
        case logIn = "log-in"
        /// No user acts until the time of this operation. Only scheduled store events happen, such
        /// as renewals.
        case wait

        /// The profile features that a backend must have so that this operation can be tested.
        package var needs: [Feature] {
            switch self {
            case .signUp, .logIn: [.login]
            case .purchase, .renew, .cancel, .uncancel, .pause, .resume, .extend, .refund, .expire,
                .transfer, .grant, .revoke, .billingIssue, .recover, .changeProduct,
                .reverseRefund, .temporaryGrant, .share, .unshare, .irrelevantEvent, .register,
                .wait:
                []
            }
        }

        /// The predicate that the title of a history uses for this operation, such as `buys`.
        var words: String {
            switch self {
            case .purchase: "buys"
            case .renew: "renews"
            case .cancel: "cancels"
            case .uncancel: "withdraws the cancellation"
            case .pause: "pauses"
            case .resume: "resumes after a pause"
            case .extend: "gets an extension"
            case .refund: "gets a refund"
            case .expire: "lets the subscription expire"
            case .transfer: "takes over all purchases"
            case .grant: "gets a promotional grant"
            case .revoke: "loses the promotional grant"
            case .billingIssue: "has a billing issue"
            case .recover: "recovers from the billing issue"
            case .changeProduct: "changes the product"
            case .reverseRefund: "has the refund reversed"
            case .temporaryGrant: "gets temporary access during a store outage"
            case .share: "gets the purchase as a family share"
            case .unshare: "loses the family share"
            case .signUp: "signs up"
            case .logIn: "logs in to the account"
            case .irrelevantEvent: "gets an irrelevant event"
            case .register: "opens the app"
            case .wait: "lets time pass"
            }
        }
    }

    package var kind: Kind
    /// The user who acts.
    ///
    /// In a transfer or a family share, this is the user who receives the purchases.
    package var user: String
    /// The time of the operation, relative to the run's base time (`RunRecord.base`); never
    /// positive.
    package var time: Duration
    /// The user who loses the purchases in a transfer, the buyer in a family share, or the
    /// account's owner in a login; nil for other operations.
    package var from: String?
    /// Another ID of the user who loses the purchases, unknown to the backend.
    ///
    /// A TRANSFER event lists this ID first (RevenueCat fact sheet 2.6).
    package var additionalID: String?
    package var product: String?
    package var newProduct: String?
    /// The store of the purchase, product change or transfer, or the store name of its seller
    /// (`SellerModel.storeName`).
    package var store: String?
    package var environment: String?
    package var period: String?
    package var reason: String?
    /// The length of a grace period, an extension or a pause.
    package var effectDuration: Duration?
    /// Whether a product change takes effect only at the end of the paid period.
    package var isDeferred = false
    /// The event type of an irrelevant event, which changes no subscription; nil for other
    /// operations.
    package var type: String?
    /// The kind of ID by which the events of this operation name the user, from the seller's
    /// `userIDLocations`; nil for the registered ID.
    package var userIDLocation: String?

    /// The names of all users who take part in the operation.
    var users: [String] { [user] + [from, additionalID].compactMap(\.self) }

    package var effectiveEnvironment: String { environment ?? "PRODUCTION" }

    package init(_ kind: Kind, _ user: String, at time: Duration) {
        (self.kind, self.user, self.time) = (kind, user, time)
    }
}
