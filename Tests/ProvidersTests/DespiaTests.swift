import Providers
import Testing
import Values

@Suite("Fake Despia runtime")
struct DespiaTests {
    private static let now = Instant(milliseconds: 1_790_000_000_000)

    private func call(
        _ state: inout DespiaState,
        _ method: String,
        _ path: String,
        _ body: JSONObject = [:]
    ) -> (status: Int, body: JSONValue) {
        let request = HTTPMessage.Request(method, path, body: JSONValue.object(body).bytes)
        let response = state.respond(to: request, at: Self.now).response
        return (response.status, (try? JSONValue(parsing: response.body)) ?? .null)
    }

    /// Sends a command and returns what the page would be told, as `name=value`.
    private func bridge(_ state: inout DespiaState, _ command: String) -> [String] {
        let answer = call(&state, "POST", "/bridge", ["command": .string(command)])
        return (answer.body["replies"]?.array ?? []).map {
            ($0["name"]?.string ?? "") + "=" + ($0["value"]?.text ?? "")
        }
    }

    @Test(
        "a command is split at the first marks and nothing is lost",
        arguments: [
            (
                "setvault://?key=a&value=b&locked=true", "setvault", "",
                ["key", "value", "locked"], 0
            ),
            (
                "revenuecat://purchase?external_id=u&product=g:p", "revenuecat", "purchase",
                ["external_id", "product"], 0
            ),
            (
                "setvault://?key=a&value=x&locked=true&locked=false", "setvault", "",
                ["key", "value", "locked", "locked"], 1
            ),
            ("setvault://?key=a&value=x & y", "setvault", "", ["key", "value", " y"], 2),
            (
                "sendlocalpushmsg://push.send?s=5&msg=a&!#t&!#u", "sendlocalpushmsg",
                "push.send", ["s and msg", "title", "url"], 0
            ),
            ("statusbarcolor://{1, 2, 3}", "statusbarcolor", "{1, 2, 3}", [], 0),
            ("nonsense://x?y=1", "nonsense", "x", ["y"], 1), ("no scheme", "", "no scheme", [], 1),
            ("", "", "", [], 1), ("://", "", "", [], 1), ("readvault://", "readvault", "", [], 0),
            ("setvault://?key=😀&value=#", "setvault", "", ["key", "value"], 2),
        ] as [(String, String, String, [String], Int)]
    )
    func parses(text: String, scheme: String, path: String, names: [String], notes: Int) {
        let command = BridgeCommand(text)
        #expect(command.text == text)
        #expect(command.scheme == scheme && command.path == path)
        #expect(command.parameters.map(\.name) == names)
        #expect(command.notes.count == notes, "\(command.notes)")
    }

    @Test func `decoding is a switch`() {
        let text = "setvault://?key=k&value=a%20b+c"
        #expect(BridgeCommand(text)["value"] == "a b+c")
        #expect(BridgeCommand(text, decoding: .raw)["value"] == "a%20b+c")
        #expect(BridgeCommand(text, decoding: .plusAsSpace)["value"] == "a b c")
    }

    @Test func `the vault keeps texts, and a missing key is a switch`() {
        var state = DespiaState()
        #expect(bridge(&state, "setvault://?key=uid&value=ada&locked=false") == [])
        #expect(bridge(&state, "readvault://?key=uid") == ["uid=\"ada\""])
        for (nothing, replies) in [
            (DespiaSettings.MissingValueReply.null, ["x=null"]), (.empty, ["x=\"\""]),
            (.na, ["x=\"n/a\""]),
            (.silent, []),
        ] {
            state.settings.vaultMissing = nothing
            #expect(bridge(&state, "readvault://?key=x") == replies)
        }
    }

    @Test func `a locked item asks when it is read, never when it is written`() {
        var state = DespiaState()
        _ = bridge(&state, "setvault://?key=s&value=v&locked=true")
        _ = call(&state, "POST", "/device/biometrics", ["outcome": "failure"])
        #expect(bridge(&state, "readvault://?key=s") == ["s=null"])
        #expect(bridge(&state, "readvault://?key=s") == ["s=\"v\""], "the queue is used up")
    }

    @Test func `a reinstall keeps the accounts, a second device shares them`() {
        var state = DespiaState()
        _ = bridge(&state, "setvault://?key=k&value=1&locked=false")
        let before = call(&state, "GET", "/device").body["installUuid"]
        _ = call(&state, "POST", "/device/reinstall")
        let after = call(&state, "GET", "/device").body
        #expect(after["installUuid"] != before)
        #expect(bridge(&state, "readvault://?key=k") == ["k=\"1\""])
        _ = call(&state, "POST", "/device/second-device", ["name": "tablet"])
        let other = call(
            &state,
            "POST",
            "/bridge",
            ["command": "readvault://?key=k", "device": "tablet"]
        )
        #expect(other.body["replies"]?.array?.first?["value"] == "1")
        // What is held back is not in the cloud.
        _ = call(&state, "POST", "/device/cloud/hold")
        _ = bridge(&state, "setvault://?key=k&value=2&locked=false")
        #expect(call(&state, "GET", "/device").body["vaultCloud"]?["k"]?["value"] == "1")
        _ = call(&state, "POST", "/device/cloud/push")
        #expect(call(&state, "GET", "/device").body["vaultCloud"]?["k"]?["value"] == "2")
    }

    @Test func `a purchase on the device is a purchase in the store, an event and a push target`() {
        var services = Services(seed: 1)
        services.revenueCat.webhooks = [
            WebhookConfiguration(id: "main", url: "http://127.0.0.1:1/")
        ]
        func send(_ method: String, _ path: String, _ body: JSONObject) -> JSONValue {
            let request = HTTPMessage.Request(method, path, body: JSONValue.object(body).bytes)
            let reply = services.respond(.despia, to: request, at: Self.now)
            return (try? JSONValue(parsing: reply.response.body)) ?? .null
        }
        _ = send(
            "POST",
            "/bridge",
            ["command": "revenuecat://launchPaywall?external_id=ada&offering=default"]
        )
        #expect(send("GET", "/device", [:])["paywall"]?["open"] == true)
        let closed = send("POST", "/device/paywall/complete", ["product": "premium_yearly"])
        let called = (closed["replies"]?.array ?? []).compactMap { $0["name"]?.string }
        #expect(called == ["onRevenueCatPurchase", "revenueCatResult", "onRevenueCatResult"])
        #expect(services.settle(at: Self.now).isEmpty)
        #expect(services.revenueCat.customer("ada")?.subscription(to: "premium_yearly") != nil)
        let delivery = services.queue.all.first
        #expect(delivery?.type == "INITIAL_PURCHASE")
        let read = send("POST", "/bridge", ["command": "getpurchasehistory://"])
        let entry = read["replies"]?.array?.first?["value"]?.array?.first
        #expect(entry?["productId"] == "premium_yearly" && entry?["externalUserId"] == "ada")
        #expect(entry?["store"] == "app_store" && entry?["environment"] == "sandbox")
        let purchase = services.revenueCat.customer("ada")?.subscription(to: "premium_yearly")
        #expect(entry?["transactionId"]?.string == purchase?.transactionID)
        #expect(entry?["willRenew"] == true)
        var cancel = StoreAction(.cancel, user: "ada")
        cancel.product = "premium_yearly"
        try? services.revenueCat.carryOut(cancel, at: Self.now)
        _ = services.revenueCat.takeEvents()
        let again = send("POST", "/bridge", ["command": "getpurchasehistory://"])
        let later = again["replies"]?.array?.first?["value"]?.array?.first
        #expect(later?["willRenew"] == false, "the device shows what the store knows")
        // Reading is not restoring: no event comes of it.
        _ = services.settle(at: Self.now)
        #expect(services.queue.all.count == 1)
    }

    @Test(
        "ids that the runtime cannot use make an anonymous purchase",
        arguments: ["", "null", "undefined", "a/b", "0", "12345"]
    )
    func fallsBack(id: String) throws {
        var state = DespiaState()
        _ = bridge(&state, "revenuecat://purchase?external_id=\(id)&product=p")
        _ = call(&state, "POST", "/device/paywall/complete")
        let action = try #require(state.outbox.takeStoreActions().first)
        #expect(action.user.hasPrefix("$RCAnonymousID:"))
    }

    @Test func `faults come at the stated command`() {
        var state = DespiaState()
        state.faults.drop = [1]
        state.faults.duplicate = [2]
        state.faults.late = [3]
        state.faults.early = [4]
        state.faults.setterThrows = [5]
        state.faults.killPageAfter = 6
        func send() -> JSONValue {
            call(&state, "POST", "/bridge", ["command": "get-uuid://"]).body
        }
        #expect(send()["dropped"] == true)
        #expect(send()["replies"]?.array?.count == 2)
        #expect((send()["replies"]?.array?.first?["delay"]?.int64 ?? 0) > 30_000)
        #expect(send()["replies"]?.array?.first?["early"] == true)
        #expect(send()["throws"] == true)
        #expect(send()["killPage"] == true)
        #expect(send()["replies"]?.array?.count == 1)
        state.faults.reply = ["get-uuid": .wrongKey]
        #expect(send()["replies"]?.array?.first?["name"] == "uuid_")
        state.faults.uuidMissing = true
        state.faults.reply = [:]
        #expect(send()["replies"]?.array?.first?["value"] == .null)
    }

    /// Fact sheet 1.2: the package sends one command in a task; other pages may send several.
    @Test(
        "a command in the task of another is lost if the runtime coalesces",
        arguments: [true, false]
    )
    func coalescing(coalesces: Bool) {
        var state = DespiaState()
        state.settings.coalescesCommands = coalesces
        func send(_ text: String, at page: Int64, load: String = "1") -> JSONValue {
            let body: JSONObject = [
                "command": .string(text), "page": .integer(page), "load": .string(load),
            ]
            return call(&state, "POST", "/bridge", body).body
        }
        func vault() -> [String: String] {
            (state.devices["main"]?.vaultLocal ?? [:]).mapValues(\.value)
        }
        #expect(send("setvault://?key=a&value=1&locked=false", at: 7)["sameTask"] == nil)
        let second = send("setvault://?key=b&value=2&locked=false", at: 7)
        #expect(second["sameTask"] == true && (second["dropped"] == true) == coalesces)
        #expect(send("setvault://?key=c&value=3&locked=false", at: 8)["sameTask"] == nil)
        // Another page has a time of its own.
        #expect(send("setvault://?key=d&value=4&locked=false", at: 8, load: "2")["sameTask"] == nil)
        #expect(Set(vault().keys) == (coalesces ? ["a", "c", "d"] : ["a", "b", "c", "d"]))
    }

    @Test func `every command is recorded exactly`() {
        var state = DespiaState()
        let hostile = [
            "setvault://?key=a&value=&locked=true", "\u{0}",
            "x://" + String(repeating: "y", count: 1000),
        ]
        for command in hostile { _ = bridge(&state, command) }
        let records = call(&state, "GET", "/log").body["records"]?.array ?? []
        #expect(records.compactMap { $0["text"]?.string } == hostile)
        let next = call(&state, "GET", "/log?after=2").body["records"]?.array ?? []
        #expect(next.count == 1)
    }

    @Test func `an unsupported device feature is reported with a message`() {
        var state = DespiaState()
        #expect(call(&state, "POST", "/bridge").status == 400)
        #expect(call(&state, "PATCH", "/device", ["platform": "windows"]).status == 400)
        #expect(call(&state, "PATCH", "/device", ["colour": "red"]).status == 400)
        #expect(call(&state, "POST", "/device/paywall/complete").status == 409)
        #expect(call(&state, "POST", "/device/nonsense").status == 404)
        #expect(call(&state, "GET", "/nowhere").status == 404)
    }

    @Test func `a login on the device is known to RevenueCat and OneSignal`() throws {
        var services = Services(seed: 1)
        func send(_ command: String) -> JSONValue {
            let body = JSONValue.object(["command": .string(command)])
            let request = HTTPMessage.Request("POST", "/bridge", body: body.bytes)
            let reply = services.respond(.despia, to: request, at: Self.now)
            _ = services.settle(at: Self.now)
            return (try? JSONValue(parsing: reply.response.body)) ?? .null
        }
        _ = send("revenuecat://purchase?external_id=&product=premium_monthly")
        let close = HTTPMessage.Request("POST", "/device/paywall/complete", body: Array("{}".utf8))
        _ = services.respond(.despia, to: close, at: Self.now)
        _ = services.settle(at: Self.now)
        _ = send("revenuecat://login?external_id=zoe")
        let zoe = try #require(services.revenueCat.customer("zoe"))
        #expect(zoe.subscription(to: "premium_monthly") != nil, "an anonymous buyer is merged")
        let who = send("revenuecat://whoami")["replies"]?.array?.first?["value"]
        #expect(who?["user"] == "zoe" && who?["anonymous"] == false)
        _ = send("registerpush://")
        _ = send("setonesignalplayerid://?user_id=zoe")
        let user = HTTPMessage.Request(
            "GET",
            "/apps/\(services.revenueCat.settings.oneSignalApp)/users/by/external_id/zoe"
        )
        let reply = services.respond(.oneSignal, to: user, at: Self.now)
        let shown = try JSONValue(parsing: reply.response.body)
        #expect(shown["subscriptions"]?.array?.count == 1)
    }
}
