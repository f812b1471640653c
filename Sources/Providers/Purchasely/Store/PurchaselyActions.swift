internal import Values

/// The dispatch of the actions of users and stores at the fake Purchasely (Purchasely fact sheet,
/// section 4).
enum PurchaselyActions {
    /// Carries out an action of a user or a store, and sends the events about it.
    ///
    /// - Throws: A refusal that explains the problem; the state is then unchanged.
    static func carryOut(
        _ state: inout PurchaselyState,
        _ action: PurchaselyAction,
        _ body: JSONObject,
        at now: Instant
    ) throws(StoreAction.Refusal) {
        func text(_ name: String) -> String? {
            body[name]?.string.flatMap { $0.isEmpty ? nil : $0 }
        }
        if let unknown = body.keys.first(where: { name in
            !PurchaselyControls.members.contains { $0.name == name }
        }) {
            throw StoreAction.Refusal(
                "'\(unknown)' is not a field of an action; the fields are "
                    + PurchaselyControls.members.map(\.name).sorted().joined(separator: ", ")
            )
        }
        PurchaselyRenewals.advance(&state, to: now)
        switch action {
        case .purchase: try PurchaselyPurchases.buy(&state, body, at: now)
        case .logIn, .transfer:
            guard let from = text("from") else {
                throw StoreAction.Refusal("'from' is missing: give the ID that loses its purchases")
            }
            guard let user = text("user") else {
                throw StoreAction.Refusal(
                    "'user' is missing: give the ID that receives the purchases"
                )
            }
            PurchaselyTransfers.transfer(
                &state,
                from: from,
                to: user,
                includesOneTimePurchases: action == .transfer,
                at: now
            )
        case .renew, .expire, .refund, .pause, .unpause, .disableRenewal, .enableRenewal,
            .startGrace, .enterBillingRetry, .recover, .changePlan:
            let ownerID = text("user") ?? text("anonymous")
            let subscription = try subscription(state, of: ownerID, action, plan: text("plan"))
            try applyAction(&state, subscription, action, body, at: now)
        }
    }

    /// Returns the newest subscription of a user or anonymous ID.
    ///
    /// If a plan is given, returns the newest subscription to that plan.
    private static func subscription(
        _ state: PurchaselyState,
        of ownerID: String?,
        _ action: PurchaselyAction,
        plan: String?
    ) throws(StoreAction.Refusal) -> PurchaselySubscription {
        guard let ownerID else { throw StoreAction.Refusal("'user' or 'anonymous' is missing") }
        let subscription = state.subscriptions.subscriptionsOwned(by: ownerID).filter {
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
    static func applyAction(
        _ state: inout PurchaselyState,
        _ oldSubscription: PurchaselySubscription,
        _ action: PurchaselyAction,
        _ body: JSONObject,
        at now: Instant
    ) throws(StoreAction.Refusal) {
        guard !oldSubscription.isOneTime || action == .refund else {
            throw StoreAction.Refusal(
                "\(oldSubscription.plan) is a one-time purchase, not a subscription"
            )
        }
        switch action {
        case .renew: PurchaselyRenewals.renew(&state, oldSubscription, at: now)
        case .disableRenewal:
            PurchaselyRenewals.setRenewal(&state, of: oldSubscription, isOn: false, at: now)
        case .enableRenewal:
            PurchaselyRenewals.setRenewal(&state, of: oldSubscription, isOn: true, at: now)
        case .expire: try PurchaselyRenewals.expire(&state, oldSubscription, at: now)
        case .startGrace: PurchaselyBilling.startGrace(&state, of: oldSubscription, at: now)
        case .enterBillingRetry:
            PurchaselyBilling.enterBillingRetry(&state, of: oldSubscription, at: now)
        case .recover: PurchaselyBilling.recover(&state, oldSubscription, at: now)
        case .refund: PurchaselyBilling.refund(&state, oldSubscription, at: now)
        case .pause: try PurchaselyPauses.pause(&state, oldSubscription, at: now)
        case .unpause: PurchaselyPauses.unpause(&state, oldSubscription, at: now)
        case .changePlan:
            try PurchaselyPlanChanges.changePlan(&state, of: oldSubscription, body, at: now)
        case .purchase, .logIn, .transfer: break
        }
    }
}
