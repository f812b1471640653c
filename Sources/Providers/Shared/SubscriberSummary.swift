package import Values

/// A customer of a service, in a common form for display that does not depend on the service.
package struct SubscriberSummary: Hashable, Sendable {
    /// A purchase of the customer in its latest state.
    package struct PurchaseSummary: Hashable, Sendable {
        package enum State: String, Hashable, Sendable {
            case active
            /// The current period is paid, but the purchase does not renew at the end of the
            /// period.
            case cancelled
            /// The charge for the renewal failed; access continues for a grace period.
            case grace
            case paused
            case ended
            case refunded
        }

        package let product: String
        package let store: String
        package let environment: String
        package let state: State
        /// The time at which the customer first bought the product.
        package let firstPurchaseTime: Instant
        /// The start of the latest period of the purchase.
        package let periodStart: Instant
        /// The time at which access ends unless it is extended.
        ///
        /// If nil, access never ends.
        package let accessEnd: Instant?

        package init(
            _ product: String,
            store: String,
            environment: String,
            state: State,
            firstPurchaseTime: Instant,
            periodStart: Instant,
            accessEnd: Instant?
        ) {
            (self.product, self.store, self.environment) = (product, store, environment)
            (self.state, self.firstPurchaseTime, self.periodStart, self.accessEnd) = (
                state, firstPurchaseTime, periodStart, accessEnd
            )
        }
    }

    /// All IDs of the customer; the current ID is the first one.
    package let ids: [String]
    /// The time at which the service last saw activity of the customer.
    package let lastSeen: Instant
    /// The names of the customer's entitlements that are active now.
    package let activeEntitlements: [String]
    package let purchases: [PurchaseSummary]

    package init(
        ids: [String],
        lastSeen: Instant,
        activeEntitlements: [String],
        purchases: [PurchaseSummary]
    ) {
        (self.ids, self.lastSeen, self.activeEntitlements, self.purchases) = (
            ids, lastSeen, activeEntitlements, purchases
        )
    }
}
