package import Values

/// The accounts of one Firebase project or of one of its tenants, with the indexes that lookups
/// need.
package struct FirebaseProject: Hashable, Sendable {
    /// A code that was sent by email, for example to reset a password.
    package struct ActionCode: Hashable, Codable, Sendable {
        package enum Kind: String, Hashable, Codable, Sendable, CaseIterable {
            case passwordReset = "PASSWORD_RESET"
            case verifyEmail = "VERIFY_EMAIL"
            case emailSignIn = "EMAIL_SIGNIN"
            case changeEmail = "VERIFY_AND_CHANGE_EMAIL"
            case recoverEmail = "RECOVER_EMAIL"

            /// The value of the parameter `mode` in the link that the email contains.
            package var mode: String {
                switch self {
                case .passwordReset: "resetPassword"
                case .verifyEmail: "verifyEmail"
                case .emailSignIn: "signIn"
                case .changeEmail: "verifyAndChangeEmail"
                case .recoverEmail: "recoverEmail"
                }
            }
        }

        package let code: String
        package let kind: Kind
        package let email: String
        package var newEmail: String?
        package let link: String
        package let made: Instant
    }

    /// A code that was sent to a phone, for a sign-in or a second factor.
    package struct PhoneCode: Hashable, Codable, Sendable {
        package let phoneNumber: String
        package let session: String
        package let code: String
    }

    /// A proof that the user entered the right code for a phone number.
    ///
    /// It is issued when the number belongs to another account.
    package struct PhoneProof: Hashable, Codable, Sendable {
        package let proof: String
        package let phoneNumber: String
        package let made: Instant
    }

    package let projectID: String
    package let tenantID: String?
    package var allowsDuplicateEmails: Bool
    package var enumerationProtection: Bool
    package var blockingFunctions: JSONValue = .object(JSONObject())
    /// The rules for second factors, in the format in which they were set.
    ///
    /// If nil, all kinds of second factors are allowed.
    package var mfa: JSONObject?
    /// The settings of a tenant, in the format in which they were set.
    ///
    /// If nil, everything is allowed, as in the emulator for a tenant that was never created.
    package var tenant: JSONObject?
    /// The proofs of phone numbers, by the string that the user sends.
    package var phoneProofs = SharedLog<PhoneProof>()
    package private(set) var users: SharedTable<String, FirebaseUser> = [:]
    private var ids = SharedSortedSet<String>()
    private var idsByEmail: SharedTable<String, [String]> = [:]
    /// User IDs by each email address of a user: the current address, the initial one, and those
    /// from identity providers.
    private var idsByEmailUse = SharedIndex<EmailUse, String>()
    private var idByPhone: SharedTable<String, String> = [:]
    /// User IDs by the account at an identity provider, as `provider|rawID`.
    private var idByProvider: SharedTable<String, String> = [:]
    /// The codes that were sent by email, by the code itself.
    package var actionCodes = SharedLog<ActionCode>()
    /// The codes that were sent to phones, by the ID of the phone session.
    package var phoneCodes = SharedLog<PhoneCode>()
    /// The times of failed sign-ins and of password reset emails, by `kind|email`.
    private var attempts: SharedTable<String, [Instant]> = [:]

    /// An email address with its relation to a user: current or initial.
    private enum EmailUse: Hashable, Comparable {
        case current(String)
        case initial(String)
    }

    package init(projectID: String, tenantID: String?, settings: FirebaseSettings) {
        self.projectID = projectID
        self.tenantID = tenantID
        allowsDuplicateEmails = settings.allowDuplicateEmails
        enumerationProtection = settings.enumerationProtection
    }

    // MARK: Lookup

    package func user(withEmail email: String) -> FirebaseUser? {
        idsByEmail[email.lowercased()]?.first.flatMap { users[$0] }
    }

    package func user(withPhone number: String) -> FirebaseUser? {
        idByPhone[number].flatMap { users[$0] }
    }

    package func user(withProvider provider: String, rawID: String) -> FirebaseUser? {
        idByProvider[provider + "|" + rawID].flatMap { users[$0] }
    }

    /// Returns the users whose current address is this one, on their own account or at an identity
    /// provider.
    package func users(mentioning email: String) -> [FirebaseUser] {
        users(.current(email.lowercased()))
    }

    /// Returns the user whose first email address was this one.
    ///
    /// The current address of the user may differ.
    package func user(withInitialEmail email: String) -> FirebaseUser? {
        users(.initial(email)).first
    }

    /// Returns the users with this email address and relation, in the order of their IDs.
    private func users(_ emailUse: EmailUse) -> [FirebaseUser] {
        idsByEmailUse.ids(under: emailUse).compactMap { users[$0] }
    }

    /// Returns at most `limit` users in the order of their IDs.
    ///
    /// The list begins after the user with the given ID. If the ID is nil, the list begins with the
    /// first user.
    package func users(_ limit: Int, after id: String?) -> [FirebaseUser] {
        let page = id.map { ids.prefix(limit, after: $0) } ?? ids.prefix(limit, from: 0)
        return page.compactMap { users[$0] }
    }

    /// All users of the project or tenant, in the order of their IDs.
    package var allUsers: [FirebaseUser] { users(users.count, after: nil) }

    // MARK: Writing

    package mutating func save(_ user: FirebaseUser) {
        if let old = users[user.localID] { removeFromIndexes(old) }
        users[user.localID] = user
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
        guard let user = users.removeValue(forKey: localID) else { return }
        removeFromIndexes(user)
    }

    /// Removes all users.
    ///
    /// The codes that were sent by email stay (Firebase fact sheet, section 8).
    package mutating func removeAllUsers() {
        users = [:]
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

    // MARK: Limits

    /// Returns whether an email address has reached the limit of attempts of one kind within a time
    /// window.
    ///
    /// If `countsAttempt` is true, the call counts one more attempt.
    package mutating func exceedsLimit(
        _ kind: String,
        _ email: String,
        max: Int?,
        within window: Duration,
        at now: Instant,
        countsAttempt: Bool
    ) -> Bool {
        guard let max else { return false }
        let key = kind + "|" + email.lowercased()
        let recentAttempts = (attempts[key] ?? []).filter { now - $0 < window }
        attempts[key] = countsAttempt ? recentAttempts + [now] : recentAttempts
        return recentAttempts.count >= max
    }
}

/// Saves everything except the indexes that can be rebuilt from the users.
///
/// `idsByEmail` is saved, because only the order of its IDs shows which user had an address first.
extension FirebaseProject: Codable {
    private enum CodingKeys: String, CodingKey {
        case projectID, tenantID, allowsDuplicateEmails, enumerationProtection, blockingFunctions
        case users, idsByEmail, actionCodes, phoneCodes, attempts, mfa, tenant, phoneProofs
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        projectID = try container.decode(String.self, forKey: .projectID)
        tenantID = try container.decodeIfPresent(String.self, forKey: .tenantID)
        allowsDuplicateEmails = try container.decode(Bool.self, forKey: .allowsDuplicateEmails)
        enumerationProtection = try container.decode(Bool.self, forKey: .enumerationProtection)
        blockingFunctions = try container.decode(JSONValue.self, forKey: .blockingFunctions)
        mfa = try container.decodeIfPresent(JSONObject.self, forKey: .mfa)
        tenant = try container.decodeIfPresent(JSONObject.self, forKey: .tenant)
        phoneProofs = SharedLog(
            try container.decodeIfPresent([PhoneProof].self, forKey: .phoneProofs) ?? [],
            by: \.proof
        )
        users = try container.decode(SharedTable<String, FirebaseUser>.self, forKey: .users)
        actionCodes = SharedLog(
            try container.decode([ActionCode].self, forKey: .actionCodes),
            by: \.code
        )
        phoneCodes = SharedLog(
            try container.decode([PhoneCode].self, forKey: .phoneCodes),
            by: \.session
        )
        attempts = try container.decode(SharedTable<String, [Instant]>.self, forKey: .attempts)
        for user in users.values { addToIndexes(user) }
        idsByEmail = try container.decode(SharedTable<String, [String]>.self, forKey: .idsByEmail)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(projectID, forKey: .projectID)
        try container.encodeIfPresent(tenantID, forKey: .tenantID)
        try container.encode(allowsDuplicateEmails, forKey: .allowsDuplicateEmails)
        try container.encode(enumerationProtection, forKey: .enumerationProtection)
        try container.encode(blockingFunctions, forKey: .blockingFunctions)
        try container.encodeIfPresent(mfa, forKey: .mfa)
        try container.encodeIfPresent(tenant, forKey: .tenant)
        try container.encode(phoneProofs.all, forKey: .phoneProofs)
        try container.encode(users, forKey: .users)
        try container.encode(idsByEmail, forKey: .idsByEmail)
        try container.encode(actionCodes.all, forKey: .actionCodes)
        try container.encode(phoneCodes.all, forKey: .phoneCodes)
        try container.encode(attempts, forKey: .attempts)
    }
}
