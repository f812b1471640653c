internal import Values

/// The names of all resources of the project's catalog, from which REST v2 derives their IDs.
///
/// The names are those of the catalog, of the events, and of every purchase that a response can
/// show. So each ID in a response of REST v2 belongs to a resource of the catalog, and equal names
/// have equal IDs.
struct CatalogNames {
    private let catalog: Catalog
    private let customers: CustomerDirectory

    init(_ state: RevenueCatState) { (catalog, customers) = (state.catalog, state.customers) }

    /// The sorted names (lookup keys) of all entitlements.
    var entitlements: [String] {
        var names: Set = [catalog.entitlement]
        if catalog.products.isEmpty {
            names.insert(EntitlementSelection.otherName(than: catalog.entitlement))
        }
        for product in catalog.sellableProductIDs {
            names.formUnion(catalog.product(product).entitlements)
        }
        names.formUnion(catalog.resources?.entitlements ?? [])
        for purchase in recordedPurchases { names.formUnion(purchase.entitlements) }
        return names.sorted()
    }

    /// The sorted store IDs of all products, without base plans.
    var products: [String] {
        var ids = Set(catalog.sellableProductIDs)
        if catalog.products.isEmpty { ids.formUnion(CatalogProduct.allIDs) }
        ids.formUnion(catalog.resources?.products ?? [])
        for purchase in recordedPurchases {
            // A promotional grant belongs to no product.
            if purchase.store != "PROMOTIONAL" { ids.insert(purchase.productID) }
            if let next = purchase.nextProductID { ids.insert(next) }
        }
        return ids.sorted()
    }

    /// Returns the sorted IDs of all products that grant an entitlement, according to the catalog or
    /// to a purchase.
    func products(grantingEntitlement entitlement: String) -> [String] {
        let bought = Set(
            recordedPurchases.filter { $0.entitlements.contains(entitlement) }.map(\.productID)
        )
        return products.filter {
            bought.contains($0) || catalog.product($0).entitlements.contains(entitlement)
        }
    }

    /// The names of all offerings, the standard one first.
    var offerings: [String] {
        var names = Set(recordedPurchases.compactMap(\.offering))
        names.formUnion(customers.all.compactMap(\.offeringOverride))
        return ["default"] + names.subtracting(["default"]).sorted()
    }

    /// All purchases of all customers, including refunded ones.
    private var recordedPurchases: [Purchase] {
        customers.all.flatMap { Array($0.subscriptions.values) + $0.oneTimePurchases }
    }
}

/// The products and entitlements that events name, in addition to those of the catalog.
struct ProjectResources: Hashable, Codable, Sendable {
    private(set) var products: Set<String> = []
    private(set) var entitlements: Set<String> = []

    /// Adds the product and the entitlements that an event names.
    mutating func add(namedIn body: JSONValue) {
        let event = body["event"]
        entitlements.formUnion(event?["entitlement_ids"]?.array?.compactMap(\.string) ?? [])
        for key in ["product_id", "new_product_id"] {
            guard let id = event?[key]?.string, event?["store"] != "PROMOTIONAL" else { continue }
            products.insert(id.split(separator: ":").first.map(String.init) ?? id)
        }
    }
}
