package import Conformance

/// One thing that happens in a life: something a person, a store or a developer does, or time that
/// comes to its moment.
package struct Act: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case purchase, renew, cancel, uncancel, pause, resume, extend, refund, expire, transfer
        case grant, revoke
        case billingIssue = "billing-issue"
        case recover
        case changeProduct = "change-product"
        case reverseRefund = "reverse-refund"
        case temporaryGrant = "temporary-grant"
        /// Somebody of the family gets what another has bought.
        case share = "family-share"
        case unshare = "stop-family-share"
        /// What tells of nothing that anybody has: a type that changes no subscription.
        case tell
        /// The app announces the person, again if need be.
        case register
        /// A new account claims the id of the person's device.
        case signUp = "sign-up"
        /// The person's device signs in to an account that somebody has, or has it already.
        case logIn = "log-in"
        /// Nothing is done: what is due by then happens by itself.
        case wait

        /// What a backend must have for it to mean anything.
        package var needs: [Feature] {
            switch self {
            case .signUp, .logIn: [.login]
            case .purchase, .renew, .cancel, .uncancel, .pause, .resume, .extend, .refund, .expire,
                .transfer, .grant, .revoke, .billingIssue, .recover, .changeProduct,
                .reverseRefund, .temporaryGrant, .share, .unshare, .tell, .register, .wait:
                []
            }
        }

        /// What a person reads of it.
        var words: String {
            switch self {
            case .purchase: "buys"
            case .renew: "renews"
            case .cancel: "cancels"
            case .uncancel: "takes the cancellation back"
            case .pause: "pauses"
            case .resume: "comes back from a pause"
            case .extend: "is given more time"
            case .refund: "is refunded"
            case .expire: "ends"
            case .transfer: "takes over everything"
            case .grant: "is granted a promotion"
            case .revoke: "loses a promotion"
            case .billingIssue: "cannot be charged"
            case .recover: "is charged after all"
            case .changeProduct: "changes the product"
            case .reverseRefund: "has the refund taken back"
            case .temporaryGrant: "is given access while the store is away"
            case .share: "gets it from the family"
            case .unshare: "gets it from the family no longer"
            case .signUp: "signs up"
            case .logIn: "logs in"
            case .tell: "does something that changes nothing"
            case .register: "opens the app"
            case .wait: "lets time pass"
            }
        }
    }

    package var kind: Kind
    /// Who does it, or gains by it.
    package var user: String
    /// When, relative to the start of the run; never after it.
    package var time: Duration
    /// Who loses by it.
    package var from: String?
    /// Another id of who loses, which nobody has heard of: a transfer names it first (fact sheet 2.6).
    package var also: String?
    package var product: String?
    package var newProduct: String?
    /// Where it is bought, changed or moved; `Message.planStore` for what is sold as a plan.
    package var store: String?
    package var environment: String?
    package var period: String?
    package var reason: String?
    /// How long a grace period, an extension or a pause is.
    package var span: Duration?
    /// The change waits for the end of the period.
    package var isDeferred = false
    /// The event type that `tell` tells.
    package var type: String?
    /// Under which of the person's ids its events name them; nil: the registered one.
    package var knownBy: EventSpec.KnownBy?

    /// Everybody who takes part.
    var people: [String] { [user] + [from, also].compactMap(\.self) }

    var isOfPlans: Bool { store == Message.planStore }

    package init(_ kind: Kind, _ user: String, at time: Duration) {
        (self.kind, self.user, self.time) = (kind, user, time)
    }
}
