package import Conformance

/// What happens by itself when time passes.
extension RevenueCatState {
    /// When something next happens by itself; nil when nothing will.
    package var nextMoment: Instant? {
        customers.values.lazy.flatMap(\.purchases).compactMap(moment).min()
    }

    func moment(_ purchase: Purchase) -> Instant? {
        guard !purchase.isScripted, !purchase.isOneTime else { return nil }
        if purchase.isPaused { return purchase.resume }
        guard !purchase.hasEnded, let end = purchase.effectiveEnd else { return nil }
        let isRenewal =
            purchase.willRenew && purchase.resume == nil && purchase.billingIssue == nil
            && !purchase.isTemporary
        // An end is noticed after it has come (row 3), a renewal at its moment.
        return isRenewal ? end : end + .seconds(settings.expirationDelaySeconds)
    }

    /// The purchase that a store transaction belongs to, as it is now.
    package func purchase(withTransaction id: String) -> Purchase? {
        customers.values.lazy.flatMap(\.purchases).first {
            $0.originalTransactionID == id || $0.transactionID == id
        }
    }

    /// Lets everything happen that is due by then, in the order of its time.
    package mutating func advance(to now: Instant) {
        while let (time, number, purchase) = nextDue(by: now) {
            remember(at: time)
            var purchase = purchase
            if purchase.isPaused {
                purchase.hasEnded = false
                renew(&purchase, of: number, at: time)
            } else if purchase.resume != nil {
                purchase.isPaused = true
                end(&purchase, "SUBSCRIPTION_PAUSED", of: number, time)
            } else if purchase.billingIssue != nil {
                end(&purchase, "BILLING_ERROR", of: number, time)
            } else if purchase.store == "PROMOTIONAL" {
                end(&purchase, settings.promotionalEndReason, of: number, time)
            } else if purchase.willRenew, !purchase.isTemporary, isStillShared(purchase, time) {
                renew(&purchase, of: number, at: time)
            } else {
                end(&purchase, purchase.cancelReason ?? "UNSUBSCRIBE", of: number, time)
            }
        }
    }

    /// A shared purchase goes on for as long as its owner's does.
    func isStillShared(_ purchase: Purchase, _ time: Instant) -> Bool {
        guard purchase.isFamilyShared else { return true }
        return customers.values.contains { customer in
            customer.subscriptions.values.contains {
                $0.originalTransactionID == purchase.originalTransactionID && !$0.isFamilyShared
                    && !$0.hasEnded && ($0.willRenew || $0.effectiveEnd.map { $0 > time } ?? true)
            }
        }
    }

    func nextDue(by now: Instant) -> (Instant, Int, Purchase)? {
        var best: (time: Instant, number: Int, purchase: Purchase)?
        for (number, customer) in customers {
            for purchase in customer.subscriptions.values {
                guard let time = moment(purchase), time <= now else { continue }
                if let best,
                    (best.time, best.number, best.purchase.productID)
                        <= (time, number, purchase.productID)
                {
                    continue
                }
                best = (time, number, purchase)
            }
        }
        return best.map { ($0.time, $0.number, $0.purchase) }
    }
}
