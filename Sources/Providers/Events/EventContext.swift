package import Values

/// The values of a test run from which the IDs and dates of its events are derived.
package struct EventContext: Sendable {
    package let namespace: Namespace
    /// The time from which the times of the events count.
    package let base: Instant
    /// The store's product IDs, by the product names that contracts use.
    package let products: [String: String]
    /// The identifier of the entitlement that the products unlock.
    package let entitlement: String
    /// The values that the run draws for the parts that its contract leaves open.
    package let drawnValues: DrawnValues

    package init(
        namespace: Namespace,
        base: Instant,
        products: [String: String] = [:],
        entitlement: String = "premium",
        drawnValues: DrawnValues = .standard
    ) {
        self.namespace = namespace
        self.base = base
        self.products = products
        self.entitlement = entitlement
        self.drawnValues = drawnValues
    }
}
