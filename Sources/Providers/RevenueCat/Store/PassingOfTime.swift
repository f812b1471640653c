internal import Values

/// Changes in the store model that happen automatically as time passes, such as renewals.
enum PassingOfTime {
    /// Returns the next automatic change of a subscription; nil when there is none.
    ///
    /// The store notices the end of a period with a delay (RevenueCat fact sheet, section 3, row
    /// 3).
    static func nextDueChange(_ state: RevenueCatState) -> CustomerTable.DueChange? {
        state.customers.nextDueChange(noticedAfter: .seconds(state.settings.expirationDelaySeconds))
    }

    /// Returns the expected number of automatic renewals of subscriptions until a time.
    static func renewalCount(_ state: RevenueCatState, by time: Instant) -> Int {
        var dueRenewalCount = 0
        for customer in state.customers.all {
            for purchase in customer.subscriptions.values {
                guard case .periodBegins(let nextPeriodStart) = purchase.nextAutomaticChange,
                    nextPeriodStart <= time
                else {
                    continue
                }
                let nextProductID = purchase.nextProductID ?? purchase.productID
                let days = Int(state.catalog.product(nextProductID).days ?? 30)
                dueRenewalCount += 1 + Self.days(from: nextPeriodStart, to: time) / days
            }
        }
        return dueRenewalCount
    }

    private static func days(from start: Instant, to end: Instant) -> Int {
        Int((end - start).milliseconds / 86_400_000)
    }

    /// Carries out all automatic changes that are due until this time, in the order of their due
    /// times.
    static func advance(_ state: inout RevenueCatState, to now: Instant) {
        while let dueChange = nextDueChange(state), dueChange.time <= now,
            var purchase = state.customers[dueChange.customerNumber]?.subscriptions[
                dueChange.subscriptionKey
            ]
        {
            let (time, customerNumber) = (dueChange.time, dueChange.customerNumber)
            state.saveLaggedState(at: time)
            if purchase.isPaused {
                purchase.hasEnded = false
                Renewing.renew(&state, &purchase, of: customerNumber, at: time)
            } else if purchase.resume != nil {
                purchase.isPaused = true
                Renewing.end(&state, &purchase, "SUBSCRIPTION_PAUSED", of: customerNumber, time)
            } else if purchase.billingIssue != nil {
                Renewing.end(&state, &purchase, "BILLING_ERROR", of: customerNumber, time)
            } else if purchase.store == "PROMOTIONAL" {
                Renewing.end(
                    &state,
                    &purchase,
                    state.settings.promotionalEndReason,
                    of: customerNumber,
                    time
                )
            } else if purchase.willRenew, !purchase.isTemporary,
                isStillShared(state, purchase, time)
            {
                Renewing.renew(&state, &purchase, of: customerNumber, at: time)
            } else {
                Renewing.end(
                    &state,
                    &purchase,
                    purchase.cancelReason ?? "UNSUBSCRIBE",
                    of: customerNumber,
                    time
                )
            }
        }
    }

    /// Whether a purchase shared with a family member continues.
    ///
    /// It continues while the purchase of its owner continues.
    private static func isStillShared(
        _ state: RevenueCatState,
        _ purchase: Purchase,
        _ time: Instant
    ) -> Bool {
        guard purchase.isFamilyShared else { return true }
        return state.customers.owners(of: .transaction(purchase.originalTransactionID)).contains {
            $0.customer.subscriptions.values.contains {
                $0.originalTransactionID == purchase.originalTransactionID && !$0.isFamilyShared
                    && !$0.hasEnded && ($0.willRenew || $0.effectiveEnd.map { $0 > time } ?? true)
            }
        }
    }
}
