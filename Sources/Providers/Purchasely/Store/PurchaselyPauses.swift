internal import Values

/// Actions at the fake Purchasely that pause subscriptions from Google Play.
enum PurchaselyPauses {
    static func pause(
        _ state: inout PurchaselyState,
        _ oldSubscription: PurchaselySubscription,
        at now: Instant
    ) throws(StoreAction.Refusal) {
        guard oldSubscription.store == "GOOGLE_PLAY_STORE" else {
            throw StoreAction.Refusal("only Google Play subscriptions can be paused")
        }
        var subscription = oldSubscription
        subscription.status = "PAUSED"
        subscription.isActive = false
        subscription.resume = now + .days(30)
        state.subscriptions[subscription.id] = subscription
        PurchaselyStoreEvents.queueEvent(&state, "DEACTIVATE", subscription, at: now)
        PurchaselyStoreEvents.queueEvent(&state, "SUBSCRIPTION_PAUSED", subscription, at: now)
    }

    static func unpause(
        _ state: inout PurchaselyState,
        _ oldSubscription: PurchaselySubscription,
        at now: Instant
    ) {
        var subscription = oldSubscription
        subscription.resume = nil
        PurchaselyRenewals.beginPeriod(&state, &subscription, at: now)
        state.subscriptions[subscription.id] = subscription
        PurchaselyStoreEvents.queueEvent(&state, "ACTIVATE", subscription, at: now)
        PurchaselyStoreEvents.queueEvent(&state, "SUBSCRIPTION_UNPAUSED", subscription, at: now)
    }
}
