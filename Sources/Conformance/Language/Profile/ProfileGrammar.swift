/// The grammar of `assay.yaml`. Nobody writes a profile but people: its secrets come out of the
/// environment, and must not come back into a file.
extension Profile {
    package static let grammar = Construct<Profile>(
        "profile",
        "a profile",
        "How to reach one backend and how to look at it.",
        blank: { _ in Profile() }
    ) {
        Field<Profile>.version
        Field.optional(
            "target",
            \.target,
            .text("a URL, with `{{port}}` where Assay starts the backend").templated(.start),
            "Where the backend listens."
        )
        Field.optional(
            "start",
            \.start,
            Start.grammar.flow,
            "How Assay starts the backend.",
            fallback: "it runs already"
        )
        Field<Profile>.endpoints
        Field.optional(
            "session",
            \.session,
            Profile.Session.grammar.flow,
            "A login that is made once, and whose answer later requests carry as `{{session}}`.",
            fallback: "nobody logs in"
        )
        Field<Profile>.secrets
        Field<Profile>.users
        Field<Profile>.accounts
        Field.optional(
            "fault",
            \.fault,
            Fault.grammar.flow,
            "How the backend's store is made to fail, and mended; without it a failure inside the "
                + "backend is only met by luck.",
            fallback: "the backend has no such way"
        )
        Field.optional(
            "clock",
            \.clock,
            UserCreation.syntax("clock", .clock),
            "How the backend's clock is set, which goes on from there: a request, or a command, "
                + "with `{{now}}` (ISO 8601), `{{now-ms}}` (since 1970) or `{{ahead}}` (whole "
                + "seconds before the machine's clock; 0 puts it back).",
            fallback: "it goes as the machine's does, so that minutes and days between deliveries "
                + "are told by their events alone"
        )
        lookFields
        nameFields
        Field<Profile>.features
        restFields
    }.checking { profile, keys, reader in
        guard profile.session == nil, profile.allCredentials.contains(where: \.usesSession) else {
            return
        }
        reader.fail(
            .conflict(
                "'{{session}}' stands for what a login hands out, and the profile names no login",
                remedy: "Add 'session: {login: {post: /login, body: {…}}, token: /token}'."
            ),
            at: keys.node.location
        )
    }

    @FieldBuilder<Profile> private static var lookFields: [Field<Profile>] {
        Field.value(
            "probes",
            \.probes,
            Probe.list,
            default: [],
            "Read-only looks at one user's state, by a name of your own; one that finds who is registered "
                + "and has bought nothing, or is called `user`, tells who exists.",
            fallback: "none: only answers and effects are judged"
        )
        Field.value(
            "app",
            \.app,
            App.grammar.flow,
            default: App(),
            "The web app that `assay app` uses.",
            fallback: "the guide's"
        )
    }

    @FieldBuilder<Profile> private static var nameFields: [Field<Profile>] {
        Field.value(
            "products",
            \.products,
            .map(.anyKey("a contract's name"), .text("the store's id")),
            default: [:],
            "Store product ids by the names that contracts use.",
            fallback: "a name stands for itself"
        )
        Field.value(
            "entitlement",
            \.entitlement,
            .text("an identifier"),
            default: "premium",
            "The entitlement that the products unlock."
        )
        Field.value(
            "firebase-project",
            \.firebaseProject,
            .text("a project id"),
            default: "assay-project",
            "The Firebase project whose tokens the protected route accepts."
        )
    }

    @FieldBuilder<Profile> private static var restFields: [Field<Profile>] {
        Field.optional(
            "known-failing",
            \.knownFailingPath,
            .text("a path"),
            "A list of cases that fail, each with a finding code and a reason."
        )
        Field.optional(
            "ca",
            \.authorityPath,
            .text("a path"),
            "Who signed the backend's certificate: a file of certificates in PEM, believed beside the "
                + "system's."
        )
        Field.value(
            "redact",
            \.secretNames,
            .list(.text("a name")),
            default: [],
            "Names of headers, members and parameters that hold secrets; recordings keep a "
                + "fingerprint of their values.",
            fallback: "the usual ones"
        )
        Field.value(
            "patience",
            \.patience,
            .span,
            default: .seconds(10),
            "How long an effect or a state may take that has to come, in real time."
        )
    }
}

extension Field where Owner == Profile {
    fileprivate static var version: Field {
        var shape = KeyShape("assay", .count(1...1), "The version of the profile's format.")
        shape.isRequired = true
        return Field(
            shape,
            read: { node, _, reader in
                guard node.json.int64 != 1 else { return }
                reader.fail(
                    .unknownValue(node.json.text, what: "profile version", allowed: ["1"]),
                    at: node.location
                )
            },
            write: { _ in .number(1) }
        )
    }

    fileprivate static var secrets: Field {
        let shape = ConstructShape(
            name: "secrets",
            owner: "secrets",
            doc: "What proves senders and callers; `${NAME}` and `${NAME:-default}` come from the "
                + "environment.",
            keys: Profile.SecretName.allCases.map { name in
                let doc =
                    switch name {
                    case .revenueCatAuthorization: "The Authorization of RevenueCat's webhook."
                    case .revenueCatSigning: "The secret that signs RevenueCat's webhook."
                    case .revenueCatKey: "The key of RevenueCat's REST API."
                    case .oneSignalKey: "The key of OneSignal's REST API."
                    case .purchaselySigning: "The secret that signs Purchasely's webhook."
                    }
                return KeyShape(name.rawValue, .secret, doc)
            }
        )
        return .readOnly(
            "secrets",
            .construct(shape),
            "What proves senders and callers; one that is not given is not demanded."
        ) { node, profile, reader in
            let nodes = reader.mapping(node, allowed: shape.keys.map(\.key))
            for name in Profile.SecretName.allCases {
                guard let value = nodes[name.rawValue], let text = reader.anyText(value) else {
                    continue
                }
                profile.secrets[name] = Secret(reader.expanded(text, at: value.location))
                profile.guessedSecrets.remove(name)
            }
        }
    }

    fileprivate static var users: Field {
        .readOnly(
            "users",
            .construct(Profile.Users.grammar.shape),
            "Which ids users have, and how one comes to exist before a case."
        ) { node, profile, reader in
            guard let users = Profile.Users.grammar.read(node, &reader) else { return }
            profile.idForm = users.ids
            guard let creation = users.creation else { return }
            profile.creation = creation
            // Its users come another way, so the guide's route is not assumed to exist.
            if !reader.namesRegister { profile.endpoints["register"] = nil }
        }
    }

    fileprivate static var accounts: Field {
        .readOnly(
            "accounts",
            .construct(Profile.Accounts.grammar.shape),
            "How an account comes to exist that a login can use."
        ) { node, profile, reader in
            profile.accountCreation = Profile.Accounts.grammar.read(node, &reader)?.creation
        }
    }

    fileprivate static var features: Field {
        let names = Syntax.list(Syntax<Feature>.choice("feature"))
        let shape = ConstructShape(
            name: "features",
            owner: "features",
            doc: "What this backend has not.",
            keys: [
                KeyShape("except", names.shape, "Features that it has not, and is not judged by.")
            ]
        )
        return .readOnly(
            "features",
            .construct(shape),
            "What this backend has not; clauses that need it are left unproven."
        ) { node, profile, reader in
            let nodes = reader.mapping(node, allowed: ["except"])
            let features = nodes["except"].flatMap { names.read($0, &reader) } ?? []
            profile.unsupported.formUnion(features)
        }
    }
}

extension Field {
    /// A key that only people write.
    static func readOnly(
        _ key: String,
        _ shape: Shape,
        _ doc: String,
        fallback: String? = nil,
        read: @escaping @Sendable (LocatedNode, inout Owner, inout NodeReader) -> Void
    ) -> Field {
        var key = KeyShape(key, shape, doc)
        key.fallback = fallback
        return Field(key, read: read, write: { _ in nil })
    }
}

extension NodeReader {
    /// `${NAME}` and `${NAME:-default}`, as a shell would read them.
    mutating func expanded(_ text: String, at location: SourceLocation) -> String {
        let environment = environment
        var missing: [String] = []
        let output = VariableText.expanded(text, value: { environment[$0] }) { missing.append($0) }
        for name in missing { fail(.environment(name), at: location) }
        return output
    }
}
