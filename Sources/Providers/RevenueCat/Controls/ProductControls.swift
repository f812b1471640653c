internal import Conformance

/// What the stores sell.
extension RevenueCatState {
    static let productControls = [
        ProviderControl("products", "GET", "/store/products", "What the stores sell.") {
            (services, _, _) throws(ControlRefusal) in
            try shownCatalog(services)
        },
        ProviderControl(
            "putProduct",
            "PUT",
            "/store/products/{id}",
            "Describes a product.",
            members: [
                ControlMember("days", .integer, "Length of a period; none: bought once."),
                ControlMember("trialDays", .integer, "Length of a trial."),
                ControlMember("price", .number, "In US dollars."),
                ControlMember("currency", .text, "What it is paid in."),
                ControlMember("exchangeRate", .number, "Units of the currency for a US dollar."),
                ControlMember("entitlements", .texts, "What it grants; empty for a consumable."),
                ControlMember("basePlan", .text, "Play's base plan."),
            ],
            work: putProduct
        ),
    ]

    private static func putProduct(
        _ services: inout Services,
        _ call: ProviderControl.Call,
        _ now: Instant
    ) throws(ControlRefusal) -> JSONObject {
        guard !call.value.isEmpty, call.value.utf8.count <= 200 else {
            throw ControlRefusal(400, "a product's id has 1 to 200 characters")
        }
        let days = Catalog.Product.daysGiven
        guard call.body["days"]?.int64.map(days.contains) ?? true else {
            throw ControlRefusal(400, "'days' takes \(days.lowerBound) to \(days.upperBound)")
        }
        var product = services.revenueCat.catalog.product(call.value)
        try Switches.merge(&product, .object(call.body), "a product")
        guard product.exchangeRate > 0 else {
            throw ControlRefusal(400, "'exchangeRate' is greater than zero")
        }
        services.revenueCat.catalog.products[call.value] = product
        return try shownCatalog(services)
    }

    private static func shownCatalog(_ services: Services) throws(ControlRefusal) -> JSONObject {
        guard let shown = (try? JSONValue(encoding: services.revenueCat.catalog))?.object else {
            throw ControlRefusal(500, "the catalogue cannot be written")
        }
        return shown
    }
}
