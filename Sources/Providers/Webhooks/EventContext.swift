package import Contracts
package import Values

/// The values of a test run from which the IDs and dates of its events are derived.
package struct EventContext: Sendable {
    package let namespace: Namespace
    package let base: Instant
    package let products: [String: String]
    package let entitlement: String

    package init(
        namespace: Namespace,
        base: Instant,
        products: [String: String] = [:],
        entitlement: String = "premium"
    ) {
        self.namespace = namespace
        self.base = base
        self.products = products
        self.entitlement = entitlement
    }
}
