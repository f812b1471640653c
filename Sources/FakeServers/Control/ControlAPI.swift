package import Conformance
internal import Providers

/// The control API below `/assay/v1`: whatever a person, a test or the command line does to the
/// fakes.
package final class ControlAPI: Sendable {
    /// A call that cannot be carried out: what is wrong, and what to type next.
    struct Refusal: Error {
        let status: Int
        let text: String
        var hint: String?

        init(_ status: Int = 400, _ text: String, hint: String? = nil) {
            self.status = status
            self.text = text
            self.hint = hint
        }
    }

    /// One request, read.
    struct Call {
        let request: HTTPMessage.Request
        let values: [String]
        let namespace: String
        let body: JSONObject

        var value: String { values.first ?? "" }

        func query(_ name: String) -> String? { request.query(name) }
    }

    let world: FakeWorld
    let courier: Courier
    let version: String
    let allowedHosts: Set<String>
    let servers: [FakeServer]
    /// What is secret beside the tables and what the fakes were told.
    let profiled: SecretDeclaration

    package init(
        world: FakeWorld,
        courier: Courier,
        version: String,
        servers: [FakeServer],
        allowedHosts: Set<String> = [],
        declared: SecretDeclaration = SecretDeclaration()
    ) {
        self.world = world
        self.courier = courier
        self.version = version
        self.servers = servers
        self.allowedHosts = allowedHosts
        profiled = declared
    }

    /// What the profile declares, and what the fakes were told since.
    var declared: SecretDeclaration {
        var declared = world.declared
        declared.names += profiled.names
        declared.values.merge(profiled.values) { told, _ in told }
        return declared
    }

    // MARK: Answering

    /// An answer, or lines that go on.
    package enum Answer: Sendable {
        case whole(HTTPMessage.Response)
        case lines(AsyncStream<String>)
    }

    package func respond(to request: HTTPMessage.Request) async -> Answer {
        do throws(Refusal) {
            try checkOrigin(request)
            return try await answer(request)
        } catch {
            let redaction = JournalLine.redaction(declared)
            var body: JSONObject = ["error": .string(redaction.text(error.text))]
            if let hint = error.hint { body["hint"] = .string(redaction.text(hint)) }
            return .whole(HTTPMessage.Response(error.status, json: .object(body)))
        }
    }

    /// A web page must not move the fakes: neither from another origin nor by a name that points
    /// here.
    private func checkOrigin(_ request: HTTPMessage.Request) throws(Refusal) {
        let host = Self.hostName(request[field: "host"] ?? "")
        guard LoopbackHost.isLoopback(host) || allowedHosts.contains(host) else {
            throw Refusal(
                403,
                "the Host header names '\(host)', which is not this machine",
                hint: "use http://127.0.0.1, or start with --allow-host \(host)"
            )
        }
        if let origin = request[field: "origin"] {
            let own = "http://" + (request[field: "host"] ?? "")
            guard origin == own else {
                throw Refusal(
                    403,
                    "a page of \(origin) may not call the control API",
                    hint: "call it from a program, or from the page that assay serve serves"
                )
            }
        }
        if request[field: "sec-fetch-site"] == "cross-site" {
            throw Refusal(403, "a page of another site may not call the control API")
        }
    }

    private static func hostName(_ authority: String) -> String {
        if authority.hasPrefix("[") {
            return String(authority.dropFirst().prefix { $0 != "]" })
        }
        return String(authority.prefix { $0 != ":" })
    }

    private func answer(_ request: HTTPMessage.Request) async throws(Refusal) -> Answer {
        guard let segments = request.pathSegments else {
            throw Refusal(400, "the path is no UTF-8")
        }
        if segments.isEmpty {
            return .whole(
                HTTPMessage.Response(
                    200,
                    json: ["assay": .string(version), "control": "/assay/v1"]
                )
            )
        }
        guard segments.starts(with: ["assay", "v1"]) else {
            throw Refusal(404, "the control API lies below /assay/v1")
        }
        let path = Array(segments.dropFirst(2))
        let (route, values) = try Self.route(request, path)
        let (object, problem) = request.jsonObject()
        guard let object else { throw Refusal(400, "the body is no JSON object: \(problem)") }
        let namespace =
            request.query("namespace") ?? request[field: "x-assay-namespace"] ?? ""
        if route.takesNamespace, !world.namespaces.contains(namespace) {
            throw Refusal(
                404,
                "there is no namespace '\(namespace)'",
                hint: "PUT /assay/v1/namespaces/\(namespace) makes it"
            )
        }
        let call = Call(request: request, values: values, namespace: namespace, body: object)
        if route == .journalStream { return .lines(try stream(call)) }
        return .whole(HTTPMessage.Response(200, json: try await carryOut(route, call)))
    }

    private static func route(
        _ request: HTTPMessage.Request,
        _ path: [String]
    ) throws(Refusal) -> (route: ControlRoute, values: [String]) {
        if let found = ControlRoute.match(request.method, path) { return found }
        let methods = ["GET", "POST", "PUT", "PATCH", "DELETE"].filter {
            ControlRoute.match($0, path) != nil
        }
        guard methods.isEmpty else {
            throw Refusal(405, "\(request.path) takes \(methods.joined(separator: ", "))")
        }
        throw Refusal(
            404,
            "there is no \(request.method) \(request.path)",
            hint: "GET /assay/v1/openapi.json lists everything"
        )
    }

    private func carryOut(_ route: ControlRoute, _ call: Call) async throws(Refusal) -> JSONValue {
        switch route {
        case .root: return root
        case .health: return ["ok": true]
        case .openapi: return ControlRoute.document(version: version)
        case .namespaces, .putNamespace, .deleteNamespace, .reset:
            return try namespace(route, call)
        case .journal: return try journal(call)
        case .journalStream: return .null
        case .clock, .setClock, .advance: return try await clock(route, call)
        case .faults, .putFault, .deleteFaults: return try await faults(route, call)
        case .settings, .patchSettings: return try settings(route, call)
        case .webhooks, .putWebhook, .deleteWebhook, .purchaselyWebhook:
            return try webhooks(route, call)
        case .products, .putProduct: return try products(route, call)
        case .storeActions: return Self.storeActions
        case .storeAction: return try await storeAction(call)
        case .customer: return try customer(call)
        case .send: return try await send(call)
        case .deliveries, .flush, .resend: return try await deliveries(route, call)
        case .purchaselyAction: return try await purchaselyAction(call)
        case .device, .deviceAction: return try await device(route, call)
        case .rotateKeys: return rotateKeys(call)
        case .snapshots, .takeSnapshot, .restoreSnapshot, .fork:
            return try snapshots(route, call)
        case .export, .importState: return try state(route, call)
        }
    }

    private var root: JSONValue {
        let fakes = servers.map {
            JSONObject.Member(key: $0.party.description, value: .string($0.baseURL))
        }
        return [
            "assay": .string(version), "fakes": .object(JSONObject(members: fakes)),
            "namespaces": .strings(world.namespaces),
        ]
    }

    private func rotateKeys(_ call: Call) -> JSONValue {
        let keys = world.edit(call.namespace) { services, now in
            services.firebase.rotateKeys(at: now)
            return services.firebase.keyIDs
        }
        return ["keys": .strings(keys ?? [])]
    }

    func text(_ text: String, _ what: String) throws(Refusal) -> String {
        guard !text.isEmpty, text.utf8.count <= 200 else {
            throw Refusal(400, "\(what) has 1 to 200 characters")
        }
        return text
    }
}
