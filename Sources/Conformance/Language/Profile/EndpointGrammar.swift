extension Profile.Endpoint {
    private static let methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]

    /// A path, or a method and a path.
    static func line(method usual: String) -> Syntax<Profile.Endpoint> {
        Syntax(
            .pattern(
                "^((GET|POST|PUT|PATCH|DELETE|HEAD) )?/",
                "a method and a path, such as `\(usual) /healthz`"
            ),
            read: { node, reader in
                guard let text = reader.text(node) else { return nil }
                let words = text.split(separator: " ").map(String.init)
                if words.count == 1, text.hasPrefix("/") {
                    return Profile.Endpoint(method: usual, path: text)
                }
                guard words.count == 2, methods.contains(words[0]), words[1].hasPrefix("/") else {
                    reader.fail(
                        .wrongKind(
                            expected: "a method and a path such as '\(usual) /healthz'",
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

    /// `{post: /path, body: {…}, id: /pointer, proof: /pointer}`, with those templates.
    static func request(
        _ name: String,
        _ place: TemplateScope.ProfilePlace
    ) -> Construct<Profile.Endpoint> {
        let verbs = ["get", "post", "put", "patch", "delete"]
        let templates = place.words.map { ", `{{\($0.word)}}`" }.joined().dropFirst(2)
        return Construct(
            name,
            "a request",
            "A request of the backend's own" + (templates.isEmpty ? "." : ", with \(templates)."),
            blank: { _ in Profile.Endpoint(method: "", path: "") }
        ) {
            verbs.map { verb in
                Field<Profile.Endpoint>.readOnly(
                    verb,
                    .templated(.text("a path"), .profile(place)),
                    "The path of a \(verb.uppercased())."
                ) { node, endpoint, reader in
                    guard let path = reader.text(node) else { return }
                    endpoint.method = verb.uppercased()
                    endpoint.path = path
                }
            }
            Field<Profile.Endpoint>.readOnly(
                "body",
                .templated(.json, .profile(place)),
                "What is sent; a field whose value is left out is left out.",
                fallback: "nothing"
            ) { node, endpoint, _ in
                endpoint.body = node.json
            }
            Field.optional(
                "id",
                \.answerID,
                .pointer,
                "Where the answer names the user's id.",
                fallback: "the id is the one that was sent"
            )
            Field.optional(
                "proof",
                \.answerProof,
                .pointer,
                "Where the answer holds what proves later that the id is the device's own."
            )
            Profile.Credentials.fields(place, \.credentials)
        }.oneOf(verbs, example: "post: /path")
    }
}

extension Field where Owner == Profile {
    /// The endpoints a profile may name, and what each is for.
    private static let endpointDocs: [(name: String, doc: String)] =
        [
            ("revenuecat-webhook", "Where RevenueCat's events go."),
            ("purchasely-webhook", "Where Purchasely's events go."),
            ("delete-account", "Where an account is deleted."),
        ]
        + Call.Route.allCases.map { route in
            switch route {
            case .register: (route.rawValue, "Where the app announces its user.")
            case .login: (route.rawValue, "Where an account signs in and claims or recovers an id.")
            case .protected: (route.rawValue, "Any route that demands a Firebase ID token.")
            case .reconcile:
                (route.rawValue, "Where the backend compares its state with RevenueCat.")
            }
        }

    static var endpoints: Field {
        let request = Profile.Endpoint.request("endpoint", .endpoint)
        let lines = Dictionary(
            uniqueKeysWithValues: endpointDocs.map {
                let line = Profile.Endpoint.line(method: $0.name == "protected" ? "GET" : "POST")
                // An event goes to one place, whoever it is about.
                return ($0.name, $0.name.hasSuffix("-webhook") ? line : line.templated(.endpoint))
            }
        )
        let shape = ConstructShape(
            name: "endpoints",
            owner: "endpoints",
            doc: "The backend's own routes: a method and a path, or a mapping that says more.",
            keys: endpointDocs.map { name, doc in
                let line = lines[name]?.shape ?? .text("a path")
                return KeyShape(name, .either([line, .construct(request.shape)]), doc)
            }
        )
        return .readOnly(
            "endpoints",
            .construct(shape),
            "The backend's own routes.",
            fallback: "the paths of the identity guide"
        ) { node, profile, reader in
            let nodes = reader.mapping(node, allowed: shape.keys.map(\.key))
            reader.namesRegister = nodes["register"] != nil
            for name in shape.keys.map(\.key) {
                guard let value = nodes[name] else { continue }
                profile.guessed.remove(name)
                if case .mapping = value.content {
                    profile.endpoints[name] =
                        request.read(value, &reader) ?? profile.endpoints[name]
                } else if var endpoint = lines[name]?.read(value, &reader) {
                    // A path alone keeps the guide's body and answer.
                    let usual = profile.endpoints[name]
                    endpoint.body = usual?.body
                    endpoint.answerID = usual?.answerID
                    endpoint.answerProof = usual?.answerProof
                    profile.endpoints[name] = endpoint
                }
            }
        }
    }
}
