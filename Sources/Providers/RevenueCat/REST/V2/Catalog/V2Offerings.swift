internal import Values

extension V2Operation {
    static let offeringRows: [Row] = [
        .init(
            "GET",
            "/projects/{project_id}/offerings",
            .init(V2Offerings.list)
        ),
        .init("POST", "/projects/{project_id}/offerings"),
        .init("DELETE", "/projects/{project_id}/offerings/{offering_id}"),
        .init(
            "GET",
            "/projects/{project_id}/offerings/{offering_id}",
            .init(V2Offerings.get)
        ),
        .init("POST", "/projects/{project_id}/offerings/{offering_id}"),
        .init(
            "GET",
            "/projects/{project_id}/offerings/{offering_id}/packages",
            .init(V2Packages.list)
        ),
        .init("POST", "/projects/{project_id}/offerings/{offering_id}/packages"),
        .init("DELETE", "/projects/{project_id}/packages/{package_id}"),
        .init(
            "GET",
            "/projects/{project_id}/packages/{package_id}",
            .init(V2Packages.get)
        ),
        .init("POST", "/projects/{project_id}/packages/{package_id}"),
        .init("POST", "/projects/{project_id}/packages/{package_id}/actions/attach_products"),
        .init("POST", "/projects/{project_id}/packages/{package_id}/actions/detach_products"),
        .init(
            "GET",
            "/projects/{project_id}/packages/{package_id}/products",
            .init(V2Packages.listProducts)
        ),
    ]
}

/// The operations of REST v2 on a project's offerings.
///
/// They are read-only: the fake has the standard offering, and those that purchases name.
enum V2Offerings {
    /// The ID of the standard offering.
    static let standardID = V2ResourceID.offering("default")

    static func list(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        var items: [V2List.Item] = []
        for name in CatalogNames(state).offerings {
            items.append((V2ResourceID.offering(name), try json(name, state, call)))
        }
        return try V2List.response(items, call.projectPath + "/offerings", call)
    }

    static func get(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let name = try requiredOffering(state, call)
        return HTTPMessage.Response(200, json: try json(name, state, call))
    }

    /// Returns the name of the offering in the call's path; throws 404 when there is none.
    @discardableResult
    static func requiredOffering(
        _ state: RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> String {
        let id = call.named("offering_id")
        guard
            let name = CatalogNames(state).offerings.first(where: {
                V2ResourceID.offering($0) == id
            })
        else {
            throw .missingResource("offering")
        }
        return name
    }

    private static func json(
        _ name: String,
        _ state: RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> JSONValue {
        let expansions = try call.requestedExpansions("package", "package.product")
        let id = V2ResourceID.offering(name)
        var responseFields: JSONObject = [
            "object": "offering", "id": .string(id), "lookup_key": .string(name),
            "display_name": .string(name == "default" ? "The standard offering" : name),
            "is_current": .bool(name == "default"),
            "created_at": V2Projects.creationTime,
            "project_id": .string(call.project), "metadata": .null,
        ]
        if !expansions.isEmpty {
            let packages = V2Packages.items(
                state,
                call,
                withProducts: expansions.contains("package.product")
            )
            responseFields["packages"] = V2List.json(
                packages.map(\.value),
                "\(call.projectPath)/offerings/\(id)/packages"
            )
        }
        return .object(responseFields)
    }
}
