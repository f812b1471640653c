internal import Foundation
internal import GRDB
internal import Hummingbird

/// `POST /api/user/register`: an upsert that never replaces what is known by nothing, and keeps the
/// server's time (S-22).
struct Registration: Decodable, Sendable {
    var appUserId: String?
    var deviceId: String?
    var platform: String?
    var source: String?
    var timestamp: String?

    struct Policy: Sendable {
        var invalid = Registration.invalid
        var perform = Registration.perform
        var upsert = Registration.upsert
        var update = Registration.update
        var token = Registration.token
    }

    static func respond(to request: Request, _ store: Store) async throws -> Response {
        let policy = store.policies.registration
        guard let registration: Registration = try await JSON.decode(request),
            let id = registration.appUserId, store.isValid(id),
            let device = registration.deviceId, !device.isEmpty
        else { return policy.invalid() }
        let token = try await policy.perform(store, registration, id)
        var answer: [String: Any] = ["appUserId": id]
        if let token { answer["deviceToken"] = token }
        return JSON.response(.ok, answer)
    }

    /// The app's mistake, and not the server's (S-23).
    static func invalid() -> Response {
        JSON.response(.badRequest, ["error": "invalid_registration"])
    }

    /// One transaction looks and writes, so two registrations at once are one user (S-22).
    static func perform(
        _ store: Store,
        _ registration: Registration,
        _ id: String
    ) async throws -> String? {
        try await store.pool.write { db in
            try store.policies.registration.upsert(store, db, registration, id)
        }
    }

    /// The token to hand out, once.
    static func upsert(
        _ store: Store,
        _ db: Database,
        _ registration: Registration,
        _ id: String
    ) throws -> String? {
        let policy = store.policies.registration
        let known = try store.user(db, known: id)
        var user = try known ?? store.insert(db, id, source: registration.source ?? "new")
        policy.update(&user, registration)
        user.deviceToken = user.deviceToken ?? UUID().uuidString
        try user.update(db)
        return policy.token(known, user)
    }

    /// What is known stays: where the user came from, whose device it was, what it runs on (S-24).
    static func update(_ user: inout User, by registration: Registration) {
        user.deviceID = user.deviceID ?? registration.deviceId
        // What another device runs on says nothing of this one.
        if user.deviceID == registration.deviceId {
            user.platform = registration.platform ?? user.platform
        }
        user.lastSeenAt = max(user.lastSeenAt, WallClock.now())
    }

    /// It goes to the first registration alone: a second device proves nothing by asking (S-24).
    static func token(_ known: User?, _ user: User) -> String? {
        known?.deviceToken == nil ? user.deviceToken : nil
    }
}
