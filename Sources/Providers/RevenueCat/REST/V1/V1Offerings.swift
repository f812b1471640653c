internal import Values

/// The operations of REST v1 on the offerings that a customer sees.
enum V1Offerings {
    static func list(
        _ state: inout RevenueCatState,
        _ call: V1Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        try call.requireKey(.publicKey)
        // The public key of an app determines the store. An older public key does not, so the
        // request must name its platform.
        if call.platform != nil || !call.hasAppKey { try call.requirePlatform() }
        let overridingOfferingID = state.customers.number(of: call.appUserID).flatMap {
            state.customers[$0]?.offeringOverride
        }
        let packages: [JSONValue] = state.catalog.sellableProductIDs.map { product in
            let days = state.catalog.product(product).days
            let name =
                switch days {
                case 7: "$rc_weekly"
                case 365: "$rc_annual"
                case nil: "$rc_lifetime"
                default: "$rc_monthly"
                }
            return [
                "identifier": .string(name), "platform_product_identifier": .string(product),
            ]
        }
        // The offering that overrides the standard one must be in the list too.
        var offerings = [("default", "The standard offering")]
        if let overridingOfferingID, overridingOfferingID != "default" {
            offerings.append((overridingOfferingID, "An offering for single customers"))
        }
        return HTTPMessage.Response(
            200,
            json: [
                "current_offering_id": .string(overridingOfferingID ?? "default"),
                "offerings": .array(
                    offerings.map { name, description in
                        [
                            "identifier": .string(name), "description": .string(description),
                            "packages": .array(packages),
                        ]
                    }
                ),
            ]
        )
    }

    static func setOverride(
        _ state: inout RevenueCatState,
        _ call: V1Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        try save(&state, offeringID: call.named("offering_uuid"), call)
    }

    static func deleteOverride(
        _ state: inout RevenueCatState,
        _ call: V1Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        try save(&state, offeringID: nil, call)
    }

    private static func save(
        _ state: inout RevenueCatState,
        offeringID: String?,
        _ call: V1Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        try call.requireKey(.secret)
        let customerNumber = state.customers.recordActivity(of: call.appUserID, at: call.now)
        state.customers[customerNumber]?.offeringOverride = offeringID
        return V1Customers.response(&state, customerNumber, 201, call)
    }
}
