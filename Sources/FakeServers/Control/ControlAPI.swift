internal import Contracts
internal import Providers
package import Redaction
package import Values

/// The control API at `/assay/v1`, through which a person, a test or the command line operates the
/// fakes.
package final class ControlAPI: Sendable {
    typealias Refusal = ControlRefusal

    /// A request to the control API that was parsed and validated.
    struct Call: Sendable {
        let request: HTTPMessage.Request
        /// The value of the variable in the path, such as `{name}`; empty when the path has none.
        let value: String
        let namespace: String
        let body: JSONObject

        func query(_ name: String) -> String? { request.query(name) }

        /// Returns whether the body has a member with this name whose value is not null.
        func hasMember(_ name: String) -> Bool { body[name].map { !$0.isNull } ?? false }
    }

    let fakes: FakeRegistry
    let dispatcher: WebhookDispatcher
    let version: String
    let allowedHosts: Set<String>
    /// Further host names by which this machine may be called, in addition to loopback names and
    /// the allowed hosts.
    private let hostNames: Set<String>
    let servers: [FakeServer]
    let routes: [ControlRoute]
    /// An ID that distinguishes this process from an earlier process on the same port.
    let process: String
    /// The secrets in the profile, which are redacted in addition to the secrets in the fakes.
    let profileSecrets: SecretDeclaration
    /// The token that callers must send; nil allows every caller on this machine.
    private let token: Secret?

    package init(
        fakes: FakeRegistry,
        dispatcher: WebhookDispatcher,
        version: String,
        servers: [FakeServer],
        allowedHosts: Set<String> = [],
        hostNames: Set<String> = [],
        process: String = "",
        token: Secret? = nil,
        declared: SecretDeclaration = SecretDeclaration()
    ) {
        self.fakes = fakes
        self.dispatcher = dispatcher
        self.version = version
        self.servers = servers
        self.allowedHosts = allowedHosts
        routes = ControlRoute.all(fakes.providers)
        profileSecrets = declared
        self.token = token
        self.hostNames = hostNames
        self.process = process
    }

    /// All secrets to redact: those that the profile declares and those that are configured in the
    /// fakes.
    var declared: SecretDeclaration {
        var declared = fakes.declared
        declared.names += profileSecrets.names
        declared.values.merge(profileSecrets.values) { existingValue, _ in existingValue }
        return declared
    }

    // MARK: Responding

    /// The response to a call of the control API: a complete response or a stream of lines.
    package enum ControlResponse: Sendable {
        case completeResponse(HTTPMessage.Response)
        case lines(AsyncStream<String>)
    }

    /// Responds to a call of `/health` without locking the state of the namespaces.
    ///
    /// - Returns: The response; nil for every other call and for a call that must be refused.
    func health(_ request: HTTPMessage.Request) -> HTTPMessage.Response? {
        guard request.method == "GET", request.target == "/assay/v1/health", request.body.isEmpty
        else { return nil }
        do throws(Refusal) {
            try checkOrigin(request)
            try checkToken(request)
        } catch {
            return nil
        }
        return HTTPMessage.Response(200, json: Self.healthyBody)
    }

    fileprivate static let healthyBody: JSONValue = ["ok": true]

    package func respond(to request: HTTPMessage.Request) async -> ControlResponse {
        do throws(Refusal) {
            try checkOrigin(request)
            if let page = LivePage.response(to: request) { return .completeResponse(page) }
            try checkToken(request)
            return try await response(request)
        } catch {
            let redaction = JournalLine.redaction(declared)
            var body: JSONObject = ["error": .string(redaction.text(error.text))]
            if let hint = error.hint { body["hint"] = .string(redaction.text(hint)) }
            var response = HTTPMessage.Response(error.status, json: .object(body))
            // Without this header a foreign page could show the refusal in a frame, as if it had
            // access.
            response.fields.append(LivePage.frameOptionsField)
            if error.status == 401 {
                response.fields.append(HTTPMessage.Field("www-authenticate", "Bearer"))
            }
            return .completeResponse(response)
        }
    }

    /// Checks the token of a call.
    ///
    /// The check compares digests, so that its duration reveals nothing about the token.
    private func checkToken(_ request: HTTPMessage.Request) throws(Refusal) {
        guard let token else { return }
        let presentedToken = request.authorization.flatMap {
            $0.scheme == "bearer" ? $0.credential : nil
        }
        guard let presentedToken,
            Digest.sha256(Array(presentedToken.utf8)) == Digest.sha256(Array(token.exposed.utf8))
        else {
            throw Refusal(
                401,
                presentedToken == nil
                    ? "the control API requires a token" : "the token is wrong",
                hint:
                    "send the server's ASSAY_CONTROL_TOKEN as the bearer token in 'Authorization'"
            )
        }
    }

    /// Refuses calls of web pages from another origin, and calls through a foreign host name that
    /// resolves to this machine.
    private func checkOrigin(_ request: HTTPMessage.Request) throws(Refusal) {
        let host = Self.hostName(request[field: "host"] ?? "")
        guard HostName.isLoopback(host) || allowedHosts.union(hostNames).contains(host) else {
            throw Refusal(
                403,
                "the Host header names '\(host)', which is not this machine",
                hint: "use http://127.0.0.1, or start with --allow-host \(host)"
            )
        }
        if let origin = request[field: "origin"] {
            let expectedOrigin = "http://" + (request[field: "host"] ?? "")
            guard origin == expectedOrigin else {
                throw Refusal(
                    403,
                    "a web page of \(origin) may not call the control API",
                    hint: "call it from a program, or from the live page of assay serve"
                )
            }
        }
        // A page on another port of this machine is same-site but still a different origin.
        if request.isFromForeignPage {
            throw Refusal(
                403,
                "a web page of another origin may not call the control API",
                hint: "to open the live page, type its address into the browser"
            )
        }
    }

    private static func hostName(_ authority: String) -> String {
        if authority.hasPrefix("[") {
            return String(authority.dropFirst().prefix { $0 != "]" })
        }
        return String(authority.prefix { $0 != ":" })
    }

    private func response(_ request: HTTPMessage.Request) async throws(Refusal) -> ControlResponse {
        guard let segments = request.pathSegments else {
            throw Refusal(400, "the path is not UTF-8")
        }
        if segments.isEmpty {
            return .completeResponse(
                HTTPMessage.Response(
                    200,
                    json: ["assay": .string(version), "control": "/assay/v1"]
                )
            )
        }
        guard segments.starts(with: ["assay", "v1"]) else {
            throw Refusal(404, "the control API is at /assay/v1")
        }
        let (route, value) = try route(request, Array(segments.dropFirst(2)))
        let call = try parseCall(request, route, value)
        switch route.handler {
        case .lines(let lines): return .lines(try lines(self, call))
        case .response(let response):
            return .completeResponse(
                HTTPMessage.Response(200, json: try await response(self, call))
            )
        }
    }

    private func route(
        _ request: HTTPMessage.Request,
        _ path: [String]
    ) throws(Refusal) -> (route: ControlRoute, value: String) {
        if let matchedRoute = routes.matchPath(request.method, path) { return matchedRoute }
        let methods = routes.methods(of: path)
        guard methods.isEmpty else {
            throw Refusal(405, "\(request.path) accepts only \(methods.joined(separator: ", "))")
        }
        throw Refusal(
            404,
            "there is no \(request.method) \(request.path)",
            hint: "GET /assay/v1/openapi.json lists all operations"
        )
    }

    /// Parses the request for an operation, and refuses unknown parameters and members instead of
    /// ignoring them.
    private func parseCall(
        _ request: HTTPMessage.Request,
        _ route: ControlRoute,
        _ value: String
    ) throws(Refusal) -> Call {
        let knownParameterNames = route.parameters.map(\.name) + ["namespace"]
        if let other = request.query.first(where: { !knownParameterNames.contains($0.name) }) {
            throw .unknownName(
                other.name,
                "parameter",
                of: route.methodAndPath,
                among: knownParameterNames
            )
        }
        // The limit is high, because an exported state contains deeply nested bodies.
        let (object, problem) = request.jsonObject(depthMax: 256)
        guard var body = object else {
            throw Refusal(400, "the body is not a JSON object: \(problem)")
        }
        let namespace = try namespace(request, route, &body)
        try route.members.checkMembers(body, of: route.methodAndPath) {
            WebhookURL($0, allowedHosts: allowedHosts) != nil
        }
        if route.takesNamespace, !fakes.namespaces.contains(namespace) {
            throw Refusal(
                404,
                "there is no namespace '\(namespace)'",
                hint: "PUT /assay/v1/namespaces/\(namespace) creates it"
            )
        }
        return Call(request: request, value: value, namespace: namespace, body: body)
    }

    /// Returns the namespace that the query, a header or the body of a request names.
    ///
    /// It is an error if they name different namespaces.
    private func namespace(
        _ request: HTTPMessage.Request,
        _ route: ControlRoute,
        _ body: inout JSONObject
    ) throws(Refusal) -> String {
        var names = [request.query("namespace"), request[field: "x-assay-namespace"]]
        if route.takesNamespace, let member = body["namespace"], !member.isNull {
            guard let name = member.string else {
                throw Refusal(400, "'namespace' takes a string, not \(member.kind)")
            }
            names.append(name)
        }
        if route.takesNamespace { body["namespace"] = nil }
        let requestedNamespaces = names.compactMap { $0 }
        if let first = requestedNamespaces.first,
            let other = requestedNamespaces.first(where: { $0 != first })
        {
            throw Refusal(400, "the call names two namespaces, '\(first)' and '\(other)'")
        }
        return requestedNamespaces.first ?? ""
    }

    // MARK: Providers

    /// Runs an operation that the fake of a provider adds to the control API.
    ///
    /// The response contains the webhook deliveries that the operation caused.
    func runProviderControl(
        _ control: ProviderControl,
        _ call: Call
    ) async throws(Refusal) -> JSONValue {
        let first = nextDeliveryNumber(call.namespace)
        let query = call.request.query
        let providerCall = ProviderControl.Call(value: call.value, body: call.body, query: query)
        // A GET request changes nothing, so the webhook dispatcher is not notified.
        let isReadOnly = control.method == "GET"
        let controlResult = fakes.edit(call.namespace, notifies: !isReadOnly) {
            services,
            now -> Result<JSONObject, Refusal> in
            do throws(Refusal) {
                return .success(try control.handler(&services, providerCall, now))
            } catch {
                return .failure(error)
            }
        }
        switch controlResult {
        case .success(let response):
            guard control.sendsEvents else { return .object(response) }
            return await responseWithDeliveries(call, from: first, response)
        case .failure(let refusal): throw refusal
        case nil: throw Refusal(404, "there is no namespace '\(call.namespace)'")
        }
    }

    func text(_ text: String, _ valueDescription: String) throws(Refusal) -> String {
        guard !text.isEmpty, text.utf8.count <= 200 else {
            throw Refusal(400, "\(valueDescription) must have 1 to 200 characters")
        }
        return text
    }
}

// MARK: - General operations

extension ControlRoute {
    static let root = ControlRoute(
        "root",
        "GET",
        "",
        "Returns the version of Assay, the addresses of the fakes and the namespaces.",
        takesNamespace: false,
        handler: .response { api, _ in
            let fakes = api.servers.map {
                JSONObject.Member(key: $0.party.description, value: .string($0.baseURL))
            }
            return [
                "assay": .string(api.version), "process": .string(api.process),
                "fakes": .object(JSONObject(members: fakes)),
                "namespaces": .strings(api.fakes.namespaces),
            ]
        }
    )

    static let health = ControlRoute(
        "health",
        "GET",
        "/health",
        "Returns whether the process responds.",
        takesNamespace: false,
        handler: .response { _, _ in ControlAPI.healthyBody }
    )

    static let openapi = ControlRoute(
        "openapi",
        "GET",
        "/openapi.json",
        "Returns this document.",
        takesNamespace: false,
        handler: .response { api, _ in api.routes.openAPIDocument(version: api.version) }
    )
}
