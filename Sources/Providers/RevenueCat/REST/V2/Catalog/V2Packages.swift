internal import Values

/// The operations of REST v2 on the packages of an offering.
///
/// They are read-only: each product on sale has one package.
enum V2Packages {
    static func list(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        try V2Offerings.requiredOffering(state, call)
        let path = "\(call.projectPath)/offerings/\(call.named("offering_id"))/packages"
        let isExpanded = try call.requestedExpansions("product").contains("product")
        return try V2List.response(items(state, call, withProducts: isExpanded), path, call)
    }

    static func get(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = call.named("package_id")
        let isExpanded = try call.requestedExpansions("product").contains("product")
        let all = items(state, call, withProducts: isExpanded)
        guard let matchingPackage = all.first(where: { $0.id == id }) else {
            throw .missingResource("package")
        }
        return HTTPMessage.Response(200, json: matchingPackage.value)
    }

    static func listProducts(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = call.named("package_id")
        let productIDs = state.catalog.sellableProductIDs
        guard let name = productIDs.first(where: { V2ResourceID.package($0) == id }) else {
            throw .missingResource("package")
        }
        let path = "\(call.projectPath)/packages/\(id)/products"
        return try V2List.response(
            [(V2ResourceID.product(name), productJSON(name, state))],
            path,
            call
        )
    }

    /// Returns the packages of all products on sale as items of a list.
    static func items(
        _ state: RevenueCatState,
        _ call: V2Call,
        withProducts: Bool
    ) -> [V2List.Item] {
        state.catalog.sellableProductIDs.enumerated().map { index, name in
            let id = V2ResourceID.package(name)
            var responseFields: JSONObject = [
                "object": "package", "id": .string(id), "lookup_key": .string(name),
                "display_name": .string(name), "position": .integer(Int64(index + 1)),
                "created_at": V2Projects.creationTime,
            ]
            if withProducts {
                responseFields["products"] = V2List.json(
                    [productJSON(name, state)],
                    "\(call.projectPath)/packages/\(id)/products"
                )
            }
            return (id, .object(responseFields))
        }
    }

    private static func productJSON(_ name: String, _ state: RevenueCatState) -> JSONValue {
        ["product": V2Products.json(name, state), "eligibility_criteria": "all"]
    }
}
