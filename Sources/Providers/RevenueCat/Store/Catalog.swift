internal import Values

/// The products that the stores sell to the customers of the fake RevenueCat.
package struct Catalog: Hashable, Codable, Sendable {
    package struct Product: Hashable, Codable, Sendable {
        /// The length of the product's subscription period in days; nil for a one-time purchase.
        package var days: Int64?
        package var trialDays: Int64 = 7
        package var price: Double
        package var currency = "USD"
        /// The number of units of `currency` that equal one US dollar.
        package var exchangeRate: Double = 1
        /// The names of the entitlements that the product grants.
        ///
        /// The list is empty for a consumable.
        package var entitlements: [String]
        /// The base plan of the product on Play.
        ///
        /// Webhooks append it to the product ID.
        package var basePlan: String?

        package init(days: Int64?, price: Double, entitlements: [String]) {
            self.days = days
            self.price = price
            self.entitlements = entitlements
        }

        /// The allowed lengths of a subscription period in days.
        ///
        /// A shorter period would renew endlessly.
        static let validPeriodDays: ClosedRange<Int64> = 1...36_500

        private enum CodingKeys: String, CodingKey {
            case days, trialDays, price, currency, exchangeRate, entitlements, basePlan
        }

        /// - Throws: A decoding error for a period that is not within 1 to 36,500 days.
        package init(from decoder: any Decoder) throws {
            let saved = try decoder.container(keyedBy: CodingKeys.self)
            days = try saved.decodeIfPresent(Int64.self, forKey: .days)
            trialDays = try saved.decode(Int64.self, forKey: .trialDays)
            price = try saved.decode(Double.self, forKey: .price)
            currency = try saved.decode(String.self, forKey: .currency)
            exchangeRate = try saved.decode(Double.self, forKey: .exchangeRate)
            entitlements = try saved.decode([String].self, forKey: .entitlements)
            basePlan = try saved.decodeIfPresent(String.self, forKey: .basePlan)
            guard days.map(Self.validPeriodDays.contains) ?? true else {
                throw DecodingError.dataCorruptedError(
                    forKey: .days,
                    in: saved,
                    debugDescription: "a period must have 1 to 36500 days"
                )
            }
        }
    }

    package var entitlement = "premium"
    package var products: [String: Product] = [:]
    /// The products and entitlements that events name; nil when no event named any.
    private(set) var resources: ProjectResources?

    package init() {}

    /// Records the product and the entitlements that an event names as resources of the project.
    mutating func recordResources(of event: JSONValue) {
        var recorded = resources ?? ProjectResources()
        recorded.add(namedIn: event)
        resources = recorded
    }

    /// The sorted IDs of all products on sale.
    ///
    /// If no product is defined, these are two default products.
    package var sellableProductIDs: [String] {
        products.isEmpty ? ["premium_monthly", "premium_yearly"] : products.keys.sorted()
    }

    /// The product that the fake uses for a receipt that names no product.
    package var first: String { sellableProductIDs.first ?? "premium_monthly" }

    /// Returns the product with this ID.
    ///
    /// If the product is neither defined nor in the standard catalog, the fake guesses it from words
    /// in the ID, such as `weekly`, `yearly`, `lifetime` and `coins`. A first purchase therefore
    /// needs no preparation.
    package func product(_ id: String) -> Product {
        if let configuredProduct = products[id] { return configuredProduct }
        if let standardProduct = CatalogProduct.withID(id) {
            return Product(
                days: standardProduct.days,
                price: standardProduct.price,
                entitlements: standardProduct.entitlements.names(main: entitlement)
            )
        }
        let name = id.lowercased()
        if name.contains("coin") || name.contains("consumable") {
            return Product(days: nil, price: 1.99, entitlements: [])
        }
        if name.contains("lifetime") || name.contains("unlock") {
            return Product(days: nil, price: 99.99, entitlements: [entitlement])
        }
        if name.contains("week") {
            return Product(days: 7, price: 4.99, entitlements: [entitlement])
        }
        if name.contains("year") || name.contains("annual") {
            return Product(days: 365, price: 59.99, entitlements: [entitlement])
        }
        return Product(days: 30, price: 9.99, entitlements: [entitlement])
    }
}
