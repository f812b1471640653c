internal import Values

extension V2Operation {
    static let projectRows: [Row] = [
        .init(
            "GET",
            "/projects",
            .init(V2Projects.list)
        ),
        .init("POST", "/projects"),
        .init(
            "GET",
            "/projects/{project_id}/apps",
            .init(V2Apps.list)
        ),
        .init("POST", "/projects/{project_id}/apps"),
        .init("DELETE", "/projects/{project_id}/apps/{app_id}"),
        .init(
            "GET",
            "/projects/{project_id}/apps/{app_id}",
            .init(V2Apps.get)
        ),
        .init("POST", "/projects/{project_id}/apps/{app_id}"),
        .init(
            "GET",
            "/projects/{project_id}/apps/{app_id}/public_api_keys",
            .init(V2Apps.listPublicKeys)
        ),
        .init("GET", "/projects/{project_id}/apps/{app_id}/store_kit_config"),
        .init("GET", "/projects/{project_id}/audit_logs"),
        .init("GET", "/projects/{project_id}/charts/{chart_name}"),
        .init("GET", "/projects/{project_id}/charts/{chart_name}/options"),
        .init("GET", "/projects/{project_id}/collaborators"),
    ]
}

/// The operations of REST v2 on projects.
enum V2Projects {
    /// The time at which the project was created, in milliseconds.
    ///
    /// No resource of the project is older.
    static let creationTime: JSONValue = .integer(1_577_836_800_000)

    static func list(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let project: JSONValue = [
            "object": "project", "id": .string(state.settings.project), "name": "Assay",
            "created_at": creationTime,
        ]
        return try V2List.response([(state.settings.project, project)], "/v2/projects", call)
    }
}
