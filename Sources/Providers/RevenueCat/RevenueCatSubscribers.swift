package import Values

extension RevenueCatState {
    package func subscribers(at now: Instant) -> [SubscriberSummary] {
        customers.all.map { customer in
            let purchases = customer.purchases
            let active = purchases.filter { $0.isActive(at: now) }
            let id = customer.currentID
            return SubscriberSummary(
                ids: [id] + customer.ids.filter { $0 != id },
                lastSeen: customer.lastSeen,
                activeEntitlements: Set(active.flatMap(\.entitlements)).sorted(),
                purchases: purchases.map { $0.purchaseSummary(at: now) }
            )
        }
    }
}

extension Purchase {
    fileprivate func purchaseSummary(at now: Instant) -> SubscriberSummary.PurchaseSummary {
        SubscriberSummary.PurchaseSummary(
            webhookProductID,
            store: store,
            environment: environment,
            state: state(at: now),
            firstPurchaseTime: originallyPurchased,
            periodStart: purchased,
            accessEnd: refunded ?? effectiveEnd
        )
    }

    private func state(at now: Instant) -> SubscriberSummary.PurchaseSummary.State {
        if refunded != nil { return .refunded }
        if isPaused { return .paused }
        guard isActive(at: now) else { return .ended }
        if billingIssue != nil { return .grace }
        return unsubscribed == nil ? .active : .cancelled
    }
}
