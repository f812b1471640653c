internal import Foundation
internal import GRDB
internal import HTTPTypes
internal import Hummingbird
internal import NIOConcurrencyHelpers

/// Built-in defects of the reference backend in logins, which claim or recover a user ID.
extension Defect {
    static let logins: [Defect] = [
        Defect("login-without-password", "a login accepts any password", breaks: "S-25") {
            $0.accounts.isCorrectPassword = { _, hash in hash != nil }
        },
        Defect(
            "login-tells-accounts",
            "a login with an unknown account gets status 404",
            breaks: "S-25"
        ) {
            let correctRule = $0.accounts.isCorrectPassword
            $0.accounts.isCorrectPassword = { computedHash, hash in
                guard hash != nil else { throw HTTPError(.notFound, message: "unknown account") }
                return try correctRule(computedHash, hash)
            }
        },
        Defect(
            "login-missing-password-500",
            "a login without a password gets status 500",
            breaks: "S-25"
        ) {
            $0.session.incompleteLoginResponse = {
                JSON.response(.internalServerError, ["error": "invalid_credentials"])
            }
        },
        Defect(
            "claim-without-proof",
            "an account can claim a user ID without its device token",
            breaks: "S-26"
        ) {
            $0.accounts.mayClaimUser = { _, _ in true }
        },
        Defect(
            "claim-owned-id",
            "an account can claim a user ID of another account",
            breaks: "S-26"
        ) {
            let correctRule = $0.accounts.linkAccount
            $0.accounts.linkAccount = { db, accountID, userID in
                try Accounts.unlinkAccount(db, userID)
                return try correctRule(db, accountID, userID)
            }
        },
        Defect("claim-nothing", "a login without a user ID claims the ID 'null'", breaks: "S-26") {
            let correctRule = $0.accounts.claimUser
            $0.accounts.claimUser = { accounts, db, login in
                login.currentAppUserID == nil
                    ? .claimed(appUserID: "null") : try correctRule(accounts, db, login)
            }
        },
        Defect(
            "claim-unknown-id",
            "an account can claim a user ID that was never registered",
            breaks: "S-26"
        ) {
            let correctRule = $0.accounts.claimUser
            $0.accounts.claimUser = { accounts, db, login in
                guard let id = login.currentAppUserID, try accounts.store.user(db, known: id) == nil
                else {
                    return try correctRule(accounts, db, login)
                }
                return .claimed(appUserID: id)
            }
        },
        Defect(
            "claim-answers-new-id",
            "a login that claims a user ID returns another, new ID",
            breaks: "S-26"
        ) {
            let correctRule = $0.accounts.claimUser
            $0.accounts.claimUser = { accounts, db, login in
                let loginResult = try correctRule(accounts, db, login)
                guard case .claimed = loginResult else { return loginResult }
                return .claimed(appUserID: UUID().uuidString)
            }
        },
        Defect(
            "claim-two-steps",
            "a login checks and claims a user ID in two steps",
            breaks: "S-27"
        ) {
            let rendezvous = Rendezvous()
            $0.accounts.completeLogin = { accounts, login in
                guard let id = login.currentAppUserID,
                    let user = try await accounts.userWithoutAccount(id)
                else {
                    return .conflict
                }
                await rendezvous.waitForSecondRequest(id)
                try await accounts.store.pool.write { db in
                    try db.execute(
                        sql: "UPDATE accounts SET userID = ? WHERE accountID = ?",
                        arguments: [user.id, login.accountID]
                    )
                }
                return .claimed(appUserID: user.appUserID)
            }
        },
        Defect(
            "owned-checked-before",
            "a login reads the account's user before its transaction",
            breaks: "S-27"
        ) {
            let rendezvous = Rendezvous()
            $0.accounts.completeLogin = { accounts, login in
                let store = accounts.store
                let ownedUser = try await store.pool.read { db in
                    try accounts.ownedUser(db, by: login.accountID)
                }
                await rendezvous.waitForSecondRequest(login.accountID)
                return try await store.pool.write { db in
                    if let ownedUser { return try accounts.recoverAccount(db, ownedUser, login) }
                    return try store.policies.accounts.claimUser(accounts, db, login)
                }
            }
        },
        Defect(
            "recover-drops-purchases",
            "a login to an existing account deletes the device's purchases",
            breaks: "S-28"
        ) {
            $0.accounts.inheritPurchases = { _, db, previous, _ in
                try db.execute(
                    sql: "DELETE FROM subscriptions WHERE userID = ?",
                    arguments: [previous]
                )
            }
        },
        Defect(
            "recover-keeps-purchases-apart",
            "a login to an existing account leaves the purchases with the device's user ID",
            breaks: "S-28"
        ) {
            $0.accounts.inheritPurchases = { _, _, _, _ in }
        },
        Defect(
            "recover-answers-current",
            "a login to an existing account returns the device's user ID",
            breaks: "S-28"
        ) {
            let correctRule = $0.accounts.completeLogin
            $0.accounts.completeLogin = { accounts, login in
                let loginResult = try await correctRule(accounts, login)
                guard case .recovered(let id) = loginResult else { return loginResult }
                return .recovered(appUserID: login.currentAppUserID ?? id)
            }
        },
        Defect(
            "recover-takes-unproven",
            "a login takes the purchases of any user ID, without proof of ownership",
            breaks: "S-28"
        ) {
            $0.accounts.mayInheritPurchases = { _, _ in true }
        },
        Defect(
            "recover-takes-owned",
            "a login moves the purchases of another account's user to its account",
            breaks: "S-28"
        ) {
            $0.accounts.hasAccount = { _, _ in false }
        },
        Defect(
            "refused-login-tells-ids",
            "a login with a wrong password gets another status for an unknown user ID",
            breaks: "S-25"
        ) {
            $0.accounts.refuseLogin = { accounts, login in
                let store = accounts.store
                let isKnown = try await store.pool.read { db in
                    try login.currentAppUserID.map { try store.user(db, known: $0) != nil } ?? true
                }
                return isKnown ? .refused : .conflict
            }
        },
    ]
}
