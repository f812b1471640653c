import Providers
import Redaction
import Testing
import Values

/// The statements of the OneSignal fact sheet that the fake serves, by section.
@Suite("OneSignal fact sheet")
struct OneSignalSheetTests {
    private static let app = "a55a4000-0000-4000-8000-000000000000"

    private func talk(_ change: (inout OneSignalSettings) -> Void = { _ in })
        -> ProviderClient<OneSignalState>
    {
        var settings = OneSignalSettings()
        change(&settings)
        return ProviderClient(
            OneSignalState(key: Secret("k-1"), settings: settings),
            authorization: "Key k-1"
        )
    }

    private static func push(_ members: JSONObject = [:], without: [String] = []) -> JSONValue {
        var body: JSONObject = [
            "app_id": .string(app), "target_channel": "push", "contents": ["en": "Hi"],
            "include_aliases": ["external_id": ["ada"]],
        ]
        for member in members.members { body[member.key] = member.value }
        for key in without { body[key] = nil }
        return .object(body)
    }

    // MARK: 1 · Hosts and keys

    @Test("1: every route is served at both layouts", arguments: ["", "/api/v1"])
    func layouts(root: String) {
        var talk = talk()
        #expect(talk.say("POST", root + "/notifications?c=push", Self.push()).status == 200)
        let users = "\(root)/apps/\(Self.app)/users"
        #expect(talk.say("POST", users, ["identity": ["external_id": "ada"]]).status == 201)
        #expect(talk.say("GET", users + "/by/external_id/ada").status == 200)
        #expect(
            talk.say("POST", root + "/players", ["app_id": .string(Self.app), "device_type": 0])
                .status == 200
        )
    }

    @Test("1: an app id is a UUID in any case")
    func appIDs() {
        var talk = talk()
        let upper = JSONValue.string(Self.app.uppercased())
        #expect(talk.say("POST", "/notifications", Self.push(["app_id": upper])).status == 200)
        for wrong in ["x", "", "a55a4000-0000-4000-8000-00000000000g"] {
            let said = talk.say(
                "POST",
                "/notifications",
                Self.push(["app_id": .string(wrong)])
            )
            #expect(said.status == 400)
            #expect(said["/errors/0"] == "app_id must be a valid UUID")
        }
    }

    @Test(
        "1: path ids are decoded after splitting",
        arguments: ["$RCAnonymousID:abc", "a/b", "a@b.c", "a b", "ü", "a%b"]
    )
    func pathIDs(id: String) {
        var talk = talk()
        let users = "/apps/\(Self.app)/users"
        talk.say("POST", users, ["identity": ["external_id": .string(id)]])
        let found = talk.say("GET", "\(users)/by/external_id/\(id.percentEncoded)")
        #expect(found.status == 200)
        #expect(found["/identity/external_id"]?.string == id)
    }

    @Test("1: the old text of the legacy host is a switch")
    func legacyError() {
        var old = talk { $0.legacyAuthError = true }
        old.fields = []
        #expect(old.say("POST", "/api/v1/notifications", Self.push()).status == 400)
        #expect(old.say("POST", "/notifications", Self.push()).status == 403)
    }

    // MARK: 2 · Errors

    private static let refusals:
        [(section: String, method: String, target: String, JSONValue?, Int, String)] = [
            (
                "2, trap 8", "POST", "/notifications", push(["contents": ["de": "Hallo"]]), 400,
                "Message Notifications must have English language content"
            ),
            (
                "2", "POST", "/notifications", push(without: ["include_aliases"]), 400,
                "You must include which players, segments, or tags you wish to send this "
                    + "notification to."
            ),
            (
                "2", "GET", "/notifications/a55a4000-0000-4000-8000-000000000009?app_id=\(app)",
                nil, 404, "Notification not found"
            ),
            (
                "13, trap 5", "POST", "/notifications",
                push(
                    ["external_id": "a55a4000-0000-4000-8000-000000000001"],
                    without: ["include_aliases"]
                ), 400,
                "You must include which players, segments, or tags you wish to send this "
                    + "notification to."
            ),
        ]

    @Test("2: errors are said in its words", arguments: refusals)
    func refusal(
        section: String,
        method: String,
        target: String,
        body: JSONValue?,
        status: Int,
        text: String
    ) {
        var talk = talk()
        let said = talk.say(method, target, body)
        #expect(said.status == status)
        #expect(said["/errors"] == .strings([text]))
        #expect(said.effects.isEmpty)
    }

    @Test("2: an empty user, an unknown user and another user's alias are refused")
    func userErrors() {
        var talk = talk()
        let users = "/apps/\(Self.app)/users"
        let empty = talk.say("POST", users, [:])
        #expect(empty.status == 400 && empty["/errors/0/code"] == "user-3")
        let unknown = talk.say("GET", users + "/by/onesignal_id/\(Self.app)/identity")
        #expect(unknown.status == 404)
        #expect(
            unknown["/errors/0/title"]?.string
                == "No aliases found for oneSignalID `\(Self.app)`"
        )
        for name in ["ada", "bob"] {
            talk.say("POST", users, ["identity": ["external_id": .string(name)]])
        }
        let taken = talk.say(
            "PATCH",
            users + "/by/external_id/ada/identity",
            ["identity": ["external_id": "bob"]]
        )
        #expect(taken.status == 409)
        #expect(taken["/errors/0/code"] == "user-2")
        #expect(taken["/errors/0/title"] == "One or more Aliases claimed by another User")
        #expect(taken["/errors/0/meta/external_id"] == "bob")
        let two = talk.say(
            "POST",
            users,
            ["identity": ["external_id": "ada", "mail": "x"]]
        )
        #expect(two.status == 200)
        let conflict = talk.say(
            "POST",
            users,
            ["identity": ["external_id": "bob", "mail": "x"]]
        )
        #expect(conflict.status == 409)
    }

    @Test("2: an app that does not exist")
    func unknownApp() {
        var talk = talk { $0.apps = ["b55a4000-0000-4000-8000-000000000000"] }
        let said = talk.say("POST", "/notifications", Self.push())
        #expect(said.status == 404)
        #expect(said["/errors/0"]?.string == "App with id: \(Self.app) does not exist")
    }

    // MARK: 3 · Targets

    private static let targets: [(JSONObject, Bool, [String])] = [
        (["include_aliases": ["external_id": ["a", "b"]]], true, ["a", "b"]),
        (["include_aliases": ["external_id": ["a"], "mail": ["b"]]], true, ["a", "b"]),
        (["include_subscription_ids": ["s"]], true, ["s"]),
        (["include_player_ids": ["p"]], true, ["p"]),
        (["include_external_user_ids": ["e"]], true, ["e"]),
        (["included_segments": ["Total Subscriptions"]], true, ["everyone"]),
        (["filters": [["field": "tag", "key": "k", "relation": "=", "value": "v"]]], true, ["v"]),
        (["email_to": ["a@b.c"]], true, ["a@b.c"]),
        (["include_phone_numbers": ["+491"]], true, ["+491"]),
        (["include_aliases": [:]], false, []),
        (["include_aliases": ["external_id": []]], false, []),
        (["included_segments": []], false, []), ([:], false, []),
    ]

    @Test("3: each kind of target reaches the recipients it names", arguments: targets)
    func target(members: JSONObject, isAccepted: Bool, recipients: [String]) {
        var talk = talk()
        let bare = Self.push(without: ["include_aliases"])
        var body = bare.object ?? [:]
        for member in members.members { body[member.key] = member.value }
        let said = talk.say("POST", "/notifications", .object(body))
        #expect(said.status == (isAccepted ? 200 : 400))
        #expect(said.reply.effects.first?.recipients ?? [] == recipients)
    }

    @Test("3: segments combined with aliases reach the whole segment, or are refused when strict")
    func mixed() {
        let both = Self.push(["included_segments": ["Total Subscriptions"]])
        var open = talk()
        let said = open.say("POST", "/notifications", both)
        #expect(said.reply.effects.first?.recipients == ["ada", "everyone"])
        var strict = talk { $0.mixedTargets = .refuse }
        #expect(strict.say("POST", "/notifications", both).status == 400)
        #expect(strict.say("POST", "/notifications", Self.push()).status == 200)
    }

    @Test(
        "3: aliases need a channel",
        arguments: [("push", 200), ("email", 200), ("sms", 200), ("Push", 400), (nil, 400)]
            as [(String?, Int)]
    )
    func channel(channel: String?, status: Int) {
        var talk = talk()
        let body = Self.push(
            channel.map { ["target_channel": .string($0)] } ?? [:],
            without: channel == nil ? ["target_channel"] : []
        )
        #expect(talk.say("POST", "/notifications", body).status == status)
        var tolerant = self.talk { $0.requiresTargetChannel = false }
        #expect(tolerant.say("POST", "/notifications", body).status == 200)
    }

    @Test(
        "3: how many one request may name",
        arguments: [
            ("include_subscription_ids", 20_000, 200), ("include_subscription_ids", 20_001, 400),
            ("include_external_user_ids", 2000, 200), ("include_external_user_ids", 2001, 400),
            ("include_player_ids", 2001, 400),
        ]
    )
    func limits(field: String, count: Int, status: Int) {
        var talk = talk()
        let ids = JSONValue.array((0..<count).map { .string("i\($0)") })
        let body = Self.push([:], without: ["include_aliases"])
        var object = body.object ?? [:]
        object[field] = ids
        #expect(talk.say("POST", "/notifications", .object(object)).status == status)
    }

    @Test("3: the English text is optional with a template, data only, or an email")
    func noText() {
        for members in [
            ["template_id": "t"], ["content_available": true], ["email_body": "<p>"],
        ] as [JSONObject] {
            var talk = talk()
            let body = Self.push(members, without: ["contents"])
            #expect(talk.say("POST", "/notifications", body).status == 200)
        }
    }

    @Test(
        "3: dates are free in form",
        arguments: [
            ("2015-09-24 14:00:00 GMT-0700", 200),
            ("Thu Sep 24 2015 14:00:00 GMT-0700 (PDT)", 200), ("2015-09-24T14:00:00Z", 200),
            ("September 24th 2015, 2:00 pm UTC-07:00", 200), ("soon", 400), ("24:00", 400),
        ]
    )
    func sendAfter(text: String, status: Int) {
        var talk = talk()
        let said = talk.say("POST", "/notifications", Self.push(["send_after": .string(text)]))
        #expect(said.status == status, "\(said.text)")
    }

    // MARK: 4 · The 200 answers

    @Test("4: a push without reachable recipients returns 200 with an empty id and sends nothing")
    func nobody() {
        var talk = talk { $0.recipients = .known }
        let body = Self.push(
            ["include_subscription_ids": ["gone"]],
            without: ["include_aliases"]
        )
        let said = talk.say("POST", "/notifications", body)
        #expect(said.status == 200)
        #expect(said["/id"] == "")
        #expect(said["/errors"] == ["All included players are not subscribed"])
        #expect(said.effects.isEmpty)
    }

    @Test("4: a push with some invalid ids returns an id and an object of errors")
    func someBad() {
        var talk = talk { $0.recipients = .known }
        talk.say(
            "POST",
            "/apps/\(Self.app)/users",
            [
                "identity": ["external_id": "ada"],
                "subscriptions": [["type": "iOSPush", "token": "t1"]],
            ]
        )
        let said = talk.say(
            "POST",
            "/notifications",
            Self.push(["include_aliases": ["external_id": ["ada", "ghost"]]])
        )
        #expect(said["/id"]?.string?.isEmpty == false)
        #expect(said["/errors"] == ["invalid_aliases": ["external_id": ["ghost"]]])
        let pure = talk.say("POST", "/notifications", Self.push())
        #expect(pure["/errors"] == nil, "errors is absent on pure success")
    }

    @Test("4: recipients are counted where the old version is asked for")
    func recipients() {
        var old = talk { $0.countsRecipients = true }
        #expect(old.say("POST", "/notifications", Self.push())["/recipients"] == 1)
        var new = talk()
        #expect(new.say("POST", "/notifications", Self.push())["/recipients"] == nil)
    }

    // MARK: 5 · Idempotency

    @Test("5: both names of the key are one key, in any case")
    func keyNames() {
        var talk = talk()
        let key = "A55A4000-0000-5000-8000-0000000000AA"
        let first = talk.say("POST", "/notifications", Self.push(["idempotency_key": .string(key)]))
        let second = talk.say(
            "POST",
            "/notifications",
            Self.push(["external_id": .string(key.lowercased())])
        )
        #expect(first["/id"] == second["/id"])
        #expect(second[field: "Idempotent-Replayed"] == "true")
        #expect(second.effects.isEmpty)
        #expect(first["/external_id"]?.string == key.lowercased())
    }

    @Test(
        "5: the window is thirty days from the first request",
        arguments: [(0, true), (30 * 86_400 - 1, true), (30 * 86_400, false)]
    )
    func window(seconds: Int, isReplayed: Bool) {
        var talk = talk()
        let keyed = Self.push(["idempotency_key": "a55a4000-0000-5000-8000-0000000000aa"])
        talk.say("POST", "/notifications", keyed)
        talk.wait(.seconds(seconds))
        #expect(talk.say("POST", "/notifications", keyed).effects.isEmpty == isReplayed)
    }

    @Test("5: a different body under one key is the first result")
    func otherBody() {
        var talk = talk()
        let key: JSONObject = ["idempotency_key": "a55a4000-0000-5000-8000-0000000000aa"]
        let first = talk.say("POST", "/notifications", Self.push(key))
        var other = key
        other["contents"] = ["en": "Something else"]
        let second = talk.say("POST", "/notifications", Self.push(other))
        #expect(second["/id"] == first["/id"] && second.effects.isEmpty)
    }

    @Test("5: idempotency keys apply per app, and a response without an id does not use one up")
    func keyScope() {
        var talk = talk()
        let key: JSONObject = ["idempotency_key": "a55a4000-0000-5000-8000-0000000000aa"]
        talk.say("POST", "/notifications", Self.push(key))
        var other = key
        other["app_id"] = "b55a4000-0000-4000-8000-000000000000"
        #expect(talk.say("POST", "/notifications", Self.push(other)).effects.count == 1)
        var strict = self.talk { $0.recipients = .known }
        var nobody = key
        nobody["include_subscription_ids"] = ["later"]
        let body = Self.push(nobody, without: ["include_aliases"])
        #expect(strict.say("POST", "/notifications", body)["/id"] == "")
        #expect(
            strict.say("POST", "/notifications", body)[field: "Idempotent-Replayed"] == nil
        )
    }

    @Test("5: an idempotency key that is not a UUID is refused only if UUIDs are required")
    func keyForm() {
        let body = Self.push(["idempotency_key": "order-1"])
        var open = talk()
        #expect(open.say("POST", "/notifications", body).status == 200)
        var strict = talk { $0.requiresUUIDKeys = true }
        #expect(strict.say("POST", "/notifications", body).status == 400)
    }

    // MARK: 6 · View, list, cancel

    @Test("6: a notification is viewed, listed and purged")
    func views() {
        var talk = talk()
        var ids: [JSONValue?] = []
        for _ in 0..<3 {
            ids.append(talk.say("POST", "/notifications", Self.push())["/id"])
            talk.wait(.seconds(1))
        }
        let id = ids[0]?.string ?? ""
        let one = talk.say("GET", "/notifications/\(id)?app_id=\(Self.app)")
        #expect(one.status == 200)
        #expect(
            one["/queued_at"] == .integer(ProviderClient<OneSignalState>.start.seconds),
            "seconds"
        )
        #expect(one["/canceled"] == false)
        let list = talk.say("GET", "/notifications?app_id=\(Self.app)&limit=2")
        #expect(list["/total_count"] == 3)
        #expect(list["/notifications/0/id"] == ids[2] && list["/notifications/1/id"] == ids[1])
        #expect(list["/notifications/2"] == nil)
        talk.wait(.seconds(31 * 86_400))
        #expect(talk.say("GET", "/notifications/\(id)?app_id=\(Self.app)").status == 404)
    }

    @Test("6: what waits can be cancelled, what was sent can not")
    func cancel() {
        var talk = talk()
        let later = talk.say(
            "POST",
            "/notifications",
            Self.push(["send_after": "2030-01-01T00:00:00Z"])
        )
        let id = later["/id"]?.string ?? ""
        let target = "/notifications/\(id)?app_id=\(Self.app)"
        #expect(talk.say("DELETE", target).json == ["success": true])
        #expect(talk.say("GET", target)["/canceled"] == true)
        let sent = talk.say("POST", "/notifications", Self.push())["/id"]?.string ?? ""
        let refused = talk.say("DELETE", "/notifications/\(sent)?app_id=\(Self.app)")
        #expect(refused.status == 400)
        #expect(refused["/errors/0"] == "Notification has already been sent to all recipients")
        #expect(talk.say("DELETE", "/notifications/none?app_id=\(Self.app)").status == 404)
    }
}
