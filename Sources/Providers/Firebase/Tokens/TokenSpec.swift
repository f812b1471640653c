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
