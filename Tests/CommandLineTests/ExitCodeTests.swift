import Foundation
import Testing
import TestSupport
import Values

/// What a person or a script types, and what comes back: text and exit code.
@Suite("Command line")
struct ExitCodeTests {
    /// The reference backend, started by the program under test.
    static func start(_ defect: String? = nil) -> [String] {
        let flag = defect.map { " --defect \($0)" } ?? ""
        return [
            "--start", "exec '\(Program.path)' backend --port {{port}} --data '{{data}}'\(flag)",
        ]
    }

    private static let duplicate = "revenuecat/idempotency/duplicate-initial-purchase"
    private static let smoke = "revenuecat/smoke/first-purchase"

    @Test func `the version is printed`() async throws {
        let result = try await Program.run(["--version"])
        #expect(result.status == 0)
        #expect(result.output == "0.1.0\n")
    }

    @Test(
        "every command has help with an example",
        arguments: [
            "verify", "demo", "explore", "serve", "send", "resend", "list", "explain", "lint",
            "mutants",
            "backend", "coverage", "doctor", "judge", "merge", "record", "distill", "review",
            "import", "export",
        ]
    )
    func hasHelp(command: String) async throws {
        let result = try await Program.run([command, "--help"])
        #expect(result.status == 0)
        #expect(result.output.contains("Example:"))
    }

    @Test(
        "wrong usage exits with 2 and names the error",
        arguments: [
            (["frobnicate"], "there is no command 'frobnicate'"),
            (["distil", "x"], "Did you mean 'assay distill'?"),
            (["verify", "--sped"], "--sped"),
            (["verify"], "no backend to verify"),
            (["verify", "--target", "nonsense"], "is not a URL"),
            (["verify", "--target", "http://127.0.0.1:65536"], "ports go from 1 to 65535"),
            (["doctor", "--target", "http://127.0.0.1:0"], "ports go from 1 to 65535"),
            (["explore", "--target", "http://127.0.0.1:99999"], "ports go from 1 to 65535"),
            (["record", "--target", "http://127.0.0.1:65536", "g/x"], "ports go from 1 to 65535"),
            (["verify", "--profile", "p"], "the profile 'p' does not exist"),
            (["record", "--target", "http://ada:planted@127.0.0.1:1"], "a name or a password"),
            (["verify", "--target", "http://example.com"], "--allow-host example.com"),
            (["verify", "--target", "http://127.0.0.1:1", "--jobs", "0"], "--jobs '0'"),
            (
                ["verify", "--target", "http://127.0.0.1:1", "--level", "shall"],
                "'shall' is not one of"
            ),
            (
                ["verify", "--target", "http://127.0.0.1:1", "--report", "pdf=x"],
                "is not FORMAT=PATH"
            ),
            (
                ["verify", "--target", "http://127.0.0.1:1", "--listen", "x=1"],
                "NAME=HOST:PORT"
            ),
            (["verify", "--profile", "nope.yaml"], "the profile 'nope.yaml' does not exist"),
            (["verify", "--contracts", "nope", "--target", "http://127.0.0.1:1"], "'nope'"),
            (["send", "RENEWAL", "--control", "nowhere"], "--control 'nowhere' is not a URL"),
            (["send", "RENEWAL", "--to", "nonsense"], "is not a URL"),
            (["send", "RENEWAL", "--to", "http://example.com/x"], "--allow-host"),
            (["send", "RENEWAL", "--print", "--store", "EBAY"], "not one of"),
            (["send", "TRANSFER", "--print"], "--from"),
            (["send"], "nothing to send"),
            (["send", "RENEWAL", "--body", "x"], "exclude each other"),
            (["send", "--body", "nope.json"], "the file 'nope.json' does not exist"),
            (["send", "RENEWAL", "--print", "--set", "price"], "is not a field and a value"),
            (["send", "RENEWAL", "--print", "--set", "=1"], "is not a field and a value"),
            (["send", "RENEWAL", "--print", "--at", "soon"], "neither a duration such as -2h"),
            (["send", "RENEWAL", "--together"], "need --to URL"),
            (["lint", "nope.yaml"], "nope.yaml"),
            (["lint", "--schema", "x"], "not one of contract"),
            (["mutants", "--defect", "no-dedup"], "did you mean 'no-dedupe'?"),
            (["backend", "--defect", "x"], "--list-defects"),
            (["serve", "--listen", "mars=127.0.0.1:0"], "NAME=HOST:PORT with one of control,"),
            (["serve", "--listen", "control=127.0.0.1:x"], "NAME=HOST:PORT"),
            (["serve", "--webhook", "http://example.com/x"], "--allow-host example.com"),
            (["serve", "--coverage", "--seed", "7"], "run 'assay coverage'"),
            (["serve", "--coverage", "--json"], "run 'assay coverage --json'"),
            (["serve", "--webhook", "nowhere"], "--webhook 'nowhere' is not a URL"),
            (["serve", "--set", "firebase.tokenz=rs256"], "the valid names are project, tokens"),
            (["serve", "--set", "firebase.tokens=md5"], "'tokens' does not accept"),
            (["serve", "--set", "tokens"], "PROVIDER.SWITCH=VALUE"),
            (["serve", "--set", "mars.x=1"], "'mars' has no switches"),
            (["serve", "--firebase-project", "a/b"], "is not a project ID"),
            (["serve", "--journal-max", "0"], "--journal-max takes"),
            (["serve", "--import", "nope.json"], "cannot read the --import file 'nope.json'"),
            (["serve", "--export-on-exit", "/proc/nope/x"], "cannot write --export-on-exit"),
            (["resend", "x", "--control", "nowhere"], "--control 'nowhere' is not a URL"),
        ]
    )
    func refusesWrongUsage(arguments: [String], part: String) async throws {
        let result = try await Program.run(arguments)
        #expect(result.status == 2, "\(result)")
        #expect(result.errors.contains(part), "\(result.errors)")
        #expect(result.output.isEmpty)
    }

    /// Every fake on a free port, but one.
    private static func serve(_ other: String) -> [String] {
        ["serve", "--quiet"]
            + ["control", "revenuecat", "onesignal", "firebase", "purchasely", "despia"].flatMap {
                ["--listen", other.hasPrefix($0 + "=") ? other : "\($0)=127.0.0.1:0"]
            }
    }

    #if os(Linux)
    @Test func `a signal handler is installed before the default action is disabled`() async throws
    {
        for _ in 0..<5 {
            let program = try Program(Self.serve(""))
            let status = "/proc/\(program.processID)/status"
            // It is caught from here on, whoever listens by now.
            let isCaught = try await SettleTimeout.until {
                guard let text = try? String(contentsOfFile: status, encoding: .utf8) else {
                    return true
                }
                let line = text.split(separator: "\n").first { $0.hasPrefix("SigCgt:") }
                let mask = line.flatMap { UInt64($0.dropFirst(8), radix: 16) } ?? 0
                return mask & 1 << (UInt64(SIGTERM) - 1) != 0
            }
            #expect(isCaught)
            program.signal(SIGTERM)
            let result = await program.wait()
            #expect(result.status == 0, "\(result.errors)")
        }
    }
    #endif

    @Test(
        "a wildcard listen address is printed as a callable address",
        arguments: [
            ("onesignal=0.0.0.0:0", "http://127.0.0.1:"), ("onesignal=[::1]:0", "http://[::1]:"),
        ]
    )
    func printsCallableAddress(listen: String, start: String) async throws {
        let program = try Program(Self.serve(listen))
        #expect(try await SettleTimeout.until { program.outputSoFar.contains("control ") })
        let line = try #require(
            program.outputSoFar.split(separator: "\n").first { $0.hasPrefix("onesignal") }
        )
        let url = try #require(line.split(separator: " ").last.map(String.init))
        #expect(url.hasPrefix(start))
        let call = try await Program(["-gsS", url], executable: "/usr/bin/curl").wait()
        #expect(call.status == 0, "\(call.errors)")
        program.signal(SIGTERM)
        #expect(await program.wait().status == 0)
    }

    @Test func `serve names the port in use, keeps its state and ends on SIGTERM`() async throws {
        let folder = try TemporaryFolder()
        let first = try Program(
            Self.serve("") + ["--export-on-exit", folder.path + "/state.json"]
        )
        #expect(try await SettleTimeout.until { first.outputSoFar.contains("control ") })
        let lines = first.outputSoFar.split(separator: "\n")
        let port = try #require(
            lines.first { $0.hasPrefix("onesignal") }?.split(separator: ":").last.flatMap {
                Int($0)
            }
        )
        let second = try await Program.run(Self.serve("onesignal=127.0.0.1:\(port)"))
        #expect(second.status == 2)
        #expect(second.errors.contains("cannot open 127.0.0.1:\(port) for the fake onesignal"))
        #expect(second.errors.contains("--listen"))
        first.signal(SIGTERM)
        let result = await first.wait()
        #expect(result.status == 0, "\(result.errors)")
        #expect(folder.read("state.json")?.contains("\"services\"") == true)
    }

    @Test(
        "an unreadable state file exits with 3 and names the location",
        arguments: [
            ("{", "line 1, column 2"), ("[]", "was not written by assay serve"),
            ("{\"assay\": 1, \"kind\": \"services\", \"namespaces\": {}}", "format 1"),
            (
                "{\"assay\": 2, \"kind\": \"services\", \"namespaces\": {\"\": {\"clock\": 5}}}",
                "at /"
            ),
        ]
    )
    func refusesBadState(text: String, part: String) async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(text, to: "state.json")
        let result = try await Program.run(Self.serve("") + ["--import", path])
        #expect(result.status == 3, "\(result)")
        #expect(result.errors.contains(part), "\(result.errors)")
    }

    @Test func `a negative time argument is not parsed as a flag`() async throws {
        let options = ["--at", "-2h", "--expires", "-1h"]
        let result = try await Program.run(["send", "RENEWAL", "--print"] + options)
        #expect(result.status == 0, "\(result.errors)")
        let event = try JSONValue(parsing: Array(result.output.utf8))["event"]
        let moment = try #require(event?["event_timestamp_ms"]?.int64)
        let end = try #require(event?["expiration_at_ms"]?.int64)
        #expect(moment - end == 3_600_000, "an hour before it")
        let age = Int64(Date().timeIntervalSince1970 * 1000) - moment
        #expect((7_200_000...10_000_000).contains(age))
    }

    @Test func `resend and send without a running server exit with 6`() async throws {
        for command in [["resend", "x"], ["send", "RENEWAL"]] {
            let result = try await Program.run(command + ["--control", "http://127.0.0.1:1"])
            #expect(result.status == 6)
            #expect(result.errors.contains("assay serve"))
        }
    }

    @Test func `an unwritable report path is an error before the run`() async throws {
        let result = try await Program.run(
            ["verify", "--report", "json=/proc/nope/x.json"] + Self.start()
        )
        #expect(result.status == 2)
        #expect(result.errors.contains("cannot write '/proc/nope/x.json'"))
    }

    @Test func `an empty selection exits with 4 and a suggestion`() async throws {
        let result = try await Program.run(
            ["verify", "--only", Self.duplicate + "x"] + Self.start()
        )
        #expect(result.status == 4)
        #expect(result.errors.contains("did you mean '\(Self.duplicate)'?"))
        #expect(try await Program.run(["list", "--skip", "*"]).status == 4)
    }

    @Test func `an unreachable target exits with 6`() async throws {
        let result = try await Program.run([
            "verify", "--target", "http://127.0.0.1:1", "--listen", "revenuecat=127.0.0.1:0",
            "--listen", "onesignal=127.0.0.1:0",
        ])
        #expect(result.status == 6)
        #expect(result.errors.contains("refused"))
    }

    @Test func `a backend that does not start exits with 6 and prints its output`() async throws {
        let result = try await Program.run(["verify", "--start", "echo no database here; exit 3"])
        #expect(result.status == 6)
        #expect(result.errors.contains("it exited with status 3"))
        #expect(result.errors.contains("no database here"))
    }

    @Test func `a broken contract exits with 3 and the other contracts run`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("contract: x/broken\ntitel: T\n", to: "mine/x/broken.yaml")
        let result = try await Program.run(
            ["verify", "--contracts", "mine", "--only", Self.smoke] + Self.start(),
            folder: folder.path
        )
        #expect(result.status == 3)
        #expect(result.errors.contains("mine/x/broken.yaml:2:1: error: unknown key 'titel'"))
        #expect(result.errors.contains("Did you mean 'title'?"))
        #expect(result.output.contains("1 passed"))
    }

    @Test func `a profile with a typo exits with 3`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("assay: 1\ntarget: http://127.0.0.1:1\nendpints: {}\n", to: "assay.yaml")
        let result = try await Program.run(["verify"], folder: folder.path)
        #expect(result.status == 3)
        #expect(result.errors.contains("assay.yaml:3:1: error: unknown key 'endpints'"))
    }

    @Test func `a passing run exits with 0 and writes every report`() async throws {
        let folder = try TemporaryFolder()
        let result = try await Program.run(
            [
                "verify", "--only", Self.smoke, "--seed", "abc", "--report", "json=out/r.json",
                "--report", "junit=out/r.xml",
            ] + Self.start(),
            folder: folder.path
        )
        #expect(result.status == 0, "\(result)")
        let report = try JSONValue(parsing: try #require(folder.read("out/r.json")))
        #expect(report["exit"] == 0)
        #expect(report["seed"] == "abc")
        #expect(report["summary"]?["passed"] == 1)
        #expect(report["cases"]?.array?.first?["id"] == .string(Self.smoke))
        #expect(folder.read("out/r.xml")?.contains("failures=\"0\"") == true)
    }

    @Test func `a defect exits with 1 and is explained`() async throws {
        let result = try await Program.run(
            ["verify", "--only", "revenuecat/tolerance/malformed-text/text:hello"]
                + Self.start("malformed-500")
        )
        #expect(result.status == 1)
        for part in [
            "FAIL  revenuecat/tolerance/malformed-text/text:hello", "E101 response-status",
            "status: rejected", "^^^^^^^^", "actual    500", "nonsense #1", "assay explain E101",
            "--only revenuecat/tolerance/malformed-text/text:hello",
        ] {
            #expect(result.output.contains(part), "\(part)")
        }
    }

    @Test func `known failures pass, and an outdated list is an error`() async throws {
        let folder = try TemporaryFolder()
        let id = "revenuecat/tolerance/malformed-text/text:hello"
        try folder.write("\(id) E101 ticket 7\n", to: "known.txt")
        let known = ["verify", "--only", id, "--known-failing", "known.txt"]
        let failing = try await Program.run(
            known + Self.start("malformed-500"),
            folder: folder.path
        )
        #expect(failing.status == 0)
        #expect(failing.output.contains("1 known failure"))
        let mended = try await Program.run(known + Self.start(), folder: folder.path)
        #expect(mended.status == 1)
        #expect(mended.output.contains("UNEXPECTED PASS"))
        try folder.write("\(id) E999 x\n", to: "known.txt")
        let broken = try await Program.run(known + Self.start(), folder: folder.path)
        #expect(broken.status == 3)
    }

    @Test func `a backend that cannot be observed exits with 5`() async throws {
        let result = try await Program.run(
            ["verify", "--only", "revenuecat/safety-net/transfer-moves-access"] + Self.start()
        )
        #expect(result.status == 5)
        #expect(result.output.contains("E902 unobservable"))
        #expect(result.output.contains("probes"))
    }

    @Test func `a secret appears in no output`() async throws {
        let folder = try TemporaryFolder()
        try folder.write(
            "assay: 1\nsecrets: {revenuecat-authorization: Bearer planted-secret-value}\n",
            to: "assay.yaml"
        )
        let result = try await Program.run(
            [
                "verify", "--only", "revenuecat/authenticity/authorization/sent:missing",
                "--report", "json=r.json", "--report", "junit=r.xml",
            ] + Self.start("no-authorization-check"),
            folder: folder.path
        )
        #expect(result.status == 1)
        let everything =
            result.output + result.errors + (folder.read("r.json") ?? "")
            + (folder.read("r.xml") ?? "")
        #expect(everything.contains("E102"))
        #expect(!everything.contains("planted-secret"))
    }

    /// `timeout` sends its signal to the program, and then at once to the program's group.
    @Test(arguments: [1, 2])
    func `an interrupted run writes a report of its results so far`(signals: Int) async throws {
        let folder = try TemporaryFolder()
        // The backend itself interrupts the run at the first event, which it never answers: no
        // machine is so slow that the run is over before.
        let script = try folder.write(
            """
            import http.server, os, signal, sys, threading
            class Handler(http.server.BaseHTTPRequestHandler):
                def log_message(self, *_): pass
                def do_GET(self):
                    self.send_response(200)
                    self.send_header('Content-Length', '0')
                    self.end_headers()
                def do_POST(self):
                    for _ in range(\(signals)): os.kill(os.getppid(), signal.SIGINT)
                    threading.Event().wait()
            http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()
            """,
            to: "silent.py"
        )
        let result = try await Program.run(
            [
                "verify", "--only", "revenuecat/idempotency", "--jobs", "1", "--report",
                "json=r.json", "--start", "exec python3 '\(script)' {{port}}",
            ],
            folder: folder.path
        )
        #expect(result.status == 130)
        let report = try JSONValue(parsing: try #require(folder.read("r.json")))
        #expect(report["interrupted"] == true)
        #expect(report["exit"] == 130)
        #expect(try #require(report["summary"]?["notRun"]?.int64) > 0)
    }

    @Test func `list, explain and lint work from any folder`() async throws {
        let list = try await Program.run(["list", "--json", "--only", "S-03"])
        let cases = try #require(try JSONValue(parsing: list.output).array)
        #expect(cases.count > 10)
        #expect(cases.allSatisfy { $0["clause"] == "S-03" })
        #expect(try await Program.run(["explain", "e204"]).output.contains("effect-count"))
        #expect(try await Program.run(["explain", "S-17"]).output.contains("transfer"))
        #expect(try await Program.run(["explain", Self.duplicate]).output.contains("like: once"))
        let feature = try await Program.run(["explain", "subscriber-reads"])
        #expect(feature.output.contains("features: {except: [subscriber-reads]}"))
        #expect(feature.output.contains("revenuecat/retry/customer-cannot-be-read"))
        let folder = try await Program.run(["explain", "firebase"])
        #expect(folder.output.contains("feature of a backend"))
        #expect(folder.output.contains("F-01"), "a folder of that name is told as well")
        let keys = try await Program.run(["explain", "profile"])
        #expect(keys.output.contains("    except"))
        #expect(keys.output.split(separator: "\n").allSatisfy { $0.count <= 100 })
        let several = try await Program.run(["explain", "E204", "S-05"])
        let one = try await Program.run(["explain", "E204"])
        let other = try await Program.run(["explain", "S-05"])
        #expect(several.status == 0)
        #expect(several.output == one.output + "\n" + other.output)
        let unknown = try await Program.run(["explain", "E240"])
        #expect(unknown.status == 4)
        let lint = try await Program.run(["lint"])
        #expect(lint.status == 0)
        #expect(lint.output.contains("no errors"))
        #expect(try await Program.run(["lint", "--schema", "contract"]).output.contains("$schema"))
    }

    @Test func `backend capabilities are looked up by name or by level`() async throws {
        let target = ["verify", "--target", "http://127.0.0.1:1", "--only"]
        let folder = try await Program.run(target + ["revenuecat/retry/push-empty*"])
        #expect(folder.status == 4)
        #expect(folder.errors.contains("lower levels run with '--level may'"))
        let level = try await Program.run(
            target + ["revenuecat/retry/push-empty*", "--level", "may"]
        )
        #expect(level.status == 6, "nobody listens there")
        let name = try await Program.run(target + ["revenuecat/retry/push-empty-id"])
        #expect(name.status == 6)
    }

    @Test func `send prints the request in a dry run`() async throws {
        let result = try await Program.run(
            ["send", "TRANSFER", "--from", "ada", "--user", "bob", "--print"]
        )
        #expect(result.status == 0)
        let event = try JSONValue(parsing: result.output)["event"]
        #expect(event?["transferred_from"] == ["ada"])
        #expect(event?["transferred_to"] == ["bob"])
    }

    @Test func `every field and the time of an event can be set`() async throws {
        let result = try await Program.run([
            "send", "RENEWAL", "--print", "--at", "2026-05-01T10:00:00Z", "--set",
            "event.price=4.99",
            "--set", "event.note=a b=c", "--set", "/event/aliases/0=zoe", "--set",
            "event.extra.deep=null",
        ])
        #expect(result.status == 0, "\(result.errors)")
        let event = try JSONValue(parsing: result.output)["event"]
        #expect(event?["price"]?.text == "4.99")
        #expect(event?["note"] == "a b=c")
        #expect(event?["aliases"]?.array?.first == "zoe")
        #expect(event?["extra"]?["deep"] == .null)
        #expect(event?["event_timestamp_ms"]?.int64 == 1_777_629_600_000)
    }

    @Test func `send without a recipient exits with 6`() async throws {
        let result = try await Program.run(["send", "RENEWAL", "--to", "http://127.0.0.1:1/x"])
        #expect(result.status == 6)
    }
}
