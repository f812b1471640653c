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
        var subscriptionFields = ProbeRoutes.subscriptionFields
        var probeResponse = ProbeRoutes.probeResponse
        var healthResponse = ProbeRoutes.healthResponse
    }

    func add(to router: Router<BasicRequestContext>) {
        router.post("test/accounts") { request, _ in try await createAccount(request) }
        router.post("test/fault") { _, _ in try await setDatabaseFailure(true) }
        router.delete("test/fault") { _, _ in try await setDatabaseFailure(false) }
        router.post("test/clock") { request, _ in try await setClock(request) }
        let probeResponse = store.policies.probes.probeResponse
        router.get("test/users/:id") { _, context in
            let id = JSON.idInPath(context)
            return try await probeResponse(.user, id) { try await user(of: id) }
        }
        router.get("test/subscriptions/:id") { _, context in
            let id = JSON.idInPath(context)
            return try await probeResponse(.subscription, id) { try await subscription(of: id) }
        }
    }

    /// Returns the response that shows that the backend is ready, and nothing about its
    /// configuration (O-02).
    static func healthResponse(_ configuration: ReferenceBackend.Configuration) -> Response {
        Response(status: .ok)
    }

    enum ProbeKind: Hashable, Sendable {
        case user, subscription
    }

    /// Creates a fresh response to each probe (a read of the stored state).
    ///
    /// A cached response would be outdated after the next event (S-10).
    static func probeResponse(
        _ kind: ProbeKind,
        of id: String,
        makeResponse: @Sendable () async throws -> Response
    ) async throws -> Response {
        try await makeResponse()
    }

    /// Makes every change of the users' data fail in the middle of its transaction, or ends this
    /// failure.
    private func setDatabaseFailure(_ isFailing: Bool) async throws -> Response {
        try await store.pool.write { db in
            for table in ["subscriptions", "grants", "users"] {
                for change in ["INSERT", "UPDATE"] {
                    let name = "fault_\(table)_\(change)"
                    try db.execute(
                        sql: isFailing
                            ? "CREATE TRIGGER IF NOT EXISTS \(name) BEFORE \(change) ON \(table) "
                                + "BEGIN SELECT RAISE(ABORT, 'the store fails'); END"
                            : "DROP TRIGGER IF EXISTS \(name)"
                    )
                }
            }
        }
        return JSON.response(.ok, ["failing": isFailing])
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
        let storedRows = try await store.pool.read { db -> (User, String?)? in
            guard let user = try store.user(db, known: id) else { return nil }
            return (user, try accounts.owner(db, of: user.id))
        }
        guard let (user, owner) = storedRows, !user.isDeleted else {
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

    /// Returns the user's most important production subscription.
    ///
    /// This is a subscription that gives access. If none does, it is the subscription that ended
    /// last. The result may also be a grant from Purchasely.
    private func subscription(of id: String) async throws -> Response {
        let now = WallClock.now()
        let storedRows = try await store.pool.read { db -> ([Subscription], [Grant])? in
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
        guard let (subscriptions, grants) = storedRows, !(subscriptions.isEmpty && grants.isEmpty)
        else {
            return JSON.response(.notFound, ["error": "no_subscription"])
        }
        let primarySubscription = primarySubscription(subscriptions, at: now)
        let grant = grants.last { $0.givesAccess(at: now) } ?? grants.last
        let hasGrant = grant?.givesAccess(at: now) ?? false
        guard let primarySubscription, givesAccess(primarySubscription, now) || !hasGrant else {
            return JSON.response(.ok, Self.grantFields(grant, givesAccess: hasGrant))
        }
        return JSON.response(
            .ok,
            store.policies.probes.subscriptionFields(
                primarySubscription,
                givesAccess(primarySubscription, now)
            )
        )
    }

    private func givesAccess(_ subscription: Subscription, _ now: Int64) -> Bool {
        store.policies.entitlement.givesAccess(subscription, now)
    }

    private func primarySubscription(_ subscriptions: [Subscription], at now: Int64)
        -> Subscription?
    {
        subscriptions.max { left, right in
            let leftGivesAccess = givesAccess(left, now)
            let rightGivesAccess = givesAccess(right, now)
            guard leftGivesAccess == rightGivesAccess else { return rightGivesAccess }
            return (left.expiresAt ?? .max, left.asOf) < (right.expiresAt ?? .max, right.asOf)
        }
    }

    private static func grantFields(_ grant: Grant?, givesAccess: Bool) -> [String: Any] {
        [
            "access": givesAccess, "product_id": grant?.plan ?? "",
            "expiration_at_ms": grant?.expiresAt ?? NSNull(), "billing_issue": false,
            "will_renew": givesAccess, "refunded": false, "environment": "PRODUCTION",
        ]
    }

    /// Returns the JSON fields of a subscription.
    ///
    /// Times are in milliseconds since 1970, without a time zone (S-32).
    static func subscriptionFields(_ primarySubscription: Subscription, givesAccess: Bool)
        -> [String: Any]
    {
        [
            "access": givesAccess, "product_id": primarySubscription.productID,
            "expiration_at_ms": primarySubscription.expiresAt ?? NSNull(),
            "grace_period_expiration_at_ms": primarySubscription.graceEndsAt ?? NSNull(),
            "billing_issue": primarySubscription.billingIssue,
            "will_renew": primarySubscription.willRenew,
            "refunded": primarySubscription.refunded,
            "pending_product_id": primarySubscription.pendingProductID ?? NSNull(),
            "environment": "PRODUCTION",
        ]
    }
}
