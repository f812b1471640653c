internal import Values

/// The endpoints that only the Firebase emulator has (Firebase fact sheet, section 8).
enum FirebaseEmulator {
    static let readinessDocument: JSONValue = [
        "authEmulator": [
            "ready": true, "docs": "https://firebase.google.com/docs/emulator-suite",
            "apiSpec": "/emulator/openapi.json",
        ]
    ]

    static func response(
        _ segments: [String],
        _ request: HTTPMessage.Request,
        _ state: inout FirebaseState,
        at now: Instant
    ) throws(FirebaseError) -> HTTPMessage.Response {
        switch (request.method, segments.first) {
        case ("GET", "openapi.json") where segments.count == 1:
            return HTTPMessage.Response(200, json: FirebaseAPIDescription.document)
        case ("GET", "action") where segments.count == 1:
            return FirebaseActionPage.response(to: request, &state, at: now)
        case ("GET", "auth") where segments.count == 2:
            return try FirebasePopup.response(segments[1])
        case (_, "v1") where segments.count >= 4 && segments[1] == "projects":
            var remainingSegments = Array(segments.dropFirst(3))
            var tenant: String?
            if remainingSegments.count == 3, remainingSegments[0] == "tenants" {
                tenant = remainingSegments[1]
                remainingSegments = [remainingSegments[2]]
            }
            guard remainingSegments.count == 1 else { throw .notFound }
            let call = try FirebaseCall(
                isAdmin: true,
                projectID: segments[2],
                tenantID: tenant,
                // The body of other requests is ignored.
                fields: request.method == "PATCH"
                    ? FirebaseFields(bodyOf: request, refusesUnknown: false)
                    : FirebaseFields(form: []),
                request: request,
                now: now
            )
            return HTTPMessage.Response(
                200,
                json: .object(try resource(request.method, remainingSegments[0], &state, call))
            )
        default: throw .notFound
        }
    }

    private static func resource(
        _ method: String,
        _ name: String,
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        switch (method, name) {
        case ("DELETE", "accounts"):
            state.editProject(call) { $0.users.removeAll() }
            return JSONObject()
        case ("GET", "config"): return state.project(call).configuration.emulatorJSON
        case ("PATCH", "config"):
            _ = try FirebaseConfigurationOperations.update(&state, call)
            return state.project(call).configuration.emulatorJSON
        case ("GET", "oobCodes"):
            return ["oobCodes": .array(state.project(call).sentCodes.actionCodes.all.map(\.json))]
        case ("GET", "verificationCodes"):
            return [
                "verificationCodes": .array(
                    state.project(call).sentCodes.phoneCodes.all.map(\.json)
                )
            ]
        default: throw .notFound
        }
    }
}
