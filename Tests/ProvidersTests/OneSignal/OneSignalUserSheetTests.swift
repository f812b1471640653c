import Contracts
import Providers
import Redaction
import Testing
import Values

/// Users, subscriptions, tags, limits and players (OneSignal fact sheet, sections 7 to 10).
@Suite("OneSignal fact sheet: users")
struct OneSignalUserSheetTests {
    private static let app = "a55a4000-0000-4000-8000-000000000000"
    private static let users = "/apps/\(app)/users"
    private static let ada = users + "/by/external_id/ada"

    private func talk(_ change: (inout OneSignalSettings) -> Void = { _ in })
        -> ProviderClient<OneSignalState>
    {
        var settings = OneSignalSettings()
        change(&settings)
        var talk = ProviderClient(
            OneSignalState(key: Secret("k-1"), settings: settings),
            authorization: "Key k-1"
        )
        talk.say("POST", Self.users, ["identity": ["external_id": "ada"]])
        talk.wait(.seconds(10))
        return talk
    }

    // MARK: 7 · Users

    @Test("7: statuses of the user calls")
    func statuses() {
        var talk = talk()
        let again = talk.say("POST", Self.users, ["identity": ["external_id": "ada"]])
        #expect(again.status == 200, "an existing user is found by its alias")
        #expect(talk.say("GET", Self.ada).status == 200)
        let patched = talk.say("PATCH", Self.ada, ["properties": ["language": "de"]])
        #expect(patched.status == 202)
        #expect(patched["/properties/language"] == "de")
        #expect(talk.say("GET", Self.ada + "/identity").status == 200)
        let aliased = talk.say("PATCH", Self.ada + "/identity", ["identity": ["crm": "7"]])
        #expect(aliased.status == 200 && aliased["/identity/crm"] == "7")
        let made = talk.say(
            "POST",
            Self.ada + "/subscriptions",
            ["subscription": ["type": "iOSPush", "token": "t"]]
        )
        #expect(made.status == 201 && made["/subscription/type"] == "iOSPush")
        let sid = made["/subscription/id"]?.string ?? ""
        let changed = talk.say(
            "PATCH",
            "/apps/\(Self.app)/subscriptions/\(sid)",
            ["subscription": ["enabled": false]]
        )
        #expect(changed.status == 200)
        let owner = talk.say("GET", "/apps/\(Self.app)/subscriptions/\(sid)/user/identity")
        #expect(owner["/identity/external_id"] == "ada")
        #expect(talk.say("DELETE", Self.ada + "/identity/crm").status == 200)
        #expect(talk.say("DELETE", "/apps/\(Self.app)/subscriptions/\(sid)").status == 202)
        #expect(talk.say("DELETE", Self.ada).status == 200)
        #expect(talk.say("GET", Self.ada).status == 404)
    }

    @Test(
        "7: what is not there is a 404",
        arguments: [
            ("GET", ""), ("PATCH", ""), ("DELETE", ""), ("GET", "/identity"),
            ("PATCH", "/identity"), ("DELETE", "/identity/x"), ("POST", "/subscriptions"),
        ]
    )
    func missing(method: String, rest: String) {
        var talk = talk()
        let said = talk.say(method, Self.users + "/by/external_id/ghost" + rest, [:])
        #expect(said.status == 404)
        #expect(said.effects.isEmpty)
    }

    @Test("7: the id is generated, read-only and a label")
    func oneSignalID() {
        var talk = talk()
        let id = talk.say("GET", Self.ada)["/identity/onesignal_id"]?.string ?? ""
        #expect(talk.say("GET", Self.users + "/by/onesignal_id/\(id)").status == 200)
        let written = talk.say(
            "PATCH",
            Self.ada + "/identity",
            ["identity": ["onesignal_id": .string(Self.app)]]
        )
        #expect(written.status == 400)
        let unknown = talk.say(
            "POST",
            Self.users,
            ["identity": ["onesignal_id": .string(Self.app)]]
        )
        #expect(unknown.status == 404)
    }

    @Test("7: a known token moves to the user who registers it")
    func transfers() {
        var talk = talk()
        talk.say("POST", Self.users, ["identity": ["external_id": "bob"]])
        let body: JSONValue = ["subscription": ["type": "iOSPush", "token": "t"]]
        let first = talk.say("POST", Self.ada + "/subscriptions", body)
        let second = talk.say("POST", Self.users + "/by/external_id/bob/subscriptions", body)
        #expect(first["/subscription/id"] == second["/subscription/id"])
        #expect(second.effects == ["onesignal.subscription-transferred"])
        #expect(talk.say("GET", Self.ada)["/subscriptions"] == [])
        #expect(
            talk.say("GET", Self.users + "/by/external_id/bob")["/subscriptions/0/id"] != nil
        )
    }

    @Test("7: a user has twenty subscriptions at most")
    func subscriptionLimit() {
        var talk = talk()
        func add(_ number: Int) -> Int {
            talk.say(
                "POST",
                Self.ada + "/subscriptions",
                ["subscription": ["type": "Email", "token": .string("\(number)@x.y")]]
            ).status
        }
        for number in 0..<20 { #expect(add(number) == 201) }
        #expect(add(20) == 409)
        #expect(add(3) == 201, "one that it has already is no other")
    }

    @Test("7, 12: an empty text, never null, and no unset property")
    func shapes() {
        var talk = talk()
        let body: JSONValue = ["subscription": ["type": "iOSPush", "token": "t"]]
        talk.say("POST", Self.ada + "/subscriptions", body)
        let user = talk.say("GET", Self.ada)
        let subscription = user["/subscriptions/0"]?.object
        #expect(subscription?.members.allSatisfy { !$0.value.isNull } == true)
        #expect(subscription?["device_model"] == "")
        #expect(user["/properties"]?.object?.members.allSatisfy { !$0.value.isNull } == true)
        #expect(user["/properties/tags"] == nil)
        #expect(user["/properties/first_active"]?.int64 != nil, "integers")
    }

    @Test(
        "7: a device is reached when it is enabled and opted in",
        arguments: [
            (true, 1, true), (true, 31, true), (false, 1, false), (true, -2, false),
            (true, 0, false),
        ] as [(Bool, Int64, Bool)]
    )
    func reachable(isEnabled: Bool, types: Int64, isReached: Bool) {
        var talk = talk { $0.recipients = .known }
        talk.say(
            "POST",
            Self.ada + "/subscriptions",
            [
                "subscription": [
                    "type": "iOSPush", "token": "t", "enabled": .bool(isEnabled),
                    "notification_types": .integer(types),
                ]
            ]
        )
        let said = talk.say(
            "POST",
            "/notifications",
            [
                "app_id": .string(Self.app), "target_channel": "push", "contents": ["en": "Hi"],
                "include_aliases": ["external_id": ["ada"]],
            ]
        )
        #expect((said["/errors"] == nil) == isReached)
    }

    // MARK: 8 · Tags

    private static let tags: [(JSONValue, JSONValue?)] = [
        ("x", "x"), ("", nil), (.null, nil), (3, "3"), (true, "true"), (false, "false"),
    ]

    @Test("8: tags are texts; an empty one deletes", arguments: tags)
    func tag(value: JSONValue, expected: JSONValue?) {
        var talk = talk()
        talk.say("PATCH", Self.ada, ["properties": ["tags": ["k": "before", "other": "1"]]])
        let said = talk.say("PATCH", Self.ada, ["properties": ["tags": ["k": value]]])
        #expect(said.status == 202)
        let tags = talk.say("GET", Self.ada)["/properties/tags"]
        #expect(tags?["k"] == expected)
        #expect(tags?["other"] == "1", "keys that are left out stay")
    }

    @Test("8: arrays and objects are refused as tags", arguments: [[], [:], ["a"]] as [JSONValue])
    func structured(value: JSONValue) {
        var talk = talk()
        let said = talk.say("PATCH", Self.ada, ["properties": ["tags": ["k": value]]])
        #expect(said.status == 400)
    }

    @Test(
        "8: reserved keys",
        arguments: [
            "message", "notification", "subscription", "user", "template", "app", "org",
            "dynamic_content", "data_feed", "journey", "custom_data",
        ]
    )
    func reserved(key: String) {
        var talk = talk()
        func write(_ key: String) -> Int {
            talk.say(
                "PATCH",
                Self.ada,
                ["properties": ["tags": .object([key: "x"] as JSONObject)]]
            ).status
        }
        #expect(write(key) == 400)
        #expect(write("my_" + key) == 202)
    }

    @Test("8: a hundred changes in one request", arguments: [(100, 202), (101, 400)])
    func requestLimit(count: Int, status: Int) {
        var talk = talk()
        let members = (0..<count).map { JSONObject.Member(key: "k\($0)", value: "1") }
        let said = talk.say(
            "PATCH",
            Self.ada,
            ["properties": ["tags": .object(JSONObject(members: members))]]
        )
        #expect(said.status == status)
        if status == 400 {
            #expect(said["/errors/0"] == "Please limit your tag updates to 100 per request")
        }
    }

    @Test("8: an overflow of the plan refuses the whole update")
    func planLimit() {
        var talk = talk { $0.tagsMax = 2 }
        talk.say("PATCH", Self.ada, ["properties": ["tags": ["a": "1", "b": "1"]]])
        let said = talk.say("PATCH", Self.ada, ["properties": ["tags": ["a": "2", "c": "1"]]])
        #expect(said.status == 409)
        #expect(said["/errors/0/code"] == "entitlements-tag-limit")
        #expect(talk.say("GET", Self.ada)["/properties/tags"] == ["a": "1", "b": "1"])
        let swap = talk.say("PATCH", Self.ada, ["properties": ["tags": ["a": "", "c": "1"]]])
        #expect(swap.status == 202, "one goes, one comes")
    }

    @Test("8: a change that changes nothing has no effect")
    func sameTag() {
        var talk = talk()
        let body: JSONValue = ["properties": ["tags": ["k": "v"]]]
        #expect(talk.say("PATCH", Self.ada, body).effects == ["onesignal.tags"])
        #expect(talk.say("PATCH", Self.ada, body).effects.isEmpty)
    }

    private static let filters: [(JSONValue, Bool)] = [
        ([["field": "tag", "key": "n", "relation": "=", "value": "5"]], true),
        ([["field": "tag", "key": "n", "relation": "!=", "value": "5"]], false),
        ([["field": "tag", "key": "n", "relation": ">", "value": "4"]], true),
        ([["field": "tag", "key": "n", "relation": ">", "value": "10"]], false),
        ([["field": "tag", "key": "n", "relation": "<", "value": "10"]], true),
        ([["field": "tag", "key": "n", "relation": "exists"]], true),
        ([["field": "tag", "key": "m", "relation": "not_exists"]], true),
        (
            [
                ["field": "tag", "key": "n", "relation": "=", "value": "5"],
                ["field": "tag", "key": "m", "relation": "=", "value": "1"],
            ], false
        ),
        (
            [
                ["field": "tag", "key": "m", "relation": "=", "value": "1"],
                ["operator": "OR"],
                ["field": "tag", "key": "n", "relation": "=", "value": "5"],
            ], true
        ),
    ]

    @Test("3, 8: filters mean what they say, and AND is implied", arguments: filters)
    func filter(filters: JSONValue, isReached: Bool) {
        var talk = talk { $0.recipients = .known }
        talk.say("PATCH", Self.ada, ["properties": ["tags": ["n": "5"]]])
        talk.say(
            "POST",
            Self.ada + "/subscriptions",
            ["subscription": ["type": "iOSPush", "token": "t"]]
        )
        let said = talk.say(
            "POST",
            "/notifications",
            ["app_id": .string(Self.app), "contents": ["en": "Hi"], "filters": filters]
        )
        #expect((said["/id"] != "") == isReached, "\(said.text)")
    }

    // MARK: 7, 9 · Time and limits

    @Test("7: properties may lag behind, aliases do not")
    func delay() {
        var talk = talk { $0.propertyDelaySeconds = 30 }
        talk.say("PATCH", Self.ada, ["properties": ["tags": ["k": "v"]]])
        talk.say("PATCH", Self.ada + "/identity", ["identity": ["crm": "7"]])
        #expect(talk.say("GET", Self.ada)["/properties/tags"] == nil)
        #expect(talk.say("GET", Self.ada)["/identity/crm"] == "7")
        talk.wait(.seconds(29))
        #expect(talk.say("GET", Self.ada)["/properties/tags"] == nil)
        talk.wait(.seconds(1))
        #expect(talk.say("GET", Self.ada)["/properties/tags"] == ["k": "v"])
    }

    @Test("9: one write to a user in a second")
    func writes() {
        var talk = talk { $0.userWritesPerSecondMax = 1 }
        let body: JSONValue = ["properties": ["tags": ["k": "v"]]]
        #expect(talk.say("PATCH", Self.ada, body).status == 202)
        let refused = talk.say("PATCH", Self.ada, body)
        #expect(refused.status == 429)
        #expect(refused["/errors/0"] == "API rate limit exceeded.")
        #expect(refused[field: "Retry-After"] == "1")
        talk.wait(.milliseconds(999))
        #expect(talk.say("PATCH", Self.ada, body).status == 429)
        talk.wait(.milliseconds(1))
        #expect(talk.say("PATCH", Self.ada, body).status == 202)
    }

    // MARK: 10 · Players

    @Test("10: a known identifier updates and returns the same id")
    func players() {
        var talk = talk()
        let body: JSONValue = [
            "app_id": .string(Self.app), "device_type": 0, "identifier": "tok",
            "external_user_id": "ada", "tags": ["level": 3],
        ]
        let first = talk.say("POST", "/players", body)
        #expect(first["/success"] == true)
        let second = talk.say("POST", "/players", body)
        #expect(first["/id"] == second["/id"])
        let id = first["/id"]?.string ?? ""
        let shown = talk.say("GET", "/players/\(id)?app_id=\(Self.app)")
        #expect(shown["/tags/level"] == "3")
        #expect(shown["/external_user_id"] == "ada")
        #expect(talk.say("GET", Self.ada)["/subscriptions/0/id"] == first["/id"])
        #expect(
            talk.say("GET", Self.ada)["/properties/tags/level"] == "3",
            "tags of a player are its owner's"
        )
    }

    @Test(
        "10: device types",
        arguments: [
            (0, "iOSPush"), (1, "AndroidPush"), (2, "FireOSPush"), (5, "ChromePush"),
            (7, "SafariLegacyPush"), (8, "FirefoxPush"), (11, "Email"), (13, "HuaweiPush"),
            (14, "SMS"), (3, nil), (99, nil),
        ] as [(Int64, String?)]
    )
    func deviceTypes(number: Int64, type: String?) {
        var talk = talk()
        let made = talk.say(
            "POST",
            "/players",
            [
                "app_id": .string(Self.app), "device_type": .integer(number), "identifier": "x",
                "external_user_id": "ada",
            ]
        )
        #expect(made.status == (type == nil ? 400 : 200))
        if let type { #expect(talk.say("GET", Self.ada)["/subscriptions/0/type"]?.string == type) }
    }

    @Test("10, 11: tags by player id, as RevenueCat writes them")
    func playerTags() {
        var talk = talk()
        let id =
            talk.say("POST", "/players", ["app_id": .string(Self.app), "device_type": 1])["/id"]?
            .string ?? ""
        let said = talk.say(
            "PUT",
            "/players/\(id)",
            [
                "app_id": .string(Self.app),
                "tags": ["period_type": "normal", "expiration_at": 1_790_000_000],
            ]
        )
        #expect(said.json == ["success": true])
        let shown = talk.say("GET", "/players/\(id)?app_id=\(Self.app)")
        #expect(shown["/tags/expiration_at"] == "1790000000")
        #expect(talk.say("PUT", "/players/none", ["app_id": .string(Self.app)]).status == 404)
    }

    @Test("10: tags by external id on the old route", arguments: ["PUT", "PATCH"])
    func legacyTags(method: String) {
        var talk = talk()
        let said = talk.say(method, Self.users + "/ada", ["tags": ["k": "v"]])
        #expect(said.status == 200 && said.json == ["success": true])
        #expect(talk.say(method, Self.users + "/ghost", ["tags": ["k": "v"]]).status == 404)
    }

    @Test("any order of calls leaves each alias with one user", arguments: 0..<UInt64(40))
    func invariants(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var talk = talk()
        let names = ["ada", "bob", "carol"]
        for _ in 0..<60 {
            let name = names.randomElement(using: &random) ?? "ada"
            let other = names.randomElement(using: &random) ?? "bob"
            let user = Self.users + "/by/external_id/\(name)"
            switch Int.random(in: 0..<6, using: &random) {
            case 0: talk.say("POST", Self.users, ["identity": ["external_id": .string(name)]])
            case 1: talk.say("DELETE", user)
            case 2:
                talk.say("PATCH", user + "/identity", ["identity": ["crm": .string(other)]])
            case 3: talk.say("DELETE", user + "/identity/crm")
            case 4:
                talk.say(
                    "POST",
                    user + "/subscriptions",
                    ["subscription": ["type": "Email", "token": .string(other)]]
                )
            default: talk.say("PATCH", user, ["properties": ["tags": ["k": .string(other)]]])
            }
        }
        var owners: [String: String] = [:]
        for name in names {
            let user = talk.say("GET", Self.users + "/by/external_id/\(name)")
            guard user.status == 200 else { continue }
            #expect(user["/identity/external_id"]?.string == name)
            if let crm = user["/identity/crm"]?.string {
                #expect(owners["crm " + crm] == nil, "'\(crm)' is two users'")
                owners["crm " + crm] = name
                let found = talk.say("GET", Self.users + "/by/crm/\(crm)")
                #expect(found["/identity/external_id"]?.string == name)
            }
            for subscription in user["/subscriptions"]?.array ?? [] {
                let token = subscription["token"]?.string ?? ""
                #expect(owners["mail " + token] == nil, "'\(token)' is two users'")
                owners["mail " + token] = name
            }
        }
    }
}
