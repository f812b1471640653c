internal import Grammar
internal import Providers

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

    /// Returns the grammar of a request that is written as the mapping `{post: /path, body: {…},
    /// id: /pointer, proof: /pointer}`.
    ///
    /// The place determines the templates that the request may contain.
    static func request(
        _ name: String,
        _ slot: TemplateScope.ProfileSlot
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
                }
            }
            Field<Profile.Endpoint>.readOnlyField(
                "body",
                .templated(.json, .profile(slot)),
                "The JSON body. A field whose template has no value is omitted.",
                fallback: "no body"
            ) { node, endpoint, _ in
                endpoint.body = node.json
            }
            Field.optional(
                "id",
                \.responseIDPointer,
                .pointer,
                "The location of the user's ID in the response.",
                fallback: "the sent ID is used"
            )
            Field.optional(
                "proof",
                \.responseProofPointer,
                .pointer,
                "The location in the response of the proof that the ID belongs to the device."
            )
            Profile.Credentials.fields(slot, \.credentials)
        }.alternativeKeys(methodKeys, example: "post: /path")
    }
}

extension Field where Owner == Profile {
    /// The names of the endpoints that a profile may define, with a description of each endpoint.
    private static var endpointDocs: [(name: String, doc: String)] {
        ProviderTable.all.entries.compactMap { provider in
            provider.sender.map { ($0.webhookEndpoint, "Receives \(provider.title)'s events.") }
        } + [("delete-account", "Deletes an account.")]
            + Call.Route.allCases.map { route in
                switch route {
                case .register: (route.rawValue, "Registers the user of an app.")
                case .login:
                    (route.rawValue, "Signs an account in, and claims or recovers a user ID.")
                case .protected: (route.rawValue, "Any route that requires a Firebase ID token.")
                case .reconcile:
                    (route.rawValue, "Makes the backend compare its state with RevenueCat's.")
                }
            }
    }

    static var endpoints: Field {
        let request = Profile.Endpoint.request("endpoint", .endpoint)
        let requestLines = Dictionary(
            uniqueKeysWithValues: endpointDocs.map {
                let requestLine = Profile.Endpoint.requestLine(
                    method: $0.name == "protected" ? "GET" : "POST"
                )
                // A webhook has the same path for all users, so it has no templates.
                return (
                    $0.name,
                    $0.name.hasSuffix("-webhook") ? requestLine : requestLine.templated(.endpoint)
                )
            }
        )
        let shape = ConstructShape(
            name: "endpoints",
            owner: "endpoints",
            doc: "The backend's own routes: a method and a path, or a mapping with more details.",
            keys: endpointDocs.map { name, doc in
                let requestLine = requestLines[name]?.shape ?? .text("a path")
                return KeyShape(name, .either([requestLine, .construct(request.shape)]), doc)
            }
        )
        return .readOnlyField(
            "endpoints",
            .construct(shape),
            "The backend's own routes.",
            fallback: "the paths of the identity guide"
        ) { node, profile, reader in
            let nodes = reader.mapping(node, allowed: shape.keys.map(\.key))
            reader.definesRegisterEndpoint = nodes["register"] != nil
            for name in shape.keys.map(\.key) {
                guard let value = nodes[name] else { continue }
                profile.namesOfDefaultEndpoints.remove(name)
                if case .mapping = value.content {
                    profile.endpoints[name] =
                        request.read(value, &reader) ?? profile.endpoints[name]
                } else if var endpoint = requestLines[name]?.read(value, &reader) {
                    // A value that is only a path keeps the body and the response of the default
                    // endpoint, as defined in the identity guide.
                    let defaultValue = profile.endpoints[name]
                    endpoint.body = defaultValue?.body
                    endpoint.responseIDPointer = defaultValue?.responseIDPointer
                    endpoint.responseProofPointer = defaultValue?.responseProofPointer
                    profile.endpoints[name] = endpoint
                }
            }
        }
    }
}
