/// An action of a user or a store that changes a purchase at Purchasely.
package enum PurchaselyAction: String, Hashable, Sendable, CaseIterable {
    case purchase, renew, expire, refund, pause, unpause
    case disableRenewal = "disable-renewal"
    case enableRenewal = "enable-renewal"
    case startGrace = "start-grace"
    case enterBillingRetry = "enter-billing-retry"
    case recover
    case changePlan = "change-plan"
    case logIn = "log-in"
    case transfer

    /// A one-line description of the action for users.
    package var summary: String {
        switch self {
        case .purchase: "buys a plan"
        case .renew: "renews the subscription for the next period now"
        case .expire: "ends the subscription now"
        case .refund: "refunds the purchase"
        case .pause: "Play: pauses the subscription"
        case .unpause: "Play: ends the pause of the subscription"
        case .disableRenewal: "turns off the renewal of the subscription"
        case .enableRenewal: "turns on the renewal of the subscription again"
        case .startGrace: "the renewal payment fails; access continues for the grace period"
        case .enterBillingRetry: "the renewal payment fails; access ends"
        case .recover: "the renewal payment that failed succeeds now"
        case .changePlan:
            "changes the subscription to `plan`; `way` is upgrade, downgrade or crossgrade"
        case .logIn: "the installation `from` logs in as `user`"
        case .transfer: "moves all purchases of `from` to `user`"
        }
    }
}
