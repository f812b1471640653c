package import Grammar
internal import Providers
internal import Values

extension Profile.App {
    package static let grammar = Construct<Profile.App>(
        "app",
        "'app'",
        "The web app under test, and its page elements to tap, fill in and read.",
        makeEmptyOwner: { _ in Profile.App() }
    ) {
        Field.optional(
            "url",
            \.url,
            .text("a URL"),
            "The URL of the page that opens when a test launches the app."
        ).example("http://127.0.0.1:5173/")
        vaultFields
        screenFields
        Field<Profile.App>.access
        Field<Profile.App>.backend
    }.checking { app, keys, reader in
        let names = app.vaultKeys.values + app.otherVaultKeys
        if let name = names.sorted().first(where: WindowPropertyNames.all.contains) {
            // The reply to a vault read is stored in the page's `window` property with the name of
            // the key, and would overwrite an existing property (C-35).
            reader.fail(
                .conflict(
                    "the vault key '\(name)' is a property of 'window', and replies overwrite it (C-35)",
                    remedy: "Use another key in the app, and write it here."
                ),
                at: (keys["vault"] ?? keys["other-keys"] ?? keys.node).location
            )
        }
        guard let access = keys["access"], let body = app.access?.body, app.isAccessSetInFile,
            Set(body.templatePointersInJSON.keys).isSubset(of: ["product"])
        else { return }
        reader.fail(
            .conflict(
                "the response of 'access' does not contain {{access}}",
                remedy: "Put {{access}} in place of the value that reports the user's access: "
                    + "'response: {premium: \"{{access}}\"}'."
            ),
            at: access.location
        )
    }

    @FieldBuilder<Profile.App> private static var vaultFields: [Field<Profile.App>] {
        Field<Profile.App>.table(
            "vault",
            VaultRole.allCases.map { role in
                switch role {
                case .id: (role.rawValue, "The vault key of the app user ID.")
                case .lock:
                    (role.rawValue, "The vault key of the lock, which marks the ID as final.")
                }
            },
            .text("a key"),
            "The keys under which the app stores its IDs in the vault, the phone's key-value "
                + "store.",
            fallback: "app_user_id and identity_locked"
        ) { app, name, value in
            if let role = VaultRole(rawValue: name) { app.vaultKeys[role] = value }
        }.example(["id": "app_user_id", "lock": "identity_locked"])
        Field.value(
            "other-keys",
            \.otherVaultKeys,
            .list(.text("a key")),
            default: [],
            "Other keys that the app may write to the vault unencrypted. None may hold a secret.",
            fallback: "none"
        ).example(["theme"])
        Field.value(
            "startup",
            \.startupTimeout,
            .unsignedDuration,
            default: .seconds(5),
            "The maximum time that the app may take to start when the native side of the bridge "
                + "does not respond."
        )
    }

    @FieldBuilder<Profile.App> private static var screenFields: [Field<Profile.App>] {
        Field<Profile.App>.table(
            "taps",
            ["upgrade", "restore", "login", "logout", "status"].map {
                ($0, "The element or elements to tap for '\($0)'.")
            },
            Syntax.oneOrMore(.selector),
            "The elements to tap, by user action. Several elements are tapped in sequence."
        ) { $0.tapSelectors[$1] = $2 }.example([
            "upgrade": "#buy", "restore": "#restore", "login": ["#account", "#login"],
            "logout": "#logout", "status": "#status",
        ])
        Field<Profile.App>.table(
            "inputs",
            [
                ("account", "The input field for the account."),
                ("password", "The input field for the password."),
            ],
            .selector,
            "The input fields to fill in before a login."
        ) { $0.inputSelectors[$1] = $2 }.example(["account": "#email", "password": "#password"])
        Field<Profile.App>.table(
            "shows",
            AppExpectation.Screen.Element.allCases.map {
                ($0.rawValue, "The element that shows '\($0.rawValue)'.")
            },
            .selector,
            "The elements that show the app's state."
        ) { app, name, value in
            if let element = AppExpectation.Screen.Element(rawValue: name) {
                app.elementSelectors[element] = value
            }
        }.example(
            .object(
                JSONObject(
                    members: AppExpectation.Screen.Element.allCases.map {
                        .init(key: $0.rawValue, value: .string("#" + $0.rawValue))
                    }
                )
            )
        )
        Field<Profile.App>.table(
            "status-words",
            [
                ("active", "Words for an active subscription."),
                ("none", "Words for no subscription."),
            ],
            .list(.text("a word")),
            "Words for the subscription status on the page. Any other text means that the status "
                + "is unknown.",
            fallback: "the usual English words"
        ) { $0.statusWords[$1] = $2 }.example(["active": ["premium"], "none": ["free"]])
        Field.value(
            "product-names",
            \.productNames,
            .map(.anyKey("a product ID"), .text("a name")),
            default: [:],
            "The product names on the page, by product ID.",
            fallback: "the product ID"
        ).example(["com.example.pro.month": "Pro, monthly"])
        Field.optional(
            "agree",
            \.agreementSelector,
            .selector,
            "The element to tap when the app asks whether to continue. A browser dialog needs no "
                + "element."
        ).example("#continue")
    }
}

extension Field where Owner == Profile.App {
    /// Creates the field for a mapping with fixed keys, whose values all have the same syntax.
    fileprivate static func table<Value>(
        _ key: String,
        _ names: [(name: String, doc: String)],
        _ value: Syntax<Value>,
        _ doc: String,
        fallback: String? = nil,
        set: @escaping @Sendable (inout Profile.App, String, Value) -> Void
    ) -> Field {
        let shape = ConstructShape(
            name: key,
            owner: "'\(key)'",
            doc: doc,
            keys: names.map { KeyShape($0.name, value.shape, $0.doc) }
        )
        return .readOnlyField(key, .construct(shape), doc, fallback: fallback) {
            node,
            app,
            reader in
            let nodes = reader.mapping(node, allowed: shape.keys.map(\.key))
            for name in shape.keys.map(\.key) {
                guard let node = nodes[name], let read = value.read(node, &reader) else {
                    continue
                }
                set(&app, name, read)
            }
        }
    }

    /// The field for the key `access`: a GET or POST request of the app, and the pattern of the
    /// response.
    fileprivate static var access: Field {
        let path = Shape.templated(.text("a path with `{{id}}`"), .profile(.accessPath))
        var shape = ConstructShape(
            name: "app-access",
            owner: "'access'",
            doc: "The request by which the app asks its backend whether the user has access.",
            keys: [
                KeyShape("get", path, "The path of a GET request."),
                KeyShape("post", path, "The path of a POST request."),
                KeyShape(
                    "response",
                    .templated(.json, .profile(.accessAnswer)),
                    "The JSON response, with `{{access}}` and `{{product}}`."
                ),
            ]
        )
        shape.alternativeKeys = ["get", "post"]
        let names = shape.keys.map(\.key)
        return .readOnlyField(
            "access",
            .construct(shape),
            "The request by which the app asks its backend whether the user has access.",
            fallback: "GET /api/user/access/{{id}}"
        ) { node, app, reader in
            let parts = reader.mapping(node, allowed: names)
            let presentMethods = ["get", "post"].filter { parts[$0] != nil }
            if presentMethods.count > 1 {
                reader.fail(
                    .conflict("'get' and 'post' cannot be combined", remedy: "Keep only one."),
                    at: node.location
                )
            }
            guard let method = presentMethods.first else {
                reader.fail(.missingKey("get", of: "'access'"), at: node.location)
                return
            }
            guard let path = parts[method].flatMap({ reader.text($0) }) else { return }
            app.isAccessSetInFile = true
            app.access = Profile.Endpoint(
                method: method.uppercased(),
                path: path,
                body: parts["response"]?.json ?? app.access?.body
            )
        }
    }

    fileprivate static var backend: Field {
        let word = Syntax<String>.word("backend", among: ["model", "own"])
        return .readOnlyField(
            "backend",
            word.shape,
            "The backend that the page calls: Assay's model of a correct backend (`model`), or the "
                + "page's own backend (`own`).",
            fallback: "model"
        ) { node, app, reader in
            app.usesOwnBackend = word.read(node, &reader) == "own"
        }
    }
}
