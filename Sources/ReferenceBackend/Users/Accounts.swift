internal import Crypto
internal import CryptoExtras
internal import Foundation
internal import GRDB

/// The accounts of the users, with their logins.
///
/// A login either claims the anonymous user ID of the device for the account, or returns the user
/// ID that the account already has.
struct Accounts: Sendable {
    let store: Store

    struct Login: Sendable {
        let accountID: String
        let password: String
        /// The user ID on the device.
        ///
        /// `deviceToken` proves that the device owns this ID.
        let currentAppUserID: String?
        let deviceToken: String?
        /// Whether the account's ID, a uid, becomes the ID of the claimed user.
        var takesUID = false
    }

    enum LoginResult: Sendable {
        case claimed(appUserID: String)
        case recovered(appUserID: String)
        /// The account is unknown or the password is wrong.
        ///
        /// An unknown account and a wrong password have the same result, so that a caller cannot
        /// find out which accounts exist.
        case refused
        /// The account cannot claim the user ID of the device.
        ///
        /// The ID is unknown or belongs to another account, or the caller did not prove that it
        /// owns the ID.
        case conflict
    }

    struct Policy: Sendable {
        var isCorrectPassword = Accounts.isCorrectPassword
        var completeLogin = Accounts.completeLogin
        var claimUser = Accounts.claimUser
        var mayClaimUser = Accounts.provesOwnership
        var linkAccount = Accounts.linkAccount
        var mayInheritPurchases = Accounts.provesOwnership
        var inheritPurchases = Accounts.inheritPurchases
        var hasAccount = Accounts.hasAccount
        var refuseLogin = Accounts.refuseLogin
        var takeUID = Accounts.takeUID
        var erasePersonalData = Accounts.erasePersonalData
    }

    /// The number of iterations of the password hash.
    ///
    /// It is small because the accounts are fictitious and exist only during one test case.
    ///
    /// A production system needs a hundred times as many iterations.
    private static let passwordHashRounds = 6_000

    func create(_ accountID: String, password: String) async throws {
        let salt = Data((0..<16).map { _ in UInt8.random(in: .min ... .max) })
        let hash = try Self.hash(password, salt: salt)
        try await store.pool.write { db in
            try db.execute(
                sql: "INSERT INTO accounts (accountID, salt, passwordHash) VALUES (?, ?, ?) "
                    + "ON CONFLICT DO NOTHING",
                arguments: [accountID, salt, hash]
            )
        }
    }

    /// Logs a user in.
    ///
    /// The password is checked before any database row is changed (S-25 to S-28).
    func login(_ login: Login) async throws -> LoginResult {
        let storedCredentials = try await store.pool.read { db in
            try Row.fetchOne(
                db,
                sql: "SELECT salt, passwordHash FROM accounts WHERE accountID = ?",
                arguments: [login.accountID]
            ).map { (salt: $0["salt"] as Data, hash: $0["passwordHash"] as Data) }
        }
        // The hash is also computed for an unknown account, so that the response takes as much time
        // as for a wrong password.
        let computedHash = try Self.hash(
            login.password,
            salt: storedCredentials?.salt ?? Data(count: 16)
        )
        let policy = store.policies.accounts
        guard try policy.isCorrectPassword(computedHash, storedCredentials?.hash) else {
            return try await policy.refuseLogin(self, login)
        }
        return try await policy.completeLogin(self, login)
    }

    /// Refuses a login without any lookup of the user ID in the request (S-25).
    static func refuseLogin(_ accounts: Accounts, _ login: Login) async throws -> LoginResult {
        .refused
    }

    /// Logs a user in whose Firebase ID token was verified, and gives a claimed user the uid as its
    /// ID.
    ///
    /// The first login creates the account.
    func loginOfVerifiedUser(_ login: Login) async throws -> LoginResult {
        try await store.pool.write { db in
            try db.execute(
                sql: "INSERT INTO accounts (accountID, salt, passwordHash) VALUES (?, ?, ?) "
                    + "ON CONFLICT DO NOTHING",
                arguments: [login.accountID, Data(), Data()]
            )
        }
        return try await store.policies.accounts.completeLogin(self, login)
    }

    /// Makes the uid of an account the ID of the user that the account has claimed, and keeps the
    /// previous ID as an alias.
    ///
    /// Returns the uid.
    static func takeUID(_ store: Store, _ db: Database, _ userID: String, _ uid: String) throws
        -> String
    {
        guard let user = try store.user(db, known: userID), let id = user.id else { return userID }
        if let namesake = try store.user(db, known: uid), namesake.id != id {
            try store.merge(db, namesake, into: id)
        }
        try store.linkAlias(db, uid, to: id)
        try db.execute(sql: "UPDATE users SET appUserID = ? WHERE id = ?", arguments: [uid, id])
        return uid
    }

    /// Returns whether the hash of a password equals the stored hash; false without a stored hash,
    /// because the account does not exist.
    static func isCorrectPassword(_ computedHash: Data, _ hash: Data?) throws -> Bool {
        guard let hash else { return false }
        return Authenticity.isEqual(Array(computedHash), Array(hash))
    }

    /// Completes a login in one transaction, so that the second of two concurrent logins sees the
    /// result of the first (S-27).
    static func completeLogin(_ accounts: Accounts, _ login: Login) async throws -> LoginResult {
        try await accounts.store.pool.write { db in
            if let ownedUser = try accounts.ownedUser(db, by: login.accountID) {
                return try accounts.recoverAccount(db, ownedUser, login)
            }
            return try accounts.store.policies.accounts.claimUser(accounts, db, login)
        }
    }

    func ownedUser(_ db: Database, by accountID: String) throws -> User? {
        try User.fetchOne(
            db,
            sql: "SELECT users.* FROM accounts JOIN users ON users.id = accounts.userID "
                + "WHERE accounts.accountID = ?",
            arguments: [accountID]
        )
    }

    /// Returns whether the caller owns a user ID.
    ///
    /// The caller must send the token that the registration of the ID returned.
    static func provesOwnership(_ user: User, by deviceToken: String?) -> Bool {
        user.deviceToken != nil && user.deviceToken == deviceToken
    }

    // MARK: Claiming

    /// Claims a user ID for an account.
    ///
    /// The ID must exist, belong to the device, and have no account (S-26).
    static func claimUser(
        _ accounts: Accounts,
        _ db: Database,
        _ login: Login
    ) throws -> LoginResult {
        let policy = accounts.store.policies.accounts
        guard let id = login.currentAppUserID, let user = try accounts.store.user(db, known: id),
            let userID = user.id, policy.mayClaimUser(user, login.deviceToken),
            try policy.linkAccount(db, login.accountID, userID)
        else { return .conflict }
        guard login.takesUID else { return .claimed(appUserID: user.appUserID) }
        let uid = try policy.takeUID(accounts.store, db, user.appUserID, login.accountID)
        return .claimed(appUserID: uid)
    }

    /// Links an account to a user, unless the user already has an account.
    ///
    /// The check is part of the SQL update, so that only one of two concurrent accounts succeeds
    /// (S-27).
    static func linkAccount(_ db: Database, _ accountID: String, to userID: Int64) throws -> Bool {
        try db.execute(
            sql: "UPDATE accounts SET userID = ? WHERE accountID = ? "
                + "AND NOT EXISTS (SELECT 1 FROM accounts WHERE userID = ?)",
            arguments: [userID, accountID, userID]
        )
        return db.changesCount == 1
    }

    // MARK: Recovering

    /// Moves the earlier purchases of the device's user to the account's user (S-28).
    ///
    /// A user who has an account stays unchanged.
    func recoverAccount(_ db: Database, _ account: User, _ login: Login) throws -> LoginResult {
        let policy = store.policies.accounts
        if let id = login.currentAppUserID, let previous = try store.user(db, known: id),
            previous.id != account.id, policy.mayInheritPurchases(previous, login.deviceToken),
            let previousID = previous.id, let accountID = account.id,
            !(try policy.hasAccount(db, previousID))
        {
            try policy.inheritPurchases(store, db, previousID, accountID)
        }
        return .recovered(appUserID: account.appUserID)
    }

    static func inheritPurchases(
        _ store: Store,
        _ db: Database,
        from previous: Int64,
        to account: Int64
    ) throws {
        try store.movePurchases(db, from: previous, to: account)
    }

    static func hasAccount(_ db: Database, _ userID: Int64) throws -> Bool {
        try Bool.fetchOne(
            db,
            sql: "SELECT EXISTS(SELECT 1 FROM accounts WHERE userID = ?)",
            arguments: [userID]
        ) ?? false
    }

    /// Returns the ID of the account that owns a user; nil for an anonymous user, who has no
    /// account (S-29).
    func owner(_ db: Database, of userID: Int64?) throws -> String? {
        try String.fetchOne(
            db,
            sql: "SELECT accountID FROM accounts WHERE userID = ?",
            arguments: [userID]
        )
    }

    // MARK: Deletion

    /// Erases the data that identifies a user or the user's phone.
    ///
    /// The purchases of the user remain, because the stores and RevenueCat also keep them.
    static func erasePersonalData(_ db: Database, _ user: User) throws {
        var user = user
        user.deviceID = nil
        user.platform = nil
        user.deviceToken = nil
        user.isDeleted = true
        try user.update(db)
        try unlinkAccount(db, user.id)
    }

    static func unlinkAccount(_ db: Database, _ userID: Int64?) throws {
        try db.execute(
            sql: "UPDATE accounts SET userID = NULL WHERE userID = ?",
            arguments: [userID]
        )
    }

    private static func hash(_ password: String, salt: Data) throws -> Data {
        let key = try KDF.Insecure.PBKDF2.deriveKey(
            from: Data(password.utf8),
            salt: salt,
            using: .sha256,
            outputByteCount: 32,
            unsafeUncheckedRounds: passwordHashRounds
        )
        return key.withUnsafeBytes { Data($0) }
    }
}
