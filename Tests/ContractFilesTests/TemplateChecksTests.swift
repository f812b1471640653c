import ContractFiles
import Contracts
import Grammar
import Testing
import Values

/// A template that stands for nothing is an error wherever templates may stand, at its own place.
@Suite("Templates in files")
struct TemplateChecksTests {
    private static func contract(_ step: String, expect: String = "status: 200") -> String {
        """
        contract: a/b
        title: T
        clause: S-03
        source: a test of {{copies}}
        variants: {copies: [2, 8]}
        given:
          - register: ada
          - account: home
          - deliver: purchase
            event: {type: INITIAL_PURCHASE, user: ada}
          - call: first
            route: register
            user: ada
        steps:
        \(step.split(separator: "\n").map { "  " + $0 }.joined(separator: "\n"))
        expect:
        \(expect.split(separator: "\n").map { "  " + $0 }.joined(separator: "\n"))
        """
    }

    private static func errors(_ text: String) -> [ContractError] {
        switch ContractParser.parse(text, path: "a/b.yaml", id: "a/b") {
        case .success: []
        case .failure(let errors): errors.errors
        }
    }

    /// Each place, with a template that stands for something and one that does not.
    private static let places: [(String, String, String)] = [
        ("- {call: c, route: register, user: ada, with: {id: \"%\"}}", "user.ada", "usr.ada"),
        (
            "- {call: c, route: register, user: ada, with: {proof: \"%\"}}", "first.proof",
            "frst.proof"
        ),
        ("- {request: r, send: \"POST /u/%\", response: 200}", "user.ada", "usr.ada"),
        (
            "- {request: r, send: POST /u, headers: {a: \"x %\"}, response: 200}", "id-token.ada",
            "id-token.adda"
        ),
        ("- {request: r, send: POST /u, body: {a: [\"%\"]}, response: 200}", "now-1h", "nw-1h"),
        ("- {request: r, send: POST /u, body: {\"%\": 1}, response: 200}", "user.ada", "usr.ada"),
        ("- {request: r, send: POST /u, text: \"<%>\", response: 200}", "some.x", "user.adda"),
        (
            "- {request: r, send: GET /u, response: {status: 200, body: {a: \"%\"}}}", "any.uuid",
            "any.uid"
        ),
        (
            "- {request: r, send: GET /u, response: {status: 200, headers: {a: \"%\"}}}", "some.c",
            "user.adda"
        ),
        ("- {deliver: d, repeats: purchase, set: {/event/price: \"%\"}}", "now+300d", "usr.ada"),
        ("- {deliver: d, body: {event: {id: \"%\"}}}", "event-id.d", "event-id.e"),
        ("- {deliver: d, raw: \"%\"}", "device.ada", "divice.ada"),
        ("- {deliver: d, repeats: purchase, times: \"%\"}", "copies-1", "copeis-1"),
        (
            "- {call: c, route: protected, user: ada, token: {claims: {exp: \"%\"}}}", "seconds-1h",
            "now-1h"
        ),
        (
            "- {call: c, route: protected, user: ada, token: {raw: \"a.%.c\"}}", "user.ada",
            "usr.ada"
        ),
        (
            "- {app: launch, runs: despia}\n- phone: {vault: {id: \"%\"}}", "user.ada", "usr.ada"
        ),
    ]

    @Test("in a step", arguments: places)
    func inSteps(step: String, known: String, unknown: String) {
        let good = Self.errors(Self.contract(step.replacing("%", with: "{{\(known)}}")))
        #expect(good.isEmpty, "\(good)")
        let text = Self.contract(step.replacing("%", with: "{{\(unknown)}}"))
        Self.expectOne(text, unknown)
    }

    private static let expectations: [(String, String, String)] = [
        ("state: {ada: {expires: \"%\"}}", "purchase.expiration_at_ms", "purchas.expiration_at_ms"),
        ("state: {ada: {account: \"%\"}}", "account.home", "account.hme"),
        ("effects: [{onesignal: notification, content: {a: \"%\"}}]", "any.text", "any.txt"),
        (
            "app: {commands: [{command: setvault, value: \"%\"}]}", "user.ada", "user.adda"
        ),
        ("app: {screen: {product: \"%\"}}", "account.home", "acount.home"),
        ("app: {screen: {product: {not: \"%\"}}}", "account.home", "acount.home"),
    ]

    @Test("in an expectation", arguments: expectations)
    func inExpectations(expectation: String, known: String, unknown: String) {
        func text(_ name: String) -> String {
            Self.contract(
                "- restart: KILL",
                expect: "status: 200\n" + expectation.replacing("%", with: "{{\(name)}}")
            )
        }
        // A cast that cannot play it says so beside; that is another error.
        let good = Self.errors(text(known)).filter { $0.message.contains("unknown template") }
        #expect(good.isEmpty, "\(good)")
        let found = Self.errors(text(unknown)).filter { "\($0)".contains("unknown template") }
        #expect(found.count == 1)
        #expect(found.first.map(Self.underlined) == "{{\(unknown)}}")
    }

    /// One error, with its caret under the template.
    private static func expectOne(_ text: String, _ name: String) {
        let found = errors(text)
        #expect(found.count == 1, "\(found)")
        guard let error = found.first else { return }
        #expect(error.message == "unknown template {{\(name)}}")
        #expect(error.remedy.contains("Did you mean"), "\(error.remedy)")
        #expect(underlined(error) == "{{\(name)}}")
    }

    private static func underlined(_ error: ContractError) -> String {
        let place = error.location
        return String(place.text.dropFirst(place.column - 1).prefix(place.length))
    }

    @Test func `every other string accepts only axes`() {
        for step in [
            "- register: \"{{user.ada}}\"", "- name: {ada: \"{{usr.ada}}\"}",
            "- {deliver: d, event: {type: \"{{now}}\", user: ada}}",
            "- {app: callback, with: {id: \"{{user.ada}}\"}}",
        ] {
            let found = Self.errors(Self.contract(step))
            #expect(found.contains { "\($0)".contains("unknown template {{") }, "\(found)")
        }
        let title = Self.contract("- restart: KILL")
            .replacing("title: T", with: "title: \"{{copeis}} T\"")
        Self.expectOne(title, "copeis")
    }

    @Test func `an axis value is parsed where the axis is used`() throws {
        let step = "- {call: c, route: register, user: ada, with: {id: \"{{who}}\"}}"
        let text = Self.contract(step).replacing(
            "{copies: [2, 8]}",
            with: "{who: [plain, \"{{user.ada}}\", \"{{usr.ada}}\"]}"
        ).replacing("a test of {{copies}}", with: "a test")
        let found = Self.errors(text)
        #expect(found.map(\.location.line) == [5])
        #expect(found.first.map(Self.underlined) == "{{usr.ada}}")
        let good = text.replacing(", \"{{usr.ada}}\"", with: "")
        let contracts = try ContractParser.parse(good, path: "a/b.yaml", id: "a/b").get()
        let ids = contracts.flatMap(\.steps).compactMap { step -> String? in
            guard case .call(let calls) = step else { return nil }
            return calls.first?.values["id"] ?? nil
        }
        #expect(ids == ["plain", "{{user.ada}}"])
    }

    @Test func `an axis of words has no neighbours`() {
        let step = "- {deliver: d, repeats: purchase, times: \"{{copies-1}}\"}"
        let text = Self.contract(step).replacing("[2, 8]", with: "[two, 8]")
        #expect(Self.errors(text).contains { $0.message.contains("{{copies-1}}") })
    }

    @Test func `the caret points inside a multi-line string`() {
        let step =
            "- request: r\n  send: POST /u\n  response: 200\n  text: |\n    one {{now}}\n"
            + "    two {{now}} {{nwo}} {{nwo}}"
        let found = Self.errors(Self.contract(step))
        #expect(found.map(\.location.line) == [20, 20])
        #expect(found.map(\.location.column) == [19, 27])
        #expect(found.map(Self.underlined) == ["{{nwo}}", "{{nwo}}"])
    }

    @Test func `unknown braces are reported, and doubled braces are literal`() throws {
        let step = "- {request: r, send: POST /u, body: {a: \"%\"}, response: 200}"
        let open = Self.errors(Self.contract(step.replacing("%", with: "{{user.ada")))
        #expect(open.map(\.message) == ["'{{' opens a template that is never closed"])
        #expect(open.first?.remedy.contains("{{{{") == true)
        let text = Self.contract(step.replacing("%", with: "{{{{user}} {{copies}}"))
        let contracts = try ContractParser.parse(text, path: "a/b.yaml", id: "a/b").get()
        guard case .request(let request)? = contracts.first?.steps.first else {
            Issue.record("no request")
            return
        }
        #expect(request.body == .json(["a": "{{{{user}} 2"]))
    }

    @Test func `a user comes to exist in a request or a vault, unless the name is a misspelling`() {
        let request = "- {request: r, send: \"POST /u/%\", response: 200}"
        #expect(Self.errors(Self.contract(request.replacing("%", with: "{{user.cleo}}"))).isEmpty)
        #expect(!Self.errors(Self.contract(request.replacing("%", with: "{{user.adda}}"))).isEmpty)
        // A header and an expectation make nobody.
        let header =
            "- {request: r, send: POST /u, headers: {a: \"{{id-token.cleo}}\"}, response: 200}"
        #expect(!Self.errors(Self.contract(header)).isEmpty)
        let both = Self.contract(request.replacing("%", with: "{{user.user1}}/{{user.user2}}"))
        #expect(Self.errors(both).isEmpty)
    }

    @Test("no damage to a template makes the reader trap", arguments: 0..<UInt64(100))
    func survivesDamage(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let pieces = ["{", "{{", "}}", "}", "user.ada", "copies", "-1", "\\\"", "é", " ", "some."]
        for _ in 0..<100 {
            let text = (0..<6).map { _ in pieces.randomElement(using: &generator) ?? "" }.joined()
            let step = "- {request: r, send: POST /u, body: {a: \"\(text)\"}, response: 200}"
            for error in Self.errors(Self.contract(step)) { #expect(!error.remedy.isEmpty) }
        }
    }

    @Test(
        "in a profile",
        arguments: [
            ("target: \"http://127.0.0.1:{{prt}}\"", "prt"),
            ("start: {command: \"run {{prt}}\"}", "prt"),
            ("start: {command: run, env: {A: \"x {{fake.onesingal}}\"}}", "fake.onesingal"),
            ("start: {command: run, ready: \"GET /{{port}}\"}", "port"),
            ("endpoints: {register: \"POST /{{user}}\"}", "user"),
            ("endpoints: {revenuecat-webhook: \"POST /{{id}}\"}", "id"),
            ("endpoints: {login: {post: /l, body: {a: {b: [\"{{acount}}\"]}}}}", "acount"),
            ("users: {create: {post: /u, body: {\"{{idd}}\": 1}}}", "idd"),
            ("users: {create: {command: [mk, \"{{uid}}\"]}}", "uid"),
            ("accounts: {create: {post: /a, body: {a: \"{{id}}\"}}}", "id"),
            ("probes: {p: {get: \"/p/{{device}}\"}}", "device"),
            ("probes: {p: {command: [look, \"{{uid}}\"]}}", "uid"),
            ("probes: {p: {get: \"/u/{{data}}\"}}", "data"),
            ("app: {access: {get: \"/a/{{user}}\"}}", "user"),
            ("app: {access: {get: /a, response: {a: \"{{acess}}\"}}}", "acess"),
        ]
    )
    func inProfile(line: String, name: String) {
        let read = ProfileParser.parse(
            "assay: 1\n" + line,
            path: "assay.yaml",
            environment: [:]
        )
        guard case .failure(let errors) = read else {
            Issue.record("it was accepted")
            return
        }
        #expect(errors.errors.map(\.message) == ["unknown template {{\(name)}}"])
        #expect(errors.errors.first.map(Self.underlined) == "{{\(name)}}")
    }

    @Test func `a profile says what absence means`() throws {
        let text = """
            assay: 1
            probes:
              p: {get: /p, read: {access: {at: /a, absent: false}, product: {at: /p, absent: null}, expires: /e}}
            """
        let profile = try ProfileParser.parse(text, path: "assay.yaml", environment: [:]).get()
        let readings = try #require(profile.probes.first?.readings)
        #expect(readings["access"]?.valueIfPathAbsent == false)
        #expect(readings["product"]?.valueIfPathAbsent == .null)
        #expect(readings["expires"]?.valueIfPathAbsent == nil)
    }
}
