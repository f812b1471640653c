internal import Conformance

/// The kind of ID by which the backend knows each user in a generated history.
///
/// Source: RevenueCat fact sheet 5.4 and trap 9: a user who buys before the registration has an
/// anonymous ID. RevenueCat merges the two IDs without an event, and the next event names both IDs.
struct LifeNames: Sendable {
    enum Naming: Hashable, Sendable {
        /// The backend does not know the user yet.
        case nobody
        /// The backend knows the user by the registered ID, and perhaps by other IDs.
        case usual
        /// The backend knows only an anonymous ID and cannot know which user it belongs to.
        case apart
        /// The backend knows an anonymous ID that an event linked to the user's registered ID
        /// (S-20).
        case joined
    }

    private var namings: [String: Naming] = [:]
    /// The names of the users that some event named only by an anonymous ID.
    private(set) var everAnonymous: Set<String> = []
    /// Additional IDs that a TRANSFER event listed together with the registered ID of a user.
    private(set) var aliases: Set<String> = []
    /// The names of the users who lost or received purchases in a TRANSFER event.
    private var everMoved: Set<String> = []

    func naming(of user: String) -> Naming { namings[user] ?? .nobody }

    /// Returns the kind of ID by which an event names its user, and records that the backend now
    /// knows this kind.
    ///
    /// - Parameters:
    ///   - spec: The event that names the user.
    ///   - user: The name of the user.
    ///   - wanted: The kind of ID that the operation requests; nil for the usual kind.
    /// - Returns: The kind of ID that the event uses.
    /// - Throws: The reason why no event can name the user by the requested kind of ID.
    mutating func known(
        _ spec: EventSpec,
        _ user: String,
        by wanted: EventSpec.KnownBy?
    ) throws(LifeModel.Illegal) -> EventSpec.KnownBy {
        // The event of a one-day grant contains no aliases that could identify the user (RevenueCat
        // fact sheet 2.6).
        let wanted = spec.type == "TEMPORARY_ENTITLEMENT_GRANT" ? nil : wanted
        // A backend may store sandbox purchases and their IDs separately (S-19).
        let isSandbox = spec.environment == "SANDBOX"
        let knownBy: EventSpec.KnownBy
        switch (naming(of: user), wanted) {
        case (.nobody, .anonymous):
            guard !isSandbox else {
                throw LifeModel.Illegal(
                    reason:
                        "a backend may discard sandbox purchases, and the anonymous ID with them"
                )
            }
            namings[user] = .apart
            knownBy = .anonymous
        case (.apart, nil), (.apart, .anonymous): knownBy = .anonymous
        case (.apart, .aliases):
            guard !isSandbox else {
                throw LifeModel.Illegal(
                    reason:
                        "a backend may discard sandbox purchases, and the anonymous ID with them"
                )
            }
            namings[user] = .joined
            knownBy = .aliases
        case (.apart, .originalAppUserID), (.apart, .appUserID):
            throw LifeModel.Illegal(reason: "no event has linked the anonymous ID to a user")
        case (.usual, .anonymous):
            throw LifeModel.Illegal(reason: "the anonymous ID would belong to another customer")
        case (.joined, let wanted): knownBy = wanted ?? .appUserID
        case (.nobody, let wanted), (.usual, let wanted):
            namings[user] = wanted == .aliases && !isSandbox ? .joined : .usual
            knownBy = wanted ?? .appUserID
        }
        if knownBy == .anonymous {
            guard !everMoved.contains(user) else {
                throw LifeModel.Illegal(reason: "transferred purchases have no anonymous ID")
            }
            everAnonymous.insert(user)
        }
        return knownBy
    }

    /// Records the IDs in a TRANSFER event, which names users by their registered IDs.
    ///
    /// - Parameters:
    ///   - users: All users that the TRANSFER names.
    ///   - alias: An additional ID of one of these users; nil when there is none.
    mutating func moved(_ users: [String], alias: String?) {
        if let alias { aliases.insert(alias) }
        for user in users where naming(of: user) == .nobody { namings[user] = .usual }
        everMoved.formUnion(users)
    }
}
