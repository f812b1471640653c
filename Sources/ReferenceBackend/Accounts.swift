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
        guard let row, Authenticity.isEqual(Array(attempt), Array(row.hash)) else {
            return .refused
        }
        return try await store.pool.write { db in
            let owned = try String.fetchOne(
                db,
                sql:
                    "SELECT users.appUserID FROM accounts JOIN users ON users.id = accounts.userID "
                    + "WHERE accounts.accountID = ?",
                arguments: [accountID]
            )
            if let owned { return .recovered(appUserID: owned) }
            guard let id = currentAppUserID, let user = try store.user(db, known: id),
                let userID = user.id, let proof = user.deviceToken, proof == deviceToken
            else { return .conflict }
            try db.execute(
                sql: "UPDATE accounts SET userID = ? WHERE accountID = ? "
                    + "AND NOT EXISTS (SELECT 1 FROM accounts WHERE userID = ?)",
                arguments: [userID, accountID, userID]
            )
            return db.changesCount == 1 ? .claimed(appUserID: user.appUserID) : .conflict
        }
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
