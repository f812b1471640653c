internal import Grammar
internal import Providers
internal import Values

extension Profile.Endpoint {
    private static let methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]

    /// Returns the syntax of an endpoint on one line: a path, or a method and a path.
    ///
    /// The parameter is the method of an endpoint that is only a path.
    static func requestLine(method defaultValue: String) -> Syntax<Profile.Endpoint> {
        Syntax(
            .pattern(
                "^((GET|POST|PUT|PATCH|DELETE|HEAD) )?/",
                "a method and a path, such as `\(defaultValue) /healthz`"
            ),
            read: { node, reader in
                guard let text = reader.text(node) else { return nil }
                let words = text.split(separator: " ").map(String.init)
                if words.count == 1, text.hasPrefix("/") {
                    return Profile.Endpoint(method: defaultValue, path: text)
                }
                guard words.count == 2, methods.contains(words[0]), words[1].hasPrefix("/") else {
                    reader.fail(
                        .wrongValueKind(
                            expected: "a method and a path such as '\(defaultValue) /healthz'",
                            found: node.kind
                        ),
                        at: node.location
                    )
                    return nil
                }
                return Profile.Endpoint(method: words[0], path: words[1])
            },
            write: { .text($0.method + " " + $0.path) }
        )
    }

    /// The parts of a request that Assay uses, in addition to its method and path.
    struct RequestParts: OptionSet {
        let rawValue: Int

        /// The body and the credentials.
        static let contents = RequestParts(rawValue: 1)
        /// The user's ID in the response.
        static let userID = RequestParts(rawValue: 2)
        /// The proof in the response that the user's ID belongs to the device.
        static let proof = RequestParts(rawValue: 4)
    }

    /// Returns the grammar of a request that is written as the mapping `{post: /path, body: {…},
    /// id: /pointer, proof: /pointer}`.
    ///
    /// The place determines the templates that the request may contain. A key that Assay would
    /// ignore at this place is not part of the grammar.
    static func request(
        _ name: String,
        _ slot: TemplateScope.ProfileSlot,
        _ parts: RequestParts = .contents
    ) -> Construct<Profile.Endpoint> {
        let methodKeys = ["get", "post", "put", "patch", "delete"]
        let templateList = slot.words.map { ", `{{\($0.word)}}`" }.joined().dropFirst(2)
        return Construct(
            name,
            "a request",
            "A request to the backend" + (templateList.isEmpty ? "." : ", with \(templateList)."),
            makeEmptyOwner: { _ in Profile.Endpoint(method: "", path: "") }
        ) {
            methodKeys.map { verb in
                Field<Profile.Endpoint>.readOnlyField(
                    verb,
                    .templated(.text("a path"), .profile(slot)),
                    "The path of a \(verb.uppercased()) request."
                ) { node, endpoint, reader in
                    guard let path = reader.text(node) else { return }
                    endpoint.method = verb.uppercased()
                    endpoint.path = path
                }.example("/webhook")
            }
            parts.contains(.contents) ? [bodyField(slot)] : []
            parts.contains(.userID) ? [idField] : []
            parts.contains(.proof) ? [proofField] : []
            parts.contains(.contents) ? Profile.Credentials.fields(slot, \.credentials) : []
        }.alternativeKeys(methodKeys, example: "post: /path")
    }

    private static func bodyField(_ slot: TemplateScope.ProfileSlot) -> Field<Profile.Endpoint> {
        Field<Profile.Endpoint>.readOnlyField(
            "body",
            .templated(.json, .profile(slot)),
            "The JSON body. A field whose template has no value is omitted.",
            fallback: "no body"
        ) { node, endpoint, _ in
            endpoint.body = node.json
        }.example(slot.exampleTemplate.map { ["user": .string($0)] } ?? ["confirm": true])
    }

    private static var idField: Field<Profile.Endpoint> {
        Field.optional(
            "id",
            \.responseIDPointer,
            .pointer,
            "The location of the user's ID in the response.",
            fallback: "the sent ID is used"
        )
    }

    private static var proofField: Field<Profile.Endpoint> {
        Field.optional(
            "proof",
            \.responseProofPointer,
            .pointer,
            "The location in the response of the proof that the ID belongs to the device."
        ).example("/deviceToken")
    }
}

/// An endpoint that a profile may define: its name, its documentation and its grammar.
private struct EndpointKey {
    let name: String
    let doc: String
    let example: JSONValue
    /// The syntax of an endpoint on one line.
    let line: Syntax<Profile.Endpoint>
    let mapping: Construct<Profile.Endpoint>

    /// The endpoint that receives the events of a provider; its path is the same for all users.
    init(webhook name: String, of title: String) {
        self.name = name
        doc = "Receives \(title)'s events."
        example = .string("POST /webhooks/" + name.split(separator: "-").prefix(1).joined())
        line = Profile.Endpoint.requestLine(method: "POST")
        mapping = Profile.Endpoint.request("webhook", .none, [])
    }

    /// An endpoint that an app or an operator calls.
    init(
        _ name: String,
        _ parts: Profile.Endpoint.RequestParts,
        method: String = "POST",
        _ doc: String,
        example: JSONValue
    ) {
        (self.name, self.doc, self.example) = (name, doc, example)
        line = Profile.Endpoint.requestLine(method: method).templated(.endpoint)
        let grammarName =
            parts.contains(.proof)
            ? "endpoint" : parts.contains(.userID) ? "user-endpoint" : "plain-endpoint"
        mapping = Profile.Endpoint.request(grammarName, .endpoint, parts)
    }

    /// The shape of the endpoint's key.
    var shape: KeyShape {
        KeyShape(name, .either([line.shape, .construct(mapping.shape)]), doc).example(example)
    }

    static func route(_ route: Call.Route) -> EndpointKey {
        switch route {
        case .register:
            EndpointKey(
                route.rawValue,
                [.contents, .userID, .proof],
                "Registers the user of an app.",
                example: [
                    "post": "/api/users",
                    "body": [
                        "userId": "{{id}}", "deviceId": "{{device}}", "platform": "{{platform}}",
                    ],
                    "proof": "/deviceToken",
                ]
            )
        case .login:
            EndpointKey(
                route.rawValue,
                [.contents, .userID, .proof],
                "Signs an account in, and claims or recovers a user ID.",
                example: [
                    "post": "/api/login",
                    "body": [
                        "email": "{{account}}", "password": "{{password}}", "userId": "{{id}}",
                        "deviceToken": "{{proof}}",
                    ],
                    "id": "/user/id",
                ]
            )
        case .protected:
            EndpointKey(
                route.rawValue,
                [.contents, .userID],
                method: "GET",
                "Any route that requires a Firebase ID token.",
                example: ["get": "/api/me", "id": "/user/id"]
            )
        case .reconcile:
            EndpointKey(
                route.rawValue,
                .contents,
                "Makes the backend compare its state with RevenueCat's.",
                example: ["post": "/admin/reconcile", "headers": ["x-admin-key": "test"]]
            )
        }
    }
}

extension Field where Owner == Profile {
    /// The endpoints that a profile may define.
    private static var endpointKeys: [EndpointKey] {
        ProviderTable.all.entries.compactMap { provider in
            provider.sender.map { EndpointKey(webhook: $0.webhookEndpoint, of: provider.title) }
        } + [
            EndpointKey(
                "delete-account",
                .contents,
                "Deletes an account.",
                example: ["delete": "/api/me"]
            )
        ] + Call.Route.allCases.map(EndpointKey.route)
    }

    static var endpoints: Field {
        let endpointKeys = endpointKeys
        let shape = ConstructShape(
            name: "endpoints",
            owner: "endpoints",
            doc: "The backend's own routes: a method and a path, or a mapping with more details.",
            keys: endpointKeys.map(\.shape)
        )
        return .readOnlyField(
            "endpoints",
            .construct(shape),
            "The backend's own routes.",
            fallback: "the paths of the identity guide"
        ) { node, profile, reader in
            let nodes = reader.mapping(node, allowed: shape.keys.map(\.key))
            reader.definesRegisterEndpoint = nodes["register"] != nil
            for key in endpointKeys {
                let name = key.name
                guard let value = nodes[name] else { continue }
                profile.namesOfDefaultEndpoints.remove(name)
                if case .mapping = value.content {
                    profile.endpoints[name] =
                        key.mapping.read(value, &reader) ?? profile.endpoints[name]
                } else if var endpoint = key.line.read(value, &reader) {
                    // A value that is only a path keeps the body and the response of the default
                    // endpoint, as defined in the identity guide.
                    let defaultValue = profile.endpoints[name]
                    endpoint.body = defaultValue?.body
                    endpoint.responseIDPointer = defaultValue?.responseIDPointer
                    endpoint.responseProofPointer = defaultValue?.responseProofPointer
                    profile.endpoints[name] = endpoint
                }
            }
        }.example(
            .object(
                JSONObject(
                    members: endpointKeys.prefix(1).map { .init(key: $0.name, value: $0.example) }
                        + [.init(key: "register", value: EndpointKey.route(.register).example)]
                )
            )
        )
    }
}
