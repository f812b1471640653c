internal import Crypto
internal import CryptoExtras
internal import Foundation
internal import GRDB

/// Accounts that people log in to, and the two ways a login ends: it claims the device's
/// anonymous id, or it recovers the id that the account already has.
struct Accounts: Sendable {
    let store: Store

    struct Login: Sendable {
        let accountID: String
        let password: String
        /// The id on the device, and what proves that it is the device's own.
        let currentAppUserID: String?
        let deviceToken: String?
    }

    enum LoginResult: Sendable {
        case claimed(appUserID: String)
        case recovered(appUserID: String)
        /// Unknown account and wrong password alike, so that nobody learns which accounts exist.
        case refused
        /// The id on the device is somebody else's, unknown, or not proven to be the caller's.
        case conflict
    }

    struct Policy: Sendable {
        var isPassword = Accounts.isPassword
        var finish = Accounts.finish
        var claim = Accounts.claim
        var mayClaim = Accounts.isProven
        var bind = Accounts.bind
        var mayInherit = Accounts.isProven
        var inherit = Accounts.inherit
        var erase = Accounts.erase
    }

    /// So few because the accounts are made up and last as long as a case; who keeps people's passwords
    /// takes a hundred times as many.
    private static let rounds = 6_000

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

    /// Authenticates first; rows are touched only afterwards (S-25 to S-28).
    func login(_ login: Login) async throws -> LoginResult {
        let row = try await store.pool.read { db in
            try Row.fetchOne(
                db,
                sql: "SELECT salt, passwordHash FROM accounts WHERE accountID = ?",
                arguments: [login.accountID]
            ).map { (salt: $0["salt"] as Data, hash: $0["passwordHash"] as Data) }
        }
        // An unknown account costs the same time as a wrong password.
        let attempt = try Self.hash(login.password, salt: row?.salt ?? Data(count: 16))
        let policy = store.policies.accounts
        guard try policy.isPassword(attempt, row?.hash) else { return .refused }
        return try await policy.finish(self, login)
    }

    /// Without a hash there is no such account.
    static func isPassword(_ attempt: Data, _ hash: Data?) throws -> Bool {
        guard let hash else { return false }
        return Authenticity.isEqual(Array(attempt), Array(hash))
    }

    /// One transaction looks and decides, so of two logins at once the second sees the first (S-27).
    static func finish(_ accounts: Accounts, _ login: Login) async throws -> LoginResult {
        try await accounts.store.pool.write { db in
            if let owned = try accounts.owned(db, by: login.accountID) {
                return try accounts.recover(db, owned, login)
            }
            return try accounts.store.policies.accounts.claim(accounts, db, login)
        }
    }

    func owned(_ db: Database, by accountID: String) throws -> User? {
        try User.fetchOne(
            db,
            sql: "SELECT users.* FROM accounts JOIN users ON users.id = accounts.userID "
                + "WHERE accounts.accountID = ?",
            arguments: [accountID]
        )
    }

    /// Whoever shows the token that the registration handed out has the id.
    static func isProven(_ user: User, by deviceToken: String?) -> Bool {
        user.deviceToken != nil && user.deviceToken == deviceToken
    }

    // MARK: Claiming

    /// The id must exist, be its device's own, and belong to nobody (S-26).
    static func claim(
        _ accounts: Accounts,
        _ db: Database,
        _ login: Login
    ) throws -> LoginResult {
        let policy = accounts.store.policies.accounts
        guard let id = login.currentAppUserID, let user = try accounts.store.user(db, known: id),
            let userID = user.id, policy.mayClaim(user, login.deviceToken),
            try policy.bind(db, login.accountID, userID)
        else { return .conflict }
        return .claimed(appUserID: user.appUserID)
    }

    /// The update decides, so of two accounts one wins (S-27).
    static func bind(_ db: Database, _ accountID: String, to userID: Int64) throws -> Bool {
        try db.execute(
            sql: "UPDATE accounts SET userID = ? WHERE accountID = ? "
                + "AND NOT EXISTS (SELECT 1 FROM accounts WHERE userID = ?)",
            arguments: [userID, accountID, userID]
        )
        return db.changesCount == 1
    }

    // MARK: Recovering

    /// What the device bought before the login goes with the person (S-28); an id that somebody owns
    /// stays as it is.
    func recover(_ db: Database, _ account: User, _ login: Login) throws -> LoginResult {
        let policy = store.policies.accounts
        if let id = login.currentAppUserID, let previous = try store.user(db, known: id),
            previous.id != account.id, policy.mayInherit(previous, login.deviceToken),
            let previousID = previous.id, let accountID = account.id,
            !(try isOwned(db, previousID))
        {
            try policy.inherit(store, db, previousID, accountID)
        }
        return .recovered(appUserID: account.appUserID)
    }

    static func inherit(
        _ store: Store,
        _ db: Database,
        from previous: Int64,
        to account: Int64
    ) throws {
        try store.move(db, from: previous, to: account)
    }

    func isOwned(_ db: Database, _ userID: Int64) throws -> Bool {
        try Bool.fetchOne(
            db,
            sql: "SELECT EXISTS(SELECT 1 FROM accounts WHERE userID = ?)",
            arguments: [userID]
        ) ?? false
    }

    /// The account that owns a user; whoever has none is anonymous (S-29).
    func owner(_ db: Database, of userID: Int64?) throws -> String? {
        try String.fetchOne(
            db,
            sql: "SELECT accountID FROM accounts WHERE userID = ?",
            arguments: [userID]
        )
    }

    // MARK: Leaving

    /// Erases what names the person or the phone; what was bought stays, because stores and
    /// RevenueCat keep it too.
    static func erase(_ db: Database, _ user: User) throws {
        var user = user
        user.deviceID = nil
        user.platform = nil
        user.deviceToken = nil
        try user.update(db)
        try unlink(db, user.id)
    }

    static func unlink(_ db: Database, _ userID: Int64?) throws {
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
            unsafeUncheckedRounds: rounds
        )
        return key.withUnsafeBytes { Data($0) }
    }
}
