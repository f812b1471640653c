/// The values that a run draws for the parts that its contract leaves open.
///
/// A contract states only the values that matter to it. The other values differ from contract to
/// contract and from seed to seed, so that no backend passes because it knows one product, one
/// store or one currency.
package struct DrawnValues: Hashable, Codable, Sendable {
    /// The country of a customer, and the values in an event that follow from it.
    package struct Market: Hashable, Codable, Sendable {
        /// The currency code (ISO 4217).
        package var currency: String
        /// The country code (ISO 3166).
        package var country: String
        /// The customer's locale, such as `de_DE`.
        package var locale: String
        /// The price of every product in the market's currency.
        package var localPrice: Double

        package init(currency: String, country: String, locale: String, localPrice: Double) {
            self.currency = currency
            self.country = country
            self.locale = locale
            self.localPrice = localPrice
        }
    }

    /// The product of the events that name none; nil: the default of the provider.
    package var product: String?
    /// The store of the events that name none; nil: the default of the provider.
    package var store: String?
    package var market: Market
    /// The first word of each customer's display name.
    package var givenName: String
    /// The time in milliseconds by which the base time of the run precedes a whole second.
    ///
    /// Dates with a fraction of a second show a backend that cuts or rounds dates.
    package var millisecondsBeforeBase: Int64

    /// Two users whose IDs a backend may confuse; nil: no user of the run has such an ID.
    package var similarIDs: SimilarUserIDs?

    package init(
        product: String? = nil,
        store: String? = nil,
        market: Market,
        givenName: String,
        millisecondsBeforeBase: Int64
    ) {
        self.product = product
        self.store = store
        self.market = market
        self.givenName = givenName
        self.millisecondsBeforeBase = millisecondsBeforeBase
    }

    /// The values of a run that draws none.
    package static let standard = DrawnValues(
        market: Market(currency: "EUR", country: "DE", locale: "de_DE", localPrice: 9.99),
        givenName: "Ada",
        millisecondsBeforeBase: 0
    )

    /// A summary for people, such as "product premium_yearly, store STRIPE, currency JPY".
    package var summary: String {
        [
            product.map { "product \($0)" }, store.map { "store \($0)" },
            "currency \(market.currency)", "country \(market.country)", "name \(givenName)",
            "dates \(millisecondsBeforeBase) ms before a whole second",
            similarIDs?.summary,
        ].compactMap { $0 }.joined(separator: ", ")
    }
}

/// The limits of the values that a run may draw for the events of one contract.
package struct DrawLimits: Sendable {
    /// All strings in the contract, joined by line breaks.
    package let contractText: String
    /// The store's product IDs in the profile, by the product names of contracts; empty when the
    /// profile maps none.
    package let products: [String: String]
    /// Whether the backend under test accepts purchases of every store.
    package let acceptsEveryStore: Bool
    /// Whether the contract expects a certain product in the backend's state.
    ///
    /// Some stores add a base plan to product IDs, which a backend may remove.
    package let observesProduct: Bool

    package init(
        contractText: String,
        products: [String: String],
        acceptsEveryStore: Bool,
        observesProduct: Bool
    ) {
        self.contractText = contractText
        self.products = products
        self.acceptsEveryStore = acceptsEveryStore
        self.observesProduct = observesProduct
    }

    /// Returns whether the contract itself contains a value, so that the value means something in
    /// the contract.
    package func mentions(_ value: String) -> Bool { contractText.contains(value) }
}

/// The products and stores that a run may draw for the events of one contract.
package struct EventChoices: Hashable, Sendable {
    /// The product names, the default first; empty when the run keeps the contract's products.
    package var products: [String]
    /// The store names, the default first; empty when the run keeps the contract's stores.
    package var stores: [String]

    package init(products: [String] = [], stores: [String] = []) {
        self.products = products
        self.stores = stores
    }
}
