package import Grammar
internal import Providers
internal import Values

extension Call {
    package static let grammar = Construct<Call>(
        "call",
        "a call",
        "A request of the app or an operator to one of the backend's own routes.",
        makeEmptyOwner: { _ in Call(name: "", route: .register) }
    ) {
        Field.required(
            "call",
            \.name,
            newCallName,
            "A name for this call."
        )
        Field.required(
            "route",
            \.route,
            .choice("route"),
            "The route. The profile defines its path."
        )
        Field<Call>.user
        Field.optional(
            "account",
            \.account,
            .name(.account, .refers),
            "The account that signs in.",
            fallback: "none"
        )
        Field.value(
            "with",
            \.values,
            .map(.key(among: valueNames), optionalText),
            default: [:],
            "Values for the templates in the route's request, which replace the default values. "
                + "`null` omits a field.",
            fallback: "the default values"
        )
        Field<Call>.token
        Field.optional(
            "status",
            \.responses,
            ResponseExpectation.syntax,
            "The statuses that satisfy this call, instead of `status` under `expect`."
        )
        Field.optional(
            "database-failure",
            \.hasDatabaseFailure,
            .flag,
            "Makes the backend's database fail during the call, as the profile's `fault` defines.",
            fallback: "false"
        )
    }
    .checking { call, keys, reader in
        guard call.token != nil, !call.route.carriesIDToken else { return }
        let routes = Call.Route.allCases.filter(\.carriesIDToken).map { "'\($0.rawValue)'" }
        reader.fail(
            .conflict(
                "only a call of the route \(routes.joined(separator: " or ")) can have a token",
                remedy: "Remove 'token', or write 'route: protected'."
            ),
            at: keys.location(of: "token")
        )
    }

    /// The syntax of the name that a contract gives to a new call or request.
    package static let newCallName = Syntax<String>(
        .name(.call, .introduces),
        read: { node, reader in
            guard let name = reader.text(node) else { return nil }
            if reader.names.introducedNames(.call).contains(name) {
                reader.fail(.duplicateDelivery(name), at: node.location)
            }
            reader.names.recordUse(.call, .introduces, name, at: node.location)
            return name
        },
        write: { .text($0) }
    )

    /// The syntax of a reference to an earlier call or request, by its name.
    package static let knownCallName = Syntax<String>(
        .name(.call, .refers),
        read: { node, reader in
            reader.word(node, "call", among: reader.names.introducedNames(.call))
        },
        write: { .text($0) }
    )

    /// The syntax of a template value under `with`: a string, or null to omit the field.
    private static let optionalText = Syntax<String?>(
        .templated(.either([.verbatim("a string"), .null]), .contract(.call)),
        read: { node, reader in
            reader.possiblyEmptyText(node).map { node.json.isNull ? nil : $0 }
        },
        write: { $0.map { .quoted($0) } ?? .plain("null") }
    )
}

extension Field where Owner == Call {
    /// The field for the key `user`.
    ///
    /// A call that registers the user or carries the user's token introduces the user's name.
    fileprivate static var user: Field {
        Field(
            KeyShape("user", .name(.user, .mentions), "The user whose ID the call contains."),
            read: { node, call, reader in
                let role: NameUses.Role =
                    switch call.route {
                    case .register, .protected: .introduces
                    case .login, .reconcile: .mentions
                    }
                call.user = reader.name(node, .user, role)
            },
            write: { $0.user.map { .plain($0) } }
        )
    }

    /// The field for the key `token`.
    ///
    /// A call of the protected route has a valid token unless the contract defines another token.
    fileprivate static var token: Field {
        let syntax = TokenSpec.grammar.flow
        var shape = KeyShape("token", syntax.shape, "The Firebase ID token of the call.")
        shape.fallback =
            "a valid token for the route `protected`, and for `login` if the profile names one"
        return Field(
            shape,
            read: { node, call, reader in call.token = TokenSpec.grammar.read(node, &reader) },
            write: { call in
                guard let token = call.token else { return nil }
                return call.route == .protected && token == TokenSpec()
                    ? nil : syntax.write(token)
            }
        )
    }
}

extension StepForm {
    static let call = StepForm(
        Call.grammar,
        embed: { .call([$0.withDefaultToken]) },
        extract: { step in
            guard case .call(let calls) = step, calls.count == 1 else { return nil }
            return calls[0]
        }
    )

    static let concurrentCalls = StepForm(
        "together",
        .lines(Call.grammar.block, countMin: 1),
        "Calls that are sent at the same moment.",
        embed: { .call($0.map(\.withDefaultToken)) },
        extract: { step in
            guard case .call(let calls) = step, calls.count != 1 else { return nil }
            return calls
        }
    )
}

extension Call {
    fileprivate var withDefaultToken: Call {
        guard route == .protected, token == nil else { return self }
        var call = self
        call.token = TokenSpec()
        return call
    }
}

extension Call {
    /// Returns the traits of calls that are sent at the same moment.
    static func traits(of calls: [Call]) -> StepTraits {
        var traits = StepTraits(.call)
        traits.users = calls.compactMap(\.user)
        traits.needs = calls.map { call in
            switch call.route {
            case .register: .register
            case .login: .login
            case .protected: .firebase
            case .reconcile: .reconcile
            }
        }
        let logins = calls.filter { $0.route == .login }
        if logins.contains(where: { $0.token != nil }) { traits.needs.append(.tokenLogins) }
        if logins.contains(where: { $0.values["password"] != nil }) {
            traits.needs.append(.passwords)
        }
        if calls.contains(where: { $0.hasDatabaseFailure == true }) {
            traits.needs.append(.fault)
            // The database holds the state of every run.
            traits.affectsConcurrentRuns = true
            traits.endDependsOnBackendTimers = true
        }
        traits.faultFreeForm = .call(
            calls.map { call in
                var call = call
                call.hasDatabaseFailure = nil
                return call
            }
        )
        return traits
    }
}
