package import Conformance

extension PurchaselyState {
    package func subscribers(at now: Instant) -> [SubscriberSummary] {
        Dictionary(grouping: subscriptions.all, by: \.holder).map { holder, held in
            let held = held.sorted { $0.originallyPurchased < $1.originallyPurchased }
            let others = Set(held.compactMap(\.anonymousID)).subtracting([holder]).sorted()
            return SubscriberSummary(
                ids: [holder] + others,
                lastSeen: held.map(\.purchased).max() ?? now,
                activeEntitlements: Set(held.filter { $0.isActive }.map(\.plan)).sorted(),
                purchases: held.map(\.purchaseSummary)
            )
        }
    }
}

extension PurchaselyState.Subscription {
    fileprivate var purchaseSummary: SubscriberSummary.PurchaseSummary {
        SubscriberSummary.PurchaseSummary(
            plan,
            store: store,
            environment: environment,
            state: state,
            firstPurchased: originallyPurchased,
            periodStart: purchased,
            accessEnd: effectiveEnd
        )
    }

    private var state: SubscriberSummary.PurchaseSummary.State {
        if status == "PAUSED" { return .paused }
        if status == "REVOKED" { return .refunded }
        guard isActive else { return .ended }
        if status == "IN_GRACE_PERIOD" { return .grace }
        return status == "AUTO_RENEWING_CANCELED" ? .cancelled : .active
    }
}
