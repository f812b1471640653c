internal import Values

/// A reader of the call that a request to an operation makes.
///
/// It determines the caller, the project and the fields, and refuses a request that does not have
/// the permission for its operation.
struct FirebaseCallReader {
    let request: HTTPMessage.Request
    let operation: FirebaseOperation
    let pathValues: PathParameterValues
    let settings: FirebaseSettings

    func call(at now: Instant) throws(FirebaseError) -> FirebaseCall {
        let project = pathValues["project"]
        let isAdmin = try isAdmin(isProjectInPath: project != nil)
        let fields = try fields()
        if !isAdmin, project != nil || fields.hasValue("targetProjectId") {
            throw FirebaseError(
                "INSUFFICIENT_PERMISSION",
                "Only authenticated requests can specify target_project_id."
            )
        }
        if operation.requiresTargetProject, fields.nonEmptyText("targetProjectId") == nil {
            throw FirebaseError("INSUFFICIENT_PERMISSION")
        }
        let projectID = project ?? fields.nonEmptyText("targetProjectId") ?? settings.project
        let tenantID = pathValues["tenant"] ?? fields.nonEmptyText("tenantId")
        // A project and a tenant are stored under one key, in which a slash separates the two IDs.
        let slash = UInt8(ascii: "/")
        guard !projectID.utf8.contains(slash), tenantID?.utf8.contains(slash) != true else {
            throw .notFound
        }
        return FirebaseCall(
            isAdmin: isAdmin,
            projectID: projectID,
            tenantID: tenantID,
            fields: fields,
            request: request,
            now: now
        )
    }

    /// Returns whether an administrator sent the request, and not a user with an API key (Firebase
    /// fact sheet, section 2.1).
    private func isAdmin(isProjectInPath: Bool) throws(FirebaseError) -> Bool {
        let key = [request.query("key"), request[field: "x-goog-api-key"]]
            .compactMap { $0 }.first { !$0.isEmpty }
        if !operation.isTokenEndpoint, let (scheme, token) = request.authorization,
            scheme == "bearer"
        {
            guard token.lowercased() == "owner" || token.hasPrefix("ya29.") else {
                throw .unauthenticated
            }
            return true
        }
        guard let key else { throw .missingAPIKey }
        if let wanted = settings.apiKey, wanted != key {
            throw FirebaseError(
                status: 400,
                "API key not valid. Please pass a valid API key.",
                reason: "badRequest",
                name: "INVALID_ARGUMENT"
            )
        }
        // An administrator's path that contains a project fails later, with another error.
        guard !operation.isAdminOnly || isProjectInPath else { throw .unauthenticated }
        return false
    }

    private func fields() throws(FirebaseError) -> FirebaseFields {
        // Only the token endpoint accepts forms. curl sends every body as a form by default, even a
        // JSON body.
        if operation.isTokenEndpoint, request.hasFormBody,
            request.body.first != UInt8(ascii: "{")
        {
            return FirebaseFields(form: request.form)
        }
        // The body of a GET or DELETE request is ignored.
        guard request.method == "POST" || request.method == "PATCH" else {
            return FirebaseFields(form: request.query)
        }
        return try FirebaseFields(bodyOf: request, refusesUnknown: settings.refusesUnknownFields)
    }
}
