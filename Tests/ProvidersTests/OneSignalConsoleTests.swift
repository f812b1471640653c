import Conformance
import Providers
import Testing

/// Apps of the fake OneSignal, their keys and their segments: what no call over REST shows.
@Suite("OneSignal's console")
struct OneSignalConsoleTests {
    private static let app = OneSignalState.standardApp

    private func talk(key: String? = "k-1") -> Talk<OneSignalState> {
        Talk(OneSignalState(key: key.map(Secret.init)), authorization: "Key k-1")
    }

    @Test func `a key that was made is saved as its digest alone, and still opens its app`() throws
    {
        var talk = talk()
        let made = talk.say("POST", "/apps/\(Self.app)/auth/tokens", ["name": "CI"])
        let key = try #require(made["/formatted_token"]?.string)
        let saved = try JSONValue(encoding: talk.state)
        #expect(!saved.text.contains(key))
        talk.state = try saved.decoded(as: OneSignalState.self)
        talk.state.take(key: Secret("k-1"))
        let own = [HTTPMessage.Field("authorization", "Key " + key)]
        #expect(talk.say("GET", "/apps/\(Self.app)/segments", nil, own).status == 201)
    }

    @Test func `an app that was made has no key but its own, even where none is demanded`() throws {
        var talk = talk(key: nil)
        let made = talk.say("POST", "/apps", ["name": "Other"])
        let id = try #require(made["/id"]?.string)
        let key = try #require(made["/basic_auth_key"]?.string)
        #expect(talk.say("GET", "/apps/\(id)/segments").status == 403)
        let own = [HTTPMessage.Field("authorization", "Key " + key)]
        #expect(talk.say("GET", "/apps/\(id)/segments", nil, own).status == 201)
        #expect(talk.say("GET", "/apps/\(Self.app)/segments", nil, own).status == 403)
        // It is told once.
        #expect(talk.say("GET", "/apps/\(id)")["/basic_auth_key"] == .null)
    }

    @Test func `users and their devices are written without a key where a switch says so`() {
        var settings = OneSignalSettings()
        settings.usersNeedNoKey = true
        var talk = Talk(OneSignalState(key: Secret("k-1"), settings: settings))
        let users = "/apps/\(Self.app)/users"
        #expect(talk.say("POST", users, ["identity": ["external_id": "ada"]]).status == 201)
        #expect(talk.say("POST", "/apps/\(Self.app)/segments", ["name": "x"]).status == 403)
    }

    struct Send: Sendable {
        let included: [String]
        let excluded: [String]
        let count: Int64
    }

    private static let sends = [
        Send(included: ["Tea"], excluded: [], count: 2),
        Send(included: ["Tea"], excluded: ["Green"], count: 1),
        Send(included: ["Green"], excluded: [], count: 1),
        Send(included: ["Green", "Tea"], excluded: [], count: 2),
        Send(included: ["Subscribed Users"], excluded: ["Green"], count: 2),
        Send(included: ["Subscribed Users"], excluded: [], count: 3),
    ]

    @Test(
        "a segment reaches those whom its filters name, without those of an excluded one",
        arguments: sends
    )
    func segments(send: Send) {
        var settings = OneSignalSettings()
        settings.recipients = .known
        var talk = Talk(
            OneSignalState(key: Secret("k-1"), settings: settings),
            authorization: "Key k-1"
        )
        let people: [(String, JSONObject)] = [
            ("ada", ["drink": "tea", "sort": "green"]), ("bob", ["drink": "tea"]), ("cleo", [:]),
        ]
        for (name, tags) in people {
            let body: JSONValue = [
                "identity": ["external_id": .string(name)], "properties": ["tags": .object(tags)],
                "subscriptions": [["type": "iOSPush", "token": .string(name)]],
            ]
            #expect(talk.say("POST", "/apps/\(Self.app)/users", body).status == 201)
        }
        for (name, key, value) in [("Tea", "drink", "tea"), ("Green", "sort", "green")] {
            let filter: JSONValue = [
                "field": "tag", "key": .string(key), "relation": "=", "value": .string(value),
            ]
            let body: JSONValue = ["name": .string(name), "filters": [filter]]
            #expect(talk.say("POST", "/apps/\(Self.app)/segments", body).status == 201)
        }
        let sent = talk.say(
            "POST",
            "/notifications",
            [
                "app_id": .string(Self.app), "contents": ["en": "Hi"],
                "included_segments": .strings(send.included),
                "excluded_segments": .strings(send.excluded),
            ]
        )
        let id = sent["/id"]?.string ?? ""
        let seen = talk.say("GET", "/notifications/\(id)?app_id=\(Self.app)")
        #expect(seen["/successful"]?.int64 == send.count)
    }

    @Test func `events, activities and templates leave effects or none, as they should`() {
        var talk = talk()
        let events = talk.say(
            "POST",
            "/apps/\(Self.app)/custom_events",
            ["events": [["name": "brewed", "external_id": "ada"], ["name": "x"]]]
        )
        // All of them or none.
        #expect(events.status == 400 && events.effects.isEmpty)
        let start: JSONValue = [
            "name": "Tea", "event": "start", "activity_id": "a", "event_attributes": [:],
            "event_updates": [:], "contents": ["en": "Tea"], "headings": ["en": "Tea"],
            "include_aliases": ["external_id": ["ada"]],
            "idempotency_key": "0f8fad5b-d9cb-469f-a165-70867728950e",
        ]
        let path = "/apps/\(Self.app)/activities/activity/brewing"
        let first = talk.say("POST", path, start)
        let second = talk.say("POST", path, start)
        #expect(first.effects == ["onesignal.live-activity"] && second.effects.isEmpty)
        #expect(first["/notification_id"] == second["/notification_id"])
        #expect(second[field: "idempotent-replayed"] == "true")
    }

    @Test(
        "a message is a push, a mail or a text, and none counts for another",
        arguments: [
            (
                ["include_aliases": ["external_id": ["ada"]], "target_channel": "push"],
                "notification"
            ),
            (["include_aliases": ["external_id": ["ada"]], "target_channel": "sms"], "sms"),
            (["email_subject": "Hi", "email_body": "x", "email_to": ["a@b.c"]], "email"),
            (["include_phone_numbers": ["+15550100"], "sms_from": "+15550101"], "sms"),
        ] as [(JSONObject, String)]
    )
    func channels(members: JSONObject, kind: String) {
        var talk = talk()
        var body: JSONObject = ["app_id": .string(Self.app), "contents": ["en": "Hi"]]
        for member in members.members { body[member.key] = member.value }
        #expect(talk.say("POST", "/notifications", .object(body)).effects == ["onesignal." + kind])
    }
}
