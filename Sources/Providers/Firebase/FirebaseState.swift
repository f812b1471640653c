package import Contracts
internal import Grammar
package import Values

/// The fake Firebase Authentication: Identity Toolkit v1 and v3, the secure token service, the
/// published keys, and the endpoints of the Firebase emulator.
///
/// The defaults are the behavior of the emulator; see `FirebaseSettings`. Source: Firebase fact
/// sheet.
package struct FirebaseState: Hashable, Codable, Sendable {
    static let projectNumber = "12345"

    package var settings: FirebaseSettings {
        didSet {
            // A switch changes the setting of all projects at once. The `config` endpoint of a
            // project changes only that project.
            for id in projects.keys {
                if settings.enumerationProtection != oldValue.enumerationProtection {
                    projects[id]?.enumerationProtection = settings.enumerationProtection
                }
                if settings.allowDuplicateEmails != oldValue.allowDuplicateEmails {
                    projects[id]?.allowsDuplicateEmails = settings.allowDuplicateEmails
                }
            }
        }
    }
    var projects: [String: FirebaseProject] = [:]
    /// The published keys that sign ID tokens, newest first.
    ///
    /// The previous key stays published, as in production.
    private(set) var keys: [SigningKey] = []
    private(set) var cookieKeys: [SigningKey] = []
    /// The latest signing key that is no longer published; nil when none was withdrawn.
    package private(set) var withdrawnKey: SigningKey?
    var ids: IDSource

    package init(settings: FirebaseSettings = FirebaseSettings(), seed: UInt64 = 0) {
        self.settings = settings
        ids = IDSource(seed: seed, text: "firebase")
    }

    // MARK: Keys

    /// Creates a new key that signs tokens from now on.
    ///
    /// The previous key stays published for tokens still in use.
    package mutating func rotateKeys(at now: Instant) {
        if let key = try? SigningKey(at: now) {
            if keys.count > 1 { withdrawnKey = keys.last }
            keys = [key] + keys.prefix(1)
        }
        if let key = try? SigningKey(at: now) { cookieKeys = [key] + cookieKeys.prefix(1) }
    }

    /// The IDs of the published keys for ID tokens.
    ///
    /// The first key signs new tokens.
    package var keyIDs: [String] { keys.map(\.keyID) }

    mutating func signingKey(at now: Instant) -> SigningKey? {
        guard settings.tokens == .rs256 else { return nil }
        if keys.isEmpty { rotateKeys(at: now) }
        return keys.first
    }

    mutating func cookieKey(at now: Instant) -> SigningKey? {
        guard settings.tokens == .rs256 else { return nil }
        if cookieKeys.isEmpty { rotateKeys(at: now) }
        return cookieKeys.first
    }

    // MARK: Projects

    mutating func editProject<Result>(
        _ call: FirebaseCall,
        _ body: (inout FirebaseProject) -> Result
    ) -> Result {
        var project =
            projects[call.key]
            ?? FirebaseProject(
                projectID: call.projectID,
                tenantID: call.tenantID,
                settings: settings
            )
        projects[call.key] = nil
        defer { projects[call.key] = project }
        return body(&project)
    }

    func project(_ call: FirebaseCall) -> FirebaseProject {
        projects[call.key]
            ?? FirebaseProject(
                projectID: call.projectID,
                tenantID: call.tenantID,
                settings: settings
            )
    }

    /// The number of accounts in all projects and tenants.
    package var userCount: Int { projects.values.reduce(0) { $0 + $1.users.count } }

    // MARK: Responses

    package mutating func respond(
        to request: HTTPMessage.Request,
        at now: Instant,
        plannedResponse _: ProviderPlan.PlannedResponse
    ) -> Reply {
        var response: HTTPMessage.Response
        var confidence = Reply.Confidence.documented
        if request.method == "OPTIONS" {
            response = Self.preflightResponse(request)
        } else {
            do throws(FirebaseError) {
                response = try routedResponse(request, at: now)
            } catch {
                response = error.response
                if error.status == 501 { confidence = .inferred }
            }
        }
        if let origin = request[field: "origin"] {
            response.fields.append(HTTPMessage.Field("Access-Control-Allow-Origin", origin))
            response.fields.append(HTTPMessage.Field("Vary", "Origin"))
        }
        return Reply(response, confidence, of: "firebase")
    }

    private static func preflightResponse(_ request: HTTPMessage.Request) -> HTTPMessage.Response {
        var fields = [
            HTTPMessage.Field("Access-Control-Allow-Methods", "GET,HEAD,PUT,PATCH,POST,DELETE")
        ]
        if let wanted = request[field: "access-control-request-headers"] {
            fields.append(HTTPMessage.Field("Access-Control-Allow-Headers", wanted))
        }
        if request[field: "access-control-request-private-network"] != nil {
            fields.append(HTTPMessage.Field("Access-Control-Allow-Private-Network", "true"))
        }
        return HTTPMessage.Response(204, fields: fields)
    }

    private mutating func routedResponse(
        _ request: HTTPMessage.Request,
        at now: Instant
    ) throws(FirebaseError) -> HTTPMessage.Response {
        guard var segments = request.pathSegments else { throw .notFound }
        if !segments.isEmpty,
            let response = hostResponse(segments, request)
        {
            return response
        }
        // The emulator expects the production host as the first segment of the path. The fake
        // accepts paths with and without this segment.
        if segments.first?.hasSuffix("googleapis.com") == true { segments.removeFirst() }
        if segments.isEmpty {
            guard request.method == "GET" || request.method == "HEAD" else { throw .notFound }
            return HTTPMessage.Response(200, json: Self.readinessDocument)
        }
        if segments[0] == "emulator" {
            return try emulatorResponse(Array(segments.dropFirst()), request, at: now)
        }
        if let keys = try keyResponse(segments, request, at: now) { return keys }
        return try operationResponse(segments, request, at: now)
    }

    private mutating func operationResponse(
        _ segments: [String],
        _ request: HTTPMessage.Request,
        at now: Instant
    ) throws(FirebaseError) -> HTTPMessage.Response {
        guard
            let (matchedOperation, values) = FirebaseOperation.table.findOperation(
                request.method,
                segments
            ),
            let operation = matchedOperation
        else { throw .notFound }
        if let error = operation.absenceError { throw error }
        let (project, tenant) = (values["project"], values["tenant"])
        let caller = try caller(of: request, operation, isProjectInPath: project != nil)
        let fields =
            // Only the token endpoint accepts forms. curl sends every body as a form by default,
            // even a JSON body.
            if operation.isTokenEndpoint, request.hasFormBody,
                request.body.first != UInt8(ascii: "{")
            {
                FirebaseFields(form: request.form)
            } else {
                try Self.fields(request, refusesUnknown: settings.refusesUnknownFields)
            }
        if !caller.isAdmin, project != nil || fields.hasValue("targetProjectId") {
            throw FirebaseError(
                "INSUFFICIENT_PERMISSION",
                "Only authenticated requests can specify target_project_id."
            )
        }
        if operation.requiresTargetProject, fields.nonEmptyText("targetProjectId") == nil {
            throw FirebaseError("INSUFFICIENT_PERMISSION")
        }
        let projectID = project ?? fields.nonEmptyText("targetProjectId") ?? settings.project
        let tenantID = tenant ?? fields.nonEmptyText("tenantId")
        // A project and a tenant are stored under one key, in which a slash separates the two IDs.
        let slash = UInt8(ascii: "/")
        guard !projectID.utf8.contains(slash), tenantID?.utf8.contains(slash) != true else {
            throw .notFound
        }
        let call = FirebaseCall(
            isAdmin: caller.isAdmin,
            projectID: projectID,
            tenantID: tenantID,
            fields: fields,
            query: request.query,
            host: request[field: "host"] ?? "localhost:9099",
            now: now
        )
        if !operation.managesTenants { try checkTenant(call, operation.checkTenantSettings) }
        return HTTPMessage.Response(200, json: .object(try operation.handle(&self, call)))
    }

    private static func fields(
        _ request: HTTPMessage.Request,
        refusesUnknown: Bool
    ) throws(FirebaseError) -> FirebaseFields {
        // The body of a GET or DELETE request is ignored.
        guard request.method == "POST" || request.method == "PATCH" else {
            return FirebaseFields(form: request.query)
        }
        let value: JSONValue?
        do throws(JSONError) {
            value = try request.json()
        } catch {
            throw .invalidArgument("\(error)", reason: "parseError")
        }
        return try FirebaseFields(value, refusesUnknown: refusesUnknown)
    }

    /// Determines whether an administrator or a user sent the request, and with which API key
    /// (Firebase fact sheet, section 2.1).
    private func caller(
        of request: HTTPMessage.Request,
        _ operation: FirebaseOperation,
        isProjectInPath: Bool
    ) throws(FirebaseError) -> (isAdmin: Bool, key: String?) {
        let key = [request.query("key"), request[field: "x-goog-api-key"]]
            .compactMap { $0 }.first { !$0.isEmpty }
        if !operation.isTokenEndpoint, let (scheme, token) = request.authorization,
            scheme == "bearer"
        {
            guard token.lowercased() == "owner" || token.hasPrefix("ya29.") else {
                throw .unauthenticated
            }
            return (true, key)
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
        guard !operation.isAdminOnly || isProjectInPath else {
            throw .unauthenticated
        }
        return (false, key)
    }

    func projectConfig(_: FirebaseCall) -> JSONObject {
        ["projectId": .string(Self.projectNumber), "authorizedDomains": ["localhost"]]
    }

    func recaptchaParams(_: FirebaseCall) -> JSONObject {
        [
            "kind": "identitytoolkit#GetRecaptchaParamResponse",
            "recaptchaStoken": "This-is-a-fake-token__Dont-send-this-to-the-Recaptcha-service",
            "recaptchaSiteKey": "Fake-key__Do-not-send-this-to-Recaptcha_",
        ]
    }
}
