package import Conformance

/// The accounts of one project, or of one tenant of it, with the indexes that lookups need.
package struct FirebaseProject: Hashable, Codable, Sendable {
    /// A code that was mailed to somebody.
    package struct ActionCode: Hashable, Codable, Sendable {
        package enum Kind: String, Hashable, Codable, Sendable, CaseIterable {
            case passwordReset = "PASSWORD_RESET"
            case verifyEmail = "VERIFY_EMAIL"
            case emailSignIn = "EMAIL_SIGNIN"
            case changeEmail = "VERIFY_AND_CHANGE_EMAIL"
            case recoverEmail = "RECOVER_EMAIL"

            /// The `mode` of its link.
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

    /// A code that was sent to a phone.
    package struct PhoneCode: Hashable, Codable, Sendable {
        package let phoneNumber: String
        package let session: String
        package let code: String
    }

    package let projectID: String
    package let tenantID: String?
    package var allowsDuplicateEmails: Bool
    package var enumerationProtection: Bool
    package var blockingFunctions: JSONValue = .object(JSONObject())
    package private(set) var users: [String: FirebaseUser] = [:]
    private var idsByEmail: [String: [String]] = [:]
    private var idByPhone: [String: String] = [:]
    /// Keys are `provider|rawID`.
    private var idByProvider: [String: String] = [:]
    package var actionCodes: [ActionCode] = []
    package var phoneCodes: [PhoneCode] = []
    /// Times of failed sign-ins and of reset mails, by `kind|email`.
    package var attempts: [String: [Instant]] = [:]

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

    /// Users whose top-level or provider email this is.
    package func users(mentioning email: String) -> [FirebaseUser] {
        let wanted = email.lowercased()
        return users.values.filter { user in
            user.email == wanted || user.federated.contains { $0.email == wanted }
        }.sorted { $0.localID < $1.localID }
    }

    package var sortedIDs: [String] { users.keys.sorted() }

    // MARK: Writing

    package mutating func save(_ user: FirebaseUser) {
        if let old = users[user.localID] { unindex(old) }
        users[user.localID] = user
        if let email = user.email { idsByEmail[email, default: []].append(user.localID) }
        if let phone = user.phoneNumber { idByPhone[phone] = user.localID }
        for provider in user.federated {
            idByProvider[provider.providerID + "|" + provider.rawID] = user.localID
        }
    }

    package mutating func remove(_ localID: String) {
        guard let user = users.removeValue(forKey: localID) else { return }
        unindex(user)
    }

    /// All users go, the action codes stay (section 8).
    package mutating func removeAllUsers() {
        users = [:]
        idsByEmail = [:]
        idByPhone = [:]
        idByProvider = [:]
    }

    private mutating func unindex(_ user: FirebaseUser) {
        if let email = user.email {
            idsByEmail[email]?.removeAll { $0 == user.localID }
            if idsByEmail[email]?.isEmpty == true { idsByEmail[email] = nil }
        }
        if let phone = user.phoneNumber, idByPhone[phone] == user.localID { idByPhone[phone] = nil }
        for provider in user.federated {
            let key = provider.providerID + "|" + provider.rawID
            if idByProvider[key] == user.localID { idByProvider[key] = nil }
        }
    }

    // MARK: Limits

    /// Counts an attempt and says whether there were too many within the window.
    package mutating func isTooMuch(
        _ kind: String,
        _ email: String,
        max: Int?,
        within window: Duration,
        at now: Instant,
        counts: Bool
    ) -> Bool {
        guard let max else { return false }
        let key = kind + "|" + email.lowercased()
        let recent = (attempts[key] ?? []).filter { now - $0 < window }
        attempts[key] = counts ? recent + [now] : recent
        return recent.count >= max
    }
}
