extension Profile {
    /// `users`, while it is read.
    struct Users: Sendable {
        var ids = IDForm.string
        var creation: UserCreation?

        static let grammar = Construct<Users>(
            "users",
            "'users'",
            "Which ids users have, and how one comes to exist before a case.",
            blank: { _ in Users() }
        ) {
            Field.value(
                "ids",
                \.ids,
                .choice("form of ids"),
                default: .string,
                "The form of user ids that the backend accepts; an `integer` that stands alone in a "
                    + "request's body is sent as a number, and events name it as text."
            )
            Field.optional(
                "create",
                \.creation,
                .either(
                    Syntax<String>.word("way to create users", among: ["register"]).mapped(
                        to: { _ in UserCreation.register },
                        from: { _ in "register" }
                    ),
                    orMapping: UserCreation.syntax(
                        "user",
                        .creation
                    ),
                    takesMapping: { $0 != .register }
                ),
                "How a user comes to exist: `register`, a request, or a command.",
                fallback: "register"
            )
        }
    }

    /// `accounts`, while it is read.
    struct Accounts: Sendable {
        var creation = UserCreation.register

        static let grammar = Construct<Accounts>(
            "accounts",
            "'accounts'",
            "How an account comes to exist that a login can use.",
            blank: { _ in Accounts() }
        ) {
            Field.required(
                "create",
                \.creation,
                UserCreation.syntax("account", .account),
                "A request, or a command."
            )
        }
    }
}

extension Profile.UserCreation {
    /// A request, or `command: [...]`.
    static func syntax(
        _ name: String,
        _ place: TemplateScope.ProfilePlace
    ) -> Syntax<Profile.UserCreation> {
        let request = Profile.Endpoint.request("\(name)-request", place)
        let words = Profile.words(place)
        var keys = [KeyShape("command", words.shape, "The program and its arguments.")]
        if place == .creation {
            let doc =
                "Where the JSON that it prints names the user's id; `\"\"` is all that it prints."
            var id = KeyShape("id", .pointer, doc)
            id.fallback = "the id is the one that it was given"
            keys.append(id)
        }
        let names = keys.map(\.key)
        let command = ConstructShape(
            name: "\(name)-command",
            owner: "a command",
            doc: "A program of your own.",
            keys: keys
        ).requiring("command")
        return Syntax(
            .either([.construct(request.shape), .construct(command)]),
            read: { node, reader in
                if case .mapping(let entries) = node.content,
                    let entry = entries.first(where: { $0.key == "command" })
                {
                    let id = reader.mapping(node, allowed: names)["id"]
                    let pointer = id.flatMap { Syntax<JSONPointer>.pointer.read($0, &reader) }
                    return words.read(entry.value, &reader).map { .command($0, id: pointer) }
                }
                return request.read(node, &reader).map(Self.request)
            },
            write: { creation in
                switch creation {
                case .register: .plain("register")
                case .request(let endpoint): request.flow.write(endpoint)
                case .command(let list, let id):
                    .flow(
                        [.init("command", words.write(list))]
                            + (id.map { [.init("id", .text($0.description))] } ?? [])
                    )
                }
            }
        )
    }
}

extension Profile {
    /// The words of a command, with those templates.
    static func words(_ place: TemplateScope.ProfilePlace) -> Syntax<[String]> {
        .list(.text("a word").templated(place), countMin: 1)
    }
}
