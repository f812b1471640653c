internal import Values

extension V2Operation {
    static let productRows: [Row] = [
        .init(
            "GET",
            "/projects/{project_id}/products",
            .init(V2Products.list)
        ),
        .init("POST", "/projects/{project_id}/products"),
        .init("DELETE", "/projects/{project_id}/products/{product_id}"),
        .init(
            "GET",
            "/projects/{project_id}/products/{product_id}",
            .init(V2Products.get)
        ),
        .init("POST", "/projects/{project_id}/products/{product_id}/create_in_store"),
    ]
}

/// The operations of REST v2 on a project's products.
///
/// They are read-only: the control API fills the catalog.
enum V2Products {
    static func list(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        if let app = call.query("app_id"), app != state.settings.appID {
            throw .missingResource("app")
        }
        let isExpanded = try call.requestedExpansions("app").contains("app")
        let items = CatalogNames(state).products.map {
            (V2ResourceID.product($0), json($0, state, call, withApp: isExpanded))
        }
        return try V2List.response(items, call.projectPath + "/products", call)
    }

    static func get(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = call.named("product_id")
        guard
            let name = CatalogNames(state).products.first(where: { V2ResourceID.product($0) == id })
        else {
            throw .missingResource("product")
        }
        let isExpanded = try call.requestedExpansions("app").contains("app")
        return HTTPMessage.Response(200, json: json(name, state, call, withApp: isExpanded))
    }

    // MARK: JSON

    /// Returns the JSON of the product with this ID.
    static func json(_ id: String, _ state: RevenueCatState) -> JSONValue {
        .object(state.catalog.product(id).json(id: id, appID: state.settings.appID))
    }

    private static func json(
        _ id: String,
        _ state: RevenueCatState,
        _ call: V2Call,
        withApp: Bool
    ) -> JSONValue {
        let appID = state.settings.appID
        var fields = state.catalog.product(id).json(id: id, appID: appID)
        if withApp { fields["app"] = V2Apps.json(appID, project: call.project) }
        return .object(fields)
    }
}

extension Catalog.Product {
    /// Returns the product as REST v2 shows it.
    fileprivate func json(id: String, appID: String) -> JSONObject {
        var fields: JSONObject = [
            "object": "product", "id": .string(V2ResourceID.product(id)),
            "store_identifier": .string(basePlan.map { "\(id):\($0)" } ?? id),
            "type": days != nil
                ? "subscription" : entitlements.isEmpty ? "consumable" : "non_consumable",
            "created_at": V2Projects.creationTime, "app_id": .string(appID),
            "display_name": .string(id),
        ]
        if let days {
            fields["subscription"] = [
                "duration": .string("P\(days)D"), "grace_period_duration": .null,
                "trial_duration": .string("P\(trialDays)D"),
            ]
        } else {
            fields["one_time"] = ["is_consumable": .bool(entitlements.isEmpty)]
        }
        return fields
    }
}
