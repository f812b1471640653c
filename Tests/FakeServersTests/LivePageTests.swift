import FakeServers
import Grammar
import Providers
import Redaction
import Testing
import Values

/// The page on the control port as it leaves: what a browser may do with it, and whom it is for.
@Suite("Live page access and data")
struct LivePageTests {
    private static let html = HTTPMessage.Field("accept", "text/html,application/xhtml+xml")

    @Test(
        "a browser is given the page and its two files",
        arguments: [
            ("/", "text/html"), ("/live.css", "text/css"), ("/live.js", "text/javascript"),
        ]
    )
    func files(path: String, type: String) async {
        let answer = await ControlFixture().page(path, fields: [Self.html])
        #expect(answer.status == 200)
        #expect(answer[field: "content-type"]?.hasPrefix(type) == true)
        let policy = answer[field: "content-security-policy"] ?? ""
        for rule in [
            "default-src 'none'", "script-src 'self'", "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
        ] {
            #expect(policy.contains(rule))
        }
        #expect(!policy.contains("unsafe"))
        #expect(answer[field: "x-content-type-options"] == "nosniff")
    }

    @Test func `a program receives JSON as before`() async {
        let answer = await ControlFixture().call("GET", "!/")
        #expect(answer["control"] == "/assay/v1")
    }

    @Test func `the page refers only to its own port`() async {
        let fixture = ControlFixture()
        for path in ["/", "/live.css", "/live.js"] {
            let text = String(
                decoding: await fixture.page(path, fields: [Self.html]).body,
                as: UTF8.self
            )
            let known = text.replacing("http://www.w3.org/2000/svg", with: "")
            #expect(!known.contains("http://") && !known.contains("https://"), "\(path)")
            #expect(!text.contains("innerHTML") && !text.contains("style="), "\(path)")
        }
    }

    @Test(
        "other origins and host names are refused with the API's error",
        arguments: [
            HTTPMessage.Field("host", "rebound.example"),
            HTTPMessage.Field("origin", "http://evil.example"),
            HTTPMessage.Field("sec-fetch-site", "cross-site"),
        ]
    )
    func foreign(field: HTTPMessage.Field) async {
        for path in ["/", "/live.js", "/live.css"] {
            let answer = await ControlFixture().page(path, fields: [Self.html, field])
            #expect(answer.status == 403, "\(path)")
        }
    }

    @Test func `the page needs no token, and its data does`() async throws {
        let fixture = ControlFixture(token: Secret("let-me-in"))
        #expect(await fixture.page("/", fields: [Self.html]).status == 200)
        let none = await fixture.page("/assay/v1/journal", fields: [])
        #expect(none.status == 401)
        #expect(none[field: "www-authenticate"] == "Bearer")
        let text = String(decoding: none.body, as: UTF8.self)
        #expect(text.contains("ASSAY_CONTROL_TOKEN") && !text.contains("‹"))
        func status(_ value: String) async -> Int {
            let field = HTTPMessage.Field("authorization", value)
            return await fixture.page("/assay/v1/health", fields: [field]).status
        }
        #expect(await status("Bearer let-me-in") == 200)
        #expect(await status("bearer let-me-in") == 200)
        for wrong in ["Bearer let-me-i", "Bearer ", "Basic let-me-in", "let-me-in"] {
            #expect(await status(wrong) == 401, "\(wrong)")
        }
    }
}

/// What the page needs of the control API beside what was there.
@Suite("Subscribers, devices and edited events over the control API")
struct ControlSubscriberTests {
    @Test func `subscribers of every provider are in one list with their state`() async {
        let fixture = ControlFixture()
        _ = await fixture.call("PUT", "/clock", ["frozen": true])
        for (action, user) in [
            ("purchase", "ada"), ("purchase", "bob"), ("cancel", "bob"), ("purchase", "cleo"),
            ("refund", "cleo"), ("purchase", "dora"),
        ] {
            let body: JSONValue = ["user": .string(user), "product": "pro_monthly"]
            let answer = await fixture.call("POST", "/store/\(action)", body)
            #expect(answer.status == 200, "\(action) \(user): \(answer.error)")
        }
        let grace: JSONValue = ["user": "dora", "grace": "16d"]
        #expect(await fixture.call("POST", "/store/billing-issue", grace).status == 200)
        _ = await fixture.call("POST", "/purchasely/purchase", ["user": "eve", "plan": "gold"])
        let list = await fixture.call("GET", "/subscribers")
        #expect(list["count"] == 5)
        var states: [String: String] = [:]
        for each in list["subscribers"]?.array ?? [] {
            let id = each["ids"]?.array?.first?.string ?? ""
            states[id] = each["holdings"]?.array?.first?["state"]?.string
            let hasAccess = each["access"]?.array?.isEmpty == false
            #expect(hasAccess == (id != "cleo"), "\(id)")
        }
        #expect(
            states == [
                "ada": "active", "bob": "cancelled", "cleo": "refunded", "dora": "grace",
                "eve": "active",
            ]
        )
        // What the charge failed for ends, and access goes on for the grace period.
        _ = await fixture.call("POST", "/clock/advance", ["by": "31d"])
        let dora = await fixture.call("GET", "/subscribers?id=dor")
        #expect(dora["count"] == 1)
        let holding = dora["subscribers"]?.array?.first?["holdings"]?.array?.first
        #expect(["grace", "ended"].contains(holding?["state"]?.string))
        let two = await fixture.call("GET", "/subscribers?limit=2")
        #expect(two["subscribers"]?.array?.count == 2)
        #expect(two["count"] == 5)
        #expect(await fixture.call("GET", "/subscribers?limit=0").status == 400)
    }

    @Test func `an event is resent with other values, and the subscriber stays`() async {
        let fixture = ControlFixture()
        _ = await fixture.call("PUT", "/webhooks/main", ["url": "http://127.0.0.1:1/hook"])
        let bought = await fixture.call(
            "POST",
            "/store/purchase",
            ["user": "ada", "product": "pro_monthly", "settle": true]
        )
        let delivery = bought["deliveries"]?.array?.first
        let id = delivery?["event"]?.string ?? ""
        let before = await fixture.call("GET", "/subscribers")["subscribers"]
        var body = delivery?["body"]?.object ?? JSONObject()
        var event = body["event"]?.object ?? JSONObject()
        event["type"] = "SOMETHING_NEW"
        event["id"] = "edited"
        body["event"] = .object(event)
        let path = "/deliveries/\(id)/resend"
        let again = await fixture.call("POST", path, ["body": .object(body)])
        let sent = again["deliveries"]?.array?.first
        #expect(sent?["body"] == .object(body))
        #expect(sent?["event"] == "edited")
        #expect(sent?["type"] == "SOMETHING_NEW")
        #expect(sent?["state"] == "delivered")
        // One delivery of several: the edited one again, as it was edited.
        let number = sent?["number"]
        let body2: JSONValue = ["number": number ?? .null]
        let same = await fixture.call("POST", "/deliveries/edited/resend", body2)
        #expect(same["deliveries"]?.array?.map { $0["body"] } == [.object(body)])
        let none = await fixture.call("POST", path, ["number": 999])
        #expect(none.status == 404)
        // What is no event any more is sent as it stands, under the name it had.
        let broken = await fixture.call("POST", path, ["body": ["nothing": true]])
        #expect(broken["deliveries"]?.array?.first?["body"] == ["nothing": true])
        #expect(broken["deliveries"]?.array?.first?["event"] == .string(id))
        #expect(await fixture.call("GET", "/subscribers")["subscribers"] == before)
        #expect(await fixture.call("POST", path, ["body": "text"]).status == 400)
    }

    @Test func `a device is configured over the control API, and invalid values are reported`()
        async
    {
        let fixture = ControlFixture()
        let set = await fixture.call(
            "PATCH",
            "/device",
            ["device": "b", "platform": "android", "pushPermission": "granted"]
        )
        #expect(set["platform"] == "android")
        #expect(set["pushPermission"] == "granted")
        #expect(await fixture.call("PATCH", "/device", ["platform": "symbian"]).status == 400)
        let names = await fixture.call("GET", "/devices")["devices"]?.array?.map { $0["device"] }
        #expect(names == ["b"])
    }

    @Test func `the description says which words there are, and which members are for them`() async
    {
        let document = await ControlFixture().call("GET", "/openapi.json")
        let post = document["paths"]?["/assay/v1/store/{action}"]?["post"]
        let words = post?["parameters"]?.array?.first?["schema"]?["oneOf"]?.array ?? []
        let names = words.compactMap { $0["const"]?.string }
        #expect(names.contains("billing-issue"))
        #expect(words.allSatisfy { $0["description"]?.string?.isEmpty == false })
        let content = post?["requestBody"]?["content"]?["application/json"]
        let members = content?["schema"]?["properties"]?.object?.members ?? []
        let grace = members.first { $0.key == "grace" }?.value["x-of"]
        #expect(grace == ["billing-issue"])
        // A member is for words that there are.
        for member in members {
            for word in member.value["x-of"]?.array ?? [] {
                #expect(names.contains(word.string ?? ""), "\(member.key)")
            }
        }
    }
}
