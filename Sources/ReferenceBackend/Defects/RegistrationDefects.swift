internal import Foundation
internal import GRDB
internal import HTTPTypes
internal import Hummingbird
internal import NIOConcurrencyHelpers

/// Built-in defects of the reference backend in registrations.
extension Defect {
    static let registrations: [Defect] = [
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
                // A time in another format counts as missing.
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
    ]
}
