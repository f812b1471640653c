package import Values

extension PurchaselyState {
    package func subscribers(at now: Instant) -> [SubscriberSummary] {
        Dictionary(grouping: subscriptions.allSubscriptions, by: \.holder).map {
            holder,
            ownedSubscriptions in
            let ownedSubscriptions = ownedSubscriptions.sorted {
                $0.originallyPurchased < $1.originallyPurchased
            }
            let anonymousIDs = Set(ownedSubscriptions.compactMap(\.anonymousID)).subtracting([
                holder
            ]).sorted()
            return SubscriberSummary(
                ids: [holder] + anonymousIDs,
                lastSeen: ownedSubscriptions.map(\.purchased).max() ?? now,
                activeEntitlements: Set(ownedSubscriptions.filter { $0.isActive }.map(\.plan))
                    .sorted(),
                purchases: ownedSubscriptions.map(\.purchaseSummary)
            )
        }
    }
}

extension PurchaselySubscription {
    fileprivate var purchaseSummary: SubscriberSummary.PurchaseSummary {
        SubscriberSummary.PurchaseSummary(
            plan,
            store: store,
            environment: environment,
            state: state,
            firstPurchaseTime: originallyPurchased,
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
