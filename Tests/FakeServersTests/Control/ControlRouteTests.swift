import FakeServers
import Grammar
import Testing
import Values

/// What holds for every operation of the control API alike: nothing that is sent is left aside.
@Suite("Control API, every operation")
struct ControlRouteTests {
    @Test func `every operation is described once, and at the place that it is known for`() async {
        let operations = await DescribedOperation.all(ControlFixture())
        #expect(Set(operations.map(\.id)).count == operations.count)
        #expect(Set(operations.map(\.description)).count == operations.count)
        let known = [
            "root": "GET ", "health": "GET /health", "openapi": "GET /openapi.json",
            "namespaces": "GET /namespaces", "putNamespace": "PUT /namespaces/{name}",
            "deleteNamespace": "DELETE /namespaces/{name}", "reset": "POST /reset",
            "journal": "GET /journal", "journalStream": "GET /journal/stream",
            "clock": "GET /clock", "setClock": "PUT /clock", "advance": "POST /clock/advance",
            "faults": "GET /faults", "putFault": "PUT /faults/{provider}",
            "deleteFaults": "DELETE /faults", "settings": "GET /settings",
            "patchSettings": "PATCH /settings", "webhooks": "GET /webhooks",
            "putWebhook": "PUT /webhooks/{id}", "deleteWebhook": "DELETE /webhooks/{id}",
            "products": "GET /store/products", "putProduct": "PUT /store/products/{id}",
            "storeActions": "GET /store", "storeAction": "POST /store/{action}",
            "customer": "GET /store/customers/{id}", "send": "POST /events",
            "deliveries": "GET /deliveries", "flush": "POST /deliveries/flush",
            "resend": "POST /deliveries/{event}/resend",
            "purchaselyAction": "POST /purchasely/{action}",
            "purchaselyWebhook": "PUT /purchasely/webhook", "device": "GET /device",
            "patchDevice": "PATCH /device", "devices": "GET /devices",
            "subscribers": "GET /subscribers", "deviceAction": "POST /device/{action}",
            "rotateKeys": "POST /firebase/rotate-keys",
            "snapshots": "GET /snapshots", "takeSnapshot": "POST /snapshots/{name}",
            "restoreSnapshot": "POST /snapshots/{name}/restore",
            "fork": "POST /snapshots/{name}/fork", "export": "GET /export",
            "importState": "POST /import",
        ]
        for operation in operations {
            #expect(known[operation.id] == operation.description, "\(operation.id)")
        }
        #expect(operations.count == known.count)
    }

    @Test func `an unknown member is an error that names it and changes nothing`()
        async
    {
        let fixture = ControlFixture()
        let before = fixture.saved
        for operation in await DescribedOperation.all(fixture) {
            let answer = await fixture.call(operation.method, operation.filled, ["zzzz": 1])
            #expect(answer.status == 400, "\(operation)")
            #expect(answer.error.hasPrefix("'zzzz' is not a member of "), "\(operation)")
            #expect(answer.error.hasSuffix(operation.path), "\(operation): \(answer.error)")
            for (name, _) in operation.members {
                #expect(answer.hint.contains(name), "\(operation): \(answer.hint)")
            }
            if operation.members.isEmpty {
                #expect(answer.hint == "the operation takes no members")
            }
        }
        #expect(fixture.saved == before)
    }

    @Test func `a misspelt member is reported with the correct name`() async {
        let fixture = ControlFixture()
        for operation in await DescribedOperation.all(fixture) {
            let names = operation.members.map(\.name)
            for name in names where name.count > 3 {
                let typo = String(name.dropLast()) + (name.hasSuffix("x") ? "y" : "x")
                guard !names.contains(typo) else { continue }
                let answer = await fixture.call(operation.method, operation.filled, [typo: 1])
                #expect(answer.status == 400, "\(operation) \(typo)")
                #expect(
                    answer.hint.hasPrefix("did you mean '\(name)'?"),
                    "\(operation) \(typo): \(answer.hint)"
                )
            }
        }
    }

    private static let samples: [(kinds: Set<String>, value: JSONValue)] = [
        (["string"], "text"), (["integer", "number"], 5), (["boolean"], true),
        (["array"], ["x"]), (["object"], ["x": "y"]),
    ]

    @Test func `a value of another kind is an error that names the member`() async throws {
        let fixture = ControlFixture()
        let before = fixture.saved
        var count = 0
        for operation in await DescribedOperation.all(fixture) {
            for (name, schema) in operation.members {
                let type = schema["type"]
                let wanted = Set(type?.array?.compactMap(\.string) ?? [type?.string ?? ""])
                for (kinds, value) in Self.samples where kinds.isDisjoint(with: wanted) {
                    let answer = await fixture.call(
                        operation.method,
                        operation.filled,
                        .object(JSONObject(members: [.init(key: name, value: value)]))
                    )
                    #expect(answer.status == 400, "\(operation) \(name): \(value.text)")
                    #expect(
                        answer.error.hasPrefix("'\(name)' takes "),
                        "\(operation) \(name): \(answer.error)"
                    )
                    count += 1
                }
            }
        }
        #expect(count > 200)
        #expect(fixture.saved == before)
    }

    @Test func `a fractional number of days and a list with a number among strings are errors`()
        async
    {
        let fixture = ControlFixture()
        let half = try? JSONValue(parsing: #"{"days": 1.5}"#)
        let days = await fixture.call("PUT", "/store/products/p", half)
        #expect(days.error == "'days' takes a whole number, not a number")
        let list = await fixture.call("PUT", "/namespaces/n", ["ids": ["a", 5]])
        #expect(list.error == "'ids' takes a list of strings, and one is a number")
        let price = await fixture.call(
            "PUT",
            "/store/products/p",
            try? JSONValue(parsing: #"{"price": 1.5}"#)
        )
        #expect(price.status == 200)
    }

    @Test func `null has the same result as an absent member, for every member`() async {
        for operation in await DescribedOperation.all(ControlFixture()) {
            for (name, _) in operation.members {
                let empty = await ControlFixture().call(operation.method, operation.filled, [:])
                let null = await ControlFixture().call(
                    operation.method,
                    operation.filled,
                    .object(JSONObject(members: [.init(key: name, value: .null)]))
                )
                // Switches and products give null a meaning of their own.
                guard !["patchSettings", "putProduct"].contains(operation.id) else { continue }
                #expect(null.status == empty.status, "\(operation) \(name): \(null.error)")
                #expect(null.error == empty.error, "\(operation) \(name)")
            }
        }
    }

    @Test func `an unknown parameter is an error that names it`() async {
        let fixture = ControlFixture()
        for operation in await DescribedOperation.all(fixture) {
            let answer = await fixture.call(operation.method, operation.filled + "?namespce=x")
            #expect(answer.status == 400, "\(operation)")
            #expect(answer.error.hasPrefix("'namespce' is not a parameter of"), "\(operation)")
            #expect(answer.hint.hasPrefix("did you mean 'namespace'?"), "\(operation)")
        }
    }

    @Test func `an unknown namespace is reported with the call that creates it`() async {
        let fixture = ControlFixture()
        var count = 0
        for operation in await DescribedOperation.all(fixture) where operation.takesNamespace {
            let answer = await fixture.call(operation.method, operation.filled + "?namespace=moon")
            #expect(answer.status == 404, "\(operation): \(answer.error)")
            #expect(answer.error == "there is no namespace 'moon'", "\(operation)")
            #expect(answer.hint == "PUT /assay/v1/namespaces/moon creates it", "\(operation)")
            count += 1
        }
        #expect(count > 25)
        #expect(fixture.fakes.namespaces == [""])
    }

    @Test func `the namespace is accepted in the query, in a header or in the body`() async {
        let fixture = ControlFixture()
        _ = await fixture.call("PUT", "/namespaces/red", ["ids": []])
        let host = HTTPMessage.Field("host", "127.0.0.1")
        let header = HTTPMessage.Field("x-assay-namespace", "red")
        let byQuery = await fixture.call("GET", "/clock?namespace=red")
        let byHeader = await fixture.call("GET", "/clock", fields: [host, header])
        let byBody = await fixture.call("PUT", "/clock", ["frozen": false, "namespace": "red"])
        for answer in [byQuery, byHeader, byBody] { #expect(answer["namespace"] == "red") }
        let two = await fixture.call("GET", "/clock?namespace=blue", fields: [host, header])
        #expect(two.status == 400)
        #expect(two.error == "the call names two namespaces, 'blue' and 'red'")
        let odd = await fixture.call("PUT", "/clock", ["frozen": false, "namespace": 5])
        #expect(odd.error == "'namespace' takes a string, not a number")
    }

    @Test(
        "a body other than a JSON object is an error",
        arguments: [
            ("[]", "an array"), ("5", "a number"), ("\"x\"", "a string"), ("{", "line 1"),
            ("{\"a\": }", "line 1"), ("null", "null"),
        ]
    )
    func refusesOtherBodies(text: String, part: String) async {
        let fixture = ControlFixture()
        for operation in await DescribedOperation.all(fixture) where operation.method != "GET" {
            let answer = await fixture.call(
                operation.method,
                operation.filled,
                bytes: Array(text.utf8)
            )
            #expect(answer.status == 400, "\(operation)")
            #expect(answer.error.hasPrefix("the body is not a JSON object: "), "\(operation)")
            #expect(answer.error.contains(part), "\(operation): \(answer.error)")
        }
    }

    @Test func `an unsupported method gets an error that lists the supported methods`() async {
        let fixture = ControlFixture()
        let operations = await DescribedOperation.all(fixture)
        for path in Set(operations.map(\.filled)) {
            let taken = Set(operations.filter { $0.filled == path }.map(\.method))
            for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "TRACE"]
            where !taken.contains(method) {
                let answer = await fixture.call(method, path)
                // A path with a brace may be taken by another operation, too.
                guard answer.status == 405 else {
                    #expect(
                        operations.contains { $0.method == method && $0.path.contains("{") },
                        "\(method) \(path): \(answer.status)"
                    )
                    continue
                }
                for method in taken {
                    #expect(answer.error.contains(method), "\(path): \(answer.error)")
                }
            }
        }
    }

    @Test(
        "an unknown address gets an error that names the right place to look",
        arguments: [
            ("/nothing", "there is no GET /assay/v1/nothing", "openapi.json"),
            ("/clock/advance/now", "there is no GET /assay/v1/clock/advance/now", "openapi"),
            ("!/other", "the control API is at /assay/v1", ""),
            ("!/assay/v2/clock", "the control API is at /assay/v1", ""),
        ]
    )
    func refusesUnknownAddresses(path: String, error: String, hint: String) async {
        let answer = await ControlFixture().call("GET", path)
        #expect(answer.status == 404)
        #expect(answer.error == error)
        #expect(answer.hint.contains(hint))
    }

    @Test func `the bare address says what it is`() async {
        let fixture = ControlFixture()
        let answer = await fixture.call("GET", "!/")
        #expect(answer["control"] == "/assay/v1")
        #expect(answer["assay"] == "test")
        #expect(await fixture.call("GET", "/health")["ok"] == true)
        let root = await fixture.call("GET", "")
        #expect(root["namespaces"] == [""])
        #expect(root["fakes"] == [:])
    }

    // MARK: Web pages

    @Test(
        "a browser page must not control the fakes",
        arguments: [
            (["host": "evil.example"], "which is not this machine"),
            (["host": "127.0.0.1.evil.example"], "which is not this machine"),
            (["host": ""], "which is not this machine"),
            (
                ["host": "127.0.0.1:9300", "origin": "http://evil.example"],
                "a web page of http://evil.example may not"
            ),
            (
                ["host": "127.0.0.1:9300", "origin": "http://127.0.0.1:9301"],
                "a web page of http://127.0.0.1:9301 may not"
            ),
            (["host": "127.0.0.1:9300", "origin": "null"], "a web page of null may not"),
            (
                ["host": "127.0.0.1:9300", "sec-fetch-site": "cross-site"],
                "a web page of another origin"
            ),
            (
                ["host": "127.0.0.1:9300", "sec-fetch-site": "same-site"],
                "a web page of another origin"
            ),
            (
                ["host": "127.0.0.1:9300", "sec-fetch-site": "made-up"],
                "a web page of another origin"
            ),
        ] as [([String: String], String)]
    )
    func refusesPages(fields: [String: String], part: String) async {
        let answer = await ControlFixture().call(
            "POST",
            "/reset",
            fields: fields.map { HTTPMessage.Field($0.key, $0.value) }
        )
        #expect(answer.status == 403)
        #expect(answer.error.contains(part), "\(answer.error)")
    }

    @Test(
        "this machine, its own page and allowed hosts may control the fakes",
        arguments: [
            ["host": "127.0.0.1:9300"], ["host": "localhost"], ["host": "[::1]:9300"],
            ["host": "127.0.0.1:9300", "origin": "http://127.0.0.1:9300"],
            ["host": "127.0.0.1:9300", "sec-fetch-site": "same-origin"],
            ["host": "127.0.0.1:9300", "sec-fetch-site": "none"],
            ["host": "fakes.ci:80"],
        ]
    )
    func takesOwn(fields: [String: String]) async {
        let answer = await ControlFixture(allowedHosts: ["fakes.ci"]).call(
            "GET",
            "/clock",
            fields: fields.map { HTTPMessage.Field($0.key, $0.value) }
        )
        #expect(answer.status == 200, "\(answer.error)")
    }
}
