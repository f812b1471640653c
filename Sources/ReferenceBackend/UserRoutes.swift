internal import Foundation
internal import GRDB
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// Registration, login, and the read-only probes that tests look through.
struct UserRoutes: Sendable {
    let store: Store
    let accounts: Accounts

    func add(to router: Router<BasicRequestContext>) {
        router.post("api/user/register") { request, _ in try await register(request) }
        router.post("api/user/login") { request, _ in try await login(request) }
        router.post("test/accounts") { request, _ in try await createAccount(request) }
        router.get("test/users/:id") { _, context in try await user(context) }
        router.get("test/subscriptions/:id") { _, context in try await subscription(context) }
    }

    /// An upsert that never replaces what is known by nothing, and keeps the server's time (S-22).
    private func register(_ request: Request) async throws -> Response {
        struct Body: Decodable {
            var appUserId: String?
            var deviceId: String?
            var platform: String?
            var source: String?
        }
        guard let body: Body = try await JSON.decode(request),
            let id = body.appUserId, Store.isValid(id), let device = body.deviceId, !device.isEmpty
        else { return JSON.response(.badRequest, ["error": "invalid_registration"]) }
        let token = try await store.pool.write { db in
            let known = try store.user(db, known: id)
            // Defect: register-resets
            if let known, store.defects.contains(.registerResets) {
                try db.execute(
                    sql: "DELETE FROM subscriptions WHERE userID = ?",
                    arguments: [known.id]
                )
            }
            var user = try known ?? store.insert(db, id, source: body.source ?? "new")
            user.deviceID = user.deviceID ?? device
            user.platform = body.platform ?? user.platform
            user.deviceToken = user.deviceToken ?? UUID().uuidString
            user.lastSeenAt = max(user.lastSeenAt, Store.now())
            try user.update(db)
            return known?.deviceToken == nil ? user.deviceToken : nil
        }
        var answer: [String: Any] = ["appUserId": id]
        // The token goes to the first registration alone; a second device proves nothing by asking.
        if let token { answer["deviceToken"] = token }
        return JSON.response(.ok, answer)
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
        else { return JSON.response(.unauthorized, ["error": "invalid_credentials"]) }
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
        case .conflict: JSON.response(.conflict, ["error": "id_not_claimable"])
        }
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
        let user = try await store.pool.read { db in try store.user(db, known: id) }
        guard let user else { return JSON.response(.notFound, ["error": "unknown_user"]) }
        return JSON.response(
            .ok,
            [
                "appUserId": user.appUserID, "source": user.source,
                "platform": user.platform ?? NSNull(), "createdAt": user.createdAt,
            ]
        )
    }

    /// The best production subscription: one that gives access, else the one that ended last.
    private func subscription(_ context: BasicRequestContext) async throws -> Response {
        let id = JSON.pathID(context)
        let all = try await store.pool.read { db in
            guard let userID = try store.user(db, known: id)?.id else { return [Subscription]() }
            return try Subscription.fetchAll(
                db,
                sql: "SELECT * FROM subscriptions WHERE userID = ? AND NOT isSandbox",
                arguments: [userID]
            )
        }
        let now = Store.now()
        let best = all.max { left, right in
            let (mine, theirs) = (left.givesAccess(at: now), right.givesAccess(at: now))
            guard mine == theirs else { return theirs }
            return (left.expiresAt ?? .max, left.asOf) < (right.expiresAt ?? .max, right.asOf)
        }
        guard let best else { return JSON.response(.notFound, ["error": "no_subscription"]) }
        return JSON.response(
            .ok,
            [
                "access": best.givesAccess(at: now), "product_id": best.productID,
                "expiration_at_ms": best.expiresAt ?? NSNull(),
                "grace_period_expiration_at_ms": best.graceEndsAt ?? NSNull(),
                "billing_issue": best.billingIssue, "will_renew": best.willRenew,
                "refunded": best.refunded, "pending_product_id": best.pendingProductID ?? NSNull(),
                "environment": "PRODUCTION",
            ]
        )
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
