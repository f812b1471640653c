package import Grammar
package import Values

/// A Firebase ID token as an app sends it, or a forged token.
///
/// Source: sections 6 and 7 of the Firebase fact sheet.
package struct TokenSpec: Hashable, Codable, Sendable {
    package enum Kind: String, Hashable, Codable, Sendable, CaseIterable {
        /// The ID token of a signed-in app.
        case idToken = "id-token"
        /// A custom token, which an administrator creates so that a client can sign in (section 6.3
        /// of the Firebase fact sheet).
        case customToken = "custom-token"
        /// The long-lived session cookie of a web server (section 6.4 of the Firebase fact sheet).
        case sessionCookie = "session-cookie"
        /// An ID token of another Firebase project, whose name starts with the name of this
        /// project.
        case namesakeProject = "namesake-project"
        /// An OAuth token of Google, which names a different issuer and audience than Firebase
        /// does.
        case google
        /// The request carries no token.
        case missing
    }

    package enum Signing: String, Hashable, Codable, Sendable, CaseIterable {
        /// The token is signed with the provider's real key.
        case genuine
        /// The token is unsigned: it has `alg: none` and an empty signature.
        case none
        /// The token is signed by HS256, with the text of the published certificate as the secret.
        case certificateAsSecret = "certificate-as-secret"
        /// The token is signed by RS256 with an unpublished key, under an unpublished key ID.
        case unknownKey = "unknown-key"
        /// The token is signed by RS256 with a key that was published before but was withdrawn.
        case withdrawnKey = "withdrawn-key"
        /// The token is signed by RS256 with an unpublished key, under the ID of a published key.
        case borrowedKeyID = "borrowed-key-id"
        /// The token has a genuine signature whose last byte is changed.
        case damaged
        /// The token has a genuine signature in which one character is replaced by a character that
        /// base64url does not have.
        case illegible
        /// The token is signed with the provider's key for ID tokens, even if it is another kind of
        /// token.
        case idTokenKey = "id-token-key"
    }

    package var kind = Kind.idToken
    package var signing = Signing.genuine
    /// The claims that differ from those of a valid token, by name; a nil value removes the claim.
    package var claims: [String: JSONValue?] = [:]
    package enum Expiry: String, Hashable, Codable, Sendable, CaseIterable {
        /// The token is valid at first and expires while the case runs.
        case soon
    }

    /// A literal string that is sent instead of a token; nil: none.
    package var raw: String?
    /// The time at which the token expires; nil: one hour after it is issued.
    package var expires: Expiry?
    /// The name of an earlier call whose token is sent again after the token has expired; nil:
    /// none.
    ///
    /// The token counts as expired when the backend refuses a new token with the same expiry.
    package var callWithExpiredToken: String?

    package init() {}
}

extension TokenSpec {
    package static let grammar = Construct<TokenSpec>(
        "token",
        "a token",
        "A Firebase ID token as an app sends it, or a forged one.",
        makeEmptyOwner: { _ in TokenSpec() }
    ) {
        Field.value(
            "kind",
            \.kind,
            .choice("kind of token"),
            default: .idToken,
            "The kind of token."
        )
        Field.value(
            "signing",
            \.signing,
            .choice("signing"),
            default: .genuine,
            "The key or method that signs the token."
        )
        Field.value(
            "claims",
            \.claims,
            .map(.anyKey("a claim"), claim),
            default: [:],
            "Claims that differ from those of a valid token. `null` removes a claim.",
            fallback: "the claims of a valid token"
        )
        Field.optional(
            "raw",
            \.raw,
            .verbatim("a string").templated(.claim),
            "A string that is sent instead of a token."
        )
        Field.optional(
            "expires",
            \.expires,
            .choice("value of 'expires'"),
            "The expiry of the token. `soon`: the token is valid at first and expires while the "
                + "case runs, even if the backend tolerates clock differences.",
            fallback: "one hour after it is issued"
        )
        Field.optional(
            "once-over",
            \.callWithExpiredToken,
            Call.knownCallName,
            "Sends the token of this earlier call again after the token has expired. The token "
                + "needs `expires: soon`; it counts as expired when the backend refuses a new "
                + "token with the same expiry."
        )
    }

    /// The syntax of a claim's value: any JSON value, or null to remove the claim.
    private static let claim = Syntax<JSONValue?>(
        .templated(.json, .contract(.claim)),
        read: { node, _ in .some(node.json.isNull ? nil : node.json) },
        write: { .json($0 ?? .null) }
    )
}

extension Contract {
    /// The steps that send the token of an earlier call again after its expiry, although this token
    /// does not expire `soon`.
    ///
    /// Each element contains the name of the earlier call and the index of the step.
    var callsWithoutExpiringToken: [(call: String, step: Int)] {
        var callsWithExpiringToken: Set<String> = []
        var callsWithoutExpiry: [(call: String, step: Int)] = []
        for (index, step) in (given + steps).enumerated() {
            guard case .call(let calls) = step else { continue }
            for call in calls {
                if let earlier = call.token?.callWithExpiredToken,
                    !callsWithExpiringToken.contains(earlier)
                {
                    callsWithoutExpiry.append((earlier, index))
                }
            }
            for call in calls where call.token?.expires == .soon && call.route == .protected {
                callsWithExpiringToken.insert(call.name)
            }
        }
        return callsWithoutExpiry
    }
}
