internal import Grammar
internal import Redaction
internal import Values

extension Profile.Credentials {
    /// Returns the fields for the credentials of a request or a probe: the keys `headers: {…}` and
    /// `as: …`.
    ///
    /// - Parameters:
    ///   - slot: The place of the request in the profile, which determines the available templates.
    ///   - path: The property of the request or probe that holds the credentials.
    /// - Returns: The fields for the two keys.
    static func fields<Owner: Sendable>(
        _ slot: TemplateScope.ProfileSlot,
        _ path: any Field<Owner>.FieldKeyPath<Profile.Credentials?>
    ) -> [Field<Owner>] {
        let slot = self.slot(of: slot)
        let values = Syntax<[String: String]>.map(
            .anyKey("a header"),
            .verbatim("a string; `${NAME}` and `${NAME:-default}` insert environment variables")
                .templated(slot)
        )
        return [
            .readOnlyField(
                "headers",
                values.shape,
                "Additional header fields, such as API keys or `Bearer {{session}}`.",
                fallback: "none"
            ) { node, owner, reader in
                guard let headers = values.read(node, &reader) else { return }
                var secrets: [String: Secret] = [:]
                for (name, text) in headers {
                    guard isHeaderName(name) else {
                        reader.fail(
                            .wrongValueKind(expected: "the name of a header", found: "'\(name)'"),
                            at: node.location
                        )
                        continue
                    }
                    secrets[name] = Secret(reader.expanded(text, at: node.location))
                }
                var credentials = owner[keyPath: path] ?? Profile.Credentials()
                credentials.headers = secrets
                owner[keyPath: path] = credentials
            }.example(["x-api-key": "${API_KEY:-test}"]),
            .readOnlyField(
                "as",
                Syntax.text("a uid, such as `{{id}}` or `{{account}}`").templated(slot).shape,
                "The uid of a signed-in user, whose ID token is sent as the bearer token.",
                fallback: "no ID token"
            ) { node, owner, reader in
                guard let actor = reader.possiblyEmptyText(node) else { return }
                var credentials = owner[keyPath: path] ?? Profile.Credentials()
                credentials.actor = actor
                owner[keyPath: path] = credentials
            }.example(.string(slot.exampleTemplate ?? "operator")),
        ]
    }

    /// Returns the template place for the credentials of a request, given the place of the request
    /// itself.
    private static func slot(
        of request: TemplateScope.ProfileSlot
    ) -> TemplateScope.ProfileSlot {
        switch request {
        case .endpoint: .endpointCredential
        case .creation: .creationCredential
        case .account: .accountCredential
        case .clock: .clockCredential
        case .probe: .probeCredential
        case .none: .operatorCredential
        // The login returns the session; the others are not requests that Assay sends.
        case .login, .userLogin, .start, .accessPath, .accessAnswer, .endpointCredential,
            .creationCredential,
            .accountCredential, .clockCredential, .probeCredential, .operatorCredential:
            .none
        }
    }

    /// Whether the credentials contain `{{session}}`, so that a login must come first.
    package var usesSession: Bool { templateNames.contains("session") }

    /// Whether the credentials contain `{{user-session}}`, so that a login of the user must come
    /// first.
    package var usesUserSession: Bool {
        templateNames.contains(TemplateScope.ProfileSlot.userSessionName)
    }

    /// The names of the templates in the credentials.
    package var templateNames: Set<String> {
        Set(
            ([actor].compactMap(\.self) + headers.values.map(\.exposed)).flatMap {
                Template($0).names
            }
        )
    }

    /// Whether a name is valid for a header (RFC 9110, section 5.6.2).
    private static func isHeaderName(_ name: String) -> Bool {
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
        "A login that runs once. `{{session}}` in headers is replaced by a value of its response.",
        makeEmptyOwner: { _ in
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
            "The login request."
        )
        Field.required(
            "token",
            \.token,
            .pointer,
            "The location in the response of the value for `{{session}}`."
        ).example("/token")
    }
}
