import Contracts
import Grammar
import Providers
import Testing
import Values

/// Requests that are nearly right, from a seed: every fake answers each of them, as the service
/// would or with an error, and goes on.
@Suite("Hostile requests")
struct HostileRequestTests {
    private static let now = Instant(milliseconds: 1_790_000_000_000)
    private static let app = "a55a4000-0000-4000-8000-000000000000"

    static let bodies: [JSONValue] = [
        ["email": "a@b.c", "password": "secret1", "returnSecureToken": true],
        ["idToken": "eyJhbGciOiJub25lIn0.eyJ1c2VyX2lkIjoieCJ9.", "localId": ["x"]],
        ["requestType": "PASSWORD_RESET", "email": "a@b.c", "returnOobLink": true],
        [
            "postBody": "id_token=%7B%22sub%22%3A%22x%22%7D&providerId=google.com",
            "requestUri": "http://localhost",
        ],
        ["users": [["localId": "x", "customAttributes": "{}", "providerUserInfo": [[:]]]]],
        ["grant_type": "refresh_token", "refresh_token": "eyJsb2NhbElkIjoieCJ9"],
        [
            "app_id": .string(app), "include_aliases": ["external_id": ["ada"]],
            "target_channel": "push", "contents": ["en": "x"], "send_after": "2027-01-01",
            "filters": [["field": "tag", "key": "a", "relation": ">", "value": "1"]],
        ],
        [
            "identity": ["external_id": "ada"], "properties": ["tags": ["a": "b"]],
            "subscriptions": [["type": "iOSPush", "token": "t"]],
            "subscription": ["type": "Email", "token": "t"],
            "deltas": ["purchases": [["amount": 1]]],
        ],
        ["app_id": .string(app), "device_type": 0, "identifier": "t", "tags": ["a": 1]],
        ["app_user_id": "ada", "new_app_user_id": "bob", "fetch_token": "t", "product_id": "p"],
        ["attributes": ["$email": ["value": "a@b.c", "updated_at_ms": 1]], "duration": "weekly"],
        ["command": "setvault://?key=a&value=b&locked=true", "device": "main", "page": 5],
        [
            "name": "Tea", "contents": ["en": "Tea"], "headings": ["en": "Tea"], "event": "start",
            "activity_id": "a", "event_attributes": [:], "event_updates": [:],
            "events": [["name": "e", "external_id": "ada", "payload": ["a": 1]]],
            "filters": [["field": "tag", "key": "a", "relation": "=", "value": "b"]],
            "include_aliases": ["external_id": ["ada"]], "target_app_id": .string(app),
            "email_subject": "Tea", "isEmail": true, "segment_name": "Tea",
            "extra_fields": ["onesignal_id"], "last_active_since": "1",
        ],
        [
            "id": "ada", "code": "GLD", "name": "Gold", "adjustments": ["GLD": 5],
            "product_grants": [["product_ids": ["p"], "amount": 5]], "entitlement_id": "entl",
            "expires_at": 4_102_444_800_000, "target_customer_id": "bob", "offering_id": .null,
        ],
        [
            "idToken": "eyJhbGciOiJub25lIn0.eyJ1c2VyX2lkIjoieCJ9.", "mfaPendingCredential": "e30",
            "mfaEnrollmentId": "x", "phoneEnrollmentInfo": ["phoneNumber": "+15550100"],
            "phoneVerificationInfo": ["sessionInfo": "x", "code": "1"], "totpEnrollmentInfo": [:],
            "totpVerificationInfo": ["sessionInfo": "e30", "verificationCode": "123456"],
            "displayName": "blue", "allowPasswordSignup": true, "mfaConfig": ["state": "ENABLED"],
            "mfaInfo": [["phoneInfo": "+15550100"]], "localId": "x",
        ],
    ]

    /// Every operation of the inventory, about things that are there and things that are not.
    private static let operations: [(Exchange.Party, String, String)] =
        ProviderTable.all.sortedEntries.flatMap { provider in
            provider.operations().flatMap { operation in
                ["ada", "x"].map { name in
                    let parts = operation.path.split(separator: "/").map { part -> String in
                        guard part.hasPrefix("{"), let end = part.firstIndex(of: "}") else {
                            return String(part)
                        }
                        let value =
                            part.hasPrefix("{app_id")
                            ? app : part.hasPrefix("{alias_label") ? "external_id" : name
                        return value + part[part.index(after: end)...]
                    }
                    let path = "/" + parts.joined(separator: "/")
                    return (
                        provider.party, operation.method,
                        provider.party == .firebase ? path + "?key=k" : path
                    )
                }
            }
        }

    static let paths: [(Exchange.Party, String, String)] =
        operations + [
            (.firebase, "POST", "/identitytoolkit.googleapis.com/v1/accounts:signUp?key=k"),
            (.firebase, "POST", "/identitytoolkit.googleapis.com/v1/accounts:update?key=k"),
            (.firebase, "POST", "/v1/accounts:signInWithIdp?key=k"),
            (.firebase, "POST", "/identitytoolkit.googleapis.com/v1/projects/p/accounts:lookup"),
            (
                .firebase, "POST",
                "/identitytoolkit.googleapis.com/v1/projects/p/accounts:batchCreate"
            ),
            (
                .firebase, "POST",
                "/identitytoolkit.googleapis.com/v1/projects/p/accounts:sendOobCode"
            ),
            (.firebase, "POST", "/securetoken.googleapis.com/v1/token?key=k"),
            (.firebase, "GET", "/emulator/action?mode=resetPassword&oobCode=x&apiKey=k"),
            (.firebase, "PATCH", "/emulator/v1/projects/p/config"),
            (.oneSignal, "POST", "/notifications"),
            (.oneSignal, "GET", "/notifications?app_id=x&limit=-1"),
            (.oneSignal, "POST", "/apps/\(app)/users"),
            (.oneSignal, "PATCH", "/apps/\(app)/users/by/external_id/ada"),
            (.oneSignal, "PATCH", "/apps/\(app)/users/by/external_id/ada/identity"),
            (.oneSignal, "POST", "/apps/\(app)/users/by/external_id/ada/subscriptions"),
            (.oneSignal, "POST", "/api/v1/players"),
            (.revenueCat, "POST", "/v1/receipts"),
            (.revenueCat, "POST", "/v1/subscribers/identify"),
            (.revenueCat, "POST", "/v1/subscribers/ada/attributes"),
            (.revenueCat, "POST", "/v1/subscribers/ada/entitlements/premium/promotional"),
            (.revenueCat, "GET", "/v2/projects/p/customers/ada"), (.despia, "POST", "/bridge"),
            (.despia, "POST", "/device/paywall/complete"), (.despia, "PATCH", "/device"),
            (.purchasely, "GET", "/"),
        ]

    @Test("from a seed, two hundred at a time", arguments: 0..<UInt64(30))
    func survives(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed, text: "hostile")
        var services = Services(seed: seed)
        for round in 0..<200 {
            let (party, method, path) = Self.paths.randomElement(using: &generator) ?? Self.paths[0]
            let request = Self.request(method, path, &generator)
            let now = Self.now + .seconds(Int64(round) * 3600)
            let reply = services.respond(party, to: request, at: now)
            _ = services.settle(at: now)
            let status = reply.response.status
            #expect((200..<600).contains(status) && status != 500, "\(request.target)")
            // Whatever comes, the answer is one that a client can read.
            let type = reply.response[field: "content-type"] ?? ""
            if type.hasPrefix("application/json") {
                #expect((try? JSONValue(parsing: reply.response.body)) != nil)
            }
        }
        // What such requests left behind can still be saved and read again.
        let saved = try JSONValue(encoding: services)
        #expect(try saved.decoded(as: Services.self) == services)
    }

    private static func request(
        _ method: String,
        _ path: String,
        _ generator: inout SeededGenerator
    ) -> HTTPMessage.Request {
        let body = bodies.randomElement(using: &generator) ?? bodies[0]
        var bytes = mutated(body, &generator).bytes
        var target = Array(path.utf8)
        if Int.random(in: 0..<4, using: &generator) == 0 { flip(&bytes, &generator) }
        if Int.random(in: 0..<6, using: &generator) == 0 { flip(&target, &generator) }
        if Int.random(in: 0..<8, using: &generator) == 0 {
            bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &generator)))
        }
        var fields = [HTTPMessage.Field("content-type", "application/json")]
        if Bool.random(using: &generator) {
            fields.append(HTTPMessage.Field("authorization", "Bearer owner"))
        }
        if Bool.random(using: &generator) { fields.append(HTTPMessage.Field("x-platform", "ios")) }
        return HTTPMessage.Request(
            method,
            String(decoding: target, as: UTF8.self),
            fields: fields,
            body: bytes
        )
    }

    private static func flip(_ bytes: inout [UInt8], _ generator: inout SeededGenerator) {
        guard !bytes.isEmpty else { return }
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
            let index = Int.random(in: bytes.indices, using: &generator)
            bytes[index] = UInt8.random(in: .min ... .max, using: &generator)
        }
    }

    /// The value with some of its parts replaced by something else that is valid JSON.
    private static func mutated(
        _ value: JSONValue,
        _ generator: inout SeededGenerator
    ) -> JSONValue {
        let odd: [JSONValue] = [
            .null, true, -1, 0, .string(""), .string("\u{0}"), .string("😀"), [], [:],
            .number(JSONNumber(1e300)), .integer(.max), .integer(.min), [[[[[]]]]],
            .string(String(repeating: "x", count: 3000)),
        ]
        if Int.random(in: 0..<8, using: &generator) == 0 {
            return odd.randomElement(using: &generator) ?? .null
        }
        switch value {
        case .object(let object):
            var members: [JSONObject.Member] = []
            for member in object.members {
                if Int.random(in: 0..<10, using: &generator) == 0 { continue }
                let made = JSONObject.Member(
                    key: member.key,
                    value: mutated(member.value, &generator)
                )
                members.append(made)
                if Int.random(in: 0..<12, using: &generator) == 0 { members.append(made) }
            }
            return .object(JSONObject(members: members))
        case .array(let elements):
            var result: [JSONValue] = []
            for element in elements { result.append(mutated(element, &generator)) }
            return .array(result)
        default: return value
        }
    }

    @Test func `a mask of any length is an error and not the end`() {
        var services = Services(seed: 0)
        for root in ["mfa", "mfaConfig"] {
            for path in ["config", "tenants/t"] {
                let mask = root + String(repeating: ".a", count: 30_000)
                let request = HTTPMessage.Request(
                    "PATCH",
                    "/v2/projects/p/\(path)?updateMask=\(mask)",
                    fields: [HTTPMessage.Field("authorization", "Bearer owner")],
                    body: Array("{}".utf8)
                )
                let status = services.respond(.firebase, to: request, at: Self.now).response.status
                #expect(status == 400 || (root == "mfaConfig" && path == "config"))
            }
        }
    }

    @Test func `nesting beyond measure is an error and not the end`() {
        var services = Services(seed: 0)
        let deep = Array((String(repeating: "[", count: 100_000)).utf8)
        let object = Array((String(repeating: "{\"a\":", count: 50_000) + "1").utf8)
        for (party, method, path) in Self.paths {
            for body in [deep, object] {
                let request = HTTPMessage.Request(method, path, body: body)
                let status = services.respond(party, to: request, at: Self.now).response.status
                // 501 is what is known and absent.
                #expect(status < 500 || status == 501, "\(path)")
            }
        }
    }
}
