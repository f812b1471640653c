import Foundation
import Grammar
import Providers
import Testing
import TestSupport
import Values

/// Edge values for every operation of every fake, and the state that the requests leave behind.
@Suite("Requests with values at the edge of their types", .serialized)
struct EdgeRequestTests {
    private static let start = Instant(milliseconds: 1_790_000_000_000)
    private static let app = OneSignalState.defaultAppID

    /// Bodies with every number, date and duration that an operation reads, after empty lines.
    private static let written = #"""
        {"localId": "x", "email": "a@b.c", "password": "secret-1",
        "validSince": "1790000000", "createdAt": "1790000000000",
        "lastLoginAt": "1790000000000", "idToken": "x", "customAttributes": "{\"a\":1}",
        "disableUser": false, "mfa": {"enrollments": [{"phoneInfo": "+15550100",
        "displayName": "x", "enrolledAt": "2026-01-01T00:00:00Z"}]}}

        {"users": [{"localId": "x", "createdAt": "1790000000000",
        "validSince": "1790000000", "lastLoginAt": "1790000000000", "passwordHash": "eA",
        "version": 0, "mfaInfo": [{"phoneInfo": "+15550100",
        "enrolledAt": "2026-01-01T00:00:00Z"}]}], "hashAlgorithm": "SCRYPT", "rounds": 8,
        "memoryCost": 14, "cpuMemCost": 2, "parallelization": 1, "blockSize": 8,
        "dkLen": 64, "signerKey": "eA", "saltSeparator": "eA"}

        {"idToken": "x", "validDuration": "3600", "sessionCookie": "x", "tenantId": "t",
        "mfa": {"state": "ENABLED"}, "mfaConfig": {"state": "ENABLED",
        "providerConfigs": [{"state": "ENABLED",
        "totpProviderConfig": {"adjacentIntervals": 5}}]},
        "signIn": {"allowDuplicateEmails": false}, "token": "eyJhbGciOiJub25lIn0.e30."}

        {"app_id": "\#(app)", "contents": {"en": "x"}, "included_segments": ["All"],
        "send_after": "2026-12-24 12:00:00 GMT-0700", "delayed_option": "timezone",
        "delivery_time_of_day": "9:00AM", "ttl": 3600, "priority": 10,
        "throttle_rate_per_minute": 60, "ios_badgeCount": 1, "ios_relevance_score": 0.5,
        "ios_interruption_level": "active", "idempotency_key": "k",
        "filters": [{"field": "session_count", "relation": ">", "value": "1"}], "name": "x",
        "stale_date": 1790000000, "dismissal_date": 1790000000}

        {"properties": {"tags": {"a": "1"}, "lat": 1.5, "long": 2.5,
        "timezone_id": "Europe/Paris", "last_active": 1790000000,
        "first_active": 1790000000, "amount_spent": 1.5, "purchases": [{"sku": "x",
        "amount": "1.0", "count": 1, "iso": "USD"}], "session_count": 1},
        "deltas": {"session_time": 60, "session_count": 1, "purchases": [{"sku": "x",
        "amount": "1.0", "count": 1, "iso": "USD"}]}, "identity": {"external_id": "ada"},
        "subscriptions": [{"type": "iOSPush", "token": "t", "enabled": true,
        "notification_types": 1, "session_time": 60, "session_count": 1, "test_type": 1}]}

        {"app_id": "\#(app)", "device_type": 0, "identifier": "t", "session_count": 1,
        "amount_spent": "100.99", "created_at": 1790000000, "playtime": 600,
        "badge_count": 1, "last_active": 1790000000, "notification_types": 1,
        "test_type": 1, "timezone": -28800, "lat": 1.5, "long": 2.5, "state": "ping",
        "active_time": 60, "purchases": [{"sku": "x", "amount": 1.0, "iso": "USD"}],
        "existing": true, "weight": 1.5, "id": "purchase",
        "last_active_since": "1469392779"}

        {"events": [{"name": "e", "external_id": "ada", "payload": {"a": 1},
        "timestamp": "2026-01-01T00:00:00Z", "idempotency_key": "k"}]}

        {"app_user_id": "ada", "fetch_token": "t", "product_id": "premium_monthly",
        "price": 9.99, "currency": "USD", "is_restore": false,
        "purchase_completed_by": "revenuecat", "sdk_originated": true,
        "normal_duration": "P1M", "introductory_price": 1.99, "trial_duration": "P3D",
        "attributes": {"$email": {"value": "a@b.c", "updated_at_ms": 1790000000000}}}

        {"duration": "weekly", "start_time_ms": 1790000000000, "end_time_ms": 1790000900000,
        "extend_by_days": 5, "extend_reason_code": 1, "expiry_time_ms": 1800000000000}

        {"entitlement_id": "premium", "expires_at": 1800000000000,
        "attributes": [{"name": "$email", "value": "a@b.c"}], "adjustments": {"GLD": 5},
        "code": "GLD", "name": "Gold", "product_grants": [{"product_ids": ["p"],
        "amount": 5, "trial_amount": 1, "expire_at_cycle_end": true}], "extend_by_days": 5,
        "extend_reason_code": 1}

        {"command": "revenuecat://launchPaywall?external_id=ada&offering=default",
        "device": "main", "page": 5, "tPage": 5, "value": "x", "text": "{\"a\":1}",
        "product": "premium_monthly", "product_id": "premium_monthly", "price": 1.5,
        "delay": 5, "number": 1}
        """#

    private static let bodies =
        HostileRequestTests.bodies
        + written.components(separatedBy: "\n\n").compactMap {
            try? JSONValue(parsing: Array($0.utf8))
        }

    private static let queryNames = [
        "limit", "offset", "pageSize", "maxResults", "after", "starting_after", "page_token",
        "kind", "app_id", "key", "updateMask", "start_date", "end_date", "outcome_names",
        "outcome_time_range", "device", "environment", "nextPageToken", "expand", "status",
    ]

    /// A body with unsigned tokens, whose claims are changed.
    private static func tokens(_ user: String, _ edges: inout EdgeValues) -> JSONValue {
        let claims: JSONValue = [
            "user_id": .string(user), "sub": .string(user), "iat": 1_790_000_000,
            "auth_time": 1_790_000_000, "exp": 1_990_000_000, "uid": "x", "aud": "demo-project",
            "firebase": ["sign_in_provider": "password", "identities": [:]],
        ]
        let refresh: JSONValue = [
            "_fakeRefreshToken": "x", "localId": .string(user), "projectId": "demo-project",
            "authTime": 1_790_000_000, "issued": 1_790_000_000, "provider": "password",
            "extraClaims": [:], "secondFactor": ["x", "phone"],
        ]
        let header = Base64.url(Array(#"{"alg":"none","typ":"JWT"}"#.utf8))
        let token = header + "." + Base64.url(edges.changed(claims)) + "."
        return [
            "idToken": .string(token), "token": .string(token), "returnSecureToken": true,
            "refresh_token": .string(Base64.text(edges.changed(refresh))), "validSince": "1",
            "grant_type": "refresh_token", "validDuration": "3600", "email": "b@b.c",
            "password": "secret-2", "deleteAttribute": ["DISPLAY_NAME"],
        ]
    }

    private static func target(_ path: String, _ edges: inout EdgeValues) -> String {
        var path = path
        if edges.isOnce(in: 6) {
            let parts = path.split(separator: "/", omittingEmptySubsequences: false)
            let index = edges.pick(Array(parts.indices))
            var changed = parts.map(String.init)
            changed[index] = edges.string().percentEncoded
            path = changed.joined(separator: "/")
        }
        var query: [String] = []
        for name in queryNames where edges.isOnce(in: 8) {
            let value = edges.isOnce(in: 2) ? edges.number() : edges.string()
            query.append(name + "=" + value.percentEncoded)
        }
        if query.isEmpty { return path }
        return path + (path.contains("?") ? "&" : "?") + query.joined(separator: "&")
    }

    /// A state with something of each kind, and the ID of its account.
    private static func filled(_ seed: UInt64) -> (Services, user: String) {
        var services = Services(seed: seed)
        let fields = [
            HTTPMessage.Field("content-type", "application/json"),
            HTTPMessage.Field("x-platform", "ios"),
        ]
        var user = ""
        services.firebase.settings.recentSignInSeconds = 300
        services.firebase.settings.actionCodeSeconds = 3600
        services.revenueCat.settings.restLagSeconds = 5
        services.oneSignal.settings.propertyDelaySeconds = 30
        for (party, path, body) in [
            (
                .revenueCat, "/v1/receipts",
                ["app_user_id": "ada", "fetch_token": "t", "product_id": "premium_monthly"]
            ),
            (
                .revenueCat, "/v1/subscribers/ada/entitlements/premium/promotional",
                ["duration": "weekly"]
            ),
            (
                .oneSignal, "/apps/\(app)/users",
                [
                    "identity": ["external_id": "ada"],
                    "subscriptions": [["type": "iOSPush", "token": "t"]],
                ]
            ),
            (.firebase, "/v1/accounts:signUp?key=k", ["email": "a@b.c", "password": "secret-1"]),
        ] as [(Exchange.Party, String, JSONValue)] {
            let request = HTTPMessage.Request("POST", path, fields: fields, body: body.bytes)
            let reply = services.respond(party, to: request, at: start)
            user = ProviderResponse(reply: reply)["/localId"]?.string ?? user
        }
        return (services, user)
    }

    @Test("every operation takes or refuses every value", arguments: EdgeValues.seeds)
    func survives(seed: UInt64) async throws {
        var edges = EdgeValues(seed: seed, text: "requests")
        var (services, user) = Self.filled(seed)
        #expect(!user.isEmpty)
        var now = Self.start
        #expect(Self.bodies.count == HostileRequestTests.bodies.count + 11)
        var takenCount = 0
        for number in 0..<EdgeValues.inputCount(500) {
            if number % 100 == 99 {
                let saved = try JSONValue(encoding: services)
                #expect(try saved.decoded(as: Services.self) == services)
                (services, user) = Self.filled(seed &+ UInt64(number))
                now = Self.start
            }
            let (party, method, path) = edges.pick(HostileRequestTests.paths)
            let target = Self.target(path, &edges)
            let body =
                edges.isOnce(in: 4) ? Self.tokens(user, &edges) : edges.pick(Self.bodies)
            let bytes =
                method == "GET" ? [] : edges.isOnce(in: 4) ? body.bytes : edges.changed(body)
            var fields = [HTTPMessage.Field("content-type", "application/json")]
            if edges.isOnce(in: 2) { fields.append(.init("authorization", "Bearer owner")) }
            if edges.isOnce(in: 2) { fields.append(.init("x-platform", "ios")) }
            if edges.isOnce(in: 16) { fields.append(.init("retry-after", edges.number())) }
            now = now + .hours(edges.isOnce(in: 20) ? 24 * 40 : 1)
            let request = HTTPMessage.Request(method, target, fields: fields, body: bytes)
            let input = Array("\(party) \(method) \(target) ".utf8) + bytes
            let isInTime = await EdgeValues.run(input) {
                let reply = services.respond(party, to: request, at: now)
                _ = services.settle(at: now)
                _ = (
                    services.nextChangeTime,
                    services.renewalCount(by: Instant.acceptedRange.upperBound)
                )
                let status = reply.response.status
                let text = String(decoding: input.prefix(600), as: UTF8.self)
                #expect((200..<600).contains(status) && status != 500, "\(text)")
                if status == 200 { takenCount += 1 }
                let type = reply.response[field: "content-type"] ?? ""
                if type.hasPrefix("application/json"), status != 304 {
                    #expect((try? JSONValue(parsing: reply.response.body)) != nil, "\(text)")
                }
            }
            #expect(isInTime, "\(String(decoding: input, as: UTF8.self))")
        }
        #expect(takenCount > 0)
        #expect(EdgeValues.isWithinMemory)
    }
}
