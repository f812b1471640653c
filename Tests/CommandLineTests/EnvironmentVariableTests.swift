import Foundation
import Testing
import TestSupport
import Values

/// Options that the environment may give: every twin is read, named in help, and told when it is
/// misspelt.
@Suite("Options and their environment variables")
struct EnvironmentVariableTests {
    private static let dead = ["--target", "http://127.0.0.1:1"]

    @Test(
        "help names every environment variable of a command",
        arguments: [
            (
                "verify",
                [
                    "PROFILE", "TARGET", "START", "INTERCEPT", "ALLOW_HOST", "LISTEN", "CONTRACTS",
                    "REPORT",
                    "KNOWN_FAILING", "SEED", "JOBS", "BACKENDS", "SHARD", "SAVE", "MAX_TIME",
                    "FOUND",
                    "EXPIRED", "CA", "ADVERTISE",
                ]
            ),
            (
                "app",
                [
                    "PROFILE", "URL", "BROWSER", "ALLOW_HOST", "CONTRACTS", "REPORT",
                    "KNOWN_FAILING", "JOBS", "SEED", "SAVE",
                ]
            ),
            (
                "record",
                [
                    "PROFILE", "TARGET", "START", "INTERCEPT", "ALLOW_HOST", "LISTEN", "BODY_MAX",
                    "CA", "ADVERTISE",
                ]
            ),
            ("serve", ["LISTEN", "CA", "ADVERTISE"]), ("import", ["PROFILE", "CA"]),
            ("list", ["CONTRACTS"]),
        ]
    )
    func helpNames(command: String, names: [String]) async throws {
        let help = try await Program.run([command, "--help"]).output
        let words = help.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init)
        let named = Set(words.filter { $0.hasPrefix("ASSAY_") })
        #expect(named == Set(names.map { "ASSAY_" + $0 }))
    }

    @Test(
        "a variable is read, and errors use its name",
        arguments: [
            (["verify"], "PROFILE", "nope.yaml", 2, "the profile 'nope.yaml' does not exist"),
            (["app"], "PROFILE", "nope.yaml", 2, "the profile 'nope.yaml' does not exist"),
            (["verify"], "TARGET", "nonsense", 2, "ASSAY_TARGET 'nonsense' is not a URL"),
            (["verify"], "TARGET", "http://example.com", 2, "--allow-host example.com"),
            (["verify"], "START", "exit 3", 6, "it exited with status 3"),
            (["verify"] + dead, "CONTRACTS", "nope", 2, "'nope'"),
            (["list"], "CONTRACTS", "nope", 2, "'nope'"),
            (["verify"] + dead, "SHARD", "5", 2, "ASSAY_SHARD '5' is not a shard such as 2/3"),
            (["verify"] + dead, "MAX_TIME", "soon", 2, "ASSAY_MAX_TIME 'soon' is not a duration"),
            (["verify"] + dead, "REPORT", "pdf=x", 2, "is not FORMAT=PATH"),
            (
                ["verify"] + dead, "CA", "nope.pem", 2,
                "ASSAY_CA 'nope.pem': the file does not exist"
            ),
            (["verify"] + dead, "ADVERTISE", "0.0.0.0", 2, "ASSAY_ADVERTISE '0.0.0.0' is not a"),
            (["verify"] + dead, "JOBS", "0", 2, "ASSAY_JOBS '0' is not a number from 1 to 64"),
            (["verify"] + dead, "BACKENDS", "0", 2, "ASSAY_BACKENDS '0' is not a number from 1"),
            (["verify"] + dead, "BACKENDS", "2", 2, "ASSAY_BACKENDS 2: only a backend that Assay"),
            (["verify"] + dead, "ADVERTISE", "0.0.0.0", 2, "ASSAY_ADVERTISE '0.0.0.0' is not a"),
            (["verify"] + dead, "JOBS", "many", 2, "ASSAY_JOBS 'many' is not a number"),
            (["verify"] + dead, "SAVE", "/proc/nope/x", 2, "'/proc/nope/x'"),
            (["verify"] + dead, "EXPIRED", "maybe", 2, "ASSAY_EXPIRED 'maybe' is neither"),
            (["verify"] + dead, "KNOWN_FAILING", "nope", 2, "known failures 'nope' does not exist"),
            (
                ["verify"] + dead, "LISTEN", "mars=127.0.0.1:0", 2,
                "ASSAY_LISTEN 'mars=127.0.0.1:0' is not NAME=HOST:PORT"
            ),
            (["serve"], "LISTEN", "control=x", 2, "ASSAY_LISTEN 'control=x' is not NAME=HOST:PORT"),
            (["app", "--scripted"], "JOBS", "65", 2, "ASSAY_JOBS '65' is not a number from 1"),
            (["app"], "URL", "nonsense", 2, "'nonsense' is not a URL"),
            (
                ["app", "--url", "http://127.0.0.1:1"], "BROWSER", "/nope/chromium", 6,
                "/nope/chromium"
            ),
            (
                ["record"] + dead, "BODY_MAX", "lots", 2,
                "ASSAY_BODY_MAX 'lots' is not a number from 1 to 65536"
            ),
        ] as [([String], String, String, Int32, String)]
    )
    func isRead(
        arguments: [String],
        name: String,
        value: String,
        status: Int32,
        part: String
    ) async throws {
        let result = try await Program.run(
            arguments,
            environment: ["ASSAY_" + name: value]
        )
        #expect(result.status == status, "\(result)")
        #expect(result.errors.contains(part), "\(result.errors)")
    }

    private static let engines: [(variables: [String: String], status: Int32, part: String)] = [
        // What is left is a backend that ends at once.
        (["CI_NODE_INDEX": "2", "CI_NODE_TOTAL": "3"], 6, "it exited with status 3"),
        (["CIRCLE_NODE_INDEX": "0", "CIRCLE_NODE_TOTAL": "1"], 6, "it exited with status 3"),
        (
            ["BUILDKITE_PARALLEL_JOB": "1", "BUILDKITE_PARALLEL_JOB_COUNT": "2"], 6,
            "it exited with status 3"
        ),
        (["JOB_COMPLETION_INDEX": "0", "JOB_COMPLETIONS": "2"], 6, "it exited with status 3"),
        (["JOB_COMPLETION_INDEX": "0"], 2, "set JOB_COMPLETIONS"),
        (["CI_NODE_INDEX": "0", "CI_NODE_TOTAL": "3"], 2, "is not a shard"),
        (["CIRCLE_NODE_INDEX": "3", "CIRCLE_NODE_TOTAL": "3"], 2, "is not a shard"),
        (["CI_NODE_INDEX": "x", "CI_NODE_TOTAL": ""], 2, "is not a shard"),
        ([:], 2, "none of CI_NODE_INDEX"),
    ]

    @Test("a shard index from the CI system selects that shard", arguments: engines)
    func autoShard(variables: [String: String], status: Int32, part: String) async throws {
        let result = try await Program.run(
            ["verify", "--shard", "auto", "--start", "exit 3"],
            environment: variables
        )
        #expect(result.status == status, "\(result.errors)")
        #expect(result.errors.contains(part), "\(result.errors)")
    }

    @Test func `the CI system's shard number selects that part`() async throws {
        // Of so many parts each has hardly a case, and another than its neighbours.
        func count(_ flags: [String], _ variables: [String: String]) async throws -> String? {
            let start = "exec '\(Program.path)' backend --port {{port}} --data '{{data}}'"
            let result = try await Program.run(
                ["verify", "--start", start, "--only", "revenuecat/idempotency"] + flags,
                environment: variables
            )
            // A busy machine may have something to say before.
            let line = result.errors.split(separator: "\n").first { $0.contains(" cases · ") }
            return line?.split(separator: "·").dropFirst().first.map(String.init)
        }
        let told = try await count(
            ["--shard", "auto"],
            ["CIRCLE_NODE_INDEX": "1", "CIRCLE_NODE_TOTAL": "4"]
        )
        #expect(told != nil)
        #expect(try await count(["--shard", "2/4"], [:]) == told)
    }

    @Test(
        "a flag overrides its variable, and errors use the flag's name",
        arguments: [
            (["--shard", "9"], ["SHARD": "1/2"], "--shard '9' is not a shard"),
            (["--jobs", "0"], ["JOBS": "4"], "--jobs '0' is not a number from 1 to 64"),
            (["--max-time", "x"], ["MAX_TIME": "5m"], "--max-time 'x' is not a duration"),
            (["--expired", "x"], ["EXPIRED": "warn"], "--expired 'x' is neither"),
            (["--profile", "a.yaml"], ["PROFILE": "b.yaml"], "the profile 'a.yaml'"),
            (["--listen", "x=1"], ["LISTEN": "onesignal=127.0.0.1:0"], "--listen 'x=1' is not"),
        ]
    )
    func flagsCountMore(
        flags: [String],
        variables: [String: String],
        part: String
    ) async throws {
        let result = try await Program.run(
            ["verify"] + Self.dead + flags,
            environment: Dictionary(
                uniqueKeysWithValues: variables.map { ("ASSAY_" + $0.key, $0.value) }
            )
        )
        #expect(result.status == 2)
        #expect(result.errors.contains(part), "\(result.errors)")
    }

    @Test func `hosts from a flag and from its variable are combined`()
        async throws
    {
        let result = try await Program.run(
            ["verify", "--jobs", "0"],
            environment: [
                "ASSAY_TARGET": "http://two.example", "ASSAY_ALLOW_HOST": "one.example,two.example",
            ]
        )
        #expect(result.errors.contains("--jobs '0'"), "the host was allowed: \(result.errors)")
        let both = try await Program.run(
            ["verify", "--jobs", "0", "--allow-host", "three.example"],
            environment: [
                "ASSAY_TARGET": "http://two.example", "ASSAY_ALLOW_HOST": "two.example",
            ]
        )
        #expect(both.errors.contains("--jobs '0'"), "\(both.errors)")
    }

    @Test func `a seed from the environment names the run`() async throws {
        let result = try await Program.run(
            ["app", "--scripted", "--only", "C-16", "--report", "json=-"],
            environment: ["ASSAY_SEED": "a seed's text"]
        )
        #expect(result.status == 0, "\(result)")
        #expect(try JSONValue(parsing: result.output)["seed"] == "a seed's text")
    }

    @Test(
        "a misspelt variable is reported and does not change the exit code",
        arguments: [
            ("ASSAY_TARGT", "ASSAY_TARGET"), ("ASSAY_PROFIL", "ASSAY_PROFILE"),
            ("ASSAY_JOB", "ASSAY_JOBS"), ("ASSAY_MAXTIME", "ASSAY_MAX_TIME"),
            ("ASSAY_CONTRACT", "ASSAY_CONTRACTS"), ("ASSAY_REDACTIONKEY", "ASSAY_REDACTION_KEY"),
        ]
    )
    func reportsMisspeltVariable(name: String, near: String) async throws {
        let result = try await Program.run(
            ["explain", "E204"],
            environment: [name: "x"]
        )
        #expect(result.status == 0)
        #expect(
            result.errors
                == "assay: the variable \(name) is not read; did you mean \(near)?\n"
        )
        #expect(!result.output.contains(name))
    }

    @Test(
        "an unrelated variable is ignored",
        arguments: ["ASSAY_MY_BACKEND_PASSWORD", "ASSAY_PROCESS", "ASSAY_TARGET", "ASSY_TARGT"]
    )
    func ignoresUnrelatedVariable(name: String) async throws {
        let result = try await Program.run(["explain", "E204"], environment: [name: "x"])
        #expect(result.status == 0)
        #expect(result.errors.isEmpty, "\(result.errors)")
    }

    // MARK: Where events go

    @Test(
        "a webhook option accepts any sender by name",
        arguments: [
            ("purchasly=http://127.0.0.1:1/", "did you mean 'purchasely'? the providers are"),
            ("firebase=http://127.0.0.1:1/", "no provider 'firebase' sends events"),
            ("=http://127.0.0.1:1/", "is not a URL"), ("purchasely=nowhere", "is not a URL"),
            ("purchasely=http://example.com/x", "--allow-host example.com"),
            ("purchasely=", "is not a URL"),
            ("http://example.com/?a=b", "--allow-host example.com"),
        ]
    )
    func refusesWebhooks(text: String, part: String) async throws {
        let result = try await Program.run(["serve", "--webhook", text])
        #expect(result.status == 2, "\(result)")
        #expect(result.errors.contains(part), "\(result.errors)")
    }

    @Test func `webhooks of several providers are connected by old and new flags`() async throws {
        let names = ["control", "revenuecat", "onesignal", "firebase", "purchasely", "despia"]
        let ports = names.flatMap { ["--listen", "\($0)=127.0.0.1:0"] }
        let ways = [
            ["--webhook", "purchasely=http://127.0.0.1:2/p"],
            ["--purchasely-webhook", "http://127.0.0.1:2/p"],
        ]
        for way in ways {
            let folder = try TemporaryFolder()
            let path = folder.path + "/state.json"
            let program = try Program(
                ["serve", "--quiet", "--webhook", "http://127.0.0.1:1/r", "--export-on-exit", path]
                    + way + ports
            )
            #expect(try await SettleTimeout.until { program.outputSoFar.contains("control ") })
            program.signal(SIGTERM)
            let result = await program.wait()
            #expect(result.status == 0, "\(result.errors)")
            let state = try JSONValue(parsing: try #require(folder.read("state.json")))
            let services = state["namespaces"]?[""]
            #expect(services?["purchasely"]?["webhook"]?["url"] == "http://127.0.0.1:2/p")
            let hooks = services?["revenueCat"]?["webhooks"]?.array
            #expect(hooks?.map { $0["url"] } == ["http://127.0.0.1:1/r"])
        }
    }
}
