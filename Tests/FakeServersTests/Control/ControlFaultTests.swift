import FakeServers
import Providers
import Testing
import Values

@Suite("Control API: faults")
struct ControlFaultTests {
    private static let push: JSONValue = [
        "app_id": "a55a4000-0000-4000-8000-000000000000", "target_channel": "push",
        "include_aliases": ["external_id": ["ada"]], "contents": ["en": "Hello"],
    ]

    private func push(_ fixture: ControlFixture) -> Reply {
        fixture.ask(.oneSignal, "POST", "/notifications", Self.push)
    }

    @Test(
        "a planned fault response is returned as it was given",
        arguments: [
            500 as JSONValue, 200, 599, "ok", "reset", "lost-response", "no-response",
            "truncated-response",
            "malformed", "no-subscribers", "invalid-aliases", "slow 2s", "hang 250ms",
            "code QUOTA_EXCEEDED",
        ]
    )
    func readsAnswers(value: JSONValue) async {
        let fixture = ControlFixture()
        let answer = await fixture.call("PUT", "/faults/onesignal", ["responses": [value]])
        #expect(answer.status == 200, "\(answer.error)")
        #expect(answer["faults"]?["onesignal"]?["responses"] == [value])
        #expect(answer["faults"]?["onesignal"]?["permanent"] == false)
        #expect(answer["faults"]?["onesignal"]?["reads"] == false)
    }

    @Test(
        "an invalid fault response is an error that names it and lists the allowed ones",
        arguments: [
            199 as JSONValue, 600, 0, -1, "500", "resett", "slow 2", "slowly", "hang -1s", "code",
            "",
            "slow -2s", .null, true, [], [:],
        ]
    )
    func refusesAnswers(value: JSONValue) async {
        let fixture = ControlFixture()
        let answer = await fixture.call("PUT", "/faults/onesignal", ["responses": ["ok", value]])
        #expect(answer.status == 400, "\(value.text)")
        #expect(answer.error.contains("is not a response; allowed are a status from 200 to 599"))
        #expect(answer.error.hasPrefix(value.text), "\(answer.error)")
        #expect(await fixture.call("GET", "/faults")["faults"] == [:])
    }

    @Test func `fault responses are used in order, and only by calls that change state`() async {
        let fixture = ControlFixture()
        _ = await fixture.call("PUT", "/faults/onesignal", ["responses": [500, "ok", 429]])
        let seen = (0..<4).map { _ in
            fixture.ask(.oneSignal, "GET", "/apps")
            return push(fixture).response.status
        }
        #expect(seen == [500, 200, 429, 200])
        #expect(await fixture.call("GET", "/faults")["faults"] == [:])
    }

    @Test func `a permanent one stays until it is taken away`() async {
        let fixture = ControlFixture()
        _ = await fixture.call(
            "PUT",
            "/faults/onesignal",
            ["responses": [200, 503], "permanent": true]
        )
        let seen = (0..<4).map { _ in push(fixture).response.status }
        #expect(seen == [200, 503, 503, 503])
        let healed = await fixture.call("DELETE", "/faults")
        #expect(healed["faults"] == [:])
        #expect(push(fixture).response.status == 200)
    }

    @Test func `reads use up fault responses when reads is true`() async {
        let fixture = ControlFixture()
        _ = await fixture.call("PUT", "/faults/revenuecat", ["responses": [503], "reads": true])
        #expect(fixture.ask(.revenueCat, "GET", "/v1/subscribers/ada").response.status == 503)
        #expect(fixture.ask(.revenueCat, "GET", "/v1/subscribers/ada").response.status != 503)
    }

    @Test func `a fault is its namespace's alone`() async {
        let fixture = ControlFixture()
        _ = await fixture.call("PUT", "/namespaces/red", ["ids": ["ruby"]])
        _ = await fixture.call("PUT", "/faults/onesignal?namespace=red", ["responses": [500]])
        #expect(push(fixture).response.status == 200)
        #expect(await fixture.call("GET", "/faults")["faults"] == [:])
        #expect(
            await fixture.call("GET", "/faults?namespace=red")["faults"]?["onesignal"] != nil
        )
    }

    @Test(
        "an unknown provider is reported with the nearest name",
        arguments: [
            ("onesignl", "onesignal"), ("firebse", "firebase"), ("revenucat", "revenuecat"),
        ]
    )
    func unknownProvider(name: String, near: String) async {
        let answer = await ControlFixture().call("PUT", "/faults/\(name)", ["responses": [500]])
        #expect(answer.status == 404)
        #expect(
            answer.error
                == "'\(name)' is not one of revenuecat, onesignal, firebase, purchasely, despia"
        )
        #expect(answer.hint == "did you mean '\(near)'?")
    }

    @Test(
        "faults for a party other than a provider return 404",
        arguments: ["backend", "app", "assay"]
    )
    func noProvider(name: String) async {
        let answer = await ControlFixture().call("PUT", "/faults/\(name)", ["refused": true])
        #expect(answer.status == 404, "a name that is none must not pass for done")
    }

    @Test func `a list of responses must not be empty`() async {
        let fixture = ControlFixture()
        let bodies: [JSONValue] = [
            ["refused": true, "permanent": true], ["refused": false, "reads": true],
        ]
        for body in bodies {
            let answer = await fixture.call("PUT", "/faults/onesignal", body)
            #expect(answer.status == 400)
            #expect(answer.error.hasSuffix("requires 'responses', which is missing"))
        }
        for body in [[:], ["responses": []], ["permanent": true]] as [JSONValue] {
            let answer = await fixture.call("PUT", "/faults/onesignal", body)
            #expect(answer.error.hasPrefix("'responses' takes a list"), "\(body.text)")
        }
    }

    @Test func `a list that is wrong refuses no connection either`() async throws {
        let probe = ControlFixture()
        let server = try await FakeServer(.oneSignal, fakes: probe.fakes)
        let fixture = ControlFixture(servers: [server])
        let wrong = await fixture.call(
            "PUT",
            "/faults/onesignal",
            ["refused": true, "responses": ["nonsense"]]
        )
        #expect(wrong.status == 400)
        #expect(!server.isRefusing)
        let both = await fixture.call(
            "PUT",
            "/faults/onesignal",
            ["refused": true, "responses": [500]]
        )
        #expect(both["refused"] == ["onesignal"])
        #expect(both["faults"]?["onesignal"] != nil)
        let other = await fixture.call("PUT", "/faults/firebase", ["refused": false])
        #expect(other["refused"] == ["onesignal"], "another's port is not touched")
        let healed = await fixture.call("DELETE", "/faults")
        #expect(healed["refused"] == [])
        #expect(!server.isRefusing)
        await server.stop()
    }

    @Test(
        "a planned response reaches the caller with or without its effect",
        arguments: [
            ("reset", Reply.SendMode.reset, 0), ("no-response", .never, 0),
            ("hang 250ms", .hangThenReset(250), 0),
            ("lost-response", .reset, 1), ("truncated-response", .truncatedResponse, 1),
            ("slow 2s", .slow(2000), 1),
            ("ok", .answer, 1), ("malformed", .answer, 1),
        ] as [(String, Reply.SendMode, Int)]
    )
    func carriesOut(text: String, sendMode: Reply.SendMode, effects: Int) async {
        let fixture = ControlFixture()
        _ = await fixture.call("PUT", "/faults/onesignal", ["responses": [.string(text)]])
        let reply = push(fixture)
        #expect(reply.sendMode == sendMode)
        #expect(reply.effects.count == effects)
        let isBroken = (try? JSONValue(parsing: reply.response.body)) == nil
        #expect(isBroken == (text == "malformed") || effects == 0)
    }

    @Test func `Firebase fails with its own codes, and others ignore them`() async {
        let fixture = ControlFixture()
        let plan: JSONValue = ["responses": ["code QUOTA_EXCEEDED"], "reads": true]
        _ = await fixture.call("PUT", "/faults/firebase", plan)
        let signUp: JSONValue = ["returnSecureToken": true]
        let path = "/identitytoolkit.googleapis.com/v1/accounts:signUp?key=k"
        let refused = fixture.ask(.firebase, "POST", path, signUp)
        #expect(refused.response.status >= 400)
        #expect(String(decoding: refused.response.body, as: UTF8.self).contains("QUOTA_EXCEEDED"))
        #expect(fixture.ask(.firebase, "POST", path, signUp).response.status == 200)
    }
}
