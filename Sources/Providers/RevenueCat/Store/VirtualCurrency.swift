internal import Values

/// A virtual currency of an app.
///
/// Products grant it, and a backend spends it (API description of REST v2).
struct VirtualCurrency: Hashable, Codable, Sendable {
    /// The amount of a virtual currency that a purchase of certain products grants.
    struct Grant: Hashable, Codable, Sendable {
        /// RevenueCat's own IDs of the products that grant the amount.
        let products: [String]
        let amount: Int64
        /// The amount that is granted when the purchase is a trial.
        let trialAmount: Int64
        /// Whether the granted amount expires.
        ///
        /// The fake stores and returns this value, but no amount expires.
        let expires: Bool
    }

    var name: String
    var description: String?
    let made: Instant
    var grants: [Grant] = []

    init(name: String, description: String?, made: Instant) {
        (self.name, self.description, self.made) = (name, description, made)
    }

    /// Returns the amount of this currency that a purchase of the product grants.
    func grantedAmount(by product: String, isTrial: Bool) -> Int64 {
        grants.filter { $0.products.contains(product) }
            .reduce(0) { $0.addingSaturated(isTrial ? $1.trialAmount : $1.amount) }
    }

    /// Returns the currency as REST v2 shows it.
    func json(code: String, project: String) -> JSONValue {
        [
            "object": "virtual_currency", "project_id": .string(project),
            "code": .string(code), "name": .string(name),
            "created_at": .integer(made.milliseconds),
            "description": description.map(JSONValue.string) ?? .null,
            "product_grants": .array(
                grants.map {
                    [
                        "object": "virtual_currency.product_grant",
                        "product_ids": .strings($0.products), "amount": .integer($0.amount),
                        "trial_amount": .integer($0.trialAmount),
                        "expire_at_cycle_end": .bool($0.expires),
                    ]
                }
            ),
        ]
    }
}
