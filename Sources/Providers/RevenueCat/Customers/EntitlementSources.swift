internal import Values

/// The purchases from which the responses of both REST versions derive the customer's entitlements.
extension Customer {
    /// Returns one subscription for each product, sorted by product.
    ///
    /// REST v1 has one entry for each product. If the customer has subscriptions in both
    /// environments, the entry shows the production one, or the sandbox one if the caller asks for
    /// it (*inferred* from the header `X-Is-Sandbox`; RevenueCat fact sheet, section 4.1).
    func visibleSubscriptions(prefersSandbox: Bool) -> [Purchase] {
        Set(subscriptions.keys.map(\.product)).sorted().compactMap {
            subscription(to: $0, preferring: prefersSandbox ? "SANDBOX" : "PRODUCTION")
        }
    }

    /// Returns the purchase from which each entitlement comes, sorted by the name of the
    /// entitlement.
    ///
    /// Of several purchases with the same entitlement, an active one precedes an ended one. Of
    /// several active ones, one in the preferred environment precedes (*inferred*). Otherwise the
    /// purchase that ends last precedes. So a sandbox purchase never hides a production purchase
    /// that is active.
    static func entitlementSources(
        among purchases: [Purchase],
        _ prefersSandbox: Bool,
        at now: Instant
    ) -> [(name: String, purchase: Purchase)] {
        func rank(_ purchase: Purchase) -> (Int, Int, Int64) {
            (
                purchase.isActive(at: now) ? 1 : 0,
                purchase.isSandbox == prefersSandbox ? 1 : 0,
                purchase.effectiveEnd?.milliseconds ?? .max
            )
        }
        var sources: [String: Purchase] = [:]
        for purchase in purchases where purchase.refunded == nil || !purchase.isOneTime {
            for name in purchase.entitlements {
                guard let other = sources[name], rank(purchase) <= rank(other) else {
                    sources[name] = purchase
                    continue
                }
            }
        }
        return sources.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}
