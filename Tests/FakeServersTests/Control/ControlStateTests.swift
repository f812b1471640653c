import FakeServers
import Providers
import Redaction
import Testing
import Values

@Suite("Control API: namespaces, copies, switches and the journal")
struct ControlStateTests {
    // MARK: Namespaces

    @Test func `a namespace has ids, and calls that name one belong to it`() async {
        let fixture = ControlFixture()
        let made = await fixture.call("PUT", "/namespaces/red", ["ids": ["ruby", "rose"]])
        #expect(made.body == ["namespace": "red", "ids": ["rose", "ruby"]])
        let more = await fixture.call("PUT", "/namespaces/red", ["ids": ["robin"]])
        #expect(more["ids"] == ["robin", "rose", "ruby"], "ids are added")
        #expect(fixture.ask(.revenueCat, "GET", "/v1/subscribers/ruby").namespace == "red")
        #expect(fixture.ask(.revenueCat, "GET", "/v1/subscribers/ada").namespace == "")
        let all = await fixture.call("GET", "/namespaces")
        #expect(
            all["namespaces"] == [
                ["namespace": "", "ids": []],
                ["namespace": "red", "ids": ["robin", "rose", "ruby"]],
            ]
        )
    }

    @Test func `a namespace is removed with all that is in it; the default one is emptied`() async {
        let fixture = ControlFixture()
        _ = await fixture.call("PUT", "/namespaces/red", ["ids": ["ruby"]])
        _ = await fixture.call("POST", "/store/purchase?namespace=red", ["user": "ruby"])
        let rest = await fixture.call("DELETE", "/namespaces/red")
        #expect(rest["namespaces"] == [""])
        #expect(
            await fixture.call("DELETE", "/namespaces/red").error == "there is no namespace 'red'"
        )
        #expect(fixture.ask(.revenueCat, "GET", "/v1/subscribers/ruby").namespace == "")
        _ = await fixture.call("PUT", "/namespaces/red", [:])
        #expect(await fixture.call("GET", "/store/customers/ruby?namespace=red").status == 404)
    }

    @Test(
        "a name has 1 to 200 characters",
        arguments: [(1, true), (200, true), (201, false)]
    )
    func boundsNames(count: Int, isTaken: Bool) async {
        let fixture = ControlFixture()
        let name = String(repeating: "n", count: count)
        for (method, path) in [("PUT", "/namespaces/"), ("POST", "/snapshots/")] {
            let answer = await fixture.call(method, path + name, [:])
            #expect(answer.status == (isTaken ? 200 : 400), "\(path)")
            #expect(isTaken || answer.error.hasSuffix("must have 1 to 200 characters"))
        }
    }

    @Test func `a reset deletes users and purchases and keeps the configuration of the fakes`()
        async
    {
        let fixture = ControlFixture()
        _ = await fixture.call("PUT", "/webhooks/main", ["url": "http://127.0.0.1:1/hook"])
        _ = await fixture.call("PATCH", "/settings", ["purchasely": ["currency": "USD"]])
        _ = await fixture.call("PUT", "/store/products/p", ["days": 3])
        _ = await fixture.call("POST", "/store/purchase", ["user": "ada"])
        let reset = await fixture.call("POST", "/reset", [:])
        #expect(reset["namespace"] == "")
        #expect(await fixture.call("GET", "/store/customers/ada").status == 404)
        #expect(await fixture.call("GET", "/deliveries")["deliveries"] == [])
        #expect(await fixture.call("GET", "/webhooks")["webhooks"]?.array?.count == 1)
        #expect(await fixture.call("GET", "/settings")["purchasely"]?["currency"] == "USD")
        #expect(await fixture.call("GET", "/store/products")["products"]?["p"]?["days"] == 3)
    }

    // MARK: Copies

    @Test func `a snapshot is a copy that later changes do not touch`() async {
        let fixture = ControlFixture()
        _ = await fixture.call("POST", "/store/purchase", ["user": "ada"])
        #expect(await fixture.call("POST", "/snapshots/bought", [:])["snapshots"] == ["bought"])
        _ = await fixture.call("POST", "/store/purchase", ["user": "bob"])
        let forked = await fixture.call("POST", "/snapshots/bought/fork", ["to": "try"])
        #expect(forked.status == 200)
        #expect(await fixture.call("GET", "/store/customers/ada?namespace=try").status == 200)
        #expect(await fixture.call("GET", "/store/customers/bob?namespace=try").status == 404)
        _ = await fixture.call("POST", "/store/refund?namespace=try", ["user": "ada"])
        let here = await fixture.call("GET", "/store/customers/ada")
        let there = await fixture.call("GET", "/store/customers/ada?namespace=try")
        #expect(here.body != there.body)
        _ = await fixture.call("POST", "/snapshots/bought/restore", [:])
        #expect(await fixture.call("GET", "/store/customers/bob").status == 404)
        #expect(await fixture.call("GET", "/store/customers/ada").body == here.body)
    }

    @Test func `a fork of nothing makes no namespace, and a fork onto itself is refused`() async {
        let fixture = ControlFixture()
        let missing = await fixture.call("POST", "/snapshots/none/fork", ["to": "try"])
        #expect(missing.status == 404)
        #expect(missing.error == "there is no snapshot 'none'")
        #expect(missing.hint == "POST /assay/v1/snapshots/none saves a snapshot")
        #expect(fixture.fakes.namespaces == [""], "what was refused must leave nothing")
        _ = await fixture.call("POST", "/snapshots/s", [:])
        let self_ = await fixture.call("POST", "/snapshots/s/fork?namespace=", ["to": ""])
        #expect(self_.error == "'to', the namespace of the copy, must have 1 to 200 characters")
        _ = await fixture.call("PUT", "/namespaces/red", [:])
        let same = await fixture.call("POST", "/snapshots/s/fork?namespace=red", ["to": "red"])
        #expect(same.error == "'to' must be another namespace; use restore for the same one")
    }

    @Test func `an exported state can be imported, and exports unchanged`() async {
        let fixture = ControlFixture()
        _ = await fixture.call("PUT", "/namespaces/red", ["ids": ["ruby"]])
        _ = await fixture.call("POST", "/store/purchase", ["user": "ada"])
        _ = await fixture.call("POST", "/purchasely/purchase?namespace=red", ["user": "ruby"])
        _ = await fixture.call("POST", "/device/vault", ["items": ["k": "v"]])
        let saved = await fixture.call("GET", "/export").body
        let other = ControlFixture()
        let loaded = await other.call("POST", "/import", saved)
        #expect(loaded["namespaces"] == ["", "red"])
        #expect(await other.call("GET", "/export").body == saved)
        #expect(other.ask(.revenueCat, "GET", "/v1/subscribers/ruby").namespace == "red")
    }

    @Test func `keys and secrets are not exported, and are there again after an import`() async {
        let fixture = ControlFixture(keys: [.oneSignal: Secret("os-planted-77")])
        _ = await fixture.call(
            "PUT",
            "/webhooks/main",
            ["url": "http://127.0.0.1:1/", "authorization": "Bearer planted-78"]
        )
        let saved = await fixture.call("GET", "/export").body
        #expect(!saved.text.contains("planted"))
        _ = await fixture.call("POST", "/import", saved)
        let push = fixture.ask(.oneSignal, "POST", "/notifications", [:])
        #expect(push.response.status >= 400, "the key is still demanded")
        #expect(
            String(decoding: push.response.body, as: UTF8.self).contains("Access denied")
                || push.response.status == 403 || push.response.status == 401
        )
    }

    @Test(
        "an invalid state is refused with the reason, and the current state is kept",
        arguments: [
            ([:], "was not written by assay serve"),
            (["kind": "services"], "was not written by assay serve"),
            (["kind": "services", "namespaces": [:]], "format unknown"),
            (["kind": "services", "namespaces": [:], "assay": 1], "format 1"),
            (["kind": "services", "namespaces": ["": ["clock": 5]], "assay": 2], "at /"),
            (
                [
                    "kind": "services", "namespaces": [:], "assay": 2,
                    "ids": ["ada": 5],
                ], "at /ada"
            ),
        ] as [(JSONValue, String)]
    )
    func refusesStates(body: JSONValue, part: String) async {
        let fixture = ControlFixture()
        _ = await fixture.call("POST", "/store/purchase", ["user": "ada"])
        let before = fixture.saved
        let answer = await fixture.call("POST", "/import", body)
        #expect(answer.status == 400)
        #expect(answer.error.contains(part), "\(answer.error)")
        #expect(fixture.saved == before)
    }

    // MARK: Switches

    @Test func `every switch is shown, and one is changed without the others`() async {
        let fixture = ControlFixture()
        let before = await fixture.call("GET", "/settings")
        #expect(
            before.body.object?.keys == [
                "revenuecat", "onesignal", "firebase", "purchasely", "despia", "despia-faults",
                "pages",
            ]
        )
        let after = await fixture.call("PATCH", "/settings", ["firebase": ["tokens": "rs256"]])
        #expect(after["firebase"]?["tokens"] == "rs256")
        for name in ["revenuecat", "onesignal", "purchasely", "despia", "despia-faults", "pages"] {
            #expect(after[name] == before[name])
        }
        let faults = await fixture.call("PATCH", "/settings", ["despia-faults": ["drop": [1, 2]]])
        #expect(faults["despia-faults"]?["drop"] == [1, 2])
    }

    @Test(
        "a settings change with one invalid switch changes no setting",
        arguments: [
            (["firebase": ["tokenz": "rs256"]], "firebase has no switch 'tokenz'", "tokens"),
            (["firebase": ["tokens": "md5"]], "firebase: 'tokens' does not accept \"md5\"", ""),
            (["revenuecat": ["restLagSeconds": "soon"]], "revenuecat: 'restLagSeconds'", ""),
            (
                ["firebase": ["recentSignInSeconds": .integer(.min)]],
                "firebase: 'recentSignInSeconds' is -9223372036854775808, which is not within 0 to",
                ""
            ),
            (["onesignal": ["callsPerSecondMax": -1]], "onesignal: 'callsPerSecondMax' is -1", ""),
            (["despia-faults": ["drp": [1]]], "despia-faults has no switch 'drp'", "drop"),
            (["fierbase": [:]], "'fierbase' is not a member of PATCH", "firebase"),
        ] as [(JSONObject, String, String)]
    )
    func refusesSwitches(body: JSONObject, error: String, near: String) async {
        let fixture = ControlFixture()
        let before = await fixture.call("GET", "/settings")
        var body = body
        let members = [.init(key: "purchasely", value: ["currency": "USD"])] + body.members
        body = JSONObject(members: members)
        let answer = await fixture.call("PATCH", "/settings", .object(body))
        #expect(answer.status == 400)
        #expect(answer.error.hasPrefix(error), "\(answer.error)")
        #expect(near.isEmpty || answer.hint.hasPrefix("did you mean '\(near)'?"), "\(answer.hint)")
        #expect(await fixture.call("GET", "/settings").body == before.body)
    }

    @Test func `nothing to change is an error`() async {
        let answer = await ControlFixture().call("PATCH", "/settings", [:])
        #expect(answer.error == "the body needs the switches of at least one provider")
    }

    // MARK: The journal

    @Test func `the journal is read a page at a time, by party, effect and namespace`() async {
        let fixture = ControlFixture()
        _ = await fixture.call("PUT", "/namespaces/red", ["ids": ["ruby"]])
        for user in ["ada", "ruby", "bob"] {
            fixture.ask(.revenueCat, "GET", "/v1/subscribers/\(user)")
        }
        fixture.ask(.oneSignal, "GET", "/apps")
        func targets(_ query: String) async -> [String] {
            let page = await fixture.call("GET", "/journal" + query)
            return (page["entries"]?.array ?? []).map { $0["request"]?["target"]?.string ?? "" }
        }
        #expect(await targets("") == ["/v1/subscribers/ada", "/v1/subscribers/bob", "/apps"])
        #expect(await targets("?namespace=red") == ["/v1/subscribers/ruby"])
        #expect(await targets("?all=true").count == 4)
        #expect(await targets("?all=false").count == 3)
        #expect(await targets("?party=onesignal") == ["/apps"])
        #expect(await targets("?party=backend").count == 3)
        #expect(await targets("?effects=true") == [])
        let first = await fixture.call("GET", "/journal?limit=1")
        #expect(first["more"] == true)
        #expect(first["entries"]?.array?.count == 1)
        let after = first["after"]?.int64 ?? 0
        #expect(
            await targets("?after=\(after)") == ["/v1/subscribers/bob", "/apps"],
            "the next page begins where the one before ended"
        )
        let last = await fixture.call("GET", "/journal?after=1000")
        #expect(last["entries"] == [])
    }

    @Test(
        "a question that makes no sense is an error",
        arguments: [
            ("limit=0", "'limit' must be 1 to 1000"), ("limit=1001", "'limit' must be 1 to 1000"),
            ("limit=ten", "'limit' is 'ten', which is not a number"),
            ("after=", "'after' is '', which is not a number"),
            ("party=mars", "'party' is 'mars', which is not one of backend, app, assay"),
            ("all=yes", "'all' is 'yes', which is neither true nor false"),
            ("effects=1", "'effects' is '1', which is neither true nor false"),
        ]
    )
    func refusesQuestions(query: String, error: String) async {
        let fixture = ControlFixture()
        for path in ["/journal", "/journal/stream"] {
            let answer = await fixture.call("GET", "\(path)?\(query)")
            #expect(answer.status == 400)
            #expect(answer.error.hasPrefix(error), "\(answer.error)")
        }
        let near = await fixture.call("GET", "/journal?party=onesignl")
        #expect(near.hint == "did you mean 'onesignal'?")
    }

    @Test func `a stream shows what is there and then what comes, each once`() async throws {
        let fixture = ControlFixture()
        fixture.ask(.revenueCat, "GET", "/v1/subscribers/first")
        // Begun, and not ended when the stream is opened.
        let open = fixture.fakes.journal.begin(
            Exchange(
                from: .backend,
                to: .oneSignal,
                namespace: "",
                purpose: .call,
                at: ControlFixture.start,
                request: HTTPMessage.Request("POST", "/slow")
            )
        )
        fixture.ask(.revenueCat, "GET", "/v1/subscribers/second")
        async let lines = fixture.lines("/journal/stream?limit=4")
        // The third can only be seen by who follows; it is written until somebody does.
        fixture.fakes.journal.complete(open, .answered(HTTPMessage.Response(200)))
        fixture.ask(.revenueCat, "GET", "/v1/subscribers/third")
        let seen = try await lines.map { $0["request"]?["target"]?.string ?? "" }
        #expect(seen.count == 4)
        #expect(
            Set(seen) == [
                "/v1/subscribers/first", "/slow", "/v1/subscribers/second",
                "/v1/subscribers/third",
            ]
        )
    }

    @Test func `a stream is filtered, and ends with its limit`() async throws {
        let fixture = ControlFixture()
        for number in 0..<5 {
            fixture.ask(.revenueCat, "GET", "/v1/subscribers/u\(number)")
            fixture.ask(.oneSignal, "GET", "/apps/\(number)")
        }
        let lines = try await fixture.lines("/journal/stream?party=onesignal&after=2&limit=3")
        let seen = lines.map { $0["request"]?["target"]?.string ?? "" }
        #expect(seen == ["/apps/1", "/apps/2", "/apps/3"])
    }

    @Test func `names that one provider keeps secret are open elsewhere`() async throws {
        let fixture = ControlFixture()
        fixture.ask(.despia, "POST", "/http", ["value": "vault-planted-41", "text": "x"])
        fixture.ask(.oneSignal, "POST", "/none", ["value": "open-42", "identifier": "push-43"])
        let page = await fixture.call("GET", "/journal?all=true").body.text
        #expect(!page.contains("vault-planted-41"))
        #expect(page.contains("open-42"), "a name is secret where its owner speaks")
        #expect(!page.contains("push-43"))
    }

    @Test func `secrets of many webhooks are all known, though they share a name`() async {
        let fixture = ControlFixture()
        _ = await fixture.call("PUT", "/namespaces/red", [:])
        for (number, namespace) in ["", "", "", "red", "red"].enumerated() {
            _ = await fixture.call(
                "PUT",
                "/webhooks/w\(number)?namespace=\(namespace)",
                [
                    "url": "http://127.0.0.1:1/",
                    "signing-secret": .string("planted-signing-\(number)"),
                ]
            )
        }
        let declared = Set(fixture.fakes.declared.values.values.map(\.exposed))
        for number in 0..<5 {
            #expect(declared.contains("planted-signing-\(number)"), "\(number)")
        }
    }
}
