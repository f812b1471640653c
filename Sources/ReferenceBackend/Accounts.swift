internal import Crypto
internal import CryptoExtras
internal import Foundation
internal import GRDB

/// Accounts that people log in to, and the two ways a login ends: it claims the device's
/// anonymous id, or it recovers the id that the account already has.
struct Accounts: Sendable {
    let store: Store

    enum LoginResult: Sendable {
        case claimed(appUserID: String)
        case recovered(appUserID: String)
        /// Unknown account and wrong password alike, so that nobody learns which accounts exist.
        case refused
        /// Only a defect tells that there is no such account.
        case unknown
        /// The id on the device is somebody else's, unknown, or not proven to be the caller's.
        case conflict
    }

    private static let rounds = 60_000

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
    func login(
        _ accountID: String,
        password: String,
        currentAppUserID: String?,
        deviceToken: String?
    ) async throws -> LoginResult {
        let row = try await store.pool.read { db in
            try Row.fetchOne(
                db,
                sql: "SELECT salt, passwordHash FROM accounts WHERE accountID = ?",
                arguments: [accountID]
            ).map { (salt: $0["salt"] as Data, hash: $0["passwordHash"] as Data) }
        }
        // An unknown account costs the same time as a wrong password.
        let attempt = try Self.hash(password, salt: row?.salt ?? Data(count: 16))
        // Defect: login-tells-accounts, login-without-password
        if row == nil, store.defects.contains(.loginTellsAccounts) { return .unknown }
        guard let row,
            Authenticity.isEqual(Array(attempt), Array(row.hash))
                || store.defects.contains(.loginWithoutPassword)
        else { return .refused }
        // Defect: claim-two-steps
        if store.defects.contains(.claimTwoSteps) {
            return try await claimInTwoSteps(accountID, currentAppUserID)
        }
        // Defect: owned-checked-before
        let isEarly = store.defects.contains(.ownedCheckedBefore)
        let early = isEarly ? try await store.pool.read { db in try owned(db, by: accountID) } : nil
        if isEarly { try await Task.sleep(for: .milliseconds(300)) }
        return try await store.pool.write { db in
            if let owned = isEarly ? early : try owned(db, by: accountID) {
                try adopt(db, currentAppUserID, deviceToken, into: owned)
                // Defect: recover-answers-current
                let answersCurrent = store.defects.contains(.recoverAnswersCurrent)
                return .recovered(
                    appUserID: answersCurrent
                        ? currentAppUserID ?? owned.appUserID : owned.appUserID
                )
            }
            return try claim(db, accountID, currentAppUserID, deviceToken)
        }
    }

    private func owned(_ db: Database, by accountID: String) throws -> User? {
        try User.fetchOne(
            db,
            sql: "SELECT users.* FROM accounts JOIN users ON users.id = accounts.userID "
                + "WHERE accounts.accountID = ?",
            arguments: [accountID]
        )
    }

    /// The id must exist, be its device's own, and belong to nobody; the update decides, so of two
    /// accounts one wins (S-26, S-27).
    private func claim(
        _ db: Database,
        _ accountID: String,
        _ id: String?,
        _ deviceToken: String?
    ) throws -> LoginResult {
        // Defect: claim-unknown-id
        if store.defects.contains(.claimUnknownID), let id, try store.user(db, known: id) == nil {
            return .claimed(appUserID: id)
        }
        // Defect: claim-nothing
        guard let id, let user = try store.user(db, known: id), let userID = user.id else {
            return id == nil && store.defects.contains(.claimNothing)
                ? .claimed(appUserID: "null") : .conflict
        }
        // Defect: claim-without-proof
        let isProven = user.deviceToken != nil && user.deviceToken == deviceToken
        guard isProven || store.defects.contains(.claimWithoutProof) else { return .conflict }
        // Defect: claim-owned-id
        if store.defects.contains(.claimOwnedID) {
            try db.execute(
                sql: "UPDATE accounts SET userID = NULL WHERE userID = ?",
                arguments: [userID]
            )
        }
        try db.execute(
            sql: "UPDATE accounts SET userID = ? WHERE accountID = ? "
                + "AND NOT EXISTS (SELECT 1 FROM accounts WHERE userID = ?)",
            arguments: [userID, accountID, userID]
        )
        // Defect: claim-answers-new-id
        let answer =
            store.defects.contains(.claimAnswersNewID) ? UUID().uuidString : user.appUserID
        return db.changesCount == 1 ? .claimed(appUserID: answer) : .conflict
    }

    /// What the device bought before the login goes with the person (S-28); an id that somebody owns
    /// stays as it is.
    private func adopt(
        _ db: Database,
        _ id: String?,
        _ deviceToken: String?,
        into account: User
    ) throws {
        // Defect: recover-drops-purchases
        guard let id, let previous = try store.user(db, known: id), previous.id != account.id,
            // Defect: recover-takes-unproven
            previous.deviceToken != nil && previous.deviceToken == deviceToken
                || store.defects.contains(.recoverTakesUnproven),
            let previousID = previous.id, let accountID = account.id,
            !(try isOwned(db, previousID))
        else { return }
        if store.defects.contains(.recoverDropsPurchases) {
            try db.execute(
                sql: "DELETE FROM subscriptions WHERE userID = ?",
                arguments: [previousID]
            )
            return
        }
        try store.move(db, from: previousID, to: accountID)
    }

    private func isOwned(_ db: Database, _ userID: Int64) throws -> Bool {
        try Bool.fetchOne(
            db,
            sql: "SELECT EXISTS(SELECT 1 FROM accounts WHERE userID = ?)",
            arguments: [userID]
        ) ?? false
    }

    /// Only defects take an id away from its account.
    func unlink(_ db: Database, _ userID: Int64?) throws {
        try db.execute(
            sql: "UPDATE accounts SET userID = NULL WHERE userID = ?",
            arguments: [userID]
        )
    }

    /// The account that owns a user; whoever has none is anonymous (S-29).
    func owner(_ db: Database, of userID: Int64?) throws -> String? {
        try String.fetchOne(
            db,
            sql: "SELECT accountID FROM accounts WHERE userID = ?",
            arguments: [userID]
        )
    }

    /// Looks, waits and writes; only a defect does.
    private func claimInTwoSteps(_ accountID: String, _ id: String?) async throws -> LoginResult {
        let user = try await store.pool.read { db in
            try id.flatMap { try store.user(db, known: $0) }
        }
        guard let user, let userID = user.id,
            !(try await store.pool.read { db in try isOwned(db, userID) })
        else { return .conflict }
        try await Task.sleep(for: .milliseconds(300))
        try await store.pool.write { db in
            try db.execute(
                sql: "UPDATE accounts SET userID = ? WHERE accountID = ?",
                arguments: [userID, accountID]
            )
        }
        return .claimed(appUserID: user.appUserID)
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
