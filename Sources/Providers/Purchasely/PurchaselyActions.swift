package import Conformance

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
            transfer(from: from, to: user, everything: action == .transfer, at: now)
        case .renew, .expire, .refund, .pause, .unpause, .disableRenewal, .enableRenewal,
            .startGrace, .enterBillingRetry, .recover, .changePlan:
            let holder = text("user") ?? text("anonymous")
            let found = try subscription(of: holder, action, plan: text("plan"))
            try change(found, action, body, at: now)
        }
    }

    /// Returns the newest subscription of a user or anonymous ID.
    ///
    /// If a plan is given, returns the newest subscription to that plan.
    private func subscription(
        of holder: String?,
        _ action: Action,
        plan: String?
    ) throws(StoreAction.Refusal) -> Subscription {
        guard let holder else { throw StoreAction.Refusal("'user' or 'anonymous' is missing") }
        let found = subscriptions.subscriptionsOwned(by: holder).filter {
            (plan == nil || action == .changePlan || $0.plan == plan)
        }.max { ($0.purchased, $0.id) < ($1.purchased, $1.id) }
        guard let found else {
            throw StoreAction.Refusal(
                "\(holder) has no subscription; the action purchase creates one"
            )
        }
        return found
    }

    /// Changes a subscription as an action requires, and sends the events about the change.
    mutating func change(
        _ old: Subscription,
        _ action: Action,
        _ body: JSONObject,
        at now: Instant
    ) throws(StoreAction.Refusal) {
        guard !old.isOneTime || action == .refund else {
            throw StoreAction.Refusal("\(old.plan) is a one-time purchase, not a subscription")
        }
        switch action {
        case .renew: renew(old, at: now)
        case .disableRenewal: setRenewal(of: old, isOn: false, at: now)
        case .enableRenewal: setRenewal(of: old, isOn: true, at: now)
        case .expire: try expire(old, at: now)
        case .startGrace: startGrace(of: old, at: now)
        case .enterBillingRetry: enterBillingRetry(of: old, at: now)
        case .recover: recover(old, at: now)
        case .refund: refund(old, at: now)
        case .pause: try pause(old, at: now)
        case .unpause: unpause(old, at: now)
        case .changePlan: try changePlan(of: old, body, at: now)
        case .purchase, .logIn, .transfer: break
        }
    }

    private mutating func save(_ found: Subscription) { subscriptions[found.id] = found }

    // MARK: Periods

    private mutating func renew(_ old: Subscription, at now: Instant) {
        var found = old
        found.previousOfferType = found.offerType
        found.offerType = "NONE"
        found.price = 9.99
        beginPeriod(&found, at: now)
        save(found)
        send("ACTIVATE", found, at: now)
        send("SUBSCRIPTION_RENEWED", found, at: now)
        if old.offerType != "NONE" { send(Self.conversion(old.offerType), found, at: now) }
        charge(found, "SUBSCRIPTION_RENEWED", found.price, at: now)
    }

    private mutating func setRenewal(of old: Subscription, isOn: Bool, at now: Instant) {
        var found = old
        found.status = isOn ? "AUTO_RENEWING" : "AUTO_RENEWING_CANCELED"
        save(found)
        send(isOn ? "RENEWAL_ENABLED" : "RENEWAL_DISABLED", found, at: now)
    }

    private mutating func expire(
        _ old: Subscription,
        at now: Instant
    ) throws(StoreAction.Refusal) {
        guard old.isActive else { throw StoreAction.Refusal("\(old.plan) has already ended") }
        var found = old
        found.status = "DEACTIVATED"
        found.isActive = false
        save(found)
        send("DEACTIVATE", found, at: now)
        send("SUBSCRIPTION_TERMINATED", found, at: now)
        if old.offerType != "NONE" {
            send(Self.conversion(old.offerType, fails: true), found, at: now)
        }
    }

    private mutating func beginPeriod(_ found: inout Subscription, at now: Instant) {
        found.purchased = max(found.nextRenewal ?? now, now)
        found.nextRenewal = found.purchased + Self.period(found.plan)
        found.effectiveEnd = found.nextRenewal
        found.graceEnd = nil
        found.status = "AUTO_RENEWING"
        found.isActive = true
        found.transactionID =
            found.store == "GOOGLE_PLAY_STORE"
            ? found.originalTransactionID + "..\(found.renewalCount)" : transactionID(found.store)
        found.renewalCount += 1
        found.revenue += found.price
        found.previousOfferType = found.previousOfferType ?? found.offerType
    }

    private static func conversion(_ offer: String, fails: Bool = false) -> String {
        let name = offer == "FREE_TRIAL" ? "TRIAL" : offer
        return name + (fails ? "_NOT_CONVERTED" : "_CONVERTED")
    }

    // MARK: Billing

    private mutating func startGrace(of old: Subscription, at now: Instant) {
        var found = old
        found.status = "IN_GRACE_PERIOD"
        found.graceEnd = (found.nextRenewal ?? now) + .days(16)
        found.effectiveEnd = found.graceEnd
        save(found)
        send("ACTIVATE", found, at: now)
        send("GRACE_PERIOD_STARTED", found, at: now)
    }

    private mutating func enterBillingRetry(of old: Subscription, at now: Instant) {
        var found = old
        found.status = "UNPAID"
        found.isActive = false
        found.graceEnd = nil
        found.effectiveEnd = found.nextRenewal
        save(found)
        send("DEACTIVATE", found, at: now)
        if old.graceEnd != nil { send("GRACE_PERIOD_TERMINATED", found, at: now) }
        send("ENTERED_BILLING_RETRY", found, at: now)
    }

    private mutating func recover(_ old: Subscription, at now: Instant) {
        var found = old
        beginPeriod(&found, at: now)
        save(found)
        send("ACTIVATE", found, at: now)
        let from = old.graceEnd == nil ? "BILLING_RETRY" : "GRACE_PERIOD"
        send("SUBSCRIPTION_RECOVERED_FROM_" + from, found, at: now)
        charge(found, "SUBSCRIPTION_RENEWED", found.price, at: now)
    }

    private mutating func refund(_ old: Subscription, at now: Instant) {
        var found = old
        found.status = found.isOneTime ? nil : "REVOKED"
        found.isActive = false
        save(found)
        send("DEACTIVATE", found, at: now)
        if !found.isOneTime { send("SUBSCRIPTION_REFUNDED_REVOKED", found, at: now) }
        charge(found, "SUBSCRIPTION_REFUNDED_REVOKED", -found.price, at: now)
    }

    // MARK: Pauses and plans

    private mutating func pause(_ old: Subscription, at now: Instant) throws(StoreAction.Refusal) {
        guard old.store == "GOOGLE_PLAY_STORE" else {
            throw StoreAction.Refusal("only Google Play subscriptions can be paused")
        }
        var found = old
        found.status = "PAUSED"
        found.isActive = false
        found.resume = now + .days(30)
        save(found)
        send("DEACTIVATE", found, at: now)
        send("SUBSCRIPTION_PAUSED", found, at: now)
    }

    private mutating func unpause(_ old: Subscription, at now: Instant) {
        var found = old
        found.resume = nil
        beginPeriod(&found, at: now)
        save(found)
        send("ACTIVATE", found, at: now)
        send("SUBSCRIPTION_UNPAUSED", found, at: now)
    }

    private static let changeEventNames = [
        "upgrade": "UPGRADED", "downgrade": "DOWNGRADED", "crossgrade": "CROSSGRADED",
    ]

    private mutating func changePlan(
        of old: Subscription,
        _ body: JSONObject,
        at now: Instant
    ) throws(StoreAction.Refusal) {
        guard let plan = body["plan"]?.string, plan != old.plan else {
            throw StoreAction.Refusal("'plan' must be given and differ from the current plan")
        }
        guard let name = Self.changeEventNames[body["way"]?.string ?? "upgrade"] else {
            throw StoreAction.Refusal("'way' must be upgrade, downgrade or crossgrade")
        }
        var found = old
        send("DEACTIVATE", found, at: now)
        found.plan = plan
        found.storeProduct = Self.storeProduct(plan)
        found.previousOfferType = found.offerType
        found.purchased = now
        found.nextRenewal = now + Self.period(plan)
        found.effectiveEnd = found.nextRenewal
        save(found)
        send("ACTIVATE", found, at: now) { $0.previousPlan = old.plan }
        send("SUBSCRIPTION_" + name, found, at: now) { $0.previousPlan = old.plan }
    }
}
