internal import Values

/// The action at the fake Purchasely that changes the plan of a subscription.
enum PurchaselyPlanChanges {
    private static let changeEventNames = [
        "upgrade": "UPGRADED", "downgrade": "DOWNGRADED", "crossgrade": "CROSSGRADED",
    ]

    static func changePlan(
        _ state: inout PurchaselyState,
        of oldSubscription: PurchaselySubscription,
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
        PurchaselyStoreEvents.queueEvent(&state, "DEACTIVATE", subscription, at: now)
        subscription.plan = plan
        subscription.storeProduct = PurchaselyPlan.storeProduct(of: plan)
        subscription.previousOfferType = subscription.offerType
        subscription.purchased = now
        subscription.nextRenewal = now + PurchaselyPlan.periodLength(of: plan)
        subscription.effectiveEnd = subscription.nextRenewal
        state.subscriptions[subscription.id] = subscription
        PurchaselyStoreEvents.queueEvent(&state, "ACTIVATE", subscription, at: now) {
            $0.previousPlan = oldSubscription.plan
        }
        PurchaselyStoreEvents.queueEvent(&state, "SUBSCRIPTION_" + name, subscription, at: now) {
            $0.previousPlan = oldSubscription.plan
        }
    }
}
