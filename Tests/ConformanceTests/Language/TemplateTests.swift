import Contracts
import Grammar
import Testing
import Values

@Suite("Templates")
struct TemplateTests {
    private static let spellings: [(String, [Template.Piece])] = [
        ("", []), ("plain", [.text("plain")]), ("{{user.ada}}", [.name("user.ada")]),
        ("{{ user.ada }}", [.name("user.ada")]),
        ("a{{x}}b{{y}}", [.text("a"), .name("x"), .text("b"), .name("y")]),
        ("{{x}}{{y}}", [.name("x"), .name("y")]), ("{{}}", [.name("")]),
        ("{\"a\":{{x}}}", [.text("{\"a\":"), .name("x"), .text("}")]),
        ("{{{{user}}", [.text("{{user}}")]), ("{{{{{{x}}", [.text("{{"), .name("x")]),
        ("{{{x}}", [.text("{"), .name("x")]), ("{{{{{x}}", [.text("{{{x}}")]),
        ("{{open", [.text("{{open")]), ("{{a}b}}", [.text("{{a}b}}")]),
        ("{{a {{x}}", [.text("{{a "), .name("x")]), ("}} {", [.text("}} {")]),
        ("é{{x}}🦊", [.text("é"), .name("x"), .text("🦊")]),
    ]

    @Test("a template is parsed into literal strings and names", arguments: spellings)
    func reads(text: String, pieces: [Template.Piece]) {
        #expect(Template(text).pieces == pieces)
    }

    @Test("an escaped string is parsed as the original string", arguments: 0..<UInt64(300))
    func escapes(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let text = Self.mutilated(&generator)
        #expect(Template(Template.escaped(text)).plainText == text)
    }

    @Test func `ten thousand mutilated templates are read, and written they read as the same`() {
        var generator = SeededGenerator(seed: 13)
        let scope = TemplateScope(.answer, names: Self.names)
        for _ in 0..<10_000 {
            let text = Self.mutilated(&generator)
            let template = Template(text)
            #expect(Template(template.description) == template, "\(text)")
            #expect(template.replacing { _ in nil } == template)
            for problem in scope.problems(in: text) {
                let spelling = text.dropFirst(problem.offset).prefix(problem.length)
                #expect(spelling.hasPrefix("{{"), "\(text)")
                #expect(problem.isUnclosed || spelling.hasSuffix("}}"), "\(text)")
            }
        }
    }

    /// Names, braces and pieces of both in any order.
    private static func mutilated(_ generator: inout SeededGenerator) -> String {
        let pieces = [
            "{", "{{", "{{{", "{{{{", "}", "}}", "}}}", "user.ada", "now+30d", "{{user.ada}}",
            "{{now-1h}}", "{{some.a}}", "{{any}}", " ", ".", "+", "e\u{301}", "🦊", "\n",
            "{{usr.ada}}",
        ]
        return (0..<Int.random(in: 0...9, using: &generator)).map { _ in
            pieces.randomElement(using: &generator) ?? ""
        }.joined()
    }

    fileprivate static var names: TemplateNames {
        var names = TemplateNames()
        names.users = ["ada", "bob"]
        names.deliveries = ["purchase"]
        names.calls = ["first"]
        names.accounts = ["home"]
        names.axes = [.init(name: "copies", values: ["2", "8"])]
        return names
    }

    // MARK: Scopes

    private static let places: [(TemplateScope.ContractSlot, [String], [String])] = [
        (
            .request,
            [
                "user.ada", "anonymous.bob", "device.ada", "event-id.purchase", "account.home",
                "password.home", "now", "now+30d", "date-1h", "some.token1", "long.101", "copies",
                "copies-1",
            ],
            [
                "usr.ada", "user.adda", "user", "user.", "event-id.first", "account.ada", "seconds",
                "id-token.ada", "any", "first.proof", "purchase.price", "now+30", "now1h",
                "nowhere",
                "long.0", "long.x", "long.100001", "copies+x", "", "port",
            ]
        ),
        (.header, ["id-token.ada", "user.ada"], ["id-token.cleo", "any", "first.proof"]),
        (
            .call, ["first.proof", "long.4000", "user.ada"],
            ["second.proof", "id-token.ada", "any"]
        ),
        (.claim, ["seconds", "seconds-1h", "user.ada", "long.129"], ["now", "now-1h", "date"]),
        (.answer, ["any", "any.uuid", "some.x", "date"], ["any.uid", "seconds", "id-token.ada"]),
        (.state, ["purchase.expiration_at_ms", "account.home", "now"], ["first.price", "some.x"]),
        (.phone, ["user.ada", "account.home"], ["some.x", "any", "first.proof"]),
        (.value, ["user.ada", "now"], ["some.x", "any"]),
        (.none, ["copies", "copies+1"], ["user.ada", "now", "copy"]),
    ]

    @Test("a place knows its own names and no others", arguments: places)
    func scopes(place: TemplateScope.ContractSlot, known: [String], unknown: [String]) {
        let scope = TemplateScope(place, names: Self.names)
        for name in known { #expect(scope.problems(in: "{{\(name)}}").isEmpty, "\(name)") }
        for name in unknown {
            let problems = scope.problems(in: "ü {{\(name)}}!")
            #expect(problems.map(\.name) == [name])
            #expect(problems.map(\.offset) == [2])
            #expect(problems.map(\.length) == [name.count + 4])
        }
    }

    @Test func `every place has a test`() {
        #expect(Set(Self.places.map(\.0)) == Set(TemplateScope.ContractSlot.allCases))
    }

    @Test func `a profile's places know their names`() {
        let known: [(TemplateScope.ProfileSlot, String, String)] = [
            (.start, "{{port}}{{data}}{{fake.onesignal}}{{secret.onesignal-key}}", "{{prt}}"),
            (.endpoint, "{{id}}{{account}}{{proof}}", "{{uid}}"),
            (.creation, "{{id}}", "{{account}}"),
            (.account, "{{account}}{{password}}", "{{id}}"), (.probe, "{{id}}", "{{device}}"),
            (.clock, "{{now}}{{now-ms}}{{ahead}}", "{{seconds}}"),
            (.accessPath, "{{id}}", "{{access}}"),
            (.accessAnswer, "{{access}}{{product}}", "{{id}}"),
            (.login, "/login", "{{id}}"), (.userCredential, "{{id}} {{session}}", "{{account}}"),
            (.operatorCredential, "{{session}}", "{{id}}"), (.none, "/hook", "{{port}}"),
        ]
        #expect(Set(known.map(\.0)) == Set(TemplateScope.ProfileSlot.allCases))
        for (place, good, bad) in known {
            #expect(TemplateScope(place).problems(in: good).isEmpty, "\(place)")
            #expect(TemplateScope(place).problems(in: bad).count == 1, "\(place)")
        }
    }

    @Test(
        "the nearest valid name is suggested for an invalid name",
        arguments: [
            (TemplateScope.ContractSlot.request, "usr.ada", "user.ada"),
            (.request, "user.adda", "user.ada"), (.request, "nw-1h", "now-1h"),
            (.claim, "now-1h", "seconds-1h"), (.request, "seconds-1h", "now-1h"),
            (.answer, "any.uid", "any.uuid"), (.none, "copeis-1", "copies-1"),
        ]
    )
    func suggests(place: TemplateScope.ContractSlot, name: String, wanted: String) {
        let problem = TemplateScope(place, names: Self.names).problems(in: "{{\(name)}}").first
        #expect(problem?.nearest == wanted)
    }

    @Test func `unclosed template braces are reported`() {
        let scope = TemplateScope(.request, names: Self.names)
        #expect(scope.problems(in: "a {{user.ada").map(\.isUnclosed) == [true])
        #expect(scope.problems(in: "{{{{user.ada").isEmpty)
    }

    @Test("filling leaves no name of its scope", arguments: TemplateScope.ContractSlot.allCases)
    func fillsAll(place: TemplateScope.ContractSlot) {
        var values = Self.values
        let scope = TemplateScope(place, names: Self.names)
        let examples =
            scope.words.flatMap { $0.examples(Self.names) }
            .filter { !$0.hasPrefix("any") }
            + (place == .none ? [] : place == .claim ? ["seconds+1h"] : ["now+1h", "date-30d"])
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<200 {
            let names = (0..<4).compactMap { _ in examples.randomElement(using: &generator) }
            let text = names.map { "{{\($0)}}" }.joined(separator: " {{{{ ")
            #expect(scope.problems(in: text).isEmpty, "\(text)")
            #expect(Template(values.fill(text).replacing("{{ ", with: "")).names.isEmpty, "\(text)")
            let whole = values.fill(JSONValue.array(names.map { JSONValue.string("{{\($0)}}") }))
            #expect(!whole.text.contains("{{"), "\(text)")
        }
    }

    fileprivate static var values: TemplateValues {
        var values = TemplateValues(
            namespace: Namespace(name: "n", idForm: .string),
            base: Instant(milliseconds: 1_790_000_000_000)
        )
        values.tokens["ada"] = "T"
        values.tokens["bob"] = "U"
        values.proofs["first"] = "P"
        values.events["purchase"] = ["expiration_at_ms": 5]
        values.clock = Instant(milliseconds: 1_790_003_600_000)
        return values
    }
}

@Suite("Values of templates")
struct TemplateValuesTests {
    @Test(
        "a name has one meaning, and its unit",
        arguments: [
            ("{{now-1h}}", 1_789_996_400_000), ("{{now}}", 1_790_000_000_000),
            ("{{date+1h}}", "2026-09-21T15:13:20.000Z"), ("{{seconds}}", 1_790_003_600),
            ("{{seconds-1h}}", 1_790_000_000), ("{{user.ada}}", "assay-n-ada"),
            ("{{first.proof}}", "P"), ("{{purchase.expiration_at_ms}}", 5),
        ] as [(String, JSONValue)]
    )
    func units(template: String, value: JSONValue) {
        var values = TemplateTests.values
        #expect(values.fill(JSONValue.string(template)) == value)
        #expect(values.fill("a " + template) == "a " + (value.string ?? value.text))
    }

    @Test("a long text has the length that it says", arguments: [1, 5, 100, 101, 4000])
    func long(count: Int) {
        var values = TemplateTests.values
        #expect(values.fill("{{long.\(count)}}").count == count)
    }

    @Test func `given values may contain templates, and a self-reference becomes null`() {
        var values = TemplateValues(
            namespace: Namespace(name: "n", idForm: .string),
            base: EvidenceBuilder.base,
            given: ["mail": "{{user.ada}}@example.com", "self": "x{{some.self}}"]
        )
        #expect(values.fill("{{some.mail}}") == "assay-n-ada@example.com")
        #expect(values.fill("{{some.self}}") == "xnull")
    }

    @Test func `a proof that was never handed out leaves its field out`() {
        var values = TemplateTests.values
        #expect(values.fillIfPresent("{{second.proof}}") == nil)
        #expect(values.fill(["a": "{{second.proof}}", "b": 1] as JSONValue) == ["b": 1])
    }

    @Test func `a template with literal braces captures names and compares the braces exactly`() {
        var values = TemplateTests.values
        #expect(values.match("{{{{x}} {{some.a}}", "{{x}} 7").isEmpty)
        #expect(values.fill("{{some.a}}") == "7")
        #expect(!values.match("{{{{x}}", "x").isEmpty)
    }

    /// The generated texts that look like templates reach a backend letter by letter.
    @Test func `hostile values stay literal`() {
        var seen = 0
        for seed in 0..<UInt64(100) {
            var generator = VariationGenerator(
                .unicode,
                body: ["event": ["product_id": "p", "offer_code": "o", "country_code": "US"]],
                random: SeededGenerator(seed: seed)
            )
            let edits = generator.next().edits
            for edit in edits + VariationGenerator.shrunkEdits(edits).flatMap(\.self) {
                var values = TemplateTests.values
                guard let text = edit.value?.string, text.contains("{{") else { continue }
                seen += 1
                #expect(values.fill(text) == Template(text).plainText, "\(text)")
                let scope = TemplateScope(.request, names: TemplateNames())
                #expect(scope.problems(in: text).isEmpty, "\(text)")
            }
        }
        #expect(seen > 0)
    }
}

/// What were copies of the engine give one value now.
@Suite("One engine")
struct EndpointTemplateTests {
    private let values: [String: String?] = [
        "id": "a/b", "device": "D", "platform": "ios", "source": "new", "timestamp": "T",
        "proof": nil,
    ]

    @Test func `a member without a value is omitted, and a literal null is kept`() {
        var endpoint = Profile.Endpoint(
            method: "POST",
            path: "/u/{{id}}",
            body: [
                "id": "{{id}}", "proof": "{{proof}}", "none": .null, "text": "p:{{proof}}",
                "account": "{{account}}", "list": ["{{proof}}", "{{device}}"], "{{platform}}": 1,
            ]
        )
        let request = endpoint.request(values, idForm: .string)
        #expect(request.target == "/u/a%2Fb")
        #expect(
            (try? JSONValue(parsing: request.body))
                == ["id": "a/b", "none": .null, "list": [.null, "D"], "ios": 1]
        )
        endpoint.path = "/u/{{account}}"
        #expect(endpoint.request(values, idForm: .string).target == "/u/")
    }

    @Test func `a backend with integer ids gets them as numbers`() {
        let endpoint = Profile.Endpoint(method: "POST", path: "/u", body: ["id": "{{id}}"])
        let request = endpoint.request(["id": "42"], idForm: .integer)
        #expect(String(decoding: request.body, as: UTF8.self) == #"{"id":42}"#)
    }

    @Test func `a place in a body is found by its name, however it is spelt`() {
        let body: JSONValue = ["a": ["b": ["{{ id }}"]], "c": "x{{device}}", "d": "{{proof}}"]
        #expect(
            body.templatePointersInJSON == [
                "id": JSONPointer(tokens: ["a", "b", "0"]), "proof": JSONPointer(tokens: ["d"]),
            ]
        )
        var profile = Profile()
        profile.endpoints["login"] = Profile.Endpoint(method: "POST", path: "/l", body: body)
        #expect(
            profile.pointersByTemplateName(in: "login")["id"]
                == JSONPointer(tokens: ["a", "b", "0"])
        )
        #expect(Profile().allSecretNames == ["deviceId", "deviceToken", "deviceToken"])
    }

    @Test(
        "the value of a template's only name is extracted from a matching string",
        arguments: [
            ("/u/{{id}}", "/u/7", "7"), ("{{id}}.json", "7.json", "7"), ("id={{id}}", "id=", ""),
            ("/u/{{id}}", "/v/7", nil), ("plain", "plain", nil), ("{{id}}{{id}}", "77", nil),
        ] as [(String, String, String?)]
    )
    func finds(template: String, text: String, found: String?) {
        #expect(Template(template).value(of: "id", in: Substring(text)).map(String.init) == found)
    }

    @Test func `an unknown template name is reported with the known names`() {
        let values = NamedValues(texts: ["port": "1", "data": "d"])
        #expect((try? values.filled("{{port}}/{{data}}")) == "1/d")
        #expect(throws: UnknownTemplateName(name: "prt", known: ["data", "port"])) {
            try values.filled("{{prt}}")
        }
    }
}
