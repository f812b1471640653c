internal import Grammar
package import Providers
package import Values

/// The exact recipients that a push message must have: all of the listed recipients, and no others.
///
/// Source: section 3 of the OneSignal fact sheet: aliases, segments and filters select the
/// recipients of a message.
package struct Audience: Hashable, Codable, Sendable {
    /// The names of the users in the case that the message must reach.
    package var users: [String]
    /// The required number of recipients that are not users of the case, such as devices that are
    /// addressed by IDs of the provider.
    package var otherRecipientCount = 0
    /// Whether the message must address a segment.
    package var isEveryone = false

    package init(users: [String] = [], otherRecipientCount: Int = 0, isEveryone: Bool = false) {
        (self.users, self.otherRecipientCount, self.isEveryone) = (
            users, otherRecipientCount, isEveryone
        )
    }

    /// The syntax of an audience: a list of users, or a mapping with more details.
    static let syntax: Syntax<Audience> = .either(
        Syntax.list(Syntax.name(.user, .refers), countMin: 1)
            .mapped(to: { Audience(users: $0) }, from: \.users),
        orMapping: grammar.flow,
        takesMapping: { $0.users.isEmpty || $0.otherRecipientCount > 0 || $0.isEveryone }
    )

    private static let grammar = Construct<Audience>(
        "audience",
        "an audience",
        "The exact recipients of a message.",
        makeEmptyOwner: { _ in Audience() }
    ) {
        Field.value(
            "users",
            \.users,
            .list(.name(.user, .refers), countMin: 1),
            default: [],
            "The users of the case that the message must reach.",
            fallback: "none"
        )
        Field.value(
            "others",
            \.otherRecipientCount,
            .count(0...10_000),
            default: 0,
            "The number of recipients that are not users of the case, such as devices that are "
                + "addressed without a user ID.",
            fallback: "0"
        )
        Field.flag("everyone", \.isEveryone, "Whether the message must address a segment.")
    }

    /// Whether a message reached exactly this audience: all its users, a segment if required, and
    /// the required number of other recipients.
    package func isReachedExactly(by effect: Effect, in namespace: Namespace) -> Bool {
        let recipientIDs = Set(effect.recipients.map(ExactText.init))
        let everyone = ExactText(Effect.everyoneRecipientID)
        let idsOfUsers = users.map(namespace.ids(of:))
        let namedUserIDs = idsOfUsers.reduce(into: Set<ExactText>()) { $0.formUnion($1) }
        return idsOfUsers.allSatisfy { !$0.isDisjoint(with: recipientIDs) }
            && recipientIDs.contains(everyone) == isEveryone
            && recipientIDs.subtracting(namedUserIDs).subtracting([everyone]).count
                == otherRecipientCount
    }

    /// A list of the recipients for error messages.
    package var text: String {
        let parts =
            users
            + (otherRecipientCount > 0
                ? ["\(otherRecipientCount) other\(otherRecipientCount == 1 ? "" : "s")"] : [])
            + (isEveryone ? ["a segment"] : [])
        return parts.isEmpty ? "no recipients" : parts.joined(separator: ", ")
    }
}
