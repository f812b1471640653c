internal import Values

/// The entitlements that a product unlocks, relative to the entitlement of the profile.
///
/// Contracts name no entitlement, because each backend has its own.
package enum EntitlementSelection: String, Hashable, Codable, Sendable, CaseIterable {
    /// The entitlement that the profile names.
    case main
    /// Another entitlement of the same project, which does not unlock what the main one unlocks.
    case other
    case both
    case none

    /// Returns the names of the selected entitlements.
    ///
    /// - Parameter main: The name of the profile's entitlement.
    /// - Returns: The name of the profile's entitlement, of the other one, both, or none.
    package func names(main: String) -> [String] {
        switch self {
        case .main: [main]
        case .other: [Self.otherName(than: main)]
        case .both: [main, Self.otherName(than: main)]
        case .none: []
        }
    }

    /// The name of the other entitlement of a project whose main entitlement has this name.
    package static func otherName(than main: String) -> String {
        main == "extras" ? "extras_2" : "extras"
    }
}

/// A product of the standard catalog: a product name of contracts, with its ID in each store.
///
/// The catalog has every relation of products and entitlements: a product with two entitlements, a
/// product with none, and an entitlement that several products share.
package struct CatalogProduct: Hashable, Sendable {
    /// The name of the product in contracts.
    package let name: String
    /// The length of the subscription period in days; nil for a one-time purchase.
    package let days: Int64?
    /// The price in US dollars.
    package let price: Double
    package let entitlements: EntitlementSelection
    /// Whether the product has an ID of its own in each store.
    ///
    /// Otherwise the name is the ID in every store.
    package let hasStoreIDs: Bool

    /// The base plan of every subscription on Play.
    package static let basePlan = "base-plan"

    package var isSubscription: Bool { days != nil }

    /// Returns the ID of the product as the webhooks of a store spell it.
    ///
    /// A subscription on Play has the base plan appended. Stripe and RevenueCat Billing issue IDs
    /// that begin with `prod_`. The other stores use the ID that the developer chose (RevenueCat
    /// fact sheet, section 2.5).
    package func id(in store: String) -> String {
        switch store {
        case "PLAY_STORE": isSubscription ? "\(name):\(Self.basePlan)" : name
        case "STRIPE", "RC_BILLING":
            hasStoreIDs
                ? "prod_" + Digest.sha256(Array("\(store) \(name)".utf8)).dropFirst(7).prefix(14)
                : name
        default: name
        }
    }

    // MARK: Catalog

    /// All products, sorted so that the default product is the first one.
    package static let all = [
        CatalogProduct("premium_monthly", days: 30, 9.99, .main),
        CatalogProduct("premium_yearly", days: 365, 59.99, .main),
        CatalogProduct("premium_weekly", days: 7, 4.99, .main),
        CatalogProduct("premium_lifetime", days: nil, 99.99, .main),
        CatalogProduct("coins_100", days: nil, 1.99, .none),
        CatalogProduct("bundle_monthly", days: 30, 14.99, .both, hasStoreIDs: true),
        CatalogProduct("extras_monthly", days: 30, 4.99, .other, hasStoreIDs: true),
        CatalogProduct("plain_monthly", days: 30, 2.99, .none, hasStoreIDs: true),
    ]

    private static let productsByID: [String: CatalogProduct] = {
        var products: [String: CatalogProduct] = [:]
        for product in all {
            for store in EventSpec.stores {
                // REST and the store model name a product of Play without its base plan.
                let id = product.id(in: store)
                products[id.split(separator: ":").first.map(String.init) ?? id] = product
            }
        }
        return products
    }()

    /// Returns the product with this name; nil for a name that is not in the catalog.
    package static func named(_ name: String) -> CatalogProduct? {
        productsByID[name].flatMap { $0.name == name ? $0 : nil }
    }

    /// Returns the product with this ID in any store, without a base plan; nil for an unknown ID.
    package static func withID(_ id: String) -> CatalogProduct? { productsByID[id] }

    /// The IDs of all products in all stores, without base plans.
    static let allIDs = Set(productsByID.keys)

    private init(
        _ name: String,
        days: Int64?,
        _ price: Double,
        _ entitlements: EntitlementSelection,
        hasStoreIDs: Bool = false
    ) {
        self.name = name
        self.days = days
        self.price = price
        self.entitlements = entitlements
        self.hasStoreIDs = hasStoreIDs
    }
}
