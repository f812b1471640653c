extension Profile.Credentials {
    /// `headers: {…}` and `as: …` of a request or a probe, with the templates of that place.
    ///
    /// - Parameters:
    ///   - place: Which names exist there.
    ///   - path: Where the owner keeps its credentials.
    /// - Returns: The two keys.
    static func fields<Owner: Sendable>(
        _ place: TemplateScope.ProfilePlace,
        _ path: any Field<Owner>.Path<Profile.Credentials?>
    ) -> [Field<Owner>] {
        let place = self.place(of: place)
        let values = Syntax<[String: String]>.map(
            .anyKey("a header"),
            .verbatim("a text; `${NAME}` and `${NAME:-default}` come from the environment")
                .templated(place)
        )
        return [
            .readOnly(
                "headers",
                values.shape,
                "Header fields that are sent along: keys, or `Bearer {{session}}`.",
                fallback: "none"
            ) { node, owner, reader in
                guard let headers = values.read(node, &reader) else { return }
                var secrets: [String: Secret] = [:]
                for (name, text) in headers {
                    guard isToken(name) else {
                        reader.fail(
                            .wrongKind(expected: "the name of a header", found: "'\(name)'"),
                            at: node.location
                        )
                        continue
                    }
                    secrets[name] = Secret(reader.expanded(text, at: node.location))
                }
                var credentials = owner[keyPath: path] ?? Profile.Credentials()
                credentials.headers = secrets
                owner[keyPath: path] = credentials
            },
            .readOnly(
                "as",
                Syntax.text("a uid, such as `{{id}}`").templated(place).shape,
                "Who asks: a signed-in user of that uid, whose ID token goes along as the bearer's.",
                fallback: "nobody"
            ) { node, owner, reader in
                guard let actor = reader.anyText(node) else { return }
                var credentials = owner[keyPath: path] ?? Profile.Credentials()
                credentials.actor = actor
                owner[keyPath: path] = credentials
            },
        ]
    }

    /// Which names exist in the credentials of a request.
    private static func place(
        of request: TemplateScope.ProfilePlace
    ) -> TemplateScope.ProfilePlace {
        switch request {
        case .endpoint, .creation, .probe: .userCredential
        case .account, .clock, .none: .operatorCredential
        // The login hands the session out; the others are no requests of ours.
        case .login, .start, .accessPath, .accessAnswer, .userCredential, .operatorCredential:
            .none
        }
    }

    /// Whether a login has to be made for it.
    package var usesSession: Bool {
        ([actor].compactMap(\.self) + headers.values.map(\.exposed))
            .contains { Template($0).names.contains("session") }
    }

    /// RFC 9110, section 5.6.2.
    private static func isToken(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { byte in
                byte > 0x20 && byte < 0x7f && !"(),/:;<=>?@[\\]{}\"".utf8.contains(byte)
            }
    }
}

extension Profile.Session {
    static let grammar = Construct<Profile.Session>(
        "session",
        "'session'",
        "A login that is made once; `{{session}}` in headers stands for what it hands out.",
        blank: { _ in
            Profile.Session(
                endpoint: Profile.Endpoint(method: "", path: ""),
                token: JSONPointer()
            )
        }
    ) {
        Field.required(
            "login",
            \.endpoint,
            Profile.Endpoint.request("session-login", .login).flow,
            "The request."
        )
        Field.required(
            "token",
            \.token,
            .pointer,
            "Where its answer holds what later requests carry."
        )
    }
}
