package import Conformance

extension RevenueCatState {
    package func subscribers(at now: Instant) -> [ShownSubscriber] {
        customers.all.map { customer in
            let purchases = customer.purchases
            let active = purchases.filter { $0.isActive(at: now) }
            let id = customer.currentID
            return ShownSubscriber(
                ids: [id] + customer.ids.filter { $0 != id },
                seen: customer.lastSeen,
                access: Set(active.flatMap(\.entitlements)).sorted(),
                holdings: purchases.map { $0.shown(at: now) }
            )
        }
    }
}

extension Purchase {
    fileprivate func shown(at now: Instant) -> ShownSubscriber.Holding {
        ShownSubscriber.Holding(
            webhookProductID,
            store: store,
            environment: environment,
            state: state(at: now),
            began: originallyPurchased,
            period: purchased,
            ends: refunded ?? effectiveEnd
        )
    }

    private func state(at now: Instant) -> ShownSubscriber.Holding.State {
        if refunded != nil { return .refunded }
        if isPaused { return .paused }
        guard isActive(at: now) else { return .ended }
        if billingIssue != nil { return .grace }
        return unsubscribed == nil ? .active : .cancelled
    }
}
