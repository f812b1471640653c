package import Grammar
internal import Providers
internal import Values

extension AppAction {
    package static let grammar = Construct<AppAction>(
        "app",
        "an app action",
        "A user action in the app, or something that happens to the app.",
        makeEmptyOwner: { _ in AppAction(.wait) }
    ) {
        Field.required("app", \.name, .choice("app action"), "The action.")
        Field<AppAction>.phone
        Field<AppAction>.account
        userFields
        Field.flag(
            "agrees",
            \.confirmsPrompts,
            "The user confirms when the app asks whether to continue."
        )
        Field.flag(
            "at-once",
            \.isNextStepImmediate,
            "The next step starts without waiting for this action to finish."
        )
        Field.optional(
            "with",
            \.callbackArgument,
            .json,
            "The argument of the purchase callback.",
            fallback: "no argument"
        )
        Field.optional("for", \.time, .signedDuration, "The duration of the action `wait`.")
        Field.optional(
            "killed-at",
            \.killPoint,
            .choice("value of 'killed-at'"),
            "Kills the page as soon as this event has happened.",
            fallback: "not killed"
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

    @FieldBuilder<AppAction> private static var userFields: [Field<AppAction>] {
        Field.optional(
            "as",
            \.anonymousUser,
            .name(.user, .introduces),
            "A name for the anonymous customer that a launch or a logout creates.",
            fallback: "no name"
        )
        Field.value(
            "runs",
            \.app,
            .choice("app"),
            default: .accounts,
            "The app that a launch starts, when the case runs against a backend."
        )
        Field.optional(
            "product",
            \.product,
            .text("a product name, which the profile maps to the store's ID"),
            "The product to buy.",
            fallback: "the first product that the app offers"
        )
        Field.value(
            "password",
            \.hasWrongPassword,
            .switchWord("wrong", "password"),
            default: false,
            "Enters a wrong password for the account.",
            fallback: "the correct password"
        )
    }
}

extension Field where Owner == AppAction {
    /// The field for the key `on`, the phone of the action.
    ///
    /// A launch may name a new phone. Every other action needs a phone on which the app is open.
    fileprivate static var phone: Field {
        var shape = KeyShape("on", .name(.phone, .refers), "The phone on which the action happens.")
        shape.fallback = NameUses.defaultPhoneName
        return Field(
            shape,
            read: { node, action, reader in
                let isLaunch = action.name == .launch || action.name == .launchTwice
                if let name = reader.name(node, .phone, isLaunch ? .mentions : .refers) {
                    action.phone = name
                }
            },
            write: { $0.phone == NameUses.defaultPhoneName ? nil : .plain($0.phone) }
        )
    }

    /// The field for the key `account`, which names the account that signs up or signs in.
    ///
    /// A sign-up introduces the account's user. A sign-in requires an account that signed up before
    /// or is listed under `unknown-users`.
    fileprivate static var account: Field {
        Field(
            KeyShape(
                "account",
                .name(.holder, .mentions),
                "The account that signs up or signs in."
            ),
            read: { node, action, reader in
                let createsAccount = action.name == .signUp || action.name == .google
                // In a device scenario, Assay's model of a backend accepts every account.
                let role: NameUses.Role =
                    createsAccount ? .introduces : action.name.needsAccounts ? .refers : .mentions
                let name = reader.name(node, .account, role)
                action.account = name
                guard let name, action.name.needsAccounts else { return }
                reader.names.recordUse(
                    .user,
                    createsAccount ? .introduces : .mentions,
                    name,
                    at: node.location
                )
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
    var requiredCapabilities: [RequiredCapability] {
        let actionModifiers: [(RequiredCapability.ActionModifier, Bool)] = [
            (.account, account != nil), (.anonymous, anonymousUser != nil),
            (.wrongPassword, hasWrongPassword), (.product, product != nil),
            (.confirmsPrompts, confirmsPrompts),
            (.atOnce, isNextStepImmediate), (.callbackArgument, callbackArgument != nil),
            (.time, time != nil),
            (.killPoint, killPoint != nil), (.despia, app == .despia),
        ]
        return [.userAction(name)] + actionModifiers.filter(\.1).map { .modifier($0.0, name) }
    }

    /// The names of the users whose IDs the action involves.
    var users: [String] {
        [anonymousUser, name.needsAccounts ? account : nil].compactMap { $0 }
    }

    /// The features that a backend needs for the action, in addition to those that every phone step
    /// needs.
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
