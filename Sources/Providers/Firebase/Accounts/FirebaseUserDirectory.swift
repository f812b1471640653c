/// The users of one Firebase project or of one of its tenants, with the indexes that lookups need.
///
/// Every index contains exactly the users of the table: `save` and `remove` update all indexes.
package struct FirebaseUserDirectory: Hashable, Sendable {
    /// An email address with its relation to a user: current or initial.
    private enum EmailUse: Hashable, Comparable {
        case current(String)
        case initial(String)
    }

    private var usersByID: SharedTable<String, FirebaseUser> = [:]
    private var ids = SharedSortedSet<String>()
    private var idsByEmail: SharedTable<String, [String]> = [:]
    /// User IDs by each email address of a user: the current address, the initial one, and those
    /// from identity providers.
    private var idsByEmailUse = SharedIndex<EmailUse, String>()
    private var idByPhone: SharedTable<String, String> = [:]
    /// User IDs by the account at an identity provider, as `provider|rawID`.
    private var idByProvider: SharedTable<String, String> = [:]

    package init() {}

    /// The number of users.
    package var count: Int { usersByID.count }

    package subscript(localID: String) -> FirebaseUser? { usersByID[localID] }

    // MARK: Lookup

    /// The user who had this current email address first.
    package subscript(email email: String) -> FirebaseUser? {
        idsByEmail[email.lowercased()]?.first.flatMap { usersByID[$0] }
    }

    package subscript(phone number: String) -> FirebaseUser? {
        idByPhone[number].flatMap { usersByID[$0] }
    }

    package subscript(provider provider: String, rawID rawID: String) -> FirebaseUser? {
        idByProvider[provider + "|" + rawID].flatMap { usersByID[$0] }
    }

    /// Returns the users whose current address is this one, on their own account or at an identity
    /// provider.
    package func mentioning(_ email: String) -> [FirebaseUser] {
        users(.current(email.lowercased()))
    }

    /// Returns the user whose first email address was this one.
    ///
    /// The current address of the user may differ.
    package func initialOwner(of email: String) -> FirebaseUser? {
        users(.initial(email)).first
    }

    /// Returns the users with this email address and relation, in the order of their IDs.
    private func users(_ emailUse: EmailUse) -> [FirebaseUser] {
        idsByEmailUse.ids(under: emailUse).compactMap { usersByID[$0] }
    }

    /// Returns at most `limit` users in the order of their IDs.
    ///
    /// The list begins after the user with the given ID. If the ID is nil, the list begins with the
    /// first user.
    package func page(_ limit: Int, after id: String?) -> [FirebaseUser] {
        let page = id.map { ids.prefix(limit, after: $0) } ?? ids.prefix(limit, from: 0)
        return page.compactMap { usersByID[$0] }
    }

    /// All users of the project or tenant, in the order of their IDs.
    package var all: [FirebaseUser] { page(count, after: nil) }

    // MARK: Writing

    /// Adds a user, or replaces the user with the same ID.
    package mutating func save(_ user: FirebaseUser) {
        if let old = usersByID[user.localID] { removeFromIndexes(old) }
        usersByID[user.localID] = user
        addToIndexes(user)
    }

    private mutating func addToIndexes(_ user: FirebaseUser) {
        ids.insert(user.localID)
        if let email = user.email { idsByEmail[email, default: []].append(user.localID) }
        for emailUse in Self.emailUses(of: user) {
            idsByEmailUse.insert(user.localID, under: emailUse)
        }
        if let phone = user.phoneNumber { idByPhone[phone] = user.localID }
        for provider in user.federated {
            idByProvider[provider.providerID + "|" + provider.rawID] = user.localID
        }
    }

    private static func emailUses(of user: FirebaseUser) -> Set<EmailUse> {
        let current = ([user.email] + user.federated.map(\.email)).compactMap { $0 }
        return Set(
            current.map(EmailUse.current)
                + [user.initialEmail].compactMap { $0 }.map(EmailUse.initial)
        )
    }

    package mutating func remove(_ localID: String) {
        guard let user = usersByID.removeValue(forKey: localID) else { return }
        removeFromIndexes(user)
    }

    /// Removes all users.
    ///
    /// The codes that were sent by email stay (Firebase fact sheet, section 8).
    package mutating func removeAll() {
        usersByID = [:]
        ids = SharedSortedSet()
        idsByEmail = [:]
        idsByEmailUse = SharedIndex()
        idByPhone = [:]
        idByProvider = [:]
    }

    private mutating func removeFromIndexes(_ user: FirebaseUser) {
        ids.remove(user.localID)
        if let email = user.email {
            idsByEmail[email]?.removeAll { $0 == user.localID }
            if idsByEmail[email]?.isEmpty == true { idsByEmail[email] = nil }
        }
        for emailUse in Self.emailUses(of: user) {
            idsByEmailUse.remove(user.localID, under: emailUse)
        }
        if let phone = user.phoneNumber, idByPhone[phone] == user.localID { idByPhone[phone] = nil }
        for provider in user.federated {
            let key = provider.providerID + "|" + provider.rawID
            if idByProvider[key] == user.localID { idByProvider[key] = nil }
        }
    }
}

/// Saves everything except the indexes that can be rebuilt from the users.
///
/// `idsByEmail` is saved, because only the order of its IDs shows which user had an address first.
extension FirebaseUserDirectory: Codable {
    private enum CodingKeys: String, CodingKey { case users, idsByEmail }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        usersByID = try container.decode(SharedTable<String, FirebaseUser>.self, forKey: .users)
        for user in usersByID.values { addToIndexes(user) }
        idsByEmail = try container.decode(SharedTable<String, [String]>.self, forKey: .idsByEmail)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(usersByID, forKey: .users)
        try container.encode(idsByEmail, forKey: .idsByEmail)
    }
}
