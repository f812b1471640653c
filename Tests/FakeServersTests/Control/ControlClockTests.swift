import FakeServers
import Providers
import TestBackend
import Testing
import Values

@Suite("Control API: time")
struct ControlClockTests {
    private static let start = ControlFixture.start

    @Test func `a clock follows real time until it is moved`() async {
        let fixture = ControlFixture()
        let shown = await fixture.call("GET", "/clock")
        #expect(shown["now_ms"] == .integer(Self.start.milliseconds))
        #expect(shown["ahead_ms"] == 0)
        #expect(shown["frozen"] == false)
        #expect(shown["namespace"] == "")
    }

    @Test(
        "a time is text or milliseconds",
        arguments: [
            ("2026-09-24T12:00:00Z" as JSONValue, 1_790_251_200_000 as Int64),
            ("2026-09-24T12:00:00.250Z", 1_790_251_200_250),
            (1_800_000_000_000, 1_800_000_000_000),
            (946_684_800_000, 946_684_800_000), (4_102_444_800_000, 4_102_444_800_000),
        ]
    )
    func setsTime(value: JSONValue, milliseconds: Int64) async {
        let fixture = ControlFixture()
        let answer = await fixture.call("PUT", "/clock", ["now": value])
        #expect(answer.status == 200, "\(answer.error)")
        #expect(answer["now_ms"] == .integer(milliseconds))
        #expect(answer["ahead_ms"] == .integer(milliseconds - Self.start.milliseconds))
    }

    @Test(
        "an invalid time is an error",
        arguments: ["yesterday", "2026-09-24", "2026-13-01T00:00:00Z", ""]
    )
    func refusesTime(text: String) async {
        let fixture = ControlFixture()
        for (method, path, name) in [("PUT", "/clock", "now"), ("POST", "/clock/advance", "to")] {
            let answer = await fixture.call(
                method,
                path,
                .object(JSONObject(members: [.init(key: name, value: .string(text))]))
            )
            #expect(answer.status == 400)
            #expect(answer.error.hasPrefix("'\(name)' takes a time such as"), "\(answer.error)")
        }
        #expect(await fixture.call("GET", "/clock")["ahead_ms"] == 0)
    }

    @Test(
        "a delivery out of reach in an imported state is not waited for",
        arguments: [4_102_444_800_001, 253_402_300_799_000, .max - 1] as [Int64]
    )
    func dueOutOfReach(due: Int64) async {
        let fixture = ControlFixture()
        _ = await fixture.call("PUT", "/webhooks/main", ["url": "http://127.0.0.1:1/hook"])
        let purchase: JSONObject = ["user": "ada", "product": "premium_monthly"]
        _ = await fixture.call("POST", "/store/purchase", .object(purchase))
        let saved = fixture.saved.text
        let changed = saved.replacing(#/"due":\d+/#, with: "\"due\":\(due)")
        #expect(changed != saved)
        let loaded = await fixture.call("POST", "/import", bytes: Array(changed.utf8))
        #expect(loaded.status == 200)
        let settled = await fixture.call("POST", "/clock/advance", ["until": "settled"])
        #expect(settled.status == 200)
        #expect(settled["settled"] == false)
        #expect(settled["ahead_ms"] == 0)
    }

    @Test func `a frozen clock stays where it is set and continues from there`() async {
        let fixture = ControlFixture()
        let frozen = await fixture.call(
            "PUT",
            "/clock",
            ["frozen": true, "now": 1_600_000_000_000]
        )
        #expect(frozen["frozen"] == true)
        #expect(frozen["now_ms"] == 1_600_000_000_000)
        let still = await fixture.call("GET", "/clock")
        #expect(still["now_ms"] == 1_600_000_000_000)
        let running = await fixture.call("PUT", "/clock", ["frozen": false])
        #expect(running["frozen"] == false)
        #expect(running["now_ms"] == 1_600_000_000_000, "it runs on from where it stood")
    }

    @Test func `nothing to set is an error, and so is null`() async {
        let fixture = ControlFixture()
        for body in [[:], ["now": .null], ["now": .null, "frozen": .null]] as [JSONValue] {
            let answer = await fixture.call("PUT", "/clock", body)
            #expect(answer.error == "the body needs 'now', 'frozen' or both")
        }
    }

    @Test(
        "a duration moves it forward",
        arguments: [
            ("1ms", 1), ("5m", 300_000), ("30d", 2_592_000_000), ("16h", 57_600_000),
            ("2s", 2000),
        ] as [(String, Int64)]
    )
    func advancesBy(text: String, milliseconds: Int64) async {
        let answer = await ControlFixture().call(
            "POST",
            "/clock/advance",
            ["by": .string(text)]
        )
        #expect(answer["ahead_ms"] == .integer(milliseconds), "\(answer.error)")
        #expect(answer["attempts"] == 0)
        #expect(answer["settled"] == true)
    }

    @Test(
        "an invalid duration is an error",
        arguments: ["5", "-5m", "0s", "soon", "", "5 m", "1y"]
    )
    func refusesDurations(text: String) async {
        let fixture = ControlFixture()
        let answer = await fixture.call("POST", "/clock/advance", ["by": .string(text)])
        #expect(answer.status == 400)
        #expect(answer.error == "'by' is '\(text)', which is not a duration such as 5m or 30d")
        #expect(await fixture.call("GET", "/clock")["ahead_ms"] == 0)
    }

    @Test func `there is one way to say how far`() async {
        let fixture = ControlFixture()
        let none = await fixture.call("POST", "/clock/advance", [:])
        #expect(none.error == "the body needs 'by', 'to' or 'until': 'settled'")
        let two = await fixture.call(
            "POST",
            "/clock/advance",
            ["by": "5m", "to": 1_600_000_000_000]
        )
        #expect(two.error == "the body may have only one of by, to")
        let other = await fixture.call("POST", "/clock/advance", ["until": "setled"])
        #expect(other.error == "'until' is 'setled', which is not one of settled")
        #expect(other.hint == "did you mean 'settled'?")
        let past = await fixture.call("POST", "/clock/advance", ["to": 1_600_000_000_000])
        #expect(past.error.contains("'to' is in the past"))
        let now = await fixture.call(
            "POST",
            "/clock/advance",
            ["to": .integer(Self.start.milliseconds)]
        )
        #expect(now.status == 200, "now is not back")
        #expect(await fixture.call("GET", "/clock")["ahead_ms"] == 0)
    }

    @Test func `each namespace has its own clock`() async {
        let fixture = ControlFixture()
        _ = await fixture.call("PUT", "/namespaces/red", ["ids": []])
        _ = await fixture.call("POST", "/clock/advance?namespace=red", ["by": "1d"])
        #expect(await fixture.call("GET", "/clock?namespace=red")["ahead_ms"] == 86_400_000)
        #expect(await fixture.call("GET", "/clock")["ahead_ms"] == 0)
    }

    @Test func `advancing renews and delivers on the way`() async throws {
        let fixture = ControlFixture()
        _ = await fixture.call("PUT", "/webhooks/main", ["url": "http://127.0.0.1:1/hook"])
        _ = await fixture.call("POST", "/store/purchase", ["user": "ada"])
        let done = await fixture.call("POST", "/clock/advance", ["by": "61d"])
        #expect(fixture.receiver.eventNames == ["INITIAL_PURCHASE", "RENEWAL", "RENEWAL"])
        #expect(done["attempts"] == 3)
        let days = fixture.receiver.arrivals.map { $0.time.components.seconds / 86_400 }
        #expect(days == [0, 30, 60])
        let renewal = try JSONValue(parsing: fixture.receiver.arrivals[1].request.body)
        #expect(
            renewal["event"]?["event_timestamp_ms"]
                == .integer(Self.start.milliseconds + 30 * 86_400_000)
        )
    }

    @Test func `until settled follows the retry schedule and no further`() async {
        let fixture = ControlFixture([500, 500, 200])
        _ = await fixture.call("PUT", "/webhooks/main", ["url": "http://127.0.0.1:1/hook"])
        _ = await fixture.call("POST", "/store/purchase", ["user": "ada"])
        let done = await fixture.call("POST", "/clock/advance", ["until": "settled"])
        #expect(done["attempts"] == 3)
        #expect(done["settled"] == true)
        #expect(done["ahead_ms"] == .integer(15 * 60_000), "5 minutes, then 10")
        let again = await fixture.call("POST", "/clock/advance", ["until": "settled"])
        #expect(again["attempts"] == 0)
        #expect(again["ahead_ms"] == .integer(15 * 60_000))
    }

    @Test func `a frozen clock is moved by advancing, and stays frozen`() async {
        let fixture = ControlFixture()
        _ = await fixture.call("PUT", "/clock", ["frozen": true])
        let done = await fixture.call("POST", "/clock/advance", ["by": "1h"])
        #expect(done["ahead_ms"] == 3_600_000)
        #expect(done["frozen"] == true)
    }

    @Test(
        "a time outside of 2000 to 2100 is refused with its bound",
        arguments: [
            1_798_761_600_000_000, 1_798_761_600, 946_684_799_999, 4_102_444_800_001, 0, -1, .max,
            .min,
        ] as [Int64]
    )
    func refusesFarTimes(milliseconds: Int64) async {
        let fixture = ControlFixture()
        for (method, path, name) in [("PUT", "/clock", "now"), ("POST", "/clock/advance", "to")] {
            let body = JSONObject(members: [.init(key: name, value: .integer(milliseconds))])
            let answer = await fixture.call(method, path, .object(body))
            #expect(answer.status == 400)
            #expect(answer.error.contains("2000-01-01 to 2100-01-01"), "\(answer.error)")
        }
        #expect(await fixture.call("GET", "/clock")["ahead_ms"] == 0)
    }

    @Test func `advancing beyond 2100 is refused`() async {
        let fixture = ControlFixture()
        let answer = await fixture.call("POST", "/clock/advance", ["by": "900000d"])
        #expect(answer.status == 400)
        #expect(answer.error.contains("2000-01-01 to 2100-01-01"), "\(answer.error)")
    }

    @Test func `a move that renews too often is refused, and a smaller one is carried out`() async {
        let fixture = ControlFixture()
        _ = await fixture.call("PUT", "/store/products/daily", ["days": 1])
        let bought = await fixture.call(
            "POST",
            "/store/purchase",
            ["user": "ada", "product": "daily"]
        )
        #expect(bought.status == 200, "\(bought.error)")
        let far = await fixture.call("PUT", "/clock", ["now": "2099-01-01T00:00:00Z"])
        #expect(far.status == 400)
        #expect(far.error.contains("one move may cause at most 5000 renewals"), "\(far.error)")
        #expect(await fixture.call("GET", "/clock")["ahead_ms"] == 0)
        let near = await fixture.call("PUT", "/clock", ["now": "2036-01-01T00:00:00Z"])
        #expect(near.status == 200, "\(near.error)")
    }
}
