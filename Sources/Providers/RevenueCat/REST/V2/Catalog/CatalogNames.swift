internal import Values

/// The names of all resources of the project's catalog, from which REST v2 derives their IDs.
///
/// The names are those of the catalog, of the events, and of every purchase that a response can
/// show. So each ID in a response of REST v2 belongs to a resource of the catalog, and equal names
/// have equal IDs.
extension RevenueCatState {
    /// The sorted names (lookup keys) of all entitlements.
    var entitlementNames: [String] {
        var names: Set = [catalog.entitlement]
        if catalog.products.isEmpty {
            names.insert(EntitlementSelection.otherName(than: catalog.entitlement))
        }
        for product in catalog.sellableProductIDs {
            names.formUnion(catalog.product(product).entitlements)
        }
        names.formUnion(resources?.entitlements ?? [])
        for purchase in recordedPurchases { names.formUnion(purchase.entitlements) }
        return names.sorted()
    }

    /// The sorted store IDs of all products, without base plans.
    var productIDs: [String] {
        var ids = Set(catalog.sellableProductIDs)
        if catalog.products.isEmpty { ids.formUnion(CatalogProduct.allIDs) }
        ids.formUnion(resources?.products ?? [])
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
        return productIDs.filter {
            bought.contains($0) || catalog.product($0).entitlements.contains(entitlement)
        }
    }

    /// The names of all offerings, the standard one first.
    var offeringNames: [String] {
        var names = Set(recordedPurchases.compactMap(\.offering))
        names.formUnion(customers.all.compactMap(\.offeringOverride))
        return ["default"] + names.subtracting(["default"]).sorted()
    }

    /// All purchases of all customers, including refunded ones.
    private var recordedPurchases: [Purchase] {
        customers.all.flatMap { Array($0.subscriptions.values) + $0.oneTimePurchases }
    }

    /// Records the product and the entitlements that an event names as resources of the project.
    mutating func recordResources(of body: JSONValue) {
        let event = body["event"]
        var recorded = resources ?? ProjectResources()
        recorded.entitlements.formUnion(
            event?["entitlement_ids"]?.array?.compactMap(\.string) ?? []
        )
        for key in ["product_id", "new_product_id"] {
            guard let id = event?[key]?.string, event?["store"] != "PROMOTIONAL" else { continue }
            recorded.products.insert(id.split(separator: ":").first.map(String.init) ?? id)
        }
        resources = recorded
    }
}

/// The products and entitlements that events name, in addition to those of the catalog.
struct ProjectResources: Hashable, Codable, Sendable {
    var products: Set<String> = []
    var entitlements: Set<String> = []
}
