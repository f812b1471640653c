package import Conformance

extension PurchaselyState {
    package func subscribers(at now: Instant) -> [ShownSubscriber] {
        Dictionary(grouping: subscriptions.all, by: \.holder).map { holder, held in
            let held = held.sorted { $0.originallyPurchased < $1.originallyPurchased }
            let others = Set(held.compactMap(\.anonymousID)).subtracting([holder]).sorted()
            return ShownSubscriber(
                ids: [holder] + others,
                seen: held.map(\.purchased).max() ?? now,
                access: Set(held.filter { $0.isActive }.map(\.plan)).sorted(),
                holdings: held.map(\.shown)
            )
        }
    }
}

extension PurchaselyState.Subscription {
    fileprivate var shown: ShownSubscriber.Holding {
        ShownSubscriber.Holding(
            plan,
            store: store,
            environment: environment,
            state: state,
            began: originallyPurchased,
            period: purchased,
            ends: effectiveEnd
        )
    }

    private var state: ShownSubscriber.Holding.State {
        if status == "PAUSED" { return .paused }
        if status == "REVOKED" { return .refunded }
        guard isActive else { return .ended }
        if status == "IN_GRACE_PERIOD" { return .grace }
        return status == "AUTO_RENEWING_CANCELED" ? .cancelled : .active
    }
}
