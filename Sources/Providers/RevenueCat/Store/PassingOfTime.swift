package import Values

/// Changes in the store model that happen automatically as time passes, such as renewals.
extension RevenueCatState {
    /// The time of the next automatic change of a subscription; nil when there is none.
    package var nextChangeTime: Instant? { nextDueChange?.time }

    /// The next automatic change of a subscription.
    ///
    /// The store notices the end of a period with a delay (RevenueCat fact sheet, section 3, row
    /// 3).
    private var nextDueChange: CustomerTable.DueChange? {
        customers.nextDueChange(noticedAfter: .seconds(settings.expirationDelaySeconds))
    }

    package func renewalCount(by time: Instant) -> Int {
        var dueRenewalCount = 0
        for customer in customers.all {
            for purchase in customer.subscriptions.values {
                guard case .periodBegins(let nextPeriodStart) = purchase.nextAutomaticChange,
                    nextPeriodStart <= time
                else {
                    continue
                }
                let nextProductID = purchase.nextProductID ?? purchase.productID
                let days = Int(catalog.product(nextProductID).days ?? 30)
                dueRenewalCount += 1 + Self.days(from: nextPeriodStart, to: time) / days
            }
        }
        return dueRenewalCount
    }

    private static func days(from start: Instant, to end: Instant) -> Int {
        Int((end - start).milliseconds / 86_400_000)
    }

    /// Returns the current state of the purchase to which a store's transaction ID belongs; nil
    /// when no customer owns it.
    package func purchase(withTransaction id: String) -> Purchase? {
        customers.owners(of: .transaction(id)).lazy.flatMap(\.customer.purchases).first {
            $0.originalTransactionID == id || $0.transactionID == id
        }
    }

    /// Carries out all automatic changes that are due until this time, in the order of their due
    /// times.
    package mutating func advance(to now: Instant) {
        while let dueChange = nextDueChange, dueChange.time <= now,
            var purchase = customers[dueChange.customerNumber]?.subscriptions[dueChange.productID]
        {
            let (time, customerNumber) = (dueChange.time, dueChange.customerNumber)
            saveLaggedState(at: time)
            if purchase.isPaused {
                purchase.hasEnded = false
                renew(&purchase, of: customerNumber, at: time)
            } else if purchase.resume != nil {
                purchase.isPaused = true
                end(&purchase, "SUBSCRIPTION_PAUSED", of: customerNumber, time)
            } else if purchase.billingIssue != nil {
                end(&purchase, "BILLING_ERROR", of: customerNumber, time)
            } else if purchase.store == "PROMOTIONAL" {
                end(&purchase, settings.promotionalEndReason, of: customerNumber, time)
            } else if purchase.willRenew, !purchase.isTemporary, isStillShared(purchase, time) {
                renew(&purchase, of: customerNumber, at: time)
            } else {
                end(&purchase, purchase.cancelReason ?? "UNSUBSCRIBE", of: customerNumber, time)
            }
        }
    }

    /// Whether a purchase shared with a family member continues.
    ///
    /// It continues while the purchase of its owner continues.
    func isStillShared(_ purchase: Purchase, _ time: Instant) -> Bool {
        guard purchase.isFamilyShared else { return true }
        return customers.owners(of: .transaction(purchase.originalTransactionID)).contains {
            $0.customer.subscriptions.values.contains {
                $0.originalTransactionID == purchase.originalTransactionID && !$0.isFamilyShared
                    && !$0.hasEnded && ($0.willRenew || $0.effectiveEnd.map { $0 > time } ?? true)
            }
        }
    }
}

extension Purchase {
    /// An automatic change of a subscription, with its time.
    enum AutomaticChange: Hashable {
        /// A new period of the subscription begins, exactly at this time.
        case periodBegins(Instant)
        /// The last period of the subscription ends at this time.
        ///
        /// The store notices the end later.
        case accessEnds(Instant)
    }

    /// The next automatic change of the purchase.
    ///
    /// Nil for ended purchases, one-time purchases, and purchases that events from outside the
    /// store model set.
    var nextAutomaticChange: AutomaticChange? {
        guard !isScripted, !isOneTime else { return nil }
        if isPaused { return resume.map { .periodBegins($0) } }
        guard !hasEnded, let end = effectiveEnd else { return nil }
        let isRenewal = willRenew && resume == nil && billingIssue == nil && !isTemporary
        return isRenewal ? .periodBegins(end) : .accessEnds(end)
    }
}
