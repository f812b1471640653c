import Providers
import Testing
import Values

/// Dates outside 1970 to 2100 are refused in the error form of each service.
@Suite("Dates in calls to the fakes")
struct CallDateTests {
    private static let outside: [Int64] = [
        .min, -1, 4_102_444_800_001, 1_798_761_600_000_000, .max,
    ]
    private static let app = OneSignalState.defaultAppID

    @Test("Firebase refuses it", arguments: outside)
    func firebase(time: Int64) {
        var talk = ProviderClient(FirebaseState(), authorization: "Bearer owner")
        let accounts = "/v1/projects/demo-project/accounts"
        let user = talk.say("POST", accounts, ["email": "a@b.c"])["/localId"] ?? .null
        for name in ["createdAt", "lastLoginAt", "validSince"] {
            var body: JSONObject = ["localId": user]
            body[name] = .string(String(time))
            let update = talk.say("POST", accounts + ":update", .object(body))
            #expect(update.status == 400)
            #expect(update["/error/status"] == "INVALID_ARGUMENT")
            #expect(update["/error/message"]?.string?.contains("'\(name)'") == true)
            body["localId"] = "imported"
            let batch = talk.say("POST", accounts + ":batchCreate", ["users": [.object(body)]])
            let message = batch["/error/0/message"]?.string
            #expect(message == "\(name) is not a date within 1970-01-01 to 2100-01-01")
        }
    }

    /// The claims of an unsigned token are whatever its writer wants.
    @Test("a token with such a sign-in is refused", arguments: outside)
    func tokens(time: Int64) {
        var state = FirebaseState()
        state.settings.recentSignInSeconds = 300
        var talk = ProviderClient(state)
        let account: JSONValue = ["email": "a@b.c", "password": "secret-1"]
        let user = talk.say("POST", "/v1/accounts:signUp?key=k", account)["/localId"] ?? .null
        let claims: JSONValue = [
            "user_id": user, "iat": .integer(ProviderClient<FirebaseState>.start.seconds + 1),
            "auth_time": .integer(time),
        ]
        let header = Base64.url(Array(#"{"alg":"none","typ":"JWT"}"#.utf8))
        let token = header + "." + Base64.url(claims.bytes) + "."
        let body: JSONValue = ["idToken": .string(token), "email": "b@b.c"]
        let update = talk.say("POST", "/v1/accounts:update?key=k", body)
        #expect(update.status == 400)
        #expect(update["/error/message"] == "INVALID_ID_TOKEN")
        let refresh: JSONValue = [
            "_fakeRefreshToken": "x", "localId": user, "projectId": "demo-project",
            "authTime": .integer(time),
        ]
        let form = "grant_type=refresh_token&refresh_token=" + Base64.url(refresh.bytes)
        let refreshed = talk.post("/v1/token?key=k", form: form)
        #expect(refreshed["/error/message"] == "INVALID_REFRESH_TOKEN")
    }

    @Test("RevenueCat refuses it", arguments: outside)
    func revenueCat(time: Int64) {
        var talk = ProviderClient(RevenueCatState(key: nil))
        talk.say("GET", "/v1/subscribers/ada")
        let promotional = "/v1/subscribers/ada/entitlements/premium/promotional"
        for name in ["end_time_ms", "start_time_ms"] {
            var body: JSONObject = ["duration": "weekly"]
            body[name] = .integer(time)
            let granted = talk.say("POST", promotional, .object(body))
            #expect(granted.status == 400)
            #expect(granted["/code"] == 7226)
        }
        let attribute: JSONValue = [
            "attributes": ["a": ["value": "b", "updated_at_ms": .integer(time)]]
        ]
        let attributes = talk.say("POST", "/v1/subscribers/ada/attributes", attribute)
        #expect(attributes.status == 400)
        #expect(attributes["/code"] == 7263)
        let entitlement = talk.say("GET", "/v2/projects/p/entitlements")["/items/0/id"] ?? .null
        let granted = talk.say(
            "POST",
            "/v2/projects/p/customers/ada/actions/grant_entitlement",
            ["entitlement_id": entitlement, "expires_at": .integer(time)]
        )
        #expect(granted.status == 400)
        #expect(granted["/type"] == "parameter_error")
    }

    @Test(
        "OneSignal refuses it",
        arguments: ["1969-12-31T23:59:59Z", "2100-01-01T00:00:01Z", "9999-12-31 23:59:59 GMT-0700"]
    )
    func oneSignal(text: String) {
        var talk = ProviderClient(OneSignalState(key: nil))
        let push = talk.say(
            "POST",
            "/notifications",
            [
                "app_id": .string(Self.app), "contents": ["en": "x"],
                "included_segments": ["All"], "send_after": .string(text),
            ]
        )
        #expect(push.status == 400)
        #expect(push.text.contains("send_after is not within 1970-01-01 to 2100-01-01"))
        let event = talk.say(
            "POST",
            "/apps/\(Self.app)/custom_events",
            ["events": [["name": "e", "external_id": "ada", "timestamp": .string(text)]]]
        )
        #expect(event.status == 400)
    }

    @Test("the export of OneSignal refuses it", arguments: outside)
    func export(time: Int64) {
        var talk = ProviderClient(OneSignalState(key: nil))
        let export = talk.say(
            "POST",
            "/players/csv_export?app_id=\(Self.app)",
            ["last_active_since": .string(String(time))]
        )
        #expect(export.status == 400)
    }
}
