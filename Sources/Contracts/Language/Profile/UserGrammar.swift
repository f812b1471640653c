internal import Grammar
internal import Providers
internal import Values

extension Profile {
    /// The values of the profile's key `users`, collected while the file is parsed.
    struct Users: Sendable {
        var idForm = UserIDForm.string
        var creation: SetupAction?
        var login: Endpoint?
        var tokenPointer: JSONPointer?

        static let grammar = Construct<Users>(
            "users",
            "'users'",
            "The form of user IDs, and the way to create a user before a case.",
            makeEmptyOwner: { _ in Users() }
        ) {
            Field.value(
                "ids",
                \.idForm,
                .choice("form of user IDs"),
                default: .string,
                "The form of user IDs that the backend accepts. An `integer` that is a whole "
                    + "value of a request body is sent as a number; events contain it as a string."
            )
            Field.optional(
                "create",
                \.creation,
                .either(
                    Syntax<String>.word("way to create users", among: ["register"]).mapped(
                        to: { _ in SetupAction.register },
                        from: { _ in "register" }
                    ),
                    orMapping: SetupAction.syntax(
                        "user",
                        .creation
                    ),
                    takesMapping: { $0 != .register }
                ),
                "The way to create a user: `register`, a request, or a command.",
                fallback: "register"
            )
            Field.optional(
                "login",
                \.login,
                Profile.Endpoint.request("user-login", .userLogin).flow,
                "The login of one user, for a backend with its own sessions. Headers then contain "
                    + "the session of the user in place of `{{user-session}}`.",
                fallback: "no login"
            ).example([
                "post": "/login", "body": ["email": "{{device}}@example.com", "password": "test"],
            ])
            Field.optional(
                "token",
                \.tokenPointer,
                .pointer,
                "The location of `{{user-session}}` in the response to `login`, or to the request "
                    + "that creates the user. A login is only sent if the creation returned no "
                    + "session, or if the backend refuses it."
            ).example("/token")
        }.companionKeys("login", ["token"])
            .checking { users, keys, reader in
                guard users.tokenPointer != nil, users.login == nil,
                    case .command = users.creation
                else { return }
                reader.fail(
                    .conflict(
                        "'token' is read from the response to a request, but a command creates the "
                            + "users",
                        remedy: "Add 'login', or create the users by a request."
                    ),
                    at: keys.location(of: "token")
                )
            }
    }

    /// The values of the profile's key `accounts`, collected while the file is parsed.
    struct Accounts: Sendable {
        var creation = SetupAction.register

        static let grammar = Construct<Accounts>(
            "accounts",
            "'accounts'",
            "The way to create an account that can log in.",
            makeEmptyOwner: { _ in Accounts() }
        ) {
            Field.required(
                "create",
                \.creation,
                SetupAction.syntax("account", .account),
                "The way to create an account: a request, or a command."
            )
        }
    }
}

extension Profile.SetupAction {
    /// Returns the syntax of an action in a profile, such as creating a user: a request, or
    /// `command: [...]`.
    static func syntax(
        _ name: String,
        _ slot: TemplateScope.ProfileSlot
    ) -> Syntax<Profile.SetupAction> {
        let request = Profile.Endpoint.request(
            "\(name)-request",
            slot,
            slot == .creation ? [.contents, .userID, .proof] : .contents
        )
        let words = Syntax<[String]>.command(slot)
        let example = ["./\(name).sh"] + (slot.exampleTemplate.map { [$0] } ?? [])
        var keys = [
            KeyShape("command", words.shape, "The program and its arguments.")
                .example(.strings(example))
        ]
        if slot == .creation {
            let doc =
                "The location of the user's ID in the JSON output. `\"\"` is the complete output."
            var id = KeyShape("id", .pointer, doc)
            id.fallback = "the given ID is used"
            keys.append(id)
        }
        let names = keys.map(\.key)
        let command = ConstructShape(
            name: "\(name)-command",
            owner: "a command",
            doc: "A program that Assay runs.",
            keys: keys
        ).requiringKey("command")
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

extension Syntax where Value == [String] {
    /// Returns the syntax of a command as a list of words, which may contain the templates of the
    /// given place.
    static func command(_ slot: TemplateScope.ProfileSlot) -> Syntax {
        .list(.text("a word").templated(TemplateSlot.command(slot)), countMin: 1)
    }
}
