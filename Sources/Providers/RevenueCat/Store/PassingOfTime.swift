package import Conformance

/// What happens by itself when time passes.
extension RevenueCatState {
    /// When something next happens by itself; nil when nothing will.
    package var nextMoment: Instant? { nextDue?.time }

    /// An end is noticed after it has come (row 3).
    private var nextDue: CustomerBook.Due? {
        customers.nextDue(noticedAfter: .seconds(settings.expirationDelaySeconds))
    }

    package func renewalCount(by time: Instant) -> Int {
        var count = 0
        for customer in customers.all {
            for purchase in customer.subscriptions.values {
                guard case .begins(let first) = purchase.moment, first <= time else { continue }
                let next = purchase.nextProductID ?? purchase.productID
                let days = Int(catalog.product(next).days ?? 30)
                count += 1 + Self.days(from: first, to: time) / days
            }
        }
        return count
    }

    private static func days(from start: Instant, to end: Instant) -> Int {
        Int((end - start).milliseconds / 86_400_000)
    }

    /// The purchase that a store transaction belongs to, as it is now.
    package func purchase(withTransaction id: String) -> Purchase? {
        customers.owners(of: .transaction(id)).lazy.flatMap(\.customer.purchases).first {
            $0.originalTransactionID == id || $0.transactionID == id
        }
    }

    /// Lets everything happen that is due by then, in the order of its time.
    package mutating func advance(to now: Instant) {
        while let due = nextDue, due.time <= now,
            var purchase = customers[due.number]?.subscriptions[due.productID]
        {
            let (time, number) = (due.time, due.number)
            remember(at: time)
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
        return customers.owners(of: .transaction(purchase.originalTransactionID)).contains {
            $0.customer.subscriptions.values.contains {
                $0.originalTransactionID == purchase.originalTransactionID && !$0.isFamilyShared
                    && !$0.hasEnded && ($0.willRenew || $0.effectiveEnd.map { $0 > time } ?? true)
            }
        }
    }
}

extension Purchase {
    /// What happens to a subscription by itself, and when.
    enum Moment: Hashable {
        /// A period begins: at its moment.
        case begins(Instant)
        /// The last one ends, which is noticed later.
        case ends(Instant)
    }

    /// Nil when nothing will: purchases that are over, were made once, or that events from outside
    /// tell of.
    var moment: Moment? {
        guard !isScripted, !isOneTime else { return nil }
        if isPaused { return resume.map { .begins($0) } }
        guard !hasEnded, let end = effectiveEnd else { return nil }
        let isRenewal = willRenew && resume == nil && billingIssue == nil && !isTemporary
        return isRenewal ? .begins(end) : .ends(end)
    }
}
