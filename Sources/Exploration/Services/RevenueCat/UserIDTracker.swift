internal import Contracts
internal import Providers
internal import Values

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

extension UserIDTracker: SellerUserIDs {
    func isKnownOnlyAnonymously(_ user: String) -> Bool { knownIDKind(of: user) == .anonymousID }

    func isAlias(_ user: String) -> Bool { aliases.contains(user) }

    /// Checks that the earlier operations determine the owner of every user ID in an operation of
    /// any seller.
    ///
    /// A store would move an anonymous user's purchases under the anonymous ID, so only a later
    /// event could show their new owner. An alias of one user must not be the ID of another user.
    ///
    /// - Throws: The reason why the operation cannot happen in a real store.
    func check(_ operation: HistoryOperation, _ users: KnownUsers)
        throws(HistoryModel.ImpossibleOperation)
    {
        let movesPurchases = [.transfer, .share, .signUp, .logIn].contains(operation.kind)
        guard !movesPurchases || operation.users.allSatisfy({ !usersEverAnonymous.contains($0) })
        else {
            throw HistoryModel.ImpossibleOperation(
                reason: "purchases of a user in the operation belonged to an anonymous ID"
            )
        }
        guard operation.users.allSatisfy({ !aliases.contains($0) }) else {
            throw HistoryModel.ImpossibleOperation(
                reason: "the ID of a user in the operation is an alias of another user"
            )
        }
        guard let otherUser = operation.additionalID else { return }
        guard operation.kind == .transfer, otherUser != operation.user, otherUser != operation.from,
            knownIDKind(of: otherUser) == .unknownToBackend,
            !users.known.contains(otherUser)
        else {
            throw HistoryModel.ImpossibleOperation(
                reason: "the additional ID in the transfer belongs to another user"
            )
        }
        // Clause S-17 leaves open which of two IDs is kept if the backend knows neither of them.
        guard operation.from.map(users.registered.contains) ?? false else {
            throw HistoryModel.ImpossibleOperation(
                reason: "the backend knows neither ID of the user who loses the purchases"
            )
        }
    }

    func chooseLocation(
        of user: CustomerHistory.HistoryUser,
        _ capabilities: Capabilities,
        _ random: inout SeededGenerator
    ) -> String? {
        let isRegistered = user.arrival == .registered
        guard capabilities.has(.aliases), isRegistered else { return nil }
        return location(of: user, capabilities, &random)?.rawValue
    }

    private func location(
        of user: CustomerHistory.HistoryUser,
        _ capabilities: Capabilities,
        _ random: inout SeededGenerator
    ) -> EventSpec.UserIDLocation? {
        // Events name a user who bought before the registration by an anonymous ID until one event
        // names both IDs (RevenueCat fact sheet, trap 9).
        switch knownIDKind(of: user.name) {
        case .unknownToBackend:
            return random.occursOncePer(12) && capabilities.canReadState ? .anonymous : nil
        case .anonymousID: return random.occursOncePer(3) ? .aliases : nil
        case .linkedIDs: if random.occursOncePer(4) { return .anonymous }
        case .registeredID: break
        }
        guard random.occursOncePer(16) else { return nil }
        return random.occursOncePer(2) ? .aliases : .originalAppUserID
    }
}
