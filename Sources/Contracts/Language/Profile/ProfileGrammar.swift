package import Grammar
internal import Providers
internal import Redaction
internal import Values

/// The grammar of `assay.yaml`.
///
/// This grammar is used only for reading: a profile's secrets come from the environment and must
/// not be written to a file.
extension Profile {
    package static var grammar: Construct<Profile> { grammarOfTable.value }

    private static let grammarOfTable = TableDerived { _ in makeGrammar() }

    private static func makeGrammar() -> Construct<Profile> {
        Construct<Profile>(
            "profile",
            "a profile",
            "The settings to reach one backend and to observe its state.",
            makeEmptyOwner: { _ in Profile() }
        ) {
            backendFields
            probeFields
            nameFields
            Field<Profile>.features
            otherFields
        }.checking { profile, keys, reader in
            if !profile.effectSources.isEmpty, !profile.unsupportedFeatures.contains(.push) {
                reader.fail(
                    .conflict(
                        "'effects' replaces pushes, but the profile does not say that the backend "
                            + "sends none",
                        remedy: "Add 'features: {except: [push]}', or remove 'effects'."
                    ),
                    at: keys.location(of: "effects")
                )
            }
            if profile.userSession == nil,
                profile.requests.credentials.contains(where: \.usesUserSession)
            {
                reader.fail(
                    .conflict(
                        "'{{user-session}}' is used, but the profile defines no login of users",
                        remedy: "Add 'users: {login: {post: /login, body: {…}}, token: /token}', "
                            + "or only 'token' if the response to 'create' contains it."
                    ),
                    at: keys.node.location
                )
            }
            guard profile.session == nil,
                profile.requests.credentials.contains(where: \.usesSession)
            else {
                return
            }
            reader.fail(
                .conflict(
                    "'{{session}}' is used, but the profile defines no login",
                    remedy: "Add 'session: {login: {post: /login, body: {…}}, token: /token}'."
                ),
                at: keys.node.location
            )
        }
    }

    /// The fields for the process of the backend, its routes, and the actions on it.
    @FieldBuilder<Profile> private static var backendFields: [Field<Profile>] {
        Field<Profile>.version
        Field.optional(
            "target",
            \.target,
            .text("a URL, with `{{port}}` if Assay starts the backend").templated(.start),
            "The URL of the backend."
        ).example("http://127.0.0.1:8080")
        Field.optional(
            "start",
            \.start,
            StartSettings.grammar.flow,
            "The command with which Assay starts the backend, and its settings.",
            fallback: "the backend is already running"
        ).example(StartSettings.example)
        Field<Profile>.endpoints
        Field.optional(
            "session",
            \.session,
            Profile.Session.grammar.flow,
            "A login request that is sent once. Later requests carry a value of its response in "
                + "place of `{{session}}`.",
            fallback: "no login"
        ).example(
            [
                "login": ["post": "/login", "body": ["user": "admin", "password": "test"]],
                "token": "/token",
            ],
            with: [
                "probes": [
                    "subscription": [
                        "get": "/admin/users/{{id}}",
                        "headers": ["authorization": "Bearer {{session}}"],
                        "read": ["access": "/active"],
                    ]
                ]
            ]
        )
        Field<Profile>.secrets
        Field<Profile>.users
        Field<Profile>.accounts
        Field.optional(
            "fault",
            \.fault,
            Fault.grammar.flow,
            "Requests or commands that make the backend's database fail and repair it. Without "
                + "this key, failures inside the backend are tested only by chance.",
            fallback: "not possible"
        ).example(["break": ["post": "/test/fault"], "heal": ["delete": "/test/fault"]])
        Field.optional(
            "clock",
            \.clock,
            SetupAction.syntax("clock", .clock),
            "A request or a command that sets the backend's clock, which continues to run from the "
                + "new time. Its templates are `{{now}}` (ISO 8601), `{{now-ms}}` (milliseconds "
                + "since 1970) and `{{ahead}}` (whole seconds ahead of the machine's clock; 0 "
                + "resets it).",
            fallback: "the machine's clock; the time between deliveries appears only in their "
                + "events"
        ).example(["post": "/test/clock", "body": ["ahead": "{{ahead}}"]])
    }

    @FieldBuilder<Profile> private static var probeFields: [Field<Profile>] {
        Field.value(
            "probes",
            \.probes,
            Probe.list,
            default: [],
            "Read-only queries of one user's state, by a name of your choice. A probe named "
                + "`user`, or one that finds registered users without purchases, shows whether a "
                + "user exists.",
            fallback: "none: only responses and effects are judged"
        ).example([
            "subscription": [
                "get": "/test/subscriptions/{{id}}",
                "read": [
                    "access": ["at": "/status", "is": "active"], "product": "/product",
                    "expires": "/expires_at",
                ],
            ]
        ])
        Field.value(
            "effects",
            \.effectSources,
            EffectSource.list,
            default: [],
            "Queries that list the messages of a backend without pushes, such as emails or rows of "
                + "an outbox, by a name of your choice. Contracts that count or compare pushes use "
                + "these messages instead; it needs `features: {except: [push]}`.",
            fallback: "none: only pushes are counted"
        ).example(
            [
                "mail": [
                    "get": "/test/outbox?user={{id}}", "list": "/items", "key": "/id",
                    "text": "/body", "title": "/subject",
                ]
            ],
            with: ["features": ["except": ["push"]]]
        )
        Field.value(
            "app",
            \.app,
            App.grammar.flow,
            default: App(),
            "The web app that the command `assay app` tests.",
            fallback: "the app of the identity guide"
        ).example([
            "url": "http://127.0.0.1:5173/", "vault": ["id": "app_user_id"],
            "taps": ["upgrade": "#buy", "restore": "#restore", "login": ["#account", "#login"]],
            "shows": ["access": "#premium"],
            "access": ["get": "/api/access/{{id}}", "response": ["premium": "{{access}}"]],
        ])
    }

    @FieldBuilder<Profile> private static var nameFields: [Field<Profile>] {
        Field.value(
            "products",
            \.products,
            .map(.anyKey("a product name in contracts"), .text("the store's product ID")),
            default: [:],
            "The IDs of products and of plans, by the names that contracts use. If this key "
                + "names products, cases with other products do not run.",
            fallback: "the name in the contract"
        ).example([
            "premium_monthly": "com.example.pro.month", "premium_yearly": "com.example.pro.year",
        ])
        Field.value(
            "entitlement",
            \.entitlement,
            .text("an identifier"),
            default: "premium",
            "The RevenueCat entitlement that the products unlock."
        ).example("pro")
        Field.value(
            "firebase-project",
            \.tokenProject,
            .text("a project ID"),
            default: "assay-project",
            "The Firebase project whose tokens the protected route accepts."
        ).example("my-project")
    }

    @FieldBuilder<Profile> private static var otherFields: [Field<Profile>] {
        Field.optional(
            "known-failing",
            \.knownFailuresPath,
            .text("a path"),
            "A file that lists known failing cases, each with a finding code and a reason."
        ).example("assay-known-failing.txt")
        Field.optional(
            "ca",
            \.certificateAuthorityPath,
            .text("a path"),
            "A PEM file with additional CA certificates to trust for https targets."
        ).example("certificates/test.pem")
        Field.value(
            "redact",
            \.secretNames,
            .list(.text("a name")),
            default: [],
            "Names of headers, JSON members and query parameters that hold secrets. Recordings "
                + "keep only fingerprints of their values.",
            fallback: "the usual names"
        ).example(["x-internal-key"])
        Field.value(
            "settle-timeout",
            \.settleTimeout,
            .unsignedDuration,
            default: .seconds(10),
            "The maximum real time until an expected effect or state appears."
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
                    .unknownValue(node.json.text, valueKind: "profile version", allowed: ["1"]),
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
            doc: "The secrets of senders and callers. `${NAME}` and `${NAME:-default}` insert "
                + "environment variables.",
            keys: ProviderTable.all.profileSecrets.map {
                KeyShape($0.name.rawValue, .secret, $0.doc)
                    .example("${TEST_SECRET:-assay-test-1}")
            }
        )
        return .readOnlyField(
            "secrets",
            .construct(shape),
            "The secrets that webhook senders and API callers send. Without a secret here, the backend requires none."
        ) { node, profile, reader in
            let nodes = reader.mapping(node, allowed: shape.keys.map(\.key))
            for name in ProviderTable.all.profileSecrets.map(\.name) {
                guard let value = nodes[name.rawValue], let text = reader.possiblyEmptyText(value)
                else {
                    continue
                }
                profile.secrets[name] = Secret(reader.expanded(text, at: value.location))
                profile.namesOfDefaultSecrets.remove(name)
            }
        }.example(
            .object(
                JSONObject(
                    members: shape.keys.prefix(1).map {
                        .init(key: $0.key, value: $0.example ?? "assay-test-1")
                    }
                )
            )
        )
    }

    fileprivate static var users: Field {
        .readOnlyField(
            "users",
            .construct(Profile.Users.grammar.shape),
            "The form of user IDs, and the way to create a user before a case."
        ) { node, profile, reader in
            guard let users = Profile.Users.grammar.read(node, &reader) else { return }
            profile.idForm = users.idForm
            if let login = users.login, let token = users.tokenPointer {
                profile.userSession = .login(Profile.Session(endpoint: login, token: token))
            } else {
                profile.userSession = users.tokenPointer.map { .creation(token: $0) }
            }
            guard let creation = users.creation else { return }
            profile.creation = creation
            // Without this endpoint, the profile creates users in another way, so the default route
            // `register` may not exist.
            if !reader.definesRegisterEndpoint { profile.endpoints["register"] = nil }
        }.example([
            "ids": "uuid",
            "create": ["post": "/signup", "body": ["name": "{{id}}"], "id": "/user/id"],
        ])
    }

    fileprivate static var accounts: Field {
        .readOnlyField(
            "accounts",
            .construct(Profile.Accounts.grammar.shape),
            "The way to create an account that can log in."
        ) { node, profile, reader in
            profile.accountCreation = Profile.Accounts.grammar.read(node, &reader)?.creation
        }.example([
            "create": [
                "post": "/test/accounts",
                "body": ["email": "{{account}}", "password": "{{password}}"],
            ]
        ])
    }

    fileprivate static var features: Field {
        let featuresSyntax = Syntax.list(Syntax<Feature>.choice("feature"))
        let shape = ConstructShape(
            name: "features",
            owner: "features",
            doc: "The features that the backend lacks.",
            keys: [
                KeyShape("except", featuresSyntax.shape, "The features that the backend lacks.")
            ]
        )
        return .readOnlyField(
            "features",
            .construct(shape),
            "The features that the backend lacks. Contracts that need them are not run."
        ) { node, profile, reader in
            let nodes = reader.mapping(node, allowed: ["except"])
            let features = nodes["except"].flatMap { featuresSyntax.read($0, &reader) } ?? []
            profile.unsupportedFeatures.formUnion(features)
        }.example(["except": .strings(Feature.allCases.prefix(1).map(\.rawValue))])
    }
}

extension Field {
    /// Creates the field for a key that is read from a file but never written.
    static func readOnlyField(
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
    /// Returns a string in which `${NAME}` and `${NAME:-default}` are replaced by environment
    /// variables, as in a shell.
    ///
    /// Reports an error for each variable that has neither a value nor a default.
    mutating func expanded(_ text: String, at location: SourceLocation) -> String {
        let environment = environment
        var missingVariables: [String] = []
        let output = VariableText.expanded(text, value: { environment[$0] }) {
            missingVariables.append($0)
        }
        for name in missingVariables { fail(.environment(name), at: location) }
        return output
    }
}
