/// A request that the app, or an operator, makes of the backend: one of its own routes, described
/// by the profile.
package struct Call: Hashable, Codable, Sendable {
    /// The routes that contracts speak of; a profile says where each one is.
    package enum Route: String, Hashable, Codable, Sendable, CaseIterable {
        /// The app announces its user (identity rules, S-22 to S-24).
        case register
        /// An account signs in and claims or recovers an id (S-25 to S-29).
        case login
        /// Any route that demands a Firebase ID token (F-01 to F-10).
        case protected
        /// The backend compares its state with RevenueCat's (S-34).
        case reconcile
    }

    package var name: String
    package var route: Route
    package var user: String?
    package var account: String?
    /// Values of the route's templates that differ from the usual ones; nil leaves the field out.
    package var values: [String: String?] = [:]
    package var token: TokenSpec?
    package var answers: AnswerExpectation?

    package init(name: String, route: Route) {
        self.name = name
        self.route = route
    }

    /// The names that a contract may give a value to.
    package static let valueNames = [
        "id", "device", "platform", "source", "timestamp", "password", "proof",
    ]
}

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
        /// RS256 by a key that nobody published, under a published key id.
        case borrowedKeyID = "borrowed-key-id"
        /// A genuine signature whose last byte is changed.
        case damaged
    }

    package var kind = Kind.idToken
    package var signing = Signing.genuine
    /// Claims that differ from those of a good token; nil removes.
    package var claims: [String: JSONValue?] = [:]
    /// Sent in place of any token.
    package var raw: String?

    package init() {}
}
