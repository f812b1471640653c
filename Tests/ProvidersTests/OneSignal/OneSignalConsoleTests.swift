import Foundation
import Grammar
import Providers
import Redaction
import Testing
import Values

/// Apps of the fake OneSignal, their keys and their segments: what no call over REST shows.
@Suite("OneSignal's console")
struct OneSignalConsoleTests {
    private static let app = OneSignalState.defaultAppID

    private func talk(key: String? = "k-1") -> ProviderClient<OneSignalState> {
        ProviderClient(OneSignalState(key: key.map(Secret.init)), authorization: "Key k-1")
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
        var talk = ProviderClient(OneSignalState(key: Secret("k-1"), settings: settings))
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
        "a push to segments reaches their users, except those of excluded segments",
        arguments: sends
    )
    func segments(send: Send) {
        var settings = OneSignalSettings()
        settings.recipients = .known
        var talk = ProviderClient(
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
        "each message counts only as its own kind: push, email or SMS",
        arguments: [
            (
                ["include_aliases": ["external_id": ["ada"]], "target_channel": "push"],
                "notification"
            ),
            (["include_aliases": ["external_id": ["ada"]], "target_channel": "sms"], "sms"),
            (["email_subject": "Hi", "email_body": "x", "email_to": ["a@b.c"]], "email"),
            (["template_id": "t", "email_to": ["a@b.c"]], "email"),
            (["include_phone_numbers": ["+15550100"], "sms_from": "+15550101"], "sms"),
        ] as [(JSONObject, String)]
    )
    func channels(members: JSONObject, kind: String) {
        var talk = talk()
        var body: JSONObject = ["app_id": .string(Self.app), "contents": ["en": "Hi"]]
        for member in members.members { body[member.key] = member.value }
        #expect(talk.say("POST", "/notifications", .object(body)).effects == ["onesignal." + kind])
    }

    @Test func `a key opens its app wherever another is named`() throws {
        var talk = talk()
        let made = talk.say("POST", "/apps", ["name": "Other"])
        let id = try #require(made["/id"]?.string)
        let key = try #require(made["/basic_auth_key"]?.string)
        let own = [HTTPMessage.Field("authorization", "Key " + key)]
        let push: JSONValue = [
            "app_id": .string(Self.app), "contents": ["en": "Hi"], "included_segments": ["All"],
        ]
        for (path, body) in [
            ("/notifications?app_id=\(id)", push), ("/notifications", push),
            ("/players?app_id=\(id)", ["app_id": .string(Self.app), "device_type": 0]),
            ("/apps/\(id)/users", ["app_id": .string(Self.app), "identity": ["external_id": "x"]]),
        ] as [(String, JSONValue)] {
            let said = talk.say("POST", path, body, own)
            #expect([400, 403].contains(said.status) && said.effects.isEmpty, "\(path)")
        }
    }

    @Test func `an export is available only at its unpredictable address`() throws {
        var talk = talk()
        let path = "/players/csv_export?app_id=\(Self.app)"
        let first = try #require(talk.say("POST", path, [:])["/csv_file_url"]?.string)
        let second = try #require(talk.say("POST", path, [:])["/csv_file_url"]?.string)
        #expect(first != second)
        let file = "/csv_exports/" + (first.components(separatedBy: "/csv_exports/").last ?? "")
        #expect(talk.say("GET", file, nil, []).status == 200)
        let guessed = "/csv_exports/\(Self.app)/users_7b7d.csv.gz"
        #expect(talk.say("GET", guessed, nil, []).status == 404)
        let many = JSONValue.strings((0..<51).map(String.init))
        #expect(talk.say("POST", path, ["extra_fields": many]).status == 400)
    }

    @Test func `reading creates no app, and an unknown segment reaches no users`() {
        var talk = talk()
        let before = talk.state
        for _ in 0..<3 { talk.say("GET", "/apps/4f1d2c3b-8a7e-4c55-9b1e-0d2f6a9c7e10") }
        #expect(talk.state == before)
        let filters: JSONValue = [["field": "tag", "key": "a", "relation": "=", "value": "b"]]
        let segments = "/apps/\(Self.app)/segments"
        talk.say("POST", segments, ["name": "Tea", "filters": filters])
        let push: JSONObject = ["app_id": .string(Self.app), "contents": ["en": "Hi"]]
        func send(_ name: String) -> ProviderResponse {
            var body = push
            body["included_segments"] = [.string(name)]
            return talk.say("POST", "/notifications", .object(body))
        }
        #expect(send("Tae")["/id"] == "")
        // The effect says whom the segment asks for, and not everybody.
        #expect(send("Tea").reply.effects.first?.recipients == ["b"])
        #expect(send("Subscribed Users").reply.effects.first?.recipients.count == 1)
    }

    @Test func `a template fills what a message does not say`() throws {
        var talk = talk()
        let app = JSONValue.string(Self.app)
        let made = talk.say(
            "POST",
            "/templates",
            ["app_id": app, "name": "Hello", "contents": ["en": "From it"]]
        )
        let id = try #require(made["/id"])
        let push: JSONValue = [
            "app_id": app, "template_id": id, "include_aliases": ["external_id": ["ada"]],
            "target_channel": "push",
        ]
        let sent = talk.say("POST", "/notifications", push)
        #expect(sent.reply.effects.first?.content["contents"]?["en"] == "From it")
        let wrong = talk.say(
            "POST",
            "/notifications",
            ["app_id": app, "template_id": "none", "included_segments": ["All"]]
        )
        #expect(wrong.status == 400)
    }

    @Test func `a key of a message is none of an activity`() {
        var talk = talk()
        let key = "0f8fad5b-d9cb-469f-a165-70867728950e"
        let push: JSONValue = [
            "app_id": .string(Self.app), "contents": ["en": "Hi"], "included_segments": ["All"],
            "idempotency_key": .string(key),
        ]
        talk.say("POST", "/notifications", push)
        let start: JSONValue = [
            "name": "Tea", "event": "start", "activity_id": "a", "event_attributes": [:],
            "event_updates": [:], "contents": ["en": "Tea"], "headings": ["en": "Tea"],
            "include_aliases": ["external_id": ["ada"]], "idempotency_key": .string(key),
        ]
        let said = talk.say("POST", "/apps/\(Self.app)/activities/activity/t", start)
        #expect(said["/notification_id"]?.string != nil)
    }
}
