package import Providers

/// A request of the app or an operator to one of the backend's own routes, which the profile
/// defines.
package struct Call: Hashable, Codable, Sendable {
    /// The routes that contracts can call; a profile defines their paths.
    package enum Route: String, Hashable, Codable, Sendable, CaseIterable {
        /// The app registers its user (clauses S-22 to S-24 of the identity rules).
        case register
        /// An account signs in, and claims or recovers a user ID (clauses S-25 to S-29).
        case login
        /// Any route that requires a Firebase ID token (clauses F-01 to F-10).
        case protected
        /// The backend compares its state with RevenueCat's state (clause S-34).
        case reconcile

        /// Whether a call of the route can carry an ID token that the contract defines.
        package var carriesIDToken: Bool { self == .protected || self == .login }
    }

    package var name: String
    package var route: Route
    package var user: String?
    package var account: String?
    /// Values for the templates in the route's request, which replace the default values, by
    /// template name.
    ///
    /// A nil value omits the field that contains the template.
    package var values: [String: String?] = [:]
    package var token: TokenSpec?
    package var responses: ResponseExpectation?
    /// Whether the backend's database fails during the call; nil means false.
    package var hasDatabaseFailure: Bool?

    package init(name: String, route: Route) {
        self.name = name
        self.route = route
    }

    /// The names of the templates in a route's request whose values a contract may set.
    package static let valueNames = [
        "id", "device", "platform", "source", "timestamp", "password", "proof",
    ]
}
