internal import Foundation
internal import GRDB
internal import HTTPTypes
internal import Hummingbird
internal import NIOConcurrencyHelpers

/// Built-in defects of the reference backend in registrations, logins and sessions.
extension Defect {
    static let accounts: [Defect] = [
        Defect(
            "register-resets",
            "a later registration deletes the purchases of earlier events",
            breaks: "S-21",
            "S-22",
            "A-03",
            "A-06",
            "A-08"
        ) {
            $0.beforeStoringRegistration { store, db, registration, id in
                guard let userID = try store.user(db, known: id)?.id else { return }
                try db.execute(
                    sql: "DELETE FROM subscriptions WHERE userID = ?",
                    arguments: [userID]
                )
            }
        },
        Defect(
            "register-forgets-owner",
            "a second registration removes the account's link to its user",
            breaks: "S-22"
        ) {
            $0.beforeStoringRegistration { store, db, _, id in
                if let user = try store.user(db, known: id) {
                    try Accounts.unlinkAccount(db, user.id)
                }
            }
        },
        Defect(
            "phone-has-one-user",
            "a new user of a phone deletes the previous user's purchases",
            breaks: "A-05"
        ) {
            $0.beforeStoringRegistration { store, db, registration, id in
                guard try store.user(db, known: id) == nil else { return }
                try db.execute(
                    sql: "DELETE FROM subscriptions WHERE userID IN "
                        + "(SELECT id FROM users WHERE deviceID = ?)",
                    arguments: [registration.deviceId]
                )
            }
        },
        Defect(
            "device-is-identity",
            "a new user of a phone gets the identity of the previous user",
            breaks: "A-05"
        ) {
            let correctRule = $0.registration.upsert
            $0.registration.upsert = { store, db, registration, id in
                let owner = try User.fetchOne(
                    db,
                    sql: "SELECT * FROM users WHERE deviceID = ? ORDER BY id DESC",
                    arguments: [registration.deviceId]
                )
                guard try store.user(db, known: id) == nil, let ownerID = owner?.id else {
                    return try correctRule(store, db, registration, id)
                }
                try store.linkAlias(db, id, to: ownerID)
                return nil
            }
        },
        Defect(
            "invalid-registration-500",
            "an invalid registration gets status 500",
            breaks: "S-23"
        ) {
            $0.registration.invalidRegistrationResponse = {
                JSON.response(.internalServerError, ["error": "invalid_registration"])
            }
        },
        Defect(
            "register-nulls",
            "a registration without a platform erases the stored platform",
            breaks: "S-22"
        ) {
            $0.changeRegistrationUpdate { user, registration in
                user.platform = registration.platform
            }
        },
        Defect(
            "register-believes-clock",
            "the phone's clock determines the stored time of the last visit",
            breaks: "S-22"
        ) {
            $0.changeRegistrationUpdate { user, registration in
                let claimed = registration.timestamp.flatMap { try? Date($0, strategy: .iso8601) }
                user.lastSeenAt =
                    claimed.map { Int64($0.timeIntervalSince1970 * 1000) } ?? WallClock.now()
            }
        },
        Defect(
            "register-loses-source",
            "a later registration overwrites the user's source",
            breaks: "S-21",
            "S-24"
        ) {
            $0.changeRegistrationUpdate { user, registration in
                user.source = registration.source ?? user.source
            }
        },
        Defect(
            "register-takes-device",
            "a later registration replaces the user's device ID",
            breaks: "S-24"
        ) {
            $0.changeRegistrationUpdate { user, registration in
                user.deviceID = registration.deviceId
            }
        },
        Defect(
            "register-hands-out-token",
            "every registration, not only the first, returns the device token",
            breaks: "S-24"
        ) {
            $0.registration.token = { _, user in user.deviceToken }
        },
        Defect(
            "register-forgets-proof",
            "a second registration creates a new device token, but its response does not contain it",
            breaks: "S-22"
        ) {
            $0.changeRegistrationUpdate { user, _ in user.deviceToken = nil }
        },
        Defect(
            "register-check-then-insert",
            "a registration reads and inserts the user in two transactions",
            breaks: "S-22"
        ) {
            let correctRule = $0.registration.performRegistration
            let rendezvous = Rendezvous()
            $0.registration.performRegistration = { store, registration, id in
                let isKnown = try await store.pool.read { db in try store.user(db, known: id) != nil
                }
                if !isKnown {
                    await rendezvous.waitForSecondRequest(id)
                    try await store.pool.write { db in
                        _ = try store.insert(db, id, source: registration.source ?? "new")
                    }
                }
                return try await correctRule(store, registration, id)
            }
        },
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
            "anonymous-by-source",
            "the anonymous flag of a user is derived from the user's source",
            breaks: "S-29"
        ) {
            $0.probes.isAnonymous = { user, _ in user.source != "login" }
        },
        Defect(
            "registered-counts-as-account",
            "a registered user is treated as a user with an account",
            breaks: "S-29"
        ) {
            $0.probes.isAnonymous = { user, _ in user.source == User.webhookSource }
        },
        Defect(
            "webhook-clears-owner",
            "an event removes the account's link to its user",
            breaks: "S-29"
        ) {
            $0.afterApplyingEvent { db, event in
                guard event.concernsPurchase else { return }
                try db.execute(
                    sql: "UPDATE accounts SET userID = NULL WHERE userID = "
                        + "(SELECT userID FROM aliases WHERE alias = ?)",
                    arguments: [event.appUserID]
                )
            }
        },
        Defect(
            "deletion-keeps-phone",
            "a deleted account keeps the data of its phone",
            breaks: "A-11"
        ) {
            $0.accounts.erasePersonalData = { _, _ in }
        },
        Defect(
            "recovered-renewal-lost",
            "events for a device's old user ID are lost after a login",
            breaks: "S-28"
        ) {
            let correctRule = $0.accounts.inheritPurchases
            let retiredUserIDs = NIOLockedValueBox<Set<Int64>>([])
            $0.accounts.inheritPurchases = { store, db, previous, account in
                try correctRule(store, db, previous, account)
                retiredUserIDs.withLockedValue { _ = $0.insert(previous) }
            }
            $0.afterApplyingEvent { db, event in
                guard let userID = try Defect.userID(db, event),
                    retiredUserIDs.withLockedValue({ $0.contains(userID) })
                else { return }
                try db.execute(
                    sql: "DELETE FROM subscriptions WHERE userID = ?",
                    arguments: [userID]
                )
            }
        },
        Defect(
            "login-again-conflicts",
            "a login that sends the account's own user ID is refused",
            breaks: "A-08"
        ) {
            let correctRule = $0.accounts.completeLogin
            $0.accounts.completeLogin = { accounts, login in
                let hasAccount = try await accounts.store.pool.read { db in
                    let user = try login.currentAppUserID.flatMap {
                        try accounts.store.user(db, known: $0)
                    }
                    return try accounts.owner(db, of: user?.id) != nil
                }
                return hasAccount ? .conflict : try await correctRule(accounts, login)
            }
        },
        Defect(
            "account-known-by-device",
            "a new user on a phone with an account becomes the account's user",
            breaks: "S-29"
        ) {
            let correctRule = $0.registration.upsert
            $0.registration.upsert = { store, db, registration, id in
                let owner = try User.fetchOne(
                    db,
                    sql: "SELECT users.* FROM users JOIN accounts ON accounts.userID = users.id "
                        + "WHERE deviceID = ?",
                    arguments: [registration.deviceId]
                )
                guard try store.user(db, known: id) == nil, let ownerID = owner?.id else {
                    return try correctRule(store, db, registration, id)
                }
                try store.linkAlias(db, id, to: ownerID)
                return nil
            }
        },
        Defect(
            "brake-for-known-accounts",
            "the limit of password attempts reveals which accounts exist",
            breaks: "S-25"
        ) {
            let failedAttemptsByHash = NIOLockedValueBox<[Data: Int]>([:])
            let correctRule = $0.accounts.isCorrectPassword
            $0.accounts.isCorrectPassword = { computedHash, hash in
                guard let hash else { return try correctRule(computedHash, hash) }
                guard failedAttemptsByHash.withLockedValue({ $0[hash, default: 0] }) < 8 else {
                    throw HTTPError(.tooManyRequests, message: "too many attempts")
                }
                let isCorrect = try correctRule(computedHash, hash)
                if !isCorrect { failedAttemptsByHash.withLockedValue { $0[hash, default: 0] += 1 } }
                return isCorrect
            }
        },
        Defect(
            "registration-never-fails",
            "a registration that cannot be stored gets no response",
            breaks: "S-33"
        ) {
            let correctRule = $0.registration.performRegistration
            $0.registration.performRegistration = { store, registration, id in
                do {
                    return try await correctRule(store, registration, id)
                } catch {
                    for await _ in AsyncStream<Void>.makeStream().stream {}
                    throw error
                }
            }
        },
        Defect(
            "webhook-user-locked-out",
            "the first registration of a user that an event created gets no token",
            breaks: "S-21"
        ) {
            $0.registration.token = { known, user in known == nil ? user.deviceToken : nil }
        },
        Defect(
            "proof-of-anybody",
            "any issued device token proves the ownership of any user ID",
            breaks: "S-26"
        ) {
            let correctRule = $0.registration.token
            let issuedTokens = NIOLockedValueBox<Set<String>>([])
            $0.registration.token = { known, user in
                let token = correctRule(known, user)
                if let token { issuedTokens.withLockedValue { _ = $0.insert(token) } }
                return token
            }
            $0.accounts.mayClaimUser = { user, token in
                guard user.deviceToken != nil, let token else { return false }
                return issuedTokens.withLockedValue { $0.contains(token) }
            }
        },
        Defect(
            "recovered-again",
            "a login takes purchases that already moved to another account",
            breaks: "S-28"
        ) {
            let correctRule = $0.accounts.inheritPurchases
            let heirsByPreviousUserID = NIOLockedValueBox<[Int64: Int64]>([:])
            $0.accounts.inheritPurchases = { store, db, previous, account in
                if let heir = heirsByPreviousUserID.withLockedValue({ $0[previous] }),
                    heir != account
                {
                    try store.movePurchases(db, from: heir, to: account)
                }
                try correctRule(store, db, previous, account)
                heirsByPreviousUserID.withLockedValue { $0[previous] = account }
            }
        },
        Defect(
            "second-phone-retires",
            "events for a user ID are lost after a second phone registers it",
            breaks: "A-03",
            "A-04"
        ) {
            $0.ignoreEventsAfterRegistration { known, registration in
                known?.deviceID.map { $0 != registration.deviceId } ?? false
            }
        },
        Defect(
            "password-reset-retires",
            "the events of a user after a password reset are lost",
            breaks: "A-12"
        ) {
            $0.ignoreEventsAfterRegistration { _, registration in
                registration.source == "forgot-password"
            }
        },
        Defect(
            "deletion-takes-what-moved",
            "the deletion of an account deletes other users' transferred purchases",
            breaks: "A-11"
        ) {
            let correctRule = $0.accounts.erasePersonalData
            $0.accounts.erasePersonalData = { db, user in
                try correctRule(db, user)
                try db.execute(
                    sql: "DELETE FROM subscriptions WHERE userID IN "
                        + "(SELECT target FROM transfers WHERE source = ?)",
                    arguments: [user.id]
                )
            }
        },
        Defect(
            "deletion-closes-the-store",
            "after an account's deletion, events are acknowledged but not stored",
            breaks: "S-04"
        ) {
            let correctRule = $0.accounts.erasePersonalData
            let isAnyAccountErased = NIOLockedValueBox(false)
            $0.accounts.erasePersonalData = { db, user in
                try correctRule(db, user)
                isAnyAccountErased.withLockedValue { $0 = true }
            }
            $0.ignoreEvents { _ in isAnyAccountErased.withLockedValue { $0 } }
        },
        Defect(
            "second-device-relabels",
            "a second phone overwrites the stored platform of the first phone",
            breaks: "S-24"
        ) {
            $0.changeRegistrationUpdate { $0.platform = $1.platform ?? $0.platform }
        },
    ]
}
