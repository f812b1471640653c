internal import Values

/// Actions at the fake Purchasely on failed payments and refunds.
enum PurchaselyBilling {
    static func startGrace(
        _ state: inout PurchaselyState,
        of oldSubscription: PurchaselySubscription,
        at now: Instant
    ) {
        var subscription = oldSubscription
        subscription.status = "IN_GRACE_PERIOD"
        subscription.graceEnd = (subscription.nextRenewal ?? now) + .days(16)
        subscription.effectiveEnd = subscription.graceEnd
        state.subscriptions[subscription.id] = subscription
        PurchaselyStoreEvents.queueEvent(&state, "ACTIVATE", subscription, at: now)
        PurchaselyStoreEvents.queueEvent(&state, "GRACE_PERIOD_STARTED", subscription, at: now)
    }

    static func enterBillingRetry(
        _ state: inout PurchaselyState,
        of oldSubscription: PurchaselySubscription,
        at now: Instant
    ) {
        var subscription = oldSubscription
        subscription.status = "UNPAID"
        subscription.isActive = false
        subscription.graceEnd = nil
        subscription.effectiveEnd = subscription.nextRenewal
        state.subscriptions[subscription.id] = subscription
        PurchaselyStoreEvents.queueEvent(&state, "DEACTIVATE", subscription, at: now)
        if oldSubscription.graceEnd != nil {
            PurchaselyStoreEvents.queueEvent(
                &state,
                "GRACE_PERIOD_TERMINATED",
                subscription,
                at: now
            )
        }
        PurchaselyStoreEvents.queueEvent(&state, "ENTERED_BILLING_RETRY", subscription, at: now)
    }

    static func recover(
        _ state: inout PurchaselyState,
        _ oldSubscription: PurchaselySubscription,
        at now: Instant
    ) {
        var subscription = oldSubscription
        PurchaselyRenewals.beginPeriod(&state, &subscription, at: now)
        state.subscriptions[subscription.id] = subscription
        PurchaselyStoreEvents.queueEvent(&state, "ACTIVATE", subscription, at: now)
        let from = oldSubscription.graceEnd == nil ? "BILLING_RETRY" : "GRACE_PERIOD"
        PurchaselyStoreEvents.queueEvent(
            &state,
            "SUBSCRIPTION_RECOVERED_FROM_" + from,
            subscription,
            at: now
        )
        PurchaselyStoreEvents.charge(
            &state,
            subscription,
            "SUBSCRIPTION_RENEWED",
            subscription.price,
            at: now
        )
    }

    static func refund(
        _ state: inout PurchaselyState,
        _ oldSubscription: PurchaselySubscription,
        at now: Instant
    ) {
        var subscription = oldSubscription
        subscription.status = subscription.isOneTime ? nil : "REVOKED"
        subscription.isActive = false
        state.subscriptions[subscription.id] = subscription
        PurchaselyStoreEvents.queueEvent(&state, "DEACTIVATE", subscription, at: now)
        if !subscription.isOneTime {
            PurchaselyStoreEvents.queueEvent(
                &state,
                "SUBSCRIPTION_REFUNDED_REVOKED",
                subscription,
                at: now
            )
        }
        PurchaselyStoreEvents.charge(
            &state,
            subscription,
            "SUBSCRIPTION_REFUNDED_REVOKED",
            -subscription.price,
            at: now
        )
    }
}
