package import Values

/// The fake Purchasely's operations for actions of users and stores (Purchasely fact sheet, section
/// 4).
extension PurchaselyState {
    /// An action of a user or a store that changes a purchase at Purchasely.
    package enum Action: String, Hashable, Sendable, CaseIterable {
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

    /// Carries out an action of a user or a store, and sends the events about it.
    ///
    /// - Throws: A refusal that explains the problem; the state is then unchanged.
    package mutating func carryOut(
        _ action: Action,
        _ body: JSONObject,
        at now: Instant
    ) throws(StoreAction.Refusal) {
        func text(_ name: String) -> String? {
            body[name]?.string.flatMap { $0.isEmpty ? nil : $0 }
        }
        if let unknown = body.keys.first(where: { name in
            !Self.members.contains { $0.name == name }
        }) {
            throw StoreAction.Refusal(
                "'\(unknown)' is not a field of an action; the fields are "
                    + Self.members.map(\.name).sorted().joined(separator: ", ")
            )
        }
        advance(to: now)
        switch action {
        case .purchase: try buy(body, at: now)
        case .logIn, .transfer:
            guard let from = text("from") else {
                throw StoreAction.Refusal("'from' is missing: give the ID that loses its purchases")
            }
            guard let user = text("user") else {
                throw StoreAction.Refusal(
                    "'user' is missing: give the ID that receives the purchases"
                )
            }
            transfer(from: from, to: user, includesOneTimePurchases: action == .transfer, at: now)
        case .renew, .expire, .refund, .pause, .unpause, .disableRenewal, .enableRenewal,
            .startGrace, .enterBillingRetry, .recover, .changePlan:
            let ownerID = text("user") ?? text("anonymous")
            let subscription = try subscription(of: ownerID, action, plan: text("plan"))
            try applyAction(subscription, action, body, at: now)
        }
    }

    /// Returns the newest subscription of a user or anonymous ID.
    ///
    /// If a plan is given, returns the newest subscription to that plan.
    private func subscription(
        of ownerID: String?,
        _ action: Action,
        plan: String?
    ) throws(StoreAction.Refusal) -> Subscription {
        guard let ownerID else { throw StoreAction.Refusal("'user' or 'anonymous' is missing") }
        let subscription = subscriptions.subscriptionsOwned(by: ownerID).filter {
            (plan == nil || action == .changePlan || $0.plan == plan)
        }.max { ($0.purchased, $0.id) < ($1.purchased, $1.id) }
        guard let subscription else {
            throw StoreAction.Refusal(
                "\(ownerID) has no subscription; the action purchase creates one"
            )
        }
        return subscription
    }

    /// Changes a subscription as an action requires, and sends the events about the change.
    mutating func applyAction(
        _ oldSubscription: Subscription,
        _ action: Action,
        _ body: JSONObject,
        at now: Instant
    ) throws(StoreAction.Refusal) {
        guard !oldSubscription.isOneTime || action == .refund else {
            throw StoreAction.Refusal(
                "\(oldSubscription.plan) is a one-time purchase, not a subscription"
            )
        }
        switch action {
        case .renew: renew(oldSubscription, at: now)
        case .disableRenewal: setRenewal(of: oldSubscription, isOn: false, at: now)
        case .enableRenewal: setRenewal(of: oldSubscription, isOn: true, at: now)
        case .expire: try expire(oldSubscription, at: now)
        case .startGrace: startGrace(of: oldSubscription, at: now)
        case .enterBillingRetry: enterBillingRetry(of: oldSubscription, at: now)
        case .recover: recover(oldSubscription, at: now)
        case .refund: refund(oldSubscription, at: now)
        case .pause: try pause(oldSubscription, at: now)
        case .unpause: unpause(oldSubscription, at: now)
        case .changePlan: try changePlan(of: oldSubscription, body, at: now)
        case .purchase, .logIn, .transfer: break
        }
    }

    private mutating func save(_ subscription: Subscription) {
        subscriptions[subscription.id] = subscription
    }

    // MARK: Periods

    private mutating func renew(_ oldSubscription: Subscription, at now: Instant) {
        var subscription = oldSubscription
        subscription.previousOfferType = subscription.offerType
        subscription.offerType = "NONE"
        subscription.price = 9.99
        beginPeriod(&subscription, at: now)
        save(subscription)
        queueEvent("ACTIVATE", subscription, at: now)
        queueEvent("SUBSCRIPTION_RENEWED", subscription, at: now)
        if oldSubscription.offerType != "NONE" {
            queueEvent(Self.conversionEventName(oldSubscription.offerType), subscription, at: now)
        }
        charge(subscription, "SUBSCRIPTION_RENEWED", subscription.price, at: now)
    }

    private mutating func setRenewal(of oldSubscription: Subscription, isOn: Bool, at now: Instant)
    {
        var subscription = oldSubscription
        subscription.status = isOn ? "AUTO_RENEWING" : "AUTO_RENEWING_CANCELED"
        save(subscription)
        queueEvent(isOn ? "RENEWAL_ENABLED" : "RENEWAL_DISABLED", subscription, at: now)
    }

    private mutating func expire(
        _ oldSubscription: Subscription,
        at now: Instant
    ) throws(StoreAction.Refusal) {
        guard oldSubscription.isActive else {
            throw StoreAction.Refusal("\(oldSubscription.plan) has already ended")
        }
        var subscription = oldSubscription
        subscription.status = "DEACTIVATED"
        subscription.isActive = false
        save(subscription)
        queueEvent("DEACTIVATE", subscription, at: now)
        queueEvent("SUBSCRIPTION_TERMINATED", subscription, at: now)
        if oldSubscription.offerType != "NONE" {
            queueEvent(
                Self.conversionEventName(oldSubscription.offerType, isFailed: true),
                subscription,
                at: now
            )
        }
    }

    private mutating func beginPeriod(_ subscription: inout Subscription, at now: Instant) {
        subscription.purchased = max(subscription.nextRenewal ?? now, now)
        subscription.nextRenewal = subscription.purchased + Self.periodLength(subscription.plan)
        subscription.effectiveEnd = subscription.nextRenewal
        subscription.graceEnd = nil
        subscription.status = "AUTO_RENEWING"
        subscription.isActive = true
        subscription.transactionID =
            subscription.store == "GOOGLE_PLAY_STORE"
            ? subscription.originalTransactionID + "..\(subscription.renewalCount)"
            : transactionID(subscription.store)
        subscription.renewalCount += 1
        subscription.revenue += subscription.price
        subscription.previousOfferType = subscription.previousOfferType ?? subscription.offerType
    }

    private static func conversionEventName(_ offer: String, isFailed: Bool = false) -> String {
        let name = offer == "FREE_TRIAL" ? "TRIAL" : offer
        return name + (isFailed ? "_NOT_CONVERTED" : "_CONVERTED")
    }

    // MARK: Billing

    private mutating func startGrace(of oldSubscription: Subscription, at now: Instant) {
        var subscription = oldSubscription
        subscription.status = "IN_GRACE_PERIOD"
        subscription.graceEnd = (subscription.nextRenewal ?? now) + .days(16)
        subscription.effectiveEnd = subscription.graceEnd
        save(subscription)
        queueEvent("ACTIVATE", subscription, at: now)
        queueEvent("GRACE_PERIOD_STARTED", subscription, at: now)
    }

    private mutating func enterBillingRetry(of oldSubscription: Subscription, at now: Instant) {
        var subscription = oldSubscription
        subscription.status = "UNPAID"
        subscription.isActive = false
        subscription.graceEnd = nil
        subscription.effectiveEnd = subscription.nextRenewal
        save(subscription)
        queueEvent("DEACTIVATE", subscription, at: now)
        if oldSubscription.graceEnd != nil {
            queueEvent("GRACE_PERIOD_TERMINATED", subscription, at: now)
        }
        queueEvent("ENTERED_BILLING_RETRY", subscription, at: now)
    }

    private mutating func recover(_ oldSubscription: Subscription, at now: Instant) {
        var subscription = oldSubscription
        beginPeriod(&subscription, at: now)
        save(subscription)
        queueEvent("ACTIVATE", subscription, at: now)
        let from = oldSubscription.graceEnd == nil ? "BILLING_RETRY" : "GRACE_PERIOD"
        queueEvent("SUBSCRIPTION_RECOVERED_FROM_" + from, subscription, at: now)
        charge(subscription, "SUBSCRIPTION_RENEWED", subscription.price, at: now)
    }

    private mutating func refund(_ oldSubscription: Subscription, at now: Instant) {
        var subscription = oldSubscription
        subscription.status = subscription.isOneTime ? nil : "REVOKED"
        subscription.isActive = false
        save(subscription)
        queueEvent("DEACTIVATE", subscription, at: now)
        if !subscription.isOneTime {
            queueEvent("SUBSCRIPTION_REFUNDED_REVOKED", subscription, at: now)
        }
        charge(subscription, "SUBSCRIPTION_REFUNDED_REVOKED", -subscription.price, at: now)
    }

    // MARK: Pauses and plans

    private mutating func pause(_ oldSubscription: Subscription, at now: Instant) throws(StoreAction
        .Refusal)
    {
        guard oldSubscription.store == "GOOGLE_PLAY_STORE" else {
            throw StoreAction.Refusal("only Google Play subscriptions can be paused")
        }
        var subscription = oldSubscription
        subscription.status = "PAUSED"
        subscription.isActive = false
        subscription.resume = now + .days(30)
        save(subscription)
        queueEvent("DEACTIVATE", subscription, at: now)
        queueEvent("SUBSCRIPTION_PAUSED", subscription, at: now)
    }

    private mutating func unpause(_ oldSubscription: Subscription, at now: Instant) {
        var subscription = oldSubscription
        subscription.resume = nil
        beginPeriod(&subscription, at: now)
        save(subscription)
        queueEvent("ACTIVATE", subscription, at: now)
        queueEvent("SUBSCRIPTION_UNPAUSED", subscription, at: now)
    }

    private static let changeEventNames = [
        "upgrade": "UPGRADED", "downgrade": "DOWNGRADED", "crossgrade": "CROSSGRADED",
    ]

    private mutating func changePlan(
        of oldSubscription: Subscription,
        _ body: JSONObject,
        at now: Instant
    ) throws(StoreAction.Refusal) {
        guard let plan = body["plan"]?.string, plan != oldSubscription.plan else {
            throw StoreAction.Refusal("'plan' must be given and differ from the current plan")
        }
        guard let name = Self.changeEventNames[body["way"]?.string ?? "upgrade"] else {
            throw StoreAction.Refusal("'way' must be upgrade, downgrade or crossgrade")
        }
        var subscription = oldSubscription
        queueEvent("DEACTIVATE", subscription, at: now)
        subscription.plan = plan
        subscription.storeProduct = Self.storeProduct(plan)
        subscription.previousOfferType = subscription.offerType
        subscription.purchased = now
        subscription.nextRenewal = now + Self.periodLength(plan)
        subscription.effectiveEnd = subscription.nextRenewal
        save(subscription)
        queueEvent("ACTIVATE", subscription, at: now) { $0.previousPlan = oldSubscription.plan }
        queueEvent("SUBSCRIPTION_" + name, subscription, at: now) {
            $0.previousPlan = oldSubscription.plan
        }
    }
}
