import Conformance
import FakeServers
import Providers
import TestSupport
import Testing

/// Edge values for every operation of the control API, and for every part of a saved state.
@Suite("Values at the edge of their types", .serialized)
struct EdgeValueTests {
    // MARK: The control API

    /// Plausible values of members, by name; the description has the kinds of the others.
    private static let plausible: [String: [JSONValue]] = [
        "user": ["ada", "bob"], "from": ["bob", "ada"], "ids": [["ada"], ["bob", "eve"]],
        "product": ["premium_monthly", "premium_yearly", "coins_100"],
        "newProduct": ["premium_yearly"], "plan": ["monthly", "yearly"],
        "by": ["1d", "31d", "5m"], "to": ["fork", "2027-01-01T00:00:00Z"],
        "until": ["settled", "2027-01-01T00:00:00Z"], "now": ["2026-11-01T00:00:00Z"],
        "responses": [[500, "slow 2s", "reset"]], "device": ["main", "phone"],
        "url": ["http://127.0.0.1:1/hook"], "kind": ["services"], "assay": [2],
        "days": [7, 30], "price": [.number(JSONNumber(9.99))], "amount": [5], "page": [5],
        "event": [["type": "RENEWAL", "app_user_id": "ada", "product_id": "p"]],
        "events": [["RENEWAL"]], "types": [["RENEWAL"]], "attributes": [["$email": "a@b.c"]],
        "entitlements": [["premium"]], "settle": [true, false],
        "command": ["getpurchasehistory://"],
    ]

    private static func plausibleValue(
        of member: (name: String, schema: JSONValue),
        _ edges: inout EdgeValues
    ) -> JSONValue {
        if let values = plausible[member.name] { return edges.pick(values) }
        if let words = (member.schema["enum"] ?? member.schema["examples"])?.array, !words.isEmpty {
            return edges.pick(words)
        }
        switch member.schema["type"]?.string {
        case "boolean": return .bool(edges.isOnce(in: 2))
        case "integer", "number": return 3
        case "array": return ["ada"]
        case "object": return [:]
        default: return "ada"
        }
    }

    /// A backend's and a person's first calls, so that there is something of each kind.
    private static func filled() async -> ControlFixture {
        let fixture = ControlFixture()
        _ = await fixture.call("PUT", "/webhooks/main", ["url": "http://127.0.0.1:1/hook"])
        _ = await fixture.call("PUT", "/webhooks/purchasely", ["url": "http://127.0.0.1:1/ply"])
        for user in ["ada", "bob"] {
            _ = await fixture.call(
                "POST",
                "/store/purchase",
                ["user": .string(user), "product": "premium_monthly"]
            )
            _ = await fixture.call("POST", "/purchasely/purchase", ["user": .string(user)])
        }
        _ = await fixture.call("POST", "/store/purchase", ["user": "ada", "product": "coins_100"])
        let app = OneSignalState.defaultAppID
        fixture.ask(
            .oneSignal,
            "POST",
            "/apps/\(app)/users",
            [
                "identity": ["external_id": "ada"], "properties": ["tags": ["a": "1"]],
                "subscriptions": [["type": "iOSPush", "token": "t"]],
            ]
        )
        fixture.ask(
            .oneSignal,
            "POST",
            "/notifications",
            [
                "app_id": .string(app), "contents": ["en": "x"], "target_channel": "push",
                "include_aliases": ["external_id": ["ada"]],
                "send_after": "2026-12-01T00:00:00Z",
            ]
        )
        fixture.ask(
            .firebase,
            "POST",
            "/v1/accounts:signUp?key=k",
            ["email": "a@b.c", "password": "secret-1"]
        )
        fixture.ask(
            .despia,
            "POST",
            "/bridge",
            ["device": "main", "command": "getpurchasehistory://"]
        )
        _ = await fixture.call("POST", "/snapshots/x")
        return fixture
    }

    private static func target(
        _ operation: DescribedOperation,
        _ edges: inout EdgeValues
    ) -> String {
        var path = ""
        for part in operation.filled.split(separator: "/").enumerated() {
            let original = operation.path.split(separator: "/")[part.offset]
            var segment = String(part.element)
            if original.hasPrefix("{") {
                if !operation.words.isEmpty { segment = edges.pick(operation.words) }
                if edges.isOnce(in: 4) { segment = edges.string().percentEncoded }
            }
            path += "/" + segment
        }
        var query: [String] = []
        for name in operation.parameters where edges.isOnce(in: 3) {
            let isNamespace = name == "namespace" && !edges.isOnce(in: 8)
            let value = isNamespace ? "" : edges.isOnce(in: 2) ? edges.string() : edges.number()
            query.append(name + "=" + value.percentEncoded)
        }
        return query.isEmpty ? path : path + "?" + query.joined(separator: "&")
    }

    @Test("every operation takes or refuses every value", arguments: EdgeValues.seeds)
    func control(seed: UInt64) async throws {
        var edges = EdgeValues(seed: seed, text: "control")
        var fixture = await Self.filled()
        let operations = await DescribedOperation.all(fixture).filter { $0.id != "importState" }
        #expect(operations.count > 30)
        let switches = await fixture.call("GET", "/settings").body
        var takenCount = 0
        for number in 0..<EdgeValues.inputCount(300) {
            if number % 100 == 99 {
                let saved = try fixture.fakes.save()
                try fixture.fakes.load(saved)
                fixture = await Self.filled()
            }
            let operation = edges.pick(operations)
            let target = Self.target(operation, &edges)
            var members: [JSONObject.Member] = []
            for member in operation.members where !edges.isOnce(in: 3) {
                let value =
                    operation.path == "/settings"
                    ? switches[member.name] ?? [:] : Self.plausibleValue(of: member, &edges)
                members.append(JSONObject.Member(key: member.name, value: value))
            }
            let body = JSONValue.object(JSONObject(members: members))
            let isPlain = operation.members.isEmpty || edges.isOnce(in: 6)
            let bytes = members.isEmpty ? [] : isPlain ? body.bytes : edges.changed(body)
            let input = Array("\(operation.method) \(target) ".utf8) + bytes
            let isInTime = await EdgeValues.run(input) {
                let answer = await fixture.call(operation.method, target, bytes: bytes)
                let text = String(decoding: input.prefix(500), as: UTF8.self)
                #expect(answer.status < 500, "\(text)")
                #expect(answer.status == 200 || !answer.error.isEmpty, "\(text)")
                if answer.status == 200 { takenCount += 1 }
            }
            #expect(isInTime, "\(String(decoding: input, as: UTF8.self))")
        }
        #expect(takenCount > 0)
        #expect(EdgeValues.isWithinMemory)
    }

    // MARK: States

    /// Calls that read and move everything in a state.
    private static func use(_ fixture: ControlFixture) async -> [(place: String, status: Int)] {
        var statuses: [(String, Int)] = []
        func control(_ method: String, _ path: String, _ body: JSONValue? = nil) async {
            statuses.append(("\(method) \(path)", await fixture.call(method, path, body).status))
        }
        func fake(
            _ party: Exchange.Party,
            _ method: String,
            _ path: String,
            _ body: JSONValue? = nil
        ) {
            let owner = [HTTPMessage.Field("authorization", "Bearer owner")]
            let reply = fixture.ask(
                party,
                method,
                path,
                body,
                fields: party == .firebase ? owner : []
            )
            statuses.append(("\(party) \(method) \(path)", reply.response.status))
        }
        for path in [
            "", "/clock", "/subscribers", "/deliveries", "/settings", "/products", "/faults",
        ] {
            await control("GET", path)
        }
        await control("POST", "/clock/advance", ["by": "1d"])
        for kind in ["purchase", "renew", "extend", "cancel", "refund"] {
            await control("POST", "/store/\(kind)", ["user": "ada", "product": "premium_monthly"])
        }
        for kind in ["renew", "cancel"] {
            await control("POST", "/purchasely/\(kind)", ["user": "ada"])
        }
        let app = OneSignalState.defaultAppID
        fake(.revenueCat, "GET", "/v1/subscribers/ada")
        fake(.revenueCat, "GET", "/v2/projects/p/customers/ada/subscriptions")
        fake(.oneSignal, "GET", "/apps/\(app)/users/by/external_id/ada")
        fake(.oneSignal, "GET", "/notifications?app_id=\(app)")
        fake(.oneSignal, "GET", "/players?app_id=\(app)")
        fake(.firebase, "GET", "/v1/projects/demo-project/accounts:batchGet?maxResults=5")
        fake(
            .firebase,
            "POST",
            "/v1/accounts:signInWithPassword?key=k",
            ["email": "a@b.c", "password": "secret-1"]
        )
        fake(.despia, "POST", "/bridge", ["device": "main", "command": "getpurchasehistory://"])
        fake(.despia, "GET", "/device?device=main")
        fake(.despia, "GET", "/log")
        await control("PUT", "/clock", ["frozen": true])
        await control("POST", "/clock/advance", ["by": "400d"])
        await control("POST", "/clock/advance", ["until": "settled"])
        await control("PUT", "/clock", ["now": 4_102_444_800_000])
        await control("GET", "/subscribers")
        await control("GET", "/export")
        return statuses
    }

    @Test("a changed state is refused, or it can be used", arguments: EdgeValues.seeds)
    func states(seed: UInt64) async throws {
        var edges = EdgeValues(seed: seed, text: "states")
        let saved = await Self.filled().saved
        let fixture = ControlFixture()
        let first = await fixture.call("POST", "/import", saved)
        #expect(first.status == 200)
        #expect(await Self.use(fixture).allSatisfy { $0.status < 500 })
        var takenCount = 0
        for _ in 0..<EdgeValues.inputCount(30, divisor: 10) {
            let bytes = edges.changed(saved)
            let isInTime = await EdgeValues.run(bytes) {
                let answer = await fixture.call("POST", "/import", bytes: bytes)
                #expect(answer.status == 200 || answer.status == 400)
                guard answer.status == 200 else { return }
                takenCount += 1
                for (place, status) in await Self.use(fixture) {
                    #expect(
                        status < 500 || status == 501,
                        "\(place) after seed \(seed), state \(takenCount)"
                    )
                }
            }
            #expect(isInTime)
        }
        #expect(takenCount > 0)
        #expect(EdgeValues.isWithinMemory)
    }
}
