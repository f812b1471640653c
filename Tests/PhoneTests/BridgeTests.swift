import Contracts
import Providers
import Testing
import Values

/// Hostile commands and odd switches: nothing crashes, nothing is lost.
@Suite("Bridge")
struct BridgeTests {
    private static let now = Instant(milliseconds: 1_790_000_000_000)

    @Test(
        "hostile commands are parsed quickly",
        arguments: [
            String(repeating: "x", count: 1 << 20),
            "setvault://?key=a&value=" + String(repeating: "&", count: 1 << 20),
            "sendlocalpushmsg://push.send?s=1&msg=" + String(repeating: "&!#", count: 300_000),
            String(repeating: "://", count: 300_000), "setvault://?key=%%%&value=%zz&locked=%",
            "\u{0}\u{7f}\u{202e}://?\u{0}=\u{0}", "🦊://🦊?🦊=🦊&🦊", "SETVAULT://?KEY=a",
            "readvault://?key=__proto__", "revenuecat://launchPaywall?external_id=[object Object]",
        ]
    )
    func hostile(text: String) {
        let command = BridgeCommand(text)
        #expect(command.text == text)
        var state = DespiaState(seed: 1)
        let body: JSONObject = ["command": .string(text)]
        let request = HTTPMessage.Request("POST", "/bridge", body: JSONValue.object(body).bytes)
        #expect(state.respond(to: request, at: Self.now).response.status == 200)
        #expect(state.log.entries.first?.text == text)
    }

    @Test(
        "bodies of the wrong type are refused, not carried out",
        arguments: [
            #"{"command": 5}"#, #"{"command": null}"#, "[]", "5", "", #"{"command"#,
            #"{"device": 7}"#,
        ]
    )
    func wrongTypes(body: String) {
        var state = DespiaState(seed: 1)
        let request = HTTPMessage.Request("POST", "/bridge", body: Array(body.utf8))
        #expect(state.respond(to: request, at: Self.now).response.status == 400)
        #expect(state.log.entries.isEmpty)
    }

    /// The configuration stands inside a script: nothing in a device may end it.
    @Test func `no value of a device ends the shim's script`() throws {
        let device: JSONValue = [
            "device": "</script><script>alert(1)</script>", "userAgent": "a\u{2028}b\u{2029}c",
        ]
        let script = DespiaShim.script(device: device, load: "1", channel: .binding("say"))
        #expect(!script.contains("</script"))
        #expect(!script.contains("\u{2028}") && !script.contains("\u{2029}"))
        #expect(!script.contains("(CONFIGURATION)"))
        #expect(script.contains(#""binding":"say""#))
    }

    @Test func `faults hit commands by what they are, and are used up`() {
        var state = DespiaState(seed: 1)
        var plan = BridgePlan()
        plan.switches = ["vaultMissing": "silent", "history": "null"]
        plan.faults = [
            .init(kind: .drop, scheme: "setvault", role: .id, times: 1),
            .init(kind: .late, scheme: "readvault", role: nil, times: 1),
        ]
        state.apply(plan, keys: [.id: "who"])
        #expect(state.settings.vaultMissing == .silent && state.settings.history == .null)
        func send(_ text: String) -> JSONValue {
            let body: JSONObject = ["command": .string(text)]
            let request = HTTPMessage.Request("POST", "/bridge", body: JSONValue.object(body).bytes)
            let response = state.respond(to: request, at: Self.now).response
            return (try? JSONValue(parsing: response.body)) ?? .null
        }
        #expect(send("setvault://?key=other&value=1&locked=false")["dropped"] == nil)
        #expect(send("setvault://?key=who&value=1&locked=false")["dropped"] == true)
        #expect(send("setvault://?key=who&value=2&locked=false")["dropped"] == nil)
        #expect(send("readvault://?key=who")["replies"]?.array?.first?["delay"] == 31_000)
        let second = send("readvault://?key=who")["replies"]?.array?.first
        #expect(second?["delay"] == 20 && second?["value"] == "2")
    }
}
