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
    /// The backend's store fails while the call is made; nil: it does not.
    package var storeFails: Bool?

    package init(name: String, route: Route) {
        self.name = name
        self.route = route
    }

    /// The names that a contract may give a value to.
    package static let valueNames = [
        "id", "device", "platform", "source", "timestamp", "password", "proof",
    ]
}
