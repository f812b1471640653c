internal import Conformance

/// The endpoints that only the Firebase emulator has, the published keys, and the configuration of
/// a project (Firebase fact sheet, sections 4.15, 7.2 and 8).
extension FirebaseState {
    static let readiness: JSONValue = [
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
        let account = "securetoken@system.gserviceaccount.com"
        let wanted: (certificates: Bool, cookies: Bool)
        switch segments {
        case ["robot", "v1", "metadata", "x509", account]: wanted = (true, false)
        case ["service_accounts", "v1", "jwk", account],
            ["service_accounts", "v1", "metadata", "jwk", account]:
            wanted = (false, false)
        case ["identitytoolkit", "v3", "relyingparty", "publicKeys"],
            ["v1", "sessionCookiePublicKeys"]:
            wanted = (segments.count == 4, true)
        default: return nil
        }
        guard request.method == "GET" else { throw .notFound }
        if settings.tokens == .rs256 {
            _ = signingKey(at: now)
            _ = cookieKey(at: now)
        }
        let published = wanted.cookies ? cookieKeys : keys
        let body: JSONValue =
            wanted.certificates
            ? .object(
                JSONObject(
                    members: published.map {
                        .init(key: $0.keyID, value: .string($0.certificatePEM))
                    }
                )
            ) : ["keys": .array(published.map(\.webKey))]
        let age = "public, max-age=\(settings.keySecondsMax), must-revalidate, no-transform"
        return HTTPMessage.Response(
            200,
            json: body,
            fields: [HTTPMessage.Field("Cache-Control", age)]
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
        case ("GET", "action") where segments.count == 1: return action(request, at: now)
        case ("GET", "auth") where segments.count == 2:
            return try popupResponse(segments[1], request)
        case (_, "v1") where segments.count >= 4 && segments[1] == "projects":
            var rest = Array(segments.dropFirst(3))
            var tenant: String?
            if rest.count == 3, rest[0] == "tenants" {
                tenant = rest[1]
                rest = [rest[2]]
            }
            guard rest.count == 1 else { throw .notFound }
            let call = try emulatorCall(request, segments[2], tenant, at: now)
            return HTTPMessage.Response(
                200,
                json: .object(try emulatorResource(request.method, rest[0], call))
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
                throw .argument("\(error)", reason: "parseError")
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
            edit(call) { $0.removeAllUsers() }
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
        var answer: JSONObject = [
            "name": .string("projects/\(call.projectID)/config"),
            "blockingFunctions": project(call).blockingFunctions,
            "mfa": .object(secondFactorRules(call)),
        ]
        for member in emulatorConfiguration(call).members { answer[member.key] = member.value }
        return answer
    }

    /// Changes the settings of a project that the request contains.
    ///
    /// In version 2 of the API, it changes only the settings that `updateMask` names.
    mutating func updateConfiguration(_ call: FirebaseCall) throws(FirebaseError) -> JSONObject {
        let mask = call.query("updateMask")?.split(separator: ",").map(String.init)
        func isNamed(_ path: String) -> Bool {
            mask?.contains { path == $0 || path.hasPrefix($0 + ".") } ?? true
        }
        let body = call.fields.object
        if let flag = body["signIn"]?["allowDuplicateEmails"]?.bool,
            isNamed("signIn.allowDuplicateEmails")
        {
            edit(call) { $0.allowsDuplicateEmails = flag }
        }
        if let flag = body["emailPrivacyConfig"]?["enableImprovedEmailPrivacy"]?.bool,
            isNamed("emailPrivacyConfig.enableImprovedEmailPrivacy")
        {
            edit(call) { $0.enumerationProtection = flag }
        }
        if let functions = body["blockingFunctions"], isNamed("blockingFunctions") {
            // The configuration of blocking functions is stored so that it can be read again. The
            // fake never calls blocking functions.
            edit(call) { $0.blockingFunctions = functions }
        }
        let ofFactors = mask?.filter { $0 == "mfa" || $0.hasPrefix("mfa.") } ?? ["mfa"]
        if !ofFactors.isEmpty, body["mfa"] != nil || mask != nil {
            var rules: JSONObject = ["mfa": .object(secondFactorRules(call))]
            try rules.copyFields(ofFactors, from: body)
            let written = rules["mfa"]?.object
            edit(call) { $0.mfa = written }
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
        let answer: JSONValue = ["responses": ["200": ["description": "the service's response"]]]
        var paths: [String: JSONObject] = [:]
        for row in FirebaseOperation.table.rows {
            let isToken = row.call == .token
            let host = isToken ? "/securetoken.googleapis.com" : "/identitytoolkit.googleapis.com"
            paths[host + row.path, default: JSONObject()][row.method.lowercased()] = answer
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
