/// Exactly whom a message reaches: not fewer, and nobody beside.
///
/// Source: fact sheet of the push service, section 3: aliases, segments and filters name whom a message goes to.
package struct Audience: Hashable, Codable, Sendable {
    /// What the fakes call the people of a segment, whoever they are.
    package static let everyone = "everyone"

    /// Users of the case.
    package var users: [String]
    /// How many others, such as devices that are called by ids of the provider.
    package var others = 0
    /// A segment is addressed.
    package var isEveryone = false

    package init(users: [String] = [], others: Int = 0, isEveryone: Bool = false) {
        (self.users, self.others, self.isEveryone) = (users, others, isEveryone)
    }

    /// A list of users, or a mapping that says more.
    static let syntax: Syntax<Audience> = .either(
        Syntax.list(Syntax.name(.user, .refers), countMin: 1)
            .mapped(to: { Audience(users: $0) }, from: \.users),
        orMapping: grammar.flow,
        takesMapping: { $0.users.isEmpty || $0.others > 0 || $0.isEveryone }
    )

    private static let grammar = Construct<Audience>(
        "audience",
        "an audience",
        "Exactly whom a message reaches.",
        blank: { _ in Audience() }
    ) {
        Field.value(
            "users",
            \.users,
            .list(.name(.user, .refers), countMin: 1),
            default: [],
            "The users of the case.",
            fallback: "none of them"
        )
        Field.value(
            "others",
            \.others,
            .count(0...10_000),
            default: 0,
            "How many that no user's id names, such as devices.",
            fallback: "nobody"
        )
        Field.flag("everyone", \.isEveryone, "A segment is addressed as well.")
    }

    /// Whether a message went to exactly these: all of the users, a segment or none, and as many
    /// others.
    package func isReached(by effect: Effect, in namespace: Namespace) -> Bool {
        let reached = Set(effect.recipients)
        let named = Set(users.map(namespace.id(of:)))
        return named.isSubset(of: reached) && reached.contains(Self.everyone) == isEveryone
            && reached.subtracting(named).subtracting([Self.everyone]).count == others
    }

    /// Whom it reaches, for people.
    package var text: String {
        let parts =
            users + (others > 0 ? ["\(others) other\(others == 1 ? "" : "s")"] : [])
            + (isEveryone ? ["a segment"] : [])
        return parts.isEmpty ? "nobody" : parts.joined(separator: ", ")
    }
}
