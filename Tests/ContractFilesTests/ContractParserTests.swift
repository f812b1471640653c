import ContractFiles
import Contracts
import Foundation
import Grammar
import Providers
import Redaction
import Testing
import Values

@Suite("Contract files")
struct ContractParserTests {
    private func parse(_ text: String) -> Result<[Contract], ContractErrors> {
        ContractParser.parse(text, path: "a/b.yaml", id: "a/b")
    }

    private static let minimal = """
        contract: a/b
        title: A title
        clause: S-03
        source: a test
        variants: {copies: [2, 8], status: [500, reset]}
        given:
          - register: ada
          - onesignal: {responses: ["{{status}}", ok]}
        steps:
          - deliver: purchase
            event: {type: INITIAL_PURCHASE, user: ada, store: PLAY_STORE, expires: +30d}
          - deliver: again
            repeats: purchase
            times: "{{copies-1}}"
            at: +5m
        expect:
          status: 200
          like: once
          state:
            ada: {access: true, product: NO, expires: "{{purchase.expiration_at_ms}}"}
        """

    @Test(
        "a variant with quotes is a string",
        arguments: [
            ("\"null\"", "null"), ("\"0\"", "0"), ("\"true\"", "true"), ("'-1'", "-1"),
            ("null", JSONValue.null), ("0", 0), ("true", true), ("word", "word"),
        ] as [(String, JSONValue)]
    )
    func quotedVariant(written: String, value: JSONValue) throws {
        let text = Self.minimal.replacing(
            "status: [500, reset]}",
            with: "status: [500, reset], v: [\(written)]}"
        )
        .replacing("expires: +30d}", with: "expires: +30d}\n    set: {/event/a: \"{{v}}\"}")
        let contract = try #require(try parse(text).get().first)
        guard case .deliver(let purchase) = contract.steps[0] else {
            Issue.record("no delivery")
            return
        }
        #expect(purchase.edits.map(\.value) == [value])
    }

    @Test func `axes expand to one contract each, in order`() throws {
        let contracts = try parse(Self.minimal).get()
        #expect(
            contracts.map(\.caseID) == [
                "a/b/copies:2,status:500", "a/b/copies:2,status:reset", "a/b/copies:8,status:500",
                "a/b/copies:8,status:reset",
            ]
        )
        let last = try #require(contracts.last)
        guard case .deliver(let again) = last.steps[1] else {
            Issue.record("no delivery")
            return
        }
        #expect(again.times == 7)
        #expect(again.delay == .seconds(300))
        #expect(again.subject == .repeats("purchase"))
        #expect(
            last.given[1]
                == .provider(ProviderPlan(provider: .oneSignal, responses: [.reset, .asUsual]))
        )
        #expect(last.users == ["ada"])
    }

    @Test func `unquoted words other than true, false and null are strings`() throws {
        let contract = try #require(try parse(Self.minimal).get().first)
        let fields = try #require(contract.expectation.states.first?.fields)
        #expect(fields.map(\.value) == [true, "NO", "{{purchase.expiration_at_ms}}"])
    }

    @Test func `an expectation knows its location`() throws {
        let contract = try #require(try parse(Self.minimal).get().first)
        let location = try #require(contract.expectation.relationLocation)
        #expect("\(location)" == "a/b.yaml:18:9")
        #expect(location.excerpt == "18 |   like: once\n   |         ^^^^")
    }

    @Test func `several errors are reported together`() {
        let text = Self.minimal.replacingOccurrences(of: "like: once", with: "like: twice")
            .replacingOccurrences(of: "at: +5m", with: "at: 5")
            .replacingOccurrences(of: "store:", with: "stor:")
        guard case .failure(let errors) = parse(text) else {
            Issue.record("it was accepted")
            return
        }
        #expect(errors.errors.map(\.location.line) == [11, 15, 18])
    }

    @Test("every malformed file has the error in its comment", arguments: malformed)
    func reportsError(name: String) throws {
        let text = try #require(Self.read(name + ".yaml"))
        let actual: String
        switch ContractParser.parse(text, path: name + ".yaml", id: "a/b") {
        case .success: actual = "accepted\n"
        case .failure(let errors): actual = "\(errors)\n"
        }
        if ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] != nil {
            let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            let url = folder.appendingPathComponent("Malformed/\(name).err")
            try Data(actual.utf8).write(to: url)
            return
        }
        #expect(actual == Self.read(name + ".err"))
    }

    private static var folder: String { Bundle.module.bundlePath + "/Malformed" }

    private static var malformed: [String] {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return files.filter { $0.hasSuffix(".yaml") }.map { String($0.dropLast(5)) }.sorted()
    }

    private static func read(_ name: String) -> String? {
        FileManager.default.contents(atPath: folder + "/" + name)
            .map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `there are malformed files to read`() {
        #expect(Self.malformed.count >= 15)
    }

    @Test("damaged files are refused and never trap", arguments: 0..<UInt64(150))
    func survivesDamage(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var bytes = Array(Self.minimal.utf8)
        for _ in 0..<Int.random(in: 1...8, using: &generator) {
            let index = Int.random(in: bytes.indices, using: &generator)
            switch Int.random(in: 0..<3, using: &generator) {
            case 0: bytes[index] = UInt8.random(in: 0x09...0x7e, using: &generator)
            case 1: bytes.remove(at: index)
            default:
                let piece = ["{", "[", ": ", "\n", "&a ", "*a", "\"", "- "].randomElement(
                    using: &generator
                )
                bytes.insert(contentsOf: Array((piece ?? "").utf8), at: index)
            }
        }
        if case .failure(let errors) = parse(String(decoding: bytes, as: UTF8.self)) {
            #expect(!errors.errors.isEmpty)
            #expect(errors.errors.allSatisfy { !$0.remedy.isEmpty })
        }
    }
}

@Suite("Shipped contracts")
struct ShippedContractTests {
    @Test func `all of them parse`() {
        let library = ContractLibrary.fullyChecked()
        #expect(library.errors.map(\.description).isEmpty)
        #expect(library.files.count >= 40)
    }

    @Test func `unused keys of shipped contracts change nothing`() {
        #expect(ContractLibrary.shipped.contracts == ContractLibrary.fullyChecked().contracts)
        #expect(ContractLibrary.shipped.errors.isEmpty)
    }

    @Test func `ids are unique and cases cite a source`() {
        let contracts = ContractLibrary.shipped.contracts
        #expect(Set(contracts.map(\.caseID)).count == contracts.count)
        for contract in contracts { #expect(contract.source.count > 3, "\(contract.id)") }
    }

    @Test func `every contract's clause is known, and every clause has a contract`() {
        let contracts = ContractLibrary.shipped.contracts
        let unknown = Set(contracts.map(\.clause)).filter { Clause.named($0) == nil }
        #expect(unknown.isEmpty, "\(unknown.sorted())")
        let proven = Set(contracts.map(\.clause))
        let unproven = Clause.all.map(\.name).filter { !proven.contains($0) }
        #expect(unproven.isEmpty, "no contract asks for \(unproven)")
    }
}

@Suite("Profiles")
struct ProfileParserTests {
    private func parse(
        _ text: String,
        environment: [String: String] = [:]
    ) -> Result<Profile, ContractErrors> {
        ProfileParser.parse(text, path: "assay.yaml", environment: environment)
    }

    static let full = """
        assay: 1
        target: http://127.0.0.1:{{port}}
        start:
          command: node server.js
          ready: GET /healthz
          env: {PORT: "{{port}}", BASE: "{{fake.onesignal}}", A: "{{secret.revenuecat-authorization}}"}
        endpoints:
          revenuecat-webhook: POST /hooks/rc
        secrets:
          revenuecat-authorization: Bearer ${RC_TOKEN:-fallback}
          revenuecat-signing: ${RC_SECRET:-}
        users:
          ids: integer
          create: {post: /signup, body: {name: "{{id}}"}, id: /user/id}
        probes:
          user: {get: "/u/{{id}}"}
          subscription:
            command: [./probe.sh, "{{id}}"]
            read:
              access: {at: /plan, is: [pro, max]}
              product: /sku
              expires: {at: /until, after: now}
            ignore: [/meta]
        products: {premium_monthly: com.acme.monthly}
        entitlement: pro
        features: {except: [push]}
        known-failing: known.txt
        settle-timeout: 30s
        """

    @Test func `a key is required only of callers that received one`() throws {
        let started = try parse("assay: 1\nstart: {command: node server.js}\n").get()
        #expect(started.requiredAPIKey(.oneSignalKey) == started.secrets[.oneSignalKey])
        #expect(started.requiredAPIKey(.oneSignalKey) != nil)
        let running = try parse("assay: 1\ntarget: http://127.0.0.1:8080\n").get()
        #expect(running.requiredAPIKey(.oneSignalKey) == nil)
        #expect(running.requiredAPIKey(.revenueCatKey) == nil)
        let text = "assay: 1\ntarget: http://127.0.0.1:8080\nsecrets: {onesignal-key: k-1}\n"
        let given = try parse(text).get()
        #expect(given.requiredAPIKey(.oneSignalKey) == Secret("k-1"))
        #expect(given.requiredAPIKey(.revenueCatKey) == nil)
    }

    @Test func `a full profile is read`() throws {
        let profile = try parse(Self.full, environment: ["RC_TOKEN": "abc"]).get()
        #expect(profile.secrets[.revenueCatAuthorization] == Secret("Bearer abc"))
        #expect(profile.secrets[.revenueCatSigning]?.isEmpty == true)
        #expect(profile.endpoints["revenuecat-webhook"]?.path == "/hooks/rc")
        #expect(profile.idForm == .integer)
        var signUp = Profile.Endpoint(method: "POST", path: "/signup", body: ["name": "{{id}}"])
        signUp.responseIDPointer = JSONPointer("/user/id")
        #expect(profile.creation == .request(signUp))
        #expect(profile.endpoints["register"] == nil, "users come another way")
        #expect(profile.probe(reading: "access")?.reading.meaning == .isOneOf(["pro", "max"]))
        #expect(profile.probe(reading: "expires")?.reading.meaning == .isFuture)
        #expect(profile.unsupportedFeatures == [.push])
        #expect(profile.skipReason(to: .purchasely) != nil)
        #expect(profile.skipReason(to: .firebase) != nil)
        #expect(profile.settleTimeout == .seconds(30))
        #expect(profile.skipReason(to: .signature) != nil)
        #expect(profile.skipReason(to: .authorization) == nil)
    }

    @Test func `a start, its credentials and combined conditions are read`() throws {
        let profile = try parse(
            """
            assay: 1
            start:
              command: go run .
              build: go build .
              ready: {get: /, status: 401}
              timeout: 2m
              cwd: server
              stop: {signal: SIGINT, within: 20s}
            session: {login: {post: /login, body: {pw: "x"}}, token: /jwt}
            users: {create: {command: [./make.sh, "{{id}}"], id: /id}}
            probes:
              me: {get: /me, as: "{{id}}", headers: {X-Key: "${KEY:-k}", X-S: "{{session}}"}}
              db:
                get: "http://127.0.0.1:5433/users?id=eq.{{id}}"
                read:
                  access:
                    at: /status
                    is: active
                    and: {at: /until, after: now, or: {at: /until, is: null}}
            """
        ).get()
        let start = try #require(profile.start)
        #expect(start.ready == Profile.ReadinessCheck(method: "GET", path: "/", status: 401))
        #expect(start.timeout == .seconds(120))
        #expect(start.folder == "server")
        #expect(start.build == "go build .")
        #expect(start.stop?.signal == .interrupt)
        #expect(start.stop?.within == .seconds(20))
        #expect(profile.session?.token == JSONPointer("/jwt"))
        #expect(profile.creation == .command(["./make.sh", "{{id}}"], id: JSONPointer("/id")))
        #expect(profile.probes[0].credentials?.actor == "{{id}}")
        #expect(profile.probes[0].credentials?.headers["X-Key"] == Secret("k"))
        #expect(profile.probes[0].credentials?.usesSession == true)
        #expect(profile.requests.useIDTokens)
        let access = try #require(profile.probe(reading: "access")?.reading)
        #expect(access.conditions.map(\.pointer.description) == ["/status", "/until", "/until"])
        #expect(
            access.additionalConditions?[0].alternativeConditions?[0].meaning == .isOneOf([.null])
        )
        // A run that is saved holds none of it.
        let saved = try JSONValue(encoding: profile)
        #expect(!saved.text.contains("X-Key"))
        let again = try saved.decoded(as: Profile.self)
        #expect(again.probe(reading: "access")?.reading == access)
        #expect(again.start == profile.start)
    }

    @Test func `a login may name the token of its account in any part of the request`() throws {
        for login in [
            #"{post: /l, as: "{{account}}"}"#, #"{post: /l, body: {t: "{{id-token}}"}}"#,
            #"{post: /l, headers: {X: "Token {{id-token}}", D: "{{device}}"}}"#,
            #"{post: "/l/{{id-token}}"}"#,
        ] {
            let profile = try parse("assay: 1\nendpoints: {login: \(login)}\n").get()
            #expect(profile.requests.loginTakesIDToken, "\(login)")
        }
        let wrong = parse(
            #"""
            assay: 1
            endpoints: {login: {post: /l, as: "{{acount}}", body: {t: "{{id-tokn}}"}}}
            """#
        )
        guard case .failure(let errors) = wrong else {
            Issue.record("unknown templates were accepted")
            return
        }
        let remedies = errors.errors.map(\.remedy)
        #expect(remedies.contains { $0.hasPrefix("Did you mean 'account'?") }, "\(remedies)")
        #expect(remedies.contains { $0.hasPrefix("Did you mean 'id-token'?") }, "\(remedies)")
    }

    @Test(
        "calls are intercepted where a profile says so",
        arguments: [
            ("true", true, []), ("false", false, []),
            ("{allow: [db.example]}", true, ["db.example"]),
            ("{}", true, []),
        ]
    )
    func intercepts(text: String, isOn: Bool, allowed: [String]) throws {
        let start = try #require(
            try parse("assay: 1\nstart: {command: x, intercept: \(text)}").get().start
        )
        #expect(start.isIntercepted == isOn)
        #expect(start.intercept?.allowed == allowed)
    }

    @Test func `a start that an earlier version saved can be read`() throws {
        let old =
            #"{"command": "x", "environment": {}, "takesAnyAnswer": true, "#
            + #""ready": {"method": "GET", "path": "/healthz"}}"#
        let start: Profile.StartSettings = try JSONValue(parsing: old).decoded()
        #expect(start.ready == Profile.ReadinessCheck(method: "GET", path: "/healthz"))
        let creation = #"{"command": {"_0": ["a"]}}"#
        let read: Profile.SetupAction = try JSONValue(parsing: creation).decoded()
        #expect(read == .command(["a"]))
    }

    @Test func `the environment's default counts when the variable is empty`() throws {
        let profile = try parse(Self.full, environment: ["RC_TOKEN": ""]).get()
        #expect(profile.secrets[.revenueCatAuthorization] == Secret("Bearer fallback"))
    }

    @Test func `variables in the environment of a start are expanded, and not written back`() throws
    {
        let text = """
            assay: 1
            start:
              command: run
              env: {URL: "db://${USER_X}:${PASS_X:-none}@h/{{port}}", PLAIN: "$HOME"}
            """
        let profile = try parse(text, environment: ["USER_X": "ada"]).get()
        let start = try #require(profile.start)
        #expect(start.environment["URL"] == "db://${USER_X}:${PASS_X:-none}@h/{{port}}")
        #expect(start.expanded(start.environment["URL"] ?? "") == "db://ada:none@h/{{port}}")
        #expect(start.expanded(start.environment["PLAIN"] ?? "") == "$HOME")
        let saved = String(decoding: try JSONEncoder().encode(start), as: UTF8.self)
        #expect(!saved.contains("ada"))
        guard case .failure(let errors) = parse(text) else {
            Issue.record("an unset variable is an error")
            return
        }
        #expect(errors.description.contains("USER_X"))
        #expect(!errors.description.contains("variable PASS_X"))
    }

    @Test func `JSON is a profile too`() throws {
        let profile = try parse(#"{"assay": 1, "target": "http://127.0.0.1:8080"}"#).get()
        #expect(profile.target == "http://127.0.0.1:8080")
    }

    @Test(
        "errors name place and remedy",
        arguments: [
            ("target: x", "a profile needs the key 'assay'"),
            ("assay: 2", "'2' is not a known profile version"),
            ("assay: 1\nprobs: {}", "Did you mean 'probes'?"),
            ("assay: 1\nfeatures: {except: [pushes]}", "Did you mean 'push'?"),
            ("assay: 1\nsecrets: {onesignal-key: \"${NOPE}\"}", "variable NOPE is not set"),
            ("assay: 1\nstart: {command: \"run {{prt}}\"}", "Did you mean 'port'?"),
            ("assay: 1\nprobes: {user: {get: \"/u/{{uid}}\"}}", "unknown template {{uid}}"),
            ("assay: 1\nprobes: {user: {get: /u, read: {acess: /a}}}", "Did you mean 'access'?"),
            ("assay: 1\nprobes: {user: {get: /u, read: {access: a}}}", "expected a JSON pointer"),
            ("assay: 1\nendpoints: {register: POST api}", "expected a method and a path"),
            ("assay: 1\nsettle-timeout: 5", "'5' is not a duration"),
            ("assay: 1\nstart: {command: x, ready: {status: 401}}", "needs one of get, head"),
            ("assay: 1\nstart: {command: x, ready: {get: x}}", "expected a path such as"),
            ("assay: 1\nstart: {command: x, ready: {get: /x, status: 99}}", "200 to 599"),
            ("assay: 1\nstart: {command: x, stop: {signal: SIGSTOP}}", "not a known signal"),
            (
                "assay: 1\nstart: {command: x, env: {PORT: {{port}} }}",
                "Write \"{{port}}\": without quotes it is a YAML mapping."
            ),
            ("assay: 1\ntarget: {{port}}", "{{port}} is not in quotation marks"),
            ("assay: 1\nstart: {command: x, intercept: yes please}", "expected"),
            ("assay: 1\nstart: {command: x, intercept: {alow: [a]}}", "Did you mean 'allow'?"),
            ("assay: 1\nstart: {command: x, timeot: 5s}", "Did you mean 'timeout'?"),
            ("assay: 1\nprobes: {u: {get: u/1}}", "or an http URL"),
            ("assay: 1\nprobes: {u: {get: /u, headers: {a b: c}}}", "the name of a header"),
            ("assay: 1\nprobes: {u: {get: /u, headers: {a: \"{{sesion}}\"}}}", "mean 'session'?"),
            ("assay: 1\nprobes: {u: {get: /u, headers: {a: \"{{session}}\"}}}", "defines no login"),
            ("assay: 1\nprobes: {u: {get: /u, headers: {a: \"${NOPE}\"}}}", "NOPE is not set"),
            ("assay: 1\nprobes: {u: {command: [x], as: y}}", "'command', which sends no request"),
            ("assay: 1\nsession: {login: {post: /l}}", "needs the key 'token'"),
            (
                "assay: 1\nsession: {login: {post: /l, headers: {a: \"{{id}}\"}}, token: /t}",
                "{{id}}"
            ),
            (
                "assay: 1\nprobes: {u: {get: /u, read: {access: {at: /a, and: /b, or: /c}}}}",
                "cannot be combined"
            ),
            (
                "assay: 1\nprobes: {u: {get: /u, read: {product: {at: /a, or: /c}}}}",
                "'product' is not a true-or-false field"
            ),
            ("assay: 1\naccounts: {create: {command: [x], id: /i}}", "'id'"),
            ("assay: 1\nusers: {ids: guid}", "'guid' is not a known form of user IDs"),
            ("- assay", "expected a mapping"), ("assay: [", "invalid YAML"), ("", "empty"),
        ]
    )
    func reportsErrors(text: String, part: String) {
        guard case .failure(let errors) = parse(text) else {
            Issue.record("it was accepted")
            return
        }
        #expect("\(errors)".contains(part), "\(errors)")
        #expect("\(errors)".contains("assay.yaml:"))
    }
}
