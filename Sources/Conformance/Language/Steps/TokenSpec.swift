/// An ID token as the app would send it, or a forgery of one.
///
/// Facts: Firebase fact sheet, sections 6 and 7.
package struct TokenSpec: Hashable, Codable, Sendable {
    package enum Kind: String, Hashable, Codable, Sendable, CaseIterable {
        /// What a signed-in app holds.
        case idToken = "id-token"
        /// What an administrator mints for a client to sign in with (section 6.3).
        case customToken = "custom-token"
        /// The long-lived cookie of a web server (section 6.4).
        case sessionCookie = "session-cookie"
        /// Of a project whose name begins with this one's.
        case namesakeProject = "namesake-project"
        /// An OAuth token of Google's, which names another issuer and audience.
        case google
        /// No token at all.
        case missing
    }

    package enum Signing: String, Hashable, Codable, Sendable, CaseIterable {
        /// The provider's own key.
        case genuine
        /// `alg: none` and an empty signature.
        case none
        /// HS256 keyed with the published certificate's text.
        case certificateAsSecret = "certificate-as-secret"
        /// RS256 by a key that nobody published, under a key id that nobody published.
        case unknownKey = "unknown-key"
        /// RS256 by a key that was published once and is not any more.
        case withdrawnKey = "withdrawn-key"
        /// RS256 by a key that nobody published, under a published key id.
        case borrowedKeyID = "borrowed-key-id"
        /// A genuine signature whose last byte is changed.
        case damaged
        /// A genuine signature with a character in it that base64url does not have.
        case illegible
        /// The provider's own key for ID tokens, whatever kind of token it signs.
        case idTokenKey = "id-token-key"
    }

    package var kind = Kind.idToken
    package var signing = Signing.genuine
    /// Claims that differ from those of a good token; nil removes.
    package var claims: [String: JSONValue?] = [:]
    package enum End: String, Hashable, Codable, Sendable, CaseIterable {
        /// While the case goes on.
        case soon
    }

    /// Sent in place of any token.
    package var raw: String?
    /// Nil: an hour after it was issued.
    package var expires: End?
    /// The very token of the call of this name, when a new one with the same end is refused.
    package var onceOver: String?

    package init() {}
}

extension TokenSpec {
    package static let grammar = Construct<TokenSpec>(
        "token",
        "a token",
        "An ID token as the app would send it, or a forgery of one.",
        blank: { _ in TokenSpec() }
    ) {
        Field.value(
            "kind",
            \.kind,
            .choice("kind of token"),
            default: .idToken,
            "Which of Google's tokens it is."
        )
        Field.value(
            "signing",
            \.signing,
            .choice("signing"),
            default: .genuine,
            "With what it is signed."
        )
        Field.value(
            "claims",
            \.claims,
            .map(.anyKey("a claim"), claim),
            default: [:],
            "Claims that differ from those of a good token; `null` removes one.",
            fallback: "those of a good token"
        )
        Field.optional(
            "raw",
            \.raw,
            .verbatim("a text").templated(.claim),
            "What is sent in place of any token."
        )
        Field.optional(
            "expires",
            \.expires,
            .choice("end"),
            "It is good now and will not be in a moment, however far the backend lets clocks differ.",
            fallback: "an hour after it was issued"
        )
        Field.optional(
            "once-over",
            \.onceOver,
            Call.knownName,
            "The very token of that call, which `expires: soon`: it is sent when a new token with the "
                + "same end is refused."
        )
    }

    /// Nil removes.
    private static let claim = Syntax<JSONValue?>(
        .templated(.json, .contract(.claim)),
        read: { node, _ in .some(node.json.isNull ? nil : node.json) },
        write: { .json($0 ?? .null) }
    )
}

extension Contract {
    /// Calls whose token is shown again once it is over although it has no end that comes soon, with
    /// the number of the step that shows it.
    var endlessTokens: [(call: String, step: Int)] {
        var ending: Set<String> = []
        var found: [(call: String, step: Int)] = []
        for (index, step) in (given + steps).enumerated() {
            guard case .call(let calls) = step else { continue }
            for call in calls {
                if let earlier = call.token?.onceOver, !ending.contains(earlier) {
                    found.append((earlier, index))
                }
            }
            for call in calls where call.token?.expires == .soon && call.route == .protected {
                ending.insert(call.name)
            }
        }
        return found
    }
}
