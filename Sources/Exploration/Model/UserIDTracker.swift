internal import Contracts
internal import Providers

/// The kind of ID by which the backend knows each user in a generated history.
///
/// Source: RevenueCat fact sheet 5.4 and trap 9: a user who buys before the registration has an
/// anonymous ID. RevenueCat merges the two IDs without an event, and the next event names both IDs.
struct UserIDTracker: Sendable {
    enum KnownIDKind: Hashable, Sendable {
        /// The backend does not know the user yet.
        case unknownToBackend
        /// The backend knows the user by the registered ID, and perhaps by other IDs.
        case registeredID
        /// The backend knows only an anonymous ID and cannot know which user it belongs to.
        case anonymousID
        /// The backend knows an anonymous ID that an event linked to the user's registered ID
        /// (S-20).
        case linkedIDs
    }

    private var knownIDKinds: [String: KnownIDKind] = [:]
    /// The names of the users that some event named only by an anonymous ID.
    private(set) var usersEverAnonymous: Set<String> = []
    /// Additional IDs that a TRANSFER event listed together with the registered ID of a user.
    private(set) var aliases: Set<String> = []
    /// The names of the users who lost or received purchases in a TRANSFER event.
    private var usersEverTransferred: Set<String> = []

    func knownIDKind(of user: String) -> KnownIDKind { knownIDKinds[user] ?? .unknownToBackend }

    /// Returns the kind of ID by which an event names its user, and records that the backend now
    /// knows this kind.
    ///
    /// - Parameters:
    ///   - spec: The event that names the user.
    ///   - user: The name of the user.
    ///   - preferredLocation: The kind of ID that the operation requests; nil for the usual kind.
    /// - Returns: The kind of ID that the event uses.
    /// - Throws: The reason why no event can name the user by the requested kind of ID.
    mutating func known(
        _ spec: EventSpec,
        _ user: String,
        by preferredLocation: EventSpec.UserIDLocation?
    ) throws(HistoryModel.ImpossibleOperation) -> EventSpec.UserIDLocation {
        // The event of a one-day grant contains no aliases that could identify the user (RevenueCat
        // fact sheet 2.6).
        let preferredLocation =
            spec.type.documented == .temporaryEntitlementGrant ? nil : preferredLocation
        // A backend may store sandbox purchases and their IDs separately (S-19).
        let isSandbox = spec.environment == "SANDBOX"
        let userIDLocation: EventSpec.UserIDLocation
        switch (knownIDKind(of: user), preferredLocation) {
        case (.unknownToBackend, .anonymous):
            guard !isSandbox else {
                throw HistoryModel.ImpossibleOperation(
                    reason:
                        "a backend may discard sandbox purchases, and the anonymous ID with them"
                )
            }
            knownIDKinds[user] = .anonymousID
            userIDLocation = .anonymous
        case (.anonymousID, nil), (.anonymousID, .anonymous): userIDLocation = .anonymous
        case (.anonymousID, .aliases):
            guard !isSandbox else {
                throw HistoryModel.ImpossibleOperation(
                    reason:
                        "a backend may discard sandbox purchases, and the anonymous ID with them"
                )
            }
            knownIDKinds[user] = .linkedIDs
            userIDLocation = .aliases
        case (.anonymousID, .originalAppUserID), (.anonymousID, .appUserID):
            throw HistoryModel.ImpossibleOperation(
                reason: "no event has linked the anonymous ID to a user"
            )
        case (.registeredID, .anonymous):
            throw HistoryModel.ImpossibleOperation(
                reason: "the anonymous ID would belong to another customer"
            )
        case (.linkedIDs, let preferredLocation): userIDLocation = preferredLocation ?? .appUserID
        case (.unknownToBackend, let preferredLocation), (.registeredID, let preferredLocation):
            knownIDKinds[user] =
                preferredLocation == .aliases && !isSandbox ? .linkedIDs : .registeredID
            userIDLocation = preferredLocation ?? .appUserID
        }
        if userIDLocation == .anonymous {
            guard !usersEverTransferred.contains(user) else {
                throw HistoryModel.ImpossibleOperation(
                    reason: "transferred purchases have no anonymous ID"
                )
            }
            usersEverAnonymous.insert(user)
        }
        return userIDLocation
    }

    /// Records the IDs in a TRANSFER event, which names users by their registered IDs.
    ///
    /// - Parameters:
    ///   - users: All users that the TRANSFER names.
    ///   - alias: An additional ID of one of these users; nil when there is none.
    mutating func recordTransfer(_ users: [String], alias: String?) {
        if let alias { aliases.insert(alias) }
        for user in users where knownIDKind(of: user) == .unknownToBackend {
            knownIDKinds[user] = .registeredID
        }
        usersEverTransferred.formUnion(users)
    }
}
