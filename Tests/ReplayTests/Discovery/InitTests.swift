import Contracts
import FakeServers
import Foundation
import Replay
import Testing
import TestSupport
import Values

/// `assay init` before a backend that is there: what it writes works with the very backend.
@Suite("Init")
struct InitTests {
    /// What the files of such a backend would say; its routes are the reference backend's.
    private static let source = """
        const token = process.env.REVENUECAT_WEBHOOK_AUTH;
        const rest = process.env.REVENUECAT_API_BASE || 'https://api.revenuecat.com';
        const push = process.env.ONESIGNAL_API_BASE || 'https://api.onesignal.com';
        app.get('/healthz', (req, res) => res.end());
        app.post('/api/webhooks/revenuecat', hook);
        app.post('/api/user/register', (req, res) => register(req.body.appUserId));
        app.get('/test/users/:id', user);
        app.get('/test/subscriptions/:id', subscription);
        """

    private static let start =
        "exec '\(Program.path)' backend --port {{port}} --data '{{data}}'"

    private static func folder(_ source: String) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        try Data(source.utf8).write(to: URL(fileURLWithPath: folder.path + "/server.js"))
        return folder
    }

    private static func profile(in folder: TemporaryFolder) throws -> String {
        try String(contentsOfFile: folder.path + "/assay.yaml", encoding: .utf8)
    }

    @Test func `the written profile works with the surveyed backend`() async throws {
        let folder = try Self.folder(Self.source)
        let made = try await Program(["init", "--start", Self.start], folder: folder.path).wait()
        #expect(made.status == 0, "\(made.output)\(made.errors)")
        let text = try Self.profile(in: folder)
        let wanted = [
            "# yaml-language-server: $schema=.assay/profile.schema.json", "ready: GET /healthz",
            "revenuecat-webhook: POST /api/webhooks/revenuecat",
            "get: \"/test/subscriptions/{{id}}\"",
            "access: /access", "product: /product_id", "expires: /expiration_at_ms", "  user:",
        ]
        for line in wanted { #expect(text.contains(line), "\(line) in\n\(text)") }
        #expect(!text.contains("except"), "nothing is switched off")
        #expect(made.output.contains("Next:  "), "\(made.output)")
        #expect(made.output.contains(" verify --report agent=-\n"), "\(made.output)")
        #expect(FileManager.default.fileExists(atPath: folder.path + "/.assay/profile.schema.json"))
        let lint = try await Program(["lint", "assay.yaml"], folder: folder.path).wait()
        #expect(lint.status == 0, "\(lint.errors)")
        let only = ["verify", "--only", "S-03", "--seed", "1"]
        let green = try await Program(only, folder: folder.path).wait()
        #expect(green.status == 0, "\(green.output)")
        // Nothing of it is overwritten.
        let again = try await Program(["init", "--start", Self.start], folder: folder.path).wait()
        #expect(again.status == 2)
        #expect(again.errors.contains("does not overwrite it"))
        #expect(try Self.profile(in: folder) == text)
    }

    @Test func `variables that a backend reports as missing are provided`() async throws {
        let folder = try Self.folder(Self.source)
        let script = """
            for name in REVENUECAT_V1_SECRET_KEY SESSION_SECRET REVENUECAT_HOOK_TOKEN; do
                eval "value=\\$$name"
                [ -n "$value" ] || { echo "Missing environment variable $name" >&2; exit 1; }
            done
            \(Self.start)
            """
        let start = ["init", "--start", "port={{port}} data='{{data}}'; . ./start.sh"]
        let plain = script.replacing("{{port}}", with: "$port").replacing("{{data}}", with: "$data")
        try folder.write(plain, to: "start.sh")
        let made = try await Program(start, folder: folder.path).wait()
        #expect(made.status == 0, "\(made.output)\(made.errors)")
        #expect(made.output.contains("the backend does not start without SESSION_SECRET"))
        let text = try Self.profile(in: folder)
        #expect(text.contains("REVENUECAT_V1_SECRET_KEY: \"{{secret.revenuecat-key}}\""), "\(text)")
        #expect(text.contains("SESSION_SECRET: assay-test"), "\(text)")
        #expect(text.contains("REVENUECAT_HOOK_TOKEN: Bearer assay-test-token"), "\(text)")
        let lint = try await Program(["lint", "assay.yaml"], folder: folder.path).wait()
        #expect(lint.status == 0, "\(lint.errors)")
    }

    @Test func `only a backend that exited is restarted with missing variables`() async {
        for (hasEnded, count) in [(true, 2), (false, 1)] {
            let tries = Locked(0)
            var profile = Profile()
            profile.start = Profile.StartSettings(command: "x")
            await #expect(throws: ReplaySession.OpenError.self) {
                _ = try await BackendDiscovery.discover(profile, SourceSurvey([]), name: "n") {
                    _ throws(ReplaySession.OpenError) in
                    tries.withLock { $0 += 1 }
                    throw ReplaySession.OpenError(
                        kind: .unreachable,
                        description: "warning: SESSION_SECRET is not set",
                        hasEnded: hasEnded
                    )
                }
            }
            #expect(tries.withLock { $0 } == count)
        }
    }

    @Test(
        "the port on which a backend listens is tried if nothing else decides about the port",
        arguments: [
            ("node index.js", nil, "http://127.0.0.1:8123"),
            ("node index.js --port {{port}}", nil, nil),
            ("node index.js", "http://127.0.0.1:9000", "http://127.0.0.1:9000"),
        ] as [(String, String?, String?)]
    )
    func fixedPort(command: String, target: String?, expected: String?) async {
        let targets = Locked<[String?]>([])
        var profile = Profile()
        profile.start = Profile.StartSettings(command: command)
        profile.target = target
        await #expect(throws: ReplaySession.OpenError.self) {
            _ = try await BackendDiscovery.discover(profile, SourceSurvey([]), name: "n") {
                profile throws(ReplaySession.OpenError) in
                targets.withLock { $0.append(profile.target) }
                throw ReplaySession.OpenError(
                    kind: .unreachable,
                    description: "not ready",
                    otherPorts: [8123, 9229]
                )
            }
        }
        #expect(targets.withLock { $0 } == (target == expected ? [target] : [target, expected]))
    }

    @Test func `a backend that exits for another reason is reported with its last output`()
        async throws
    {
        let folder = try Self.folder(Self.source)
        let start = "echo 'ERR_MODULE_NOT_FOUND: not found'; echo 'SMTP_HOST is required'; exit 1"
        let made = try await Program(["init", "--start", start], folder: folder.path).wait()
        #expect(made.status == 6)
        #expect(made.errors.contains("SMTP_HOST is required"), "\(made.errors)")
    }

    @Test func `pushes stay enabled if the source files name a push provider`()
        async throws
    {
        let folder = try Self.folder(
            Self.source + "\nconst u = 'https://onesignal.com/api/v1/notifications';"
        )
        let start = "ONESIGNAL_API_BASE=http://127.0.0.1:1 " + Self.start
        let made = try await Program(["init", "--start", start], folder: folder.path).wait()
        #expect(made.status == 0, "\(made.errors)")
        let text = try Self.profile(in: folder)
        #expect(!text.contains("\nfeatures:"))
        #expect(text.contains("# Unresolved, features: a purchase led to no push"))
        // A host that the code names itself is caught, and nobody has to edit anything for it.
        #expect(text.contains("\n  intercept: true\n"))
        #expect(made.output.contains("server.js:9 contains the fixed host onesignal.com"))
    }

    @Test func `a baseline is accepted, and a run can end at its first failure`()
        async throws
    {
        let folder = try Self.folder(Self.source)
        let profile = """
            assay: 1
            start: {command: "\(Self.start) --defect no-dedupe", ready: GET /healthz}
            known-failing: known.txt
            features: {except: [subscriber-reads]}
            """
        try Data(profile.utf8).write(to: URL(fileURLWithPath: folder.path + "/assay.yaml"))
        try Data().write(to: URL(fileURLWithPath: folder.path + "/known.txt"))
        let only = ["verify", "--only", "revenuecat/idempotency", "--seed", "1"]
        func run(_ more: String...) async throws -> Program.Result {
            try await Program(only + more, folder: folder.path).wait()
        }
        let red = try await run("--fail-fast")
        #expect(red.status == 1, "\(red.errors)")
        #expect(red.output.contains("the first failure ended the run"), "\(red.output)")
        let first = try await run("--baseline", "known.txt")
        #expect(first.errors.contains("to use it, add 'known-failing: known.txt'"))
        #expect(first.status != 1, "\(first.output)")
        let second = try await run()
        #expect(second.status == first.status, "\(second.output)")
        #expect(second.output.contains("known failures"))
        let mended = profile.replacing(" --defect no-dedupe", with: "")
        try Data(mended.utf8).write(to: URL(fileURLWithPath: folder.path + "/assay.yaml"))
        let third = try await run()
        #expect(third.status == 1)
        #expect(third.output.contains("passed unexpectedly"))
    }

    @Test func `a profile is found from a subfolder, with paths relative to the profile`()
        async throws
    {
        let folder = try Self.folder(Self.source)
        let below = folder.path + "/packages/api"
        try FileManager.default.createDirectory(
            atPath: below,
            withIntermediateDirectories: true
        )
        let profile = """
            assay: 1
            start: {command: "echo here > beside.txt; \(Self.start)", ready: GET /healthz}
            users: {create: {command: [./make.sh, "{{id}}"]}}
            features: {except: [subscriber-reads]}
            """
        try Data(profile.utf8).write(to: URL(fileURLWithPath: folder.path + "/assay.yaml"))
        let script = folder.path + "/make.sh"
        try Data("#!/bin/sh\necho $1 >> made.txt\n".utf8).write(to: URL(fileURLWithPath: script))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
        let only = ["verify", "--only", "S-08", "--seed", "1"]
        // Outside of a repository nobody else's profile is taken.
        let alone = try await Program(only, folder: below).wait()
        #expect(alone.status == 2, "\(alone.errors)")
        #expect(alone.errors.contains("no backend to verify"))
        try FileManager.default.createDirectory(
            atPath: folder.path + "/.git",
            withIntermediateDirectories: true
        )
        let found = try await Program(only, folder: below).wait()
        #expect(found.status != 2, "\(found.errors)")
        for name in ["beside.txt", "made.txt"] {
            #expect(FileManager.default.fileExists(atPath: folder.path + "/" + name), "\(name)")
            #expect(!FileManager.default.fileExists(atPath: below + "/" + name), "\(name)")
        }
    }

    @Test func `the last lines state what refuses the sender, and not the next command`()
        async throws
    {
        let folder = try Self.folder(Self.source)
        let start = Self.start.replacing("exec ", with: "exec env REVENUECAT_WEBHOOK_AUTH=other ")
        let made = try await Program(["init", "--start", start], folder: folder.path).wait()
        let text = made.output.replacing("\n", with: " ")
        #expect(text.contains("One thing is wrong: POST /api/webhooks/revenuecat returns 401"))
        #expect(text.contains("revenuecat-authorization: VALUE_OF_THE_BACKEND"), "\(text)")
        #expect(!text.contains("Next:"), "\(text)")
    }

    @Test func `a backend is built once, also if it is started several times`() async throws {
        let folder = try Self.folder(Self.source)
        try folder.write(
            "#!/bin/sh\ncd \"$(dirname \"$0\")\"\nmake -f build.mk\n\(Self.start)\n"
                .replacing("{{port}}", with: "$PORT")
                .replacing("'{{data}}'", with: "data"),
            to: "run.sh"
        )
        try folder.write("all:\n\techo built >> built.txt\n", to: "build.mk")
        let made = try await Program(["init"], folder: folder.path).wait()
        #expect(made.status == 0, "\(made.output)\(made.errors)")
        #expect(made.errors.contains("building the backend with:  make -f build.mk"))
        #expect(try Self.profile(in: folder).contains("  build: make -f build.mk\n"))
        func builds() throws -> String {
            try String(contentsOfFile: folder.path + "/built.txt", encoding: .utf8)
        }
        #expect(try builds() == "built\n")
        let only = ["verify", "--only", "revenuecat/retry/restart-between-events", "--seed", "1"]
        let green = try await Program(only, folder: folder.path).wait()
        #expect(green.status == 0, "\(green.output)")
        #expect(try builds() == "built\nbuilt\n")
        try folder.write("all:\n\techo missing part >&2; exit 3\n", to: "build.mk")
        let failed = try await Program(only, folder: folder.path).wait()
        #expect(failed.status == 6)
        #expect(failed.errors.contains("the build 'make -f build.mk' failed"), "\(failed.errors)")
        #expect(failed.errors.contains("missing part"), "\(failed.errors)")
    }

    @Test func `the next start command is tried after one that fails`() async throws {
        let folder = try Self.folder(Self.source)
        try folder.write("web: exit 3\n", to: "Procfile")
        try folder.write("run:\n\t\(Self.start)\n", to: "Makefile")
        let listed = try await Program(["init", "--dry-run"], folder: folder.path).wait()
        #expect(listed.status == 0, "\(listed.errors)")
        #expect(listed.output.contains("1. exit 3"), "\(listed.output)")
        #expect(listed.output.contains("from Makefile:2"), "\(listed.output)")
        let path = folder.path + "/assay.yaml"
        #expect(!FileManager.default.fileExists(atPath: path))
        let made = try await Program(["init"], folder: folder.path).wait()
        #expect(made.status == 0, "\(made.output)\(made.errors)")
        #expect(made.errors.contains("it exited with status 3"), "\(made.errors)")
        #expect(made.errors.contains("trying the next start command"), "\(made.errors)")
        #expect(
            made.errors.contains("TEST event to POST /api/webhooks/revenuecat: 200"),
            "\(made.errors)"
        )
        #expect(try Self.profile(in: folder).contains("ready: GET /healthz"))
        // A list of start commands overwrites no profile.
        let listedAgain = try await Program(["init", "--dry-run"], folder: folder.path).wait()
        #expect(listedAgain.status == 0, "\(listedAgain.errors)")
    }

    @Test func `the last line of a failed search asks for the start command`() async throws {
        let folder = try Self.folder(Self.source)
        try folder.write("web: exit 3\n", to: "Procfile")
        try folder.write("fastapi\n", to: "requirements.txt")
        let made = try await Program(["init"], folder: folder.path).wait()
        #expect(made.status == 6)
        #expect(made.errors.contains(".venv/bin/pip install -r requirements.txt"))
        #expect(made.errors.contains("init --start 'exit 3'"), "\(made.errors)")
    }

    @Test func `a backend that exits is tried with the values of its example file`()
        async throws
    {
        let folder = try Self.folder(Self.source)
        try folder.write("# Model\nMODEL=\"small\"\nEMPTY=\n", to: ".env.example")
        let start = "[ \"$MODEL\" = small ] || { echo 'bad configuration'; exit 1; }; " + Self.start
        let made = try await Program(["init", "--start", start], folder: folder.path).wait()
        #expect(made.status == 0, "\(made.output)\(made.errors)")
        #expect(made.errors.contains("trying the values of its example file"))
        let text = try Self.profile(in: folder)
        #expect(text.contains("MODEL: small"), "\(text)")
        #expect(!text.contains("EMPTY"))
    }

    @Test func `a database on another machine needs a consent`() async throws {
        let folder = try Self.folder(Self.source)
        try folder.write("DATABASE_URL=postgres://u:pw@db.example.com/app\n", to: ".env")
        let start = ["init", "--start", "exit 3"]
        let refused = try await Program(start, folder: folder.path).wait()
        #expect(refused.status == 2)
        #expect(refused.errors.contains("the postgres database 'app' on db.example.com"))
        #expect(!refused.errors.contains("pw"))
        let allowed = try await Program(start + ["--yes"], folder: folder.path).wait()
        #expect(allowed.status == 6, "\(allowed.errors)")
    }

    private static let hopelessCases: [(arguments: [String], status: Int32, text: String)] = [
        ([], 2, "found no command that starts the backend"),
        (["--start", "exit 3"], 6, "it exited with status 3"),
        (["--target", "http://127.0.0.1:1"], 6, "127.0.0.1:1"),
        (["--target", "http://example.com"], 2, "--allow-host"),
        (["--start", "true", "--write", "no/such/folder/a.yaml"], 6, "did not start"),
    ]

    @Test("an unreachable backend is reported, and no file is written", arguments: hopelessCases)
    func hopeless(arguments: [String], status: Int32, text: String) async throws {
        let folder = try Self.folder(Self.source)
        let run = try await Program(["init"] + arguments, folder: folder.path).wait()
        #expect(run.status == status, "\(run.output)\(run.errors)")
        #expect(run.errors.contains(text), "\(run.errors)")
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/assay.yaml"))
    }
}
