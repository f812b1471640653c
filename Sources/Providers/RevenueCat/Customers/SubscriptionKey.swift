/// The key of a customer's subscription: the product and the environment.
///
/// A customer can have a sandbox subscription and a production subscription to the same product at
/// the same time (RevenueCat fact sheet, section 2.5, `environment`). An event about one of them
/// leaves the other unchanged.
package struct SubscriptionKey: Hashable, Comparable, Sendable {
    package let product: String
    package let isSandbox: Bool

    package init(product: String, environment: String = "PRODUCTION") {
        self.product = product
        isSandbox = environment == "SANDBOX"
    }

    package static func < (left: SubscriptionKey, right: SubscriptionKey) -> Bool {
        (left.product, left.isSandbox ? 1 : 0) < (right.product, right.isSandbox ? 1 : 0)
    }
}

/// Saves the key as one string, so that a saved customer is an object with readable keys.
extension SubscriptionKey: RawRepresentable, Codable, CodingKeyRepresentable {
    private static let sandboxSuffix = " (sandbox)"

    package init(rawValue: String) {
        isSandbox = rawValue.hasSuffix(Self.sandboxSuffix)
        product = isSandbox ? String(rawValue.dropLast(Self.sandboxSuffix.count)) : rawValue
    }

    package var rawValue: String { isSandbox ? product + Self.sandboxSuffix : product }
}
