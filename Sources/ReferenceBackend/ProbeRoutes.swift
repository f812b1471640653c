internal import Foundation
internal import GRDB
internal import HTTPTypes
internal import Hummingbird

/// The routes of the backend that exist only in a test environment: account creation, faults, the
/// clock, and read-only views of the stored state.
struct ProbeRoutes: Sendable {
    let store: Store
    let accounts: Accounts

    struct Policy: Sendable {
        var isAnonymous = ProbeRoutes.isAnonymous
        var describe = ProbeRoutes.describe
        var view = ProbeRoutes.view
    }

    func add(to router: Router<BasicRequestContext>) {
        router.post("test/accounts") { request, _ in try await createAccount(request) }
        router.post("test/fault") { _, _ in try await fail(true) }
        router.delete("test/fault") { _, _ in try await fail(false) }
        router.post("test/clock") { request, _ in try await setClock(request) }
        let view = store.policies.probes.view
        router.get("test/users/:id") { _, context in
            let id = JSON.pathID(context)
            return try await view(.user, id) { try await user(of: id) }
        }
        router.get("test/subscriptions/:id") { _, context in
            let id = JSON.pathID(context)
            return try await view(.subscription, id) { try await subscription(of: id) }
        }
    }

    enum View: Hashable, Sendable {
        case user, subscription
    }

    /// Creates a fresh response to each probe (a read of the stored state).
    ///
    /// A cached response would be outdated after the next event (S-10).
    static func view(
        _ kind: View,
        of id: String,
        make: @Sendable () async throws -> Response
    ) async throws -> Response {
        try await make()
    }

    /// Makes every change of the users' data fail in the middle of its transaction, or ends this
    /// failure.
    private func fail(_ isBroken: Bool) async throws -> Response {
        try await store.pool.write { db in
            for table in ["subscriptions", "grants", "users"] {
                for change in ["INSERT", "UPDATE"] {
                    let name = "fault_\(table)_\(change)"
                    try db.execute(
                        sql: isBroken
                            ? "CREATE TRIGGER IF NOT EXISTS \(name) BEFORE \(change) ON \(table) "
                                + "BEGIN SELECT RAISE(ABORT, 'the store fails'); END"
                            : "DROP TRIGGER IF EXISTS \(name)"
                    )
                }
            }
        }
        return JSON.response(.ok, ["failing": isBroken])
    }

    private func setClock(_ request: Request) async throws -> Response {
        struct Body: Decodable {
            /// The number of seconds by which the backend's clock is ahead of the machine's clock.
            var ahead: Double
        }
        guard let body: Body = try await JSON.decode(request) else {
            return JSON.response(.badRequest, ["error": "invalid_clock"])
        }
        WallClock.set(ahead: body.ahead)
        return JSON.response(.ok, ["now": WallClock.now()])
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

    private func user(of id: String) async throws -> Response {
        let found = try await store.pool.read { db -> (User, String?)? in
            guard let user = try store.user(db, known: id) else { return nil }
            return (user, try accounts.owner(db, of: user.id))
        }
        guard let (user, owner) = found else {
            return JSON.response(.notFound, ["error": "unknown_user"])
        }
        return JSON.response(
            .ok,
            [
                "appUserId": user.appUserID, "source": user.source,
                "platform": user.platform ?? NSNull(), "deviceId": user.deviceID ?? NSNull(),
                "createdAt": user.createdAt, "lastSeenAt": user.lastSeenAt,
                "isAnonymous": store.policies.probes.isAnonymous(user, owner),
                "accountId": owner ?? NSNull(),
            ]
        )
    }

    /// Returns whether a user is anonymous, which means that the user has no account.
    ///
    /// The result is computed from the account, so that two fields cannot contradict each other
    /// (S-29).
    static func isAnonymous(_ user: User, owner: String?) -> Bool { owner == nil }

    /// Returns the user's most important production subscription: one that gives access, or without
    /// one the subscription that ended last.
    ///
    /// The result may also be a grant from Purchasely.
    private func subscription(of id: String) async throws -> Response {
        let now = WallClock.now()
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
        let best = best(subscriptions, at: now)
        let grant = grants.last { $0.givesAccess(at: now) } ?? grants.last
        let hasGrant = grant?.givesAccess(at: now) ?? false
        guard let best, givesAccess(best, now) || !hasGrant else {
            return JSON.response(.ok, Self.answer(grant, givesAccess: hasGrant))
        }
        return JSON.response(
            .ok,
            store.policies.probes.describe(best, givesAccess(best, now))
        )
    }

    private func givesAccess(_ subscription: Subscription, _ now: Int64) -> Bool {
        store.policies.entitlement.givesAccess(subscription, now)
    }

    private func best(_ subscriptions: [Subscription], at now: Int64) -> Subscription? {
        subscriptions.max { left, right in
            let mine = givesAccess(left, now)
            let theirs = givesAccess(right, now)
            guard mine == theirs else { return theirs }
            return (left.expiresAt ?? .max, left.asOf) < (right.expiresAt ?? .max, right.asOf)
        }
    }

    private static func answer(_ grant: Grant?, givesAccess: Bool) -> [String: Any] {
        [
            "access": givesAccess, "product_id": grant?.plan ?? "",
            "expiration_at_ms": grant?.expiresAt ?? NSNull(), "billing_issue": false,
            "will_renew": givesAccess, "refunded": false, "environment": "PRODUCTION",
        ]
    }

    /// Returns the JSON fields of a subscription.
    ///
    /// Times are in milliseconds since 1970, without a time zone (S-32).
    static func describe(_ best: Subscription, givesAccess: Bool) -> [String: Any] {
        [
            "access": givesAccess, "product_id": best.productID,
            "expiration_at_ms": best.expiresAt ?? NSNull(),
            "grace_period_expiration_at_ms": best.graceEndsAt ?? NSNull(),
            "billing_issue": best.billingIssue, "will_renew": best.willRenew,
            "refunded": best.refunded, "pending_product_id": best.pendingProductID ?? NSNull(),
            "environment": "PRODUCTION",
        ]
    }
}
