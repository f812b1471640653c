internal import Values

extension V2Operation {
    static let paywallRows: [Row] = [
        .init(
            "GET",
            "/projects/{project_id}/paywalls",
            .init(V2Paywalls.list),
            deviation: "the list is always empty, because the fake has no paywalls"
        ),
        .init("POST", "/projects/{project_id}/paywalls"),
        .init("DELETE", "/projects/{project_id}/paywalls/{paywall_id}"),
        .init(
            "GET",
            "/projects/{project_id}/paywalls/{paywall_id}",
            .init(V2Paywalls.get),
            deviation: "the status is always 404, because the fake has no paywalls"
        ),
    ]
}

/// The operations of REST v2 on a project's paywalls.
///
/// The fake has no paywalls.
enum V2Paywalls {
    static func list(
        _: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        try V2List.response([], call.projectPath + "/paywalls", call)
    }

    static func get(
        _: inout RevenueCatState,
        _: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        throw .missingResource("paywall")
    }
}
