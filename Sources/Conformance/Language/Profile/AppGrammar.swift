extension Profile.App {
    package static let grammar = Construct<Profile.App>(
        "app",
        "'app'",
        "The web app that a person uses, and where it can be tapped and read.",
        blank: { _ in Profile.App() }
    ) {
        Field.optional("url", \.url, .text("a URL"), "The page that a launch opens.")
        vaultFields
        screenFields
        Field<Profile.App>.access
        Field<Profile.App>.backend
    }.checking { app, keys, reader in
        let names = app.vaultKeys.values + app.otherKeys
        if let name = names.sorted().first(where: WindowNames.all.contains) {
            // The reply would overwrite the page's own (C-35).
            reader.fail(
                .conflict(
                    "the key '\(name)' is a name of the window, which a reply would overwrite (C-35)",
                    remedy: "Let the app use another key."
                ),
                at: (keys["vault"] ?? keys["other-keys"] ?? keys.node).location
            )
        }
        guard let access = keys["access"], let body = app.access?.body, app.declaresAccess,
            Set(body.templatePlaces.keys).isSubset(of: ["product"])
        else { return }
        reader.fail(
            .conflict(
                "the answer does not say whether there is access",
                remedy:
                    "Put {{access}} where your backend says it: 'answer: {premium: \"{{access}}\"}'."
            ),
            at: access.location
        )
    }

    @FieldBuilder<Profile.App> private static var vaultFields: [Field<Profile.App>] {
        Field<Profile.App>.table(
            "vault",
            PhoneChange.VaultRole.allCases.map { role in
                switch role {
                case .id: (role.rawValue, "The key of the app user id.")
                case .lock: (role.rawValue, "The key that says that the id is fixed.")
                }
            },
            .text("a key"),
            "Under which keys the app keeps its ids in the vault.",
            fallback: "app_user_id and identity_locked"
        ) { app, name, value in
            if let role = PhoneChange.VaultRole(rawValue: name) { app.vaultKeys[role] = value }
        }
        Field.value(
            "other-keys",
            \.otherKeys,
            .list(.text("a key")),
            default: [],
            "Other keys that the app may write to the vault in the open: none of them a secret.",
            fallback: "none"
        )
        Field.value(
            "startup",
            \.startup,
            .span,
            default: .seconds(5),
            "How long a start may take when the native side says nothing."
        )
    }

    @FieldBuilder<Profile.App> private static var screenFields: [Field<Profile.App>] {
        Field<Profile.App>.table(
            "taps",
            ["upgrade", "restore", "login", "logout", "status"].map {
                ($0, "Where a person taps for '\($0)'.")
            },
            Syntax.oneOrMore(.selector),
            "What is tapped, by the gesture's name: one element, or several one after the other."
        ) { $0.taps[$1] = $2 }
        Field<Profile.App>.table(
            "inputs",
            [
                ("account", "Where the account is typed."),
                ("password", "Where the password is typed."),
            ],
            .selector,
            "What is filled in before a login."
        ) { $0.inputs[$1] = $2 }
        Field<Profile.App>.table(
            "shows",
            AppExpectation.Screen.Element.allCases.map {
                ($0.rawValue, "Where the page shows '\($0.rawValue)'.")
            },
            .selector,
            "What the page shows."
        ) { app, name, value in
            if let element = AppExpectation.Screen.Element(rawValue: name) {
                app.shows[element] = value
            }
        }
        Field<Profile.App>.table(
            "status-words",
            [
                ("active", "Words that say that a subscription is active."),
                ("none", "Words that say that there is none."),
            ],
            .list(.text("a word")),
            "By which words the page's status is known; any other text means that it does not say.",
            fallback: "the usual English ones"
        ) { $0.statusWords[$1] = $2 }
        Field.value(
            "product-names",
            \.productNames,
            .map(.anyKey("a product's id"), .text("a name")),
            default: [:],
            "What the page calls a product, by the product's id.",
            fallback: "its id"
        )
        Field.optional(
            "agree",
            \.agree,
            .selector,
            "Where a person agrees, when the app asks whether to go on; a dialog of the browser "
                + "needs none."
        )
    }
}

extension Field where Owner == Profile.App {
    /// A mapping with names of ours and values of one kind.
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
        return .readOnly(key, .construct(shape), doc, fallback: fallback) { node, app, reader in
            let nodes = reader.mapping(node, allowed: shape.keys.map(\.key))
            for name in shape.keys.map(\.key) {
                guard let node = nodes[name], let read = value.read(node, &reader) else {
                    continue
                }
                set(&app, name, read)
            }
        }
    }

    /// A GET or a POST, and what its answer says.
    fileprivate static var access: Field {
        let path = Shape.templated(.text("a path with `{{id}}`"), .profile(.accessPath))
        let shape = ConstructShape(
            name: "app-access",
            owner: "'access'",
            doc: "How the app asks its backend for access.",
            keys: [
                KeyShape("get", path, "The path of a GET."),
                KeyShape("post", path, "The path of a POST."),
                KeyShape(
                    "answer",
                    .templated(.json, .profile(.accessAnswer)),
                    "What the answer says, with `{{access}}` and `{{product}}`."
                ),
            ]
        )
        return .readOnly(
            "access",
            .construct(shape),
            "How the app asks its backend for access.",
            fallback: "GET /api/user/access/{{id}}"
        ) { node, app, reader in
            let parts = reader.mapping(node, allowed: shape.keys.map(\.key))
            let given = ["get", "post"].filter { parts[$0] != nil }
            if given.count > 1 {
                reader.fail(
                    .conflict("'get' and 'post' exclude each other", remedy: "Keep one of them."),
                    at: node.location
                )
            }
            guard let method = given.first else {
                reader.fail(.missingKey("get", of: "'access'"), at: node.location)
                return
            }
            guard let path = parts[method].flatMap({ reader.text($0) }) else { return }
            app.declaresAccess = true
            app.access = Profile.Endpoint(
                method: method.uppercased(),
                path: path,
                body: parts["answer"]?.json ?? app.access?.body
            )
        }
    }

    fileprivate static var backend: Field {
        let word = Syntax<String>.word("backend", among: ["model", "own"])
        return .readOnly(
            "backend",
            word.shape,
            "Who answers the page: a model of a correct backend, or its own.",
            fallback: "model"
        ) { node, app, reader in
            app.usesOwnBackend = word.read(node, &reader) == "own"
        }
    }
}
