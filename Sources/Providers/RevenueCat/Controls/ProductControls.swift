internal import Values

/// The control API's operations on the products that the stores sell through the fake RevenueCat.
enum ProductControls {
    static let all = [
        ProviderControl("products", "GET", "/store/products", "Returns the products on sale.") {
            (services, _, _) throws(ControlRefusal) in
            try catalogJSON(services)
        },
        ProviderControl(
            "putProduct",
            "PUT",
            "/store/products/{id}",
            "Adds or changes a product.",
            members: [
                ControlMember("days", .integer, "Days of a period; null: a one-time purchase."),
                ControlMember("trialDays", .integer, "Days of a trial period."),
                ControlMember("price", .number, "The price in US dollars."),
                ControlMember("currency", .text, "The currency of payments."),
                ControlMember("exchangeRate", .number, "Units of the currency per US dollar."),
                ControlMember(
                    "entitlements",
                    .stringList,
                    "The entitlements; empty for a consumable."
                ),
                ControlMember("basePlan", .text, "The base plan of the product on Play."),
            ],
            handler: putProduct
        ),
    ]

    private static func putProduct(
        _ services: inout Services,
        _ call: ProviderControl.Call,
        _ now: Instant
    ) throws(ControlRefusal) -> JSONObject {
        guard !call.value.isEmpty, call.value.utf8.count <= 200 else {
            throw ControlRefusal(400, "a product ID must have 1 to 200 characters")
        }
        let days = Catalog.Product.validPeriodDays
        guard call.body["days"]?.int64.map(days.contains) ?? true else {
            throw ControlRefusal(
                400,
                "'days' takes a number from \(days.lowerBound) to \(days.upperBound)"
            )
        }
        var product = services.revenueCat.catalog.product(call.value)
        try Switches.merge(&product, .object(call.body), "a product")
        guard product.exchangeRate > 0 else {
            throw ControlRefusal(400, "'exchangeRate' must be greater than zero")
        }
        services.revenueCat.catalog.products[call.value] = product
        return try catalogJSON(services)
    }

    private static func catalogJSON(_ services: Services) throws(ControlRefusal) -> JSONObject {
        // The refusal below reports a catalog that cannot be encoded.
        guard let catalogObject = (try? JSONValue(encoding: services.revenueCat.catalog))?.object
        else {
            throw ControlRefusal(500, "the catalog cannot be encoded")
        }
        return catalogObject
    }
}
