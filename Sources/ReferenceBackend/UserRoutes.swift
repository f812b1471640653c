internal import Foundation
internal import GRDB
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// Registration, login, the protected route, reconciliation, and the read-only probes that tests
/// look through.
struct UserRoutes: Sendable {
    let store: Store
    let accounts: Accounts
    let verifier: TokenVerifier
    let processor: WebhookProcessor

    func add(to router: Router<BasicRequestContext>) {
        router.post("api/user/register") { request, _ in try await register(request) }
        router.post("api/user/login") { request, _ in try await login(request) }
        router.get("api/me") { request, _ in await me(request) }
        router.delete("api/me") { request, _ in try await deleteAccount(request) }
        router.post("admin/reconcile") { _, _ in
            try await processor.reconcile()
            return JSON.response(.ok, ["reconciled": true])
        }
        router.post("test/accounts") { request, _ in try await createAccount(request) }
        router.get("test/users/:id") { _, context in try await user(context) }
        router.get("test/subscriptions/:id") { _, context in try await subscription(context) }
    }

    private struct Registration: Decodable {
        var appUserId: String?
        var deviceId: String?
        var platform: String?
        var source: String?
        var timestamp: String?
    }

    /// An upsert that never replaces what is known by nothing, and keeps the server's time (S-22).
    private func register(_ request: Request) async throws -> Response {
        guard let body: Registration = try await JSON.decode(request),
            let id = body.appUserId, store.isValid(id), let device = body.deviceId, !device.isEmpty
        else {
            // Defect: invalid-registration-fails
            let fails = store.defects.contains(.invalidRegistrationFails)
            return JSON.response(
                fails ? .internalServerError : .badRequest,
                ["error": "invalid_registration"]
            )
        }
        // Defect: register-check-then-insert
        if store.defects.contains(.registerCheckThenInsert) {
            let isKnown = try await store.pool.read { db in try store.user(db, known: id) != nil }
            try await Task.sleep(for: .milliseconds(50))
            if !isKnown {
                try await store.pool.write { db in
                    _ = try store.insert(db, id, source: body.source ?? "new")
                }
            }
        }
        let token = try await store.pool.write { db in
            try upsert(db, body, id, device)
        }
        var answer: [String: Any] = ["appUserId": id]
        // The token goes to the first registration alone; a second device proves nothing by asking.
        if let token { answer["deviceToken"] = token }
        return JSON.response(.ok, answer)
    }

    /// The token to hand out, once.
    private func upsert(
        _ db: Database,
        _ body: Registration,
        _ id: String,
        _ device: String
    ) throws -> String? {
        let defects = store.defects
        let known = try store.user(db, known: id)
        // Defect: register-resets
        if let known, defects.contains(.registerResets) {
            try db.execute(
                sql: "DELETE FROM subscriptions WHERE userID = ?",
                arguments: [known.id]
            )
        }
        // Defect: register-forgets-owner
        if let known, defects.contains(.registerForgetsOwner) { try accounts.unlink(db, known.id) }
        // Defect: phone-has-one-user
        if known == nil, defects.contains(.phoneHasOneUser) {
            try db.execute(
                sql: "DELETE FROM subscriptions WHERE userID IN "
                    + "(SELECT id FROM users WHERE deviceID = ?)",
                arguments: [device]
            )
        }
        // Defect: device-is-identity
        if known == nil, defects.contains(.deviceIsIdentity),
            let owner = try User.fetchOne(
                db,
                sql: "SELECT * FROM users WHERE deviceID = ? ORDER BY id DESC",
                arguments: [device]
            ), let ownerID = owner.id
        {
            try store.link(db, id, to: ownerID)
            return nil
        }
        var user = try known ?? store.insert(db, id, source: body.source ?? "new")
        // Defect: register-loses-source, register-nulls, register-takes-device
        if defects.contains(.registerLosesSource) { user.source = body.source ?? user.source }
        user.deviceID =
            defects.contains(.registerTakesDevice) ? device : user.deviceID ?? device
        user.platform = body.platform ?? (defects.contains(.registerNulls) ? nil : user.platform)
        user.deviceToken = user.deviceToken ?? UUID().uuidString
        // Defect: register-believes-clock
        let claimed = body.timestamp.flatMap { try? Date($0, strategy: .iso8601) }
        user.lastSeenAt =
            defects.contains(.registerBelievesClock)
            ? claimed.map { Int64($0.timeIntervalSince1970 * 1000) } ?? Store.now()
            : max(user.lastSeenAt, Store.now())
        try user.update(db)
        // Defect: register-hands-out-token
        return known?.deviceToken == nil || defects.contains(.registerHandsOutToken)
            ? user.deviceToken : nil
    }

    private func login(_ request: Request) async throws -> Response {
        struct Body: Decodable {
            struct Credentials: Decodable {
                var password: String?
            }
            var accountId: String?
            var currentAppUserId: String?
            var deviceToken: String?
            var credentials: Credentials?
        }
        guard let body: Body = try await JSON.decode(request), let account = body.accountId,
            let password = body.credentials?.password
        else {
            // Defect: login-missing-password-500
            let fails = store.defects.contains(.loginMissingPasswordFails)
            return JSON.response(
                fails ? .internalServerError : .unauthorized,
                ["error": "invalid_credentials"]
            )
        }
        let result = try await accounts.login(
            account,
            password: password,
            currentAppUserID: body.currentAppUserId,
            deviceToken: body.deviceToken
        )
        return switch result {
        case .claimed(let id): JSON.response(.ok, ["action": "claimed", "appUserId": id])
        case .recovered(let id): JSON.response(.ok, ["action": "recovered", "appUserId": id])
        case .refused: JSON.response(.unauthorized, ["error": "invalid_credentials"])
        case .unknown: JSON.response(.notFound, ["error": "unknown_account"])
        case .conflict: JSON.response(.conflict, ["error": "id_not_claimable"])
        }
    }

    /// Who the caller is, by the ID token in `Authorization` (F-01 to F-10).
    private func me(_ request: Request) async -> Response {
        let value = request.headers[.authorization] ?? ""
        // Defect: token-missing-fails
        if value.isEmpty, store.defects.contains(.tokenMissingFails) {
            return JSON.response(.internalServerError, ["error": "internal"])
        }
        guard value.hasPrefix("Bearer ") else {
            return JSON.response(.unauthorized, ["error": "no_token"])
        }
        let token = String(value.dropFirst(7))
        // Defect: token-malformed-500
        if token.count(where: { $0 == "." }) != 2, store.defects.contains(.tokenMalformedFails) {
            return JSON.response(.internalServerError, ["error": "internal"])
        }
        switch await verifier.verify(token) {
        // Defect: token-anonymous-accepted
        case .accepted(_, isAnonymous: true)
        where !store.defects.contains(.tokenAnonymousAccepted):
            return JSON.response(.forbidden, ["error": "account_required"])
        case .accepted(let subject, _): return JSON.response(.ok, ["appUserId": subject])
        case .refused: return JSON.response(.unauthorized, ["error": "invalid_token"])
        case .unavailable:
            return JSON.response(.serviceUnavailable, ["error": "keys_unavailable"])
        }
    }

    /// Erases what names the person or the phone; what was bought stays, because stores and
    /// RevenueCat keep it too.
    private func deleteAccount(_ request: Request) async throws -> Response {
        let value = request.headers[.authorization] ?? ""
        guard value.hasPrefix("Bearer "),
            case .accepted(let subject, _) = await verifier.verify(String(value.dropFirst(7)))
        else { return JSON.response(.unauthorized, ["error": "invalid_token"]) }
        // Defect: deletion-keeps-phone
        if store.defects.contains(.deletionKeepsPhone) {
            return JSON.response(.ok, ["deleted": true])
        }
        try await store.pool.write { db in
            guard var user = try store.user(db, known: subject) else { return }
            user.deviceID = nil
            user.platform = nil
            user.deviceToken = nil
            try user.update(db)
            try accounts.unlink(db, user.id)
        }
        return JSON.response(.ok, ["deleted": true])
    }

    private func createAccount(_ request: Request) async throws -> Response {
        struct Body: Decodable {
            var accountId: String
            var password: String
        }
        guard let body: Body = try await JSON.decode(request) else {
            return JSON.response(.badRequest, ["error": "invalid_account"])
        }
        try await accounts.create(body.accountId, password: body.password)
        return JSON.response(.created, ["accountId": body.accountId])
    }

    private func user(_ context: BasicRequestContext) async throws -> Response {
        let id = JSON.pathID(context)
        let found = try await store.pool.read { db -> (User, String?)? in
            guard let user = try store.user(db, known: id) else { return nil }
            return (user, try accounts.owner(db, of: user.id))
        }
        guard let (user, owner) = found else {
            return JSON.response(.notFound, ["error": "unknown_user"])
        }
        // Defect: anonymous-by-source
        // Defect: registered-counts-as-account
        let isAnonymous =
            store.defects.contains(.anonymousBySource)
            ? user.source != "login"
            : store.defects.contains(.registeredCountsAsAccount)
                ? user.source == User.safetyNet : owner == nil
        return JSON.response(
            .ok,
            [
                "appUserId": user.appUserID, "source": user.source,
                "platform": user.platform ?? NSNull(), "deviceId": user.deviceID ?? NSNull(),
                "createdAt": user.createdAt, "lastSeenAt": user.lastSeenAt,
                "isAnonymous": isAnonymous, "accountId": owner ?? NSNull(),
            ]
        )
    }

    /// The best production subscription, one that gives access before one that ended last; what
    /// Purchasely granted counts as well.
    private func subscription(_ context: BasicRequestContext) async throws -> Response {
        let id = JSON.pathID(context)
        let now = Store.now()
        let found = try await store.pool.read { db -> ([Subscription], [Grant])? in
            guard let userID = try store.user(db, known: id)?.id else { return nil }
            let subscriptions = try Subscription.fetchAll(
                db,
                sql: "SELECT * FROM subscriptions WHERE userID = ? AND NOT isSandbox",
                arguments: [userID]
            )
            let grants = try Grant.fetchAll(
                db,
                sql: "SELECT * FROM grants WHERE userID = ? AND NOT isSandbox ORDER BY asOf, plan",
                arguments: [userID]
            )
            return (subscriptions, grants)
        }
        guard let (subscriptions, grants) = found, !(subscriptions.isEmpty && grants.isEmpty) else {
            return JSON.response(.notFound, ["error": "no_subscription"])
        }
        let best = subscriptions.max { left, right in
            let mine = left.givesAccess(at: now, store.defects)
            let theirs = right.givesAccess(at: now, store.defects)
            guard mine == theirs else { return theirs }
            return (left.expiresAt ?? .max, left.asOf) < (right.expiresAt ?? .max, right.asOf)
        }
        let grant = grants.last { $0.givesAccess(at: now) } ?? grants.last
        let hasGrant = grant?.givesAccess(at: now) ?? false
        guard let best, best.givesAccess(at: now, store.defects) || !hasGrant else {
            return JSON.response(
                .ok,
                [
                    "access": hasGrant, "product_id": grant?.plan ?? "",
                    "expiration_at_ms": grant?.expiresAt ?? NSNull(), "billing_issue": false,
                    "will_renew": hasGrant, "refunded": false, "environment": "PRODUCTION",
                ]
            )
        }
        return JSON.response(.ok, answer(best, at: now))
    }

    private func answer(_ best: Subscription, at now: Int64) -> [String: Any] {
        var expires = best.expiresAt
        // Defect: local-time
        if store.defects.contains(.localTime), let moment = expires {
            let date = Date(timeIntervalSince1970: Double(moment) / 1000)
            expires = moment + Int64(TimeZone.current.secondsFromGMT(for: date)) * 1000
        }
        return [
            "access": best.givesAccess(at: now, store.defects), "product_id": best.productID,
            "expiration_at_ms": expires ?? NSNull(),
            "grace_period_expiration_at_ms": best.graceEndsAt ?? NSNull(),
            "billing_issue": best.billingIssue, "will_renew": best.willRenew,
            "refunded": best.refunded, "pending_product_id": best.pendingProductID ?? NSNull(),
            "environment": "PRODUCTION",
        ]
    }
}

/// JSON in and out of Hummingbird's types.
enum JSON {
    /// The largest body that is read; RevenueCat's are a few kilobytes.
    static let bodyMax = 10 << 20

    /// Nil when the body is not JSON of that shape.
    static func decode<Body: Decodable>(_ request: Request) async throws -> Body? {
        let buffer = try await request.body.collect(upTo: bodyMax)
        return try? JSONDecoder().decode(Body.self, from: Data(buffer.readableBytesView))
    }

    static func response(_ status: HTTPResponse.Status, _ value: [String: Any]) -> Response {
        let data = (try? JSONSerialization.data(withJSONObject: value)) ?? Data()
        return Response(
            status: status,
            headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: data))
        )
    }

    static func pathID(_ context: BasicRequestContext) -> String {
        let raw = context.parameters.get("id") ?? ""
        return raw.removingPercentEncoding ?? raw
    }
}
