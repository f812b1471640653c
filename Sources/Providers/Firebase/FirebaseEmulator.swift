internal import Grammar
internal import Values

/// The endpoints that only the Firebase emulator has, the published keys, and the configuration of
/// a project (Firebase fact sheet, sections 4.15, 7.2 and 8).
extension FirebaseState {
    static let readinessDocument: JSONValue = [
        "authEmulator": [
            "ready": true, "docs": "https://firebase.google.com/docs/emulator-suite",
            "apiSpec": "/emulator/openapi.json",
        ]
    ]

    // MARK: Keys

    /// Returns the response with the public keys that verify tokens, at the same paths as in
    /// production.
    ///
    /// Returns nil for any other path.
    mutating func keyResponse(
        _ segments: [String],
        _ request: HTTPMessage.Request,
        at now: Instant
    ) throws(FirebaseError) -> HTTPMessage.Response? {
        let accountEmail = "securetoken@system.gserviceaccount.com"
        let requestedKeys: (certificates: Bool, cookies: Bool)
        switch segments {
        case ["robot", "v1", "metadata", "x509", accountEmail]: requestedKeys = (true, false)
        case ["service_accounts", "v1", "jwk", accountEmail],
            ["service_accounts", "v1", "metadata", "jwk", accountEmail]:
            requestedKeys = (false, false)
        case ["identitytoolkit", "v3", "relyingparty", "publicKeys"],
            ["v1", "sessionCookiePublicKeys"]:
            requestedKeys = (segments.count == 4, true)
        default: return nil
        }
        guard request.method == "GET" else { throw .notFound }
        if settings.tokens == .rs256 {
            _ = signingKey(at: now)
            _ = cookieKey(at: now)
        }
        let publishedKeys = requestedKeys.cookies ? cookieKeys : keys
        let body: JSONValue =
            requestedKeys.certificates
            ? .object(
                JSONObject(
                    members: publishedKeys.map {
                        .init(key: $0.keyID, value: .string($0.certificatePEM))
                    }
                )
            ) : ["keys": .array(publishedKeys.map(\.jsonWebKey))]
        let cacheControl =
            "public, max-age=\(settings.keySecondsMax), must-revalidate, no-transform"
        return HTTPMessage.Response(
            200,
            json: body,
            fields: [HTTPMessage.Field("Cache-Control", cacheControl)]
        )
    }

    // MARK: Emulator endpoints

    mutating func emulatorResponse(
        _ segments: [String],
        _ request: HTTPMessage.Request,
        at now: Instant
    ) throws(FirebaseError) -> HTTPMessage.Response {
        switch (request.method, segments.first) {
        case ("GET", "openapi.json") where segments.count == 1:
            return HTTPMessage.Response(200, json: Self.apiDescription)
        case ("GET", "action") where segments.count == 1:
            return actionPageResponse(request, at: now)
        case ("GET", "auth") where segments.count == 2:
            return try popupResponse(segments[1], request)
        case (_, "v1") where segments.count >= 4 && segments[1] == "projects":
            var remainingSegments = Array(segments.dropFirst(3))
            var tenant: String?
            if remainingSegments.count == 3, remainingSegments[0] == "tenants" {
                tenant = remainingSegments[1]
                remainingSegments = [remainingSegments[2]]
            }
            guard remainingSegments.count == 1 else { throw .notFound }
            let call = try emulatorCall(request, segments[2], tenant, at: now)
            return HTTPMessage.Response(
                200,
                json: .object(try emulatorResource(request.method, remainingSegments[0], call))
            )
        default: throw .notFound
        }
    }

    private func emulatorCall(
        _ request: HTTPMessage.Request,
        _ project: String,
        _ tenant: String?,
        at now: Instant
    ) throws(FirebaseError) -> FirebaseCall {
        var body: JSONValue?
        if request.method == "PATCH" {
            do throws(JSONError) {
                body = try request.json()
            } catch {
                throw .invalidArgument("\(error)", reason: "parseError")
            }
        }
        return FirebaseCall(
            isAdmin: true,
            projectID: project,
            tenantID: tenant,
            fields: try FirebaseFields(body, refusesUnknown: false),
            query: request.query,
            host: request[field: "host"] ?? "localhost:9099",
            now: now
        )
    }

    private mutating func emulatorResource(
        _ method: String,
        _ name: String,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        switch (method, name) {
        case ("DELETE", "accounts"):
            editProject(call) { $0.removeAllUsers() }
            return JSONObject()
        case ("GET", "config"): return emulatorConfiguration(call)
        case ("PATCH", "config"):
            _ = try updateConfiguration(call)
            return emulatorConfiguration(call)
        case ("GET", "oobCodes"):
            let codes = project(call).actionCodes.all.map { code in
                JSONValue.object(
                    .present([
                        ("email", .string(code.email)),
                        ("requestType", .string(code.kind.rawValue)),
                        ("oobCode", .string(code.code)), ("oobLink", .string(code.link)),
                        ("newEmail", code.newEmail.map(JSONValue.string)),
                    ])
                )
            }
            return ["oobCodes": .array(codes)]
        case ("GET", "verificationCodes"):
            let codes: [JSONValue] = project(call).phoneCodes.all.map {
                [
                    "phoneNumber": .string($0.phoneNumber), "sessionInfo": .string($0.session),
                    "code": .string($0.code),
                ]
            }
            return ["verificationCodes": .array(codes)]
        default: throw .notFound
        }
    }

    // MARK: Configuration

    private func emulatorConfiguration(_ call: FirebaseCall) -> JSONObject {
        let project = project(call)
        return [
            "signIn": ["allowDuplicateEmails": .bool(project.allowsDuplicateEmails)],
            "emailPrivacyConfig": [
                "enableImprovedEmailPrivacy": .bool(project.enumerationProtection)
            ],
        ]
    }

    func configuration(_ call: FirebaseCall) -> JSONObject {
        var responseFields: JSONObject = [
            "name": .string("projects/\(call.projectID)/config"),
            "blockingFunctions": project(call).blockingFunctions,
            "mfa": .object(secondFactorRules(call)),
        ]
        for member in emulatorConfiguration(call).members {
            responseFields[member.key] = member.value
        }
        return responseFields
    }

    /// Changes the settings of a project that the request contains.
    ///
    /// In version 2 of the API, it changes only the settings that `updateMask` names.
    mutating func updateConfiguration(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        let updateMask = call.query("updateMask")?.split(separator: ",").map(String.init)
        func isFieldInMask(_ path: String) -> Bool {
            updateMask?.contains { path == $0 || path.hasPrefix($0 + ".") } ?? true
        }
        let body = call.fields.object
        if let flag = body["signIn"]?["allowDuplicateEmails"]?.bool,
            isFieldInMask("signIn.allowDuplicateEmails")
        {
            editProject(call) { $0.allowsDuplicateEmails = flag }
        }
        if let flag = body["emailPrivacyConfig"]?["enableImprovedEmailPrivacy"]?.bool,
            isFieldInMask("emailPrivacyConfig.enableImprovedEmailPrivacy")
        {
            editProject(call) { $0.enumerationProtection = flag }
        }
        if let functions = body["blockingFunctions"], isFieldInMask("blockingFunctions") {
            // The configuration of blocking functions is stored so that it can be read again. The
            // fake never calls blocking functions.
            editProject(call) { $0.blockingFunctions = functions }
        }
        let secondFactorMask = updateMask?.filter { $0 == "mfa" || $0.hasPrefix("mfa.") } ?? ["mfa"]
        if !secondFactorMask.isEmpty, body["mfa"] != nil || updateMask != nil {
            var rules: JSONObject = ["mfa": .object(secondFactorRules(call))]
            try rules.copyFields(secondFactorMask, from: body)
            let updatedRules = rules["mfa"]?.object
            editProject(call) { $0.mfa = updatedRules }
        }
        return configuration(call)
    }

    // MARK: The fake pop-up

    /// Returns the page of the fake sign-in pop-up.
    ///
    /// It shows a made-up credential of the identity provider, which the user copies into the app's
    /// sign-in.
    private func popupResponse(
        _ name: String,
        _ request: HTTPMessage.Request
    ) throws(FirebaseError) -> HTTPMessage.Response {
        let body: String
        switch name {
        case "iframe": body = "<!doctype html><title>Auth emulator frame</title>"
        case "handler":
            body = """
                <!doctype html><meta charset="utf-8"><title>Sign in to the fake Google</title>
                <h1>Sign in to the fake Google</h1>
                <p>This page sends no data. Type an email address, and copy the credential \
                below into signInWithCredential.</p>
                <label>Email <input id="email" value="ada@example.com"></label>
                <pre id="credential"></pre>
                <script>
                const email = document.getElementById("email");
                function show() {
                  const sub = Array.from(email.value).reduce((a, c) =>
                    (a * 31 + c.charCodeAt(0)) % 1e15, 7).toString();
                  document.getElementById("credential").textContent = JSON.stringify(
                    {sub, email: email.value, email_verified: true});
                }
                email.addEventListener("input", show); show();
                </script>
                """
        default: throw .notFound
        }
        return HTTPMessage.Response(
            200,
            fields: [HTTPMessage.Field("content-type", "text/html; charset=utf-8")],
            body: Array(body.utf8)
        )
    }

    private static let apiDescription: JSONValue = {
        let responseFields: JSONValue = [
            "responses": ["200": ["description": "the service's response"]]
        ]
        var paths: [String: JSONObject] = [:]
        for row in FirebaseOperation.table.rows {
            let isTokenEndpoint = row.operation?.isTokenEndpoint == true
            let host =
                isTokenEndpoint ? "/securetoken.googleapis.com" : "/identitytoolkit.googleapis.com"
            paths[host + row.path, default: JSONObject()][row.method.lowercased()] = responseFields
        }
        return [
            "openapi": "3.0.0",
            "info": ["title": "Fake Firebase Auth", "version": "1"],
            "paths": .object(
                JSONObject(
                    members: paths.sorted { $0.key < $1.key }.map {
                        .init(key: $0.key, value: .object($0.value))
                    }
                )
            ),
        ]
    }()
}

extension FirebaseOperation {
    static let configurationRows: [Row] = [
        .init(
            "GET",
            "/v2/projects/{project}/config",
            FirebaseOperation(isAdminOnly: true) { state, call in state.configuration(call) }
        ),
        .init(
            "PATCH",
            "/v2/projects/{project}/config",
            FirebaseOperation(isAdminOnly: true) { state, call throws(FirebaseError) in
                try state.updateConfiguration(call)
            }
        ),
    ]
}
