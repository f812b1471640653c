internal import Conformance

/// Under which ids the backend has heard of each person.
///
/// Source: fact sheet 5.4 and trap 9: who buys before they are known has an anonymous id;
/// the merge emits no event, and the next one names both.
struct LifeNames: Sendable {
    enum Naming: Hashable, Sendable {
        /// Under none.
        case nobody
        /// Under the registered one, and perhaps others beside it.
        case usual
        /// Under an anonymous one alone: the backend cannot know whose it is.
        case apart
        /// Under an anonymous one, of which it has heard whose it is (S-20).
        case joined
    }

    private var namings: [String: Naming] = [:]
    /// Of whom anything was told by an anonymous id alone.
    private(set) var everAnonymous: Set<String> = []
    /// Ids that a TRANSFER has named beside whose they are.
    private(set) var aliases: Set<String> = []
    /// Who lost or gained by a TRANSFER.
    private var everMoved: Set<String> = []

    func naming(of user: String) -> Naming { namings[user] ?? .nobody }

    /// How an event names its person.
    ///
    /// - Parameters:
    ///   - spec: The event.
    ///   - user: Whose event it is.
    ///   - wanted: How it should; nil: as usual.
    /// - Returns: By which of the ids.
    /// - Throws: Why no event does.
    mutating func known(
        _ spec: EventSpec,
        _ user: String,
        by wanted: EventSpec.KnownBy?
    ) throws(LifeModel.Illegal) -> EventSpec.KnownBy {
        // A grant for a day names no aliases by which anybody could be known (fact sheet 2.6).
        let wanted = spec.type == "TEMPORARY_ENTITLEMENT_GRANT" ? nil : wanted
        // What spends no money may be kept elsewhere, with its ids (S-19).
        let isSandbox = spec.environment == "SANDBOX"
        let knownBy: EventSpec.KnownBy
        switch (naming(of: user), wanted) {
        case (.nobody, .anonymous):
            guard !isSandbox else { throw LifeModel.Illegal(reason: "nobody keeps it") }
            namings[user] = .apart
            knownBy = .anonymous
        case (.apart, nil), (.apart, .anonymous): knownBy = .anonymous
        case (.apart, .aliases):
            guard !isSandbox else { throw LifeModel.Illegal(reason: "nobody keeps it") }
            namings[user] = .joined
            knownBy = .aliases
        case (.apart, .originalAppUserID), (.apart, .appUserID):
            throw LifeModel.Illegal(reason: "nobody has said whose the anonymous id is")
        case (.usual, .anonymous):
            throw LifeModel.Illegal(reason: "it would be another customer")
        case (.joined, let wanted): knownBy = wanted ?? .appUserID
        case (.nobody, let wanted), (.usual, let wanted):
            namings[user] = wanted == .aliases && !isSandbox ? .joined : .usual
            knownBy = wanted ?? .appUserID
        }
        if knownBy == .anonymous {
            guard !everMoved.contains(user) else {
                throw LifeModel.Illegal(reason: "what was handed over is no anonymous id's")
            }
            everAnonymous.insert(user)
        }
        return knownBy
    }

    /// A TRANSFER has named them, by their registered ids.
    ///
    /// - Parameters:
    ///   - users: All that it names.
    ///   - alias: Another id of one of them.
    mutating func moved(_ users: [String], alias: String?) {
        if let alias { aliases.insert(alias) }
        for user in users where naming(of: user) == .nobody { namings[user] = .usual }
        everMoved.formUnion(users)
    }
}
