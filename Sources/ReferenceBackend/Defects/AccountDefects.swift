internal import Foundation
internal import GRDB
internal import HTTPTypes
internal import Hummingbird
internal import NIOConcurrencyHelpers

/// Built-in defects of the reference backend in the links between accounts, users and phones.
extension Defect {
    static let accounts: [Defect] = [
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
            "deleted-user-notified",
            "a user is still notified of events after the deletion of the account",
            breaks: "A-11"
        ) {
            $0.notification.mayNotify = { _ in true }
        },
        Defect(
            "deleted-user-returns",
            "an event creates a deleted user again",
            breaks: "A-11"
        ) {
            $0.afterApplyingEvent { db, event in
                try db.execute(
                    sql: "UPDATE users SET isDeleted = 0 WHERE appUserID = ?",
                    arguments: [event.appUserID]
                )
            }
            // The user gets no notification, as before.
            $0.notification.mayNotify = {
                !$0.isDeleted && ($0.deviceToken != nil || $0.source == User.webhookSource)
            }
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
        Defect(
            "transfer-unlinks-account",
            "a transfer removes the account of the old owner",
            breaks: "S-29"
        ) {
            let correctRule = $0.identity.removeTransferredPurchases
            $0.identity.removeTransferredPurchases = { db, source, timestamp in
                try correctRule(db, source, timestamp)
                try Accounts.unlinkAccount(db, source)
            }
        },
    ]
}
