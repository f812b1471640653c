extension Call {
    package static let grammar = Construct<Call>(
        "call",
        "a call",
        "A request that the app, or an operator, makes of one of the backend's own routes.",
        blank: { _ in Call(name: "", route: .register) }
    ) {
        Field.required(
            "call",
            \.name,
            newName,
            "What the contract calls this call."
        )
        Field.required(
            "route",
            \.route,
            .choice("route"),
            "Which of the backend's routes; the profile says where each is."
        )
        Field<Call>.user
        Field.optional(
            "account",
            \.account,
            .name(.account, .refers),
            "Who signs in.",
            fallback: "nobody"
        )
        Field.value(
            "with",
            \.values,
            .map(.key(among: valueNames), given),
            default: [:],
            "Values of the route's templates that differ from the usual ones; `null` leaves one "
                + "out.",
            fallback: "the usual ones"
        )
        Field<Call>.token
        Field.optional(
            "answers",
            \.answers,
            AnswerExpectation.syntax,
            "Which statuses satisfy this call, in place of those under `expect`."
        )
        Field.optional(
            "store-fails",
            \.storeFails,
            .flag,
            "The backend's store fails while the call is made, the way the profile's `fault` says.",
            fallback: "it does not"
        )
    }
    .checking { call, keys, reader in
        guard call.token != nil, call.route != .protected else { return }
        reader.fail(
            .conflict(
                "only a call of the route 'protected' carries a token",
                remedy: "Remove 'token', or write 'route: protected'."
            ),
            at: keys.location(of: "token")
        )
    }

    /// A name that no call and no request has yet.
    package static let newName = Syntax<String>(
        .name(.call, .introduces),
        read: { node, reader in
            guard let name = reader.text(node) else { return nil }
            if reader.names.introduced(.call).contains(name) {
                reader.fail(.duplicateDelivery(name), at: node.location)
            }
            reader.names.note(.call, .introduces, name, at: node.location)
            return name
        },
        write: { .text($0) }
    )

    /// The name of a call that the contract makes.
    package static let knownName = Syntax<String>(
        .name(.call, .refers),
        read: { node, reader in
            reader.word(node, "call", among: reader.names.introduced(.call))
        },
        write: { .text($0) }
    )

    /// A text, or nothing at all.
    private static let given = Syntax<String?>(
        .templated(.either([.verbatim("a text"), .null]), .contract(.call)),
        read: { node, reader in
            reader.anyText(node).map { node.json.isNull ? nil : $0 }
        },
        write: { $0.map { .quoted($0) } ?? .plain("null") }
    )
}

extension Field where Owner == Call {
    /// A route that registers, or that is called with a token of the user's, makes the user known.
    fileprivate static var user: Field {
        Field(
            KeyShape("user", .name(.user, .mentions), "Whose id the call names."),
            read: { node, call, reader in
                let role: Names.Role =
                    switch call.route {
                    case .register, .protected: .introduces
                    case .login, .reconcile: .mentions
                    }
                call.user = reader.name(node, .user, role)
            },
            write: { $0.user.map { .plain($0) } }
        )
    }

    /// A protected route is called with a good token unless the contract says another.
    fileprivate static var token: Field {
        let syntax = TokenSpec.grammar.flow
        var shape = KeyShape("token", syntax.shape, "The ID token that the call carries.")
        shape.fallback = "a good one for the route `protected`, else none"
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
        embed: { .call([$0.complete]) },
        extract: { step in
            guard case .call(let calls) = step, calls.count == 1 else { return nil }
            return calls[0]
        }
    )

    static let together = StepForm(
        "together",
        .lines(Call.grammar.block, countMin: 1),
        "Calls that are released at the same moment.",
        embed: { .call($0.map(\.complete)) },
        extract: { step in
            guard case .call(let calls) = step, calls.count != 1 else { return nil }
            return calls
        }
    )
}

extension Call {
    fileprivate var complete: Call {
        guard route == .protected, token == nil else { return self }
        var call = self
        call.token = TokenSpec()
        return call
    }
}

extension Call {
    /// Of calls that are released at the same moment.
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
        if calls.contains(where: { $0.storeFails == true }) {
            traits.needs.append(.fault)
            // Every run's state is in it.
            traits.isShared = true
            traits.isDisturbance = true
        }
        traits.calm = .call(
            calls.map { call in
                var call = call
                call.storeFails = nil
                return call
            }
        )
        return traits
    }
}
