extension AppAction {
    package static let grammar = Construct<AppAction>(
        "app",
        "an act of the app",
        "What a person does with the app, or what happens to it.",
        blank: { _ in AppAction(.wait) }
    ) {
        Field.required("app", \.name, .choice("act"), "What is done.")
        Field<AppAction>.phone
        Field<AppAction>.account
        whoFields
        Field.flag("agrees", \.agrees, "The person agrees when the app asks whether to go on.")
        Field.flag(
            "at-once",
            \.isAtOnce,
            "The next step does not wait until this one is over."
        )
        Field.optional(
            "with",
            \.argument,
            .json,
            "What the callback carries.",
            fallback: "no argument"
        )
        Field.optional("for", \.time, .moment, "How long, for `wait`.")
        Field.optional(
            "killed-at",
            \.killedAt,
            .choice("moment"),
            "The page dies as soon as this has happened.",
            fallback: "it lives on"
        )
    }.checking { action, keys, reader in
        let name = action.name
        if name == .login || name.needsAccounts && name != .deleteAccount, keys["account"] == nil {
            reader.fail(.missingKey("account", of: "a login"), at: keys.node.location)
        }
        if name == .wait, keys["for"] == nil, keys["app"]?.json.string == "wait" {
            reader.fail(.missingKey("for", of: "'app: wait'"), at: keys.node.location)
        }
    }

    @FieldBuilder<AppAction> private static var whoFields: [Field<AppAction>] {
        Field.optional(
            "as",
            \.anonymous,
            .name(.user, .introduces),
            "What the contract calls the anonymous customer that a launch or a logout makes.",
            fallback: "it has no name"
        )
        Field.value(
            "runs",
            \.app,
            .choice("app"),
            default: .accounts,
            "Which app a launch starts, before a backend."
        )
        Field.optional(
            "product",
            \.product,
            .text("a product, by the name that the profile maps to the store's id"),
            "What is bought.",
            fallback: "what the app offers first"
        )
        Field.value(
            "password",
            \.hasWrongPassword,
            .wish("wrong", "password"),
            default: false,
            "Another password than the account's.",
            fallback: "the right one"
        )
    }
}

extension Field where Owner == AppAction {
    /// A launch may open the app on a phone that is new; everything else needs one that is open.
    fileprivate static var phone: Field {
        var shape = KeyShape("on", .name(.phone, .refers), "The phone.")
        shape.fallback = Names.usualPhone
        return Field(
            shape,
            read: { node, action, reader in
                let isLaunch = action.name == .launch || action.name == .launchTwice
                if let name = reader.name(node, .phone, isLaunch ? .mentions : .refers) {
                    action.phone = name
                }
            },
            write: { $0.phone == Names.usualPhone ? nil : .plain($0.phone) }
        )
    }

    /// Who signs up is a user from then on; who signs in has to have signed up, or is a stranger.
    fileprivate static var account: Field {
        Field(
            KeyShape("account", .name(.holder, .mentions), "Who signs up or in."),
            read: { node, action, reader in
                let isNew = action.name == .signUp || action.name == .google
                // The model of a backend that a device scenario has knows every account.
                let role: Names.Role =
                    isNew ? .introduces : action.name.needsAccounts ? .refers : .mentions
                let name = reader.name(node, .account, role)
                action.account = name
                guard let name, action.name.needsAccounts else { return }
                reader.names.note(.user, isNew ? .introduces : .mentions, name, at: node.location)
            },
            write: { $0.account.map { .plain($0) } }
        )
    }
}

extension StepForm {
    static let app = StepForm(
        AppAction.grammar,
        embed: { .phone(.app($0)) },
        extract: { if case .phone(.app(let action)) = $0 { action } else { nil } }
    )
}

extension AppAction {
    var demands: [Demand] {
        let manners: [(Demand.Manner, Bool)] = [
            (.account, account != nil), (.anonymous, anonymous != nil),
            (.wrongPassword, hasWrongPassword), (.product, product != nil), (.agrees, agrees),
            (.atOnce, isAtOnce), (.argument, argument != nil), (.time, time != nil),
            (.killedAt, killedAt != nil), (.despia, app == .despia),
        ]
        return [.gesture(name)] + manners.filter(\.1).map { .manner($0.0, name) }
    }

    /// The users whose ids it names.
    var users: [String] {
        [anonymous, name.needsAccounts ? account : nil].compactMap { $0 }
    }

    /// What a backend must have for it, beside its users.
    var needs: [Feature] {
        switch name {
        case .deleteAccount: [.deletion]
        case .login: [.login]
        case .launch, .launchTwice, .reload, .kill, .upgrade, .upgradeTwice, .purchase, .restore,
            .logout, .status, .callback, .wait, .signUp, .signIn, .google, .forgotPassword,
            .refresh:
            []
        }
    }
}
