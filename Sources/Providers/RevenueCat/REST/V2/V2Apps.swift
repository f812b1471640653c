internal import Values

/// The operations of REST v2 on the apps of a project.
enum V2Apps {
    static func list(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let appID = state.settings.appID
        return try V2List.response(
            [(appID, json(appID, project: call.project))],
            call.projectPath + "/apps",
            call
        )
    }

    static func get(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let appID = state.settings.appID
        try requireApp(appID, call)
        return HTTPMessage.Response(200, json: json(appID, project: call.project))
    }

    static func listPublicKeys(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let appID = state.settings.appID
        try requireApp(appID, call)
        let id = V2ResourceID.derivedID("apikey", appID)
        let key: JSONValue = [
            "object": "public_api_key", "id": .string(id),
            "key": .string("appl_" + id.dropFirst("apikey".count)),
            "environment": "production", "app_id": .string(appID),
            "created_at": V2Projects.creationTime,
        ]
        let path = "\(call.projectPath)/apps/\(appID)/public_api_keys"
        return try V2List.response([(id, key)], path, call)
    }

    private static func requireApp(_ appID: String, _ call: V2Call) throws(RevenueCatError) {
        guard call.named("app_id") == appID else { throw .missingResource("app") }
    }

    /// Returns the JSON of an app.
    static func json(_ id: String, project: String) -> JSONValue {
        [
            "object": "app", "id": .string(id), "name": "Assay", "type": "app_store",
            "created_at": V2Projects.creationTime, "project_id": .string(project),
            "app_store": ["bundle_id": "com.example.assay"],
        ]
    }
}
