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
/// They are read-only: the fake has only the standard offering.
enum V2Offerings {
    /// The ID of the standard offering.
    static let standardID = V2ResourceID.offering("default")

    static func list(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        try V2List.response(
            [(standardID, try json(state, call))],
            call.projectPath + "/offerings",
            call
        )
    }

    static func get(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        try requireOffering(call)
        return HTTPMessage.Response(200, json: try json(state, call))
    }

    static func requireOffering(_ call: V2Call) throws(RevenueCatError) {
        guard call.named("offering_id") == standardID else { throw .missingResource("offering") }
    }

    private static func json(
        _ state: RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> JSONValue {
        let expansions = try call.requestedExpansions("package", "package.product")
        var responseFields: JSONObject = [
            "object": "offering", "id": .string(standardID), "lookup_key": "default",
            "display_name": "The standard offering", "is_current": true,
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
                "\(call.projectPath)/offerings/\(standardID)/packages"
            )
        }
        return .object(responseFields)
    }
}
