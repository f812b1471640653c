internal import Values

/// Changes at the fake Purchasely that begin and end the periods of subscriptions, by an action or
/// as time passes.
enum PurchaselyRenewals {
    /// Renews, ends and unpauses the subscriptions that are due until this time, in the order of
    /// their due times.
    static func advance(_ state: inout PurchaselyState, to now: Instant) {
        while let dueChange = state.subscriptions.nextDueChange, dueChange.time <= now,
            let subscription = state.subscriptions[dueChange.id]
        {
            let time = dueChange.time
            let action: PurchaselyAction =
                switch subscription.status {
                case "PAUSED": .unpause
                case "IN_GRACE_PERIOD": .enterBillingRetry
                case "AUTO_RENEWING" where subscription.purchaseType == "RENEWING_SUBSCRIPTION":
                    .renew
                default: .expire
                }
            do throws(StoreAction.Refusal) {
                try PurchaselyActions.applyAction(
                    &state,
                    subscription,
                    action,
                    JSONObject(),
                    at: time
                )
            } catch {
                // The automatic change of this subscription failed, so the subscription becomes
                // inactive. Otherwise the loop would try the same change forever.
                state.subscriptions[subscription.id]?.isActive = false
            }
        }
    }

    /// Returns the expected number of automatic renewals of subscriptions until a time.
    static func renewalCount(_ state: PurchaselyState, by time: Instant) -> Int {
        state.subscriptions.allSubscriptions.reduce(0) { count, subscription in
            guard subscription.isActive, let next = subscription.nextChangeTime, next <= time else {
                return count
            }
            let periodLength = PurchaselyPlan.periodLength(of: subscription.plan).milliseconds
            return count + 1 + Int((time - next).milliseconds / periodLength)
        }
    }

    static func renew(
        _ state: inout PurchaselyState,
        _ oldSubscription: PurchaselySubscription,
        at now: Instant
    ) {
        var subscription = oldSubscription
        subscription.previousOfferType = subscription.offerType
        subscription.offerType = "NONE"
        subscription.price = 9.99
        beginPeriod(&state, &subscription, at: now)
        state.subscriptions[subscription.id] = subscription
        PurchaselyStoreEvents.queueEvent(&state, "ACTIVATE", subscription, at: now)
        PurchaselyStoreEvents.queueEvent(&state, "SUBSCRIPTION_RENEWED", subscription, at: now)
        if oldSubscription.offerType != "NONE" {
            PurchaselyStoreEvents.queueEvent(
                &state,
                conversionEventName(oldSubscription.offerType),
                subscription,
                at: now
            )
        }
        PurchaselyStoreEvents.charge(
            &state,
            subscription,
            "SUBSCRIPTION_RENEWED",
            subscription.price,
            at: now
        )
    }

    static func setRenewal(
        _ state: inout PurchaselyState,
        of oldSubscription: PurchaselySubscription,
        isOn: Bool,
        at now: Instant
    ) {
        var subscription = oldSubscription
        subscription.status = isOn ? "AUTO_RENEWING" : "AUTO_RENEWING_CANCELED"
        state.subscriptions[subscription.id] = subscription
        PurchaselyStoreEvents.queueEvent(
            &state,
            isOn ? "RENEWAL_ENABLED" : "RENEWAL_DISABLED",
            subscription,
            at: now
        )
    }

    static func expire(
        _ state: inout PurchaselyState,
        _ oldSubscription: PurchaselySubscription,
        at now: Instant
    ) throws(StoreAction.Refusal) {
        guard oldSubscription.isActive else {
            throw StoreAction.Refusal("\(oldSubscription.plan) has already ended")
        }
        var subscription = oldSubscription
        subscription.status = "DEACTIVATED"
        subscription.isActive = false
        state.subscriptions[subscription.id] = subscription
        PurchaselyStoreEvents.queueEvent(&state, "DEACTIVATE", subscription, at: now)
        PurchaselyStoreEvents.queueEvent(&state, "SUBSCRIPTION_TERMINATED", subscription, at: now)
        if oldSubscription.offerType != "NONE" {
            PurchaselyStoreEvents.queueEvent(
                &state,
                conversionEventName(oldSubscription.offerType, isFailed: true),
                subscription,
                at: now
            )
        }
    }

    static func beginPeriod(
        _ state: inout PurchaselyState,
        _ subscription: inout PurchaselySubscription,
        at now: Instant
    ) {
        subscription.purchased = max(subscription.nextRenewal ?? now, now)
        subscription.nextRenewal =
            subscription.purchased + PurchaselyPlan.periodLength(of: subscription.plan)
        subscription.effectiveEnd = subscription.nextRenewal
        subscription.graceEnd = nil
        subscription.status = "AUTO_RENEWING"
        subscription.isActive = true
        subscription.transactionID =
            subscription.store == "GOOGLE_PLAY_STORE"
            ? subscription.originalTransactionID + "..\(subscription.renewalCount)"
            : state.ids.newTransactionID(in: subscription.store)
        subscription.renewalCount += 1
        subscription.revenue += subscription.price
        subscription.previousOfferType = subscription.previousOfferType ?? subscription.offerType
    }

    private static func conversionEventName(_ offer: String, isFailed: Bool = false) -> String {
        let name = offer == "FREE_TRIAL" ? "TRIAL" : offer
        return name + (isFailed ? "_NOT_CONVERTED" : "_CONVERTED")
    }
}
