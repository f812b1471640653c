internal import Foundation
internal import GRDB
internal import Hummingbird

/// The body of `POST /api/user/register`, which creates or updates a user.
///
/// Missing values never replace known values, and times come from the server's clock (S-22).
struct Registration: Decodable, Sendable {
    var appUserId: String?
    var deviceId: String?
    var platform: String?
    var source: String?
    var timestamp: String?

    struct Policy: Sendable {
        var invalidRegistrationResponse = Registration.invalidRegistrationResponse
        var performRegistration = Registration.performRegistration
        var upsert = Registration.upsert
        var update = Registration.update
        var token = Registration.token
    }

    static func respond(to request: Request, _ store: Store) async throws -> Response {
        let policy = store.policies.registration
        guard let registration: Registration = try await JSON.decode(request),
            let id = registration.appUserId, store.isValidUserID(id),
            let device = registration.deviceId, !device.isEmpty
        else { return policy.invalidRegistrationResponse() }
        let token = try await policy.performRegistration(store, registration, id)
        var responseFields: [String: Any] = ["appUserId": id]
        if let token { responseFields["deviceToken"] = token }
        return JSON.response(.ok, responseFields)
    }

    /// Returns the response to an invalid registration: a client error, because the app caused it
    /// (S-23).
    static func invalidRegistrationResponse() -> Response {
        JSON.response(.badRequest, ["error": "invalid_registration"])
    }

    /// Stores a registration in one transaction, so that two concurrent registrations create one
    /// user (S-22).
    static func performRegistration(
        _ store: Store,
        _ registration: Registration,
        _ id: String
    ) async throws -> String? {
        try await store.pool.write { db in
            try store.policies.registration.upsert(store, db, registration, id)
        }
    }

    /// Stores a registration.
    ///
    /// Returns the device token if the response must contain it.
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
        user.isDeleted = false
        try user.update(db)
        return policy.token(known, user)
    }

    /// Updates a known user by a registration, and keeps the user's source, device and platform
    /// (S-24).
    static func update(_ user: inout User, by registration: Registration) {
        user.deviceID = user.deviceID ?? registration.deviceId
        // The platform of another device does not replace this device's platform.
        if user.deviceID == registration.deviceId {
            user.platform = registration.platform ?? user.platform
        }
        user.lastSeenAt = max(user.lastSeenAt, WallClock.now())
    }

    /// Returns the device token for the first registration only.
    ///
    /// A second device that registers the user ID does not prove that it owns the ID (S-24).
    static func token(_ known: User?, _ user: User) -> String? {
        known?.deviceToken == nil ? user.deviceToken : nil
    }
}
