internal import Values

extension V2Operation {
    static let entitlementRows: [Row] = [
        .init(
            "GET",
            "/projects/{project_id}/entitlements",
            .init(V2Entitlements.list)
        ),
        .init("POST", "/projects/{project_id}/entitlements"),
        .init("DELETE", "/projects/{project_id}/entitlements/{entitlement_id}"),
        .init(
            "GET",
            "/projects/{project_id}/entitlements/{entitlement_id}",
            .init(V2Entitlements.get)
        ),
        .init("POST", "/projects/{project_id}/entitlements/{entitlement_id}"),
        .init(
            "POST",
            "/projects/{project_id}/entitlements/{entitlement_id}/actions/attach_products"
        ),
        .init(
            "POST",
            "/projects/{project_id}/entitlements/{entitlement_id}/actions/detach_products"
        ),
        .init(
            "GET",
            "/projects/{project_id}/entitlements/{entitlement_id}/products",
            .init(V2Entitlements.listProducts)
        ),
    ]
}

/// The operations of REST v2 on a project's entitlements.
///
/// They are read-only: the control API fills the catalog.
enum V2Entitlements {
    static func list(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let isExpanded = try call.requestedExpansions("product").contains("product")
        let items = CatalogNames(state).entitlements.map {
            (V2ResourceID.entitlement($0), json($0, state, call, withProducts: isExpanded))
        }
        return try V2List.response(items, call.projectPath + "/entitlements", call)
    }

    static func get(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let name = try name(ofID: call.named("entitlement_id"), state)
        let isExpanded = try call.requestedExpansions("product").contains("product")
        return HTTPMessage.Response(
            200,
            json: json(name, state, call, withProducts: isExpanded)
        )
    }

    static func listProducts(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = call.named("entitlement_id")
        let name = try name(ofID: id, state)
        let items = CatalogNames(state).products(grantingEntitlement: name).map {
            (V2ResourceID.product($0), V2Products.json($0, state))
        }
        return try V2List.response(items, "\(call.projectPath)/entitlements/\(id)/products", call)
    }

    // MARK: Lookup

    /// Returns the lookup key (name) of the entitlement with this RevenueCat ID; throws when there
    /// is none.
    static func name(
        ofID id: String,
        _ state: RevenueCatState
    ) throws(RevenueCatError) -> String {
        guard
            let name = CatalogNames(state).entitlements.first(where: {
                V2ResourceID.entitlement($0) == id
            })
        else {
            throw .missingResource("entitlement")
        }
        return name
    }

    // MARK: JSON

    /// Returns the entitlements with these names as items of a list.
    static func items(_ names: [String], project: String) -> [V2List.Item] {
        names.map { (V2ResourceID.entitlement($0), .object(json($0, project: project))) }
    }

    private static func json(
        _ name: String,
        _ state: RevenueCatState,
        _ call: V2Call,
        withProducts: Bool
    ) -> JSONValue {
        var fields = json(name, project: call.project)
        if withProducts {
            let products = CatalogNames(state).products(grantingEntitlement: name)
            fields["products"] = V2List.json(
                products.map { V2Products.json($0, state) },
                "\(call.projectPath)/entitlements/\(V2ResourceID.entitlement(name))/products"
            )
        }
        return .object(fields)
    }

    private static func json(_ name: String, project: String) -> JSONObject {
        [
            "object": "entitlement", "project_id": .string(project),
            "id": .string(V2ResourceID.entitlement(name)),
            "lookup_key": .string(name), "display_name": .string(name),
            // The API description lacks this member, which captured responses of 2026 contain.
            "state": "active",
            "created_at": V2Projects.creationTime,
        ]
    }
}
