import Contracts
import FakeServers
import Judging
import Providers
import Redaction
import Replay
import Reports
import Testing
import TestSupport
import Values

/// Secrets that only a profile's own commands, variables and URLs show.
///
/// The backend prints each of them everywhere; none of them is in anything that leaves the program.
@Suite("Secrets of a profile")
struct ProfileSecretsTests {
    /// One place of a profile that holds a secret.
    struct SecretLocation: Sendable, CustomTestStringConvertible {
        let name: String
        let plant: @Sendable (inout Profile, String) -> Void

        var testDescription: String { name }

        init(_ name: String, _ plant: @escaping @Sendable (inout Profile, String) -> Void) {
            (self.name, self.plant) = (name, plant)
        }
    }

    private static func command(_ text: String) -> SecretLocation {
        SecretLocation("command: " + text) { profile, secret in
            profile.start = Profile.StartSettings(command: text.replacing("SECRET", with: secret))
        }
    }

    private static let places: [SecretLocation] = [
        SecretLocation("a variable") {
            $0.start = Profile.StartSettings(
                command: "node server.js",
                environment: ["REVENUECAT_WEBHOOK_PASS": $1]
            )
        },
        SecretLocation("a variable that is expanded") {
            $0.start = Profile.StartSettings(
                command: "node server.js",
                environment: ["API_TOKEN": "${OUTER}"]
            )
            $0.start?.variables = ["OUTER": Secret($1)]
        },
        SecretLocation("a variable with a secret variable in it") {
            $0.start = Profile.StartSettings(
                command: "node server.js",
                environment: ["STORE": "x:${DB_PASSWORD}"]
            )
            $0.start?.variables = ["DB_PASSWORD": Secret($1)]
        },
        SecretLocation("the password of a store's URL") {
            $0.start = Profile.StartSettings(
                command: "node server.js",
                environment: ["STORE": "postgres://ada:\($1)@127.0.0.1/shop"]
            )
        },
        command("WEBHOOK_TOKEN=SECRET node server.js"),
        command("env A=1 STRIPE_KEY='SECRET' node server.js"),
        command("node server.js --api-key=SECRET"), command("node server.js --token SECRET -v"),
        command("sh -c 'export JWT_SIGNING_KEY=SECRET; exec node server.js'"),
        command("node server.js --store postgres://ada:SECRET@127.0.0.1/shop"),
        command("cd app && PASSWORD=\"SECRET\" npm start"),
        SecretLocation("the key of a probe's URL") {
            $0.probes[0].source = .get("/state/{{id}}?key=\($1)")
        },
        SecretLocation("the user of a probe's URL") {
            $0.probes[0].source = .get("http://ada:\($1)@127.0.0.1:1/state/{{id}}")
        },
        SecretLocation("the command of a probe") {
            $0.probes[0].source = .command(["look", "--password", $1, "{{id}}"])
        },
        SecretLocation("the target") { $0.target = "http://ada:\($1)@127.0.0.1:8080" },
        SecretLocation("the path of a webhook") {
            $0.endpoints["revenuecat-webhook"]?.path = "/hook?token=\($1)"
        },
        SecretLocation("the request that creates a user") {
            $0.creation = .request(
                Profile.Endpoint(method: "POST", path: "/users?access_token=\($1)")
            )
        },
        SecretLocation("the command that creates a user") {
            $0.creation = .command(["make-user", "--secret=\($1)", "{{id}}"])
        },
        SecretLocation("the body that creates a user") {
            $0.creation = .request(
                Profile.Endpoint(
                    method: "POST",
                    path: "/users",
                    body: ["id": "{{id}}", "adminPassword": .string($1)]
                )
            )
        },
        SecretLocation("the route of access") {
            $0.app.access?.path = "/access/{{id}}?apikey=\($1)"
        },
    ]

    private static func profile() -> Profile {
        var profile = Profile()
        profile.target = "http://127.0.0.1:8080"
        profile.probes = [
            .init(name: "state", source: .get("/state/{{id}}"), readings: [:], ignoredPointers: [])
        ]
        return profile
    }

    private static let base = Instant(milliseconds: 1_790_000_000_000)

    private static func exchange(_ secret: String) -> Exchange {
        Exchange(
            from: .revenueCat,
            to: .backend,
            namespace: "n",
            purpose: .call,
            at: base,
            request: HTTPMessage.Request("POST", "/hook/\(secret)/x?a=\(secret)"),
            outcome: .answered(HTTPMessage.Response(200, json: ["shown": .string("a \(secret) b")]))
        )
    }

    private static func report(_ profile: Profile, _ secret: String) -> RunReport {
        let plan = CasePlan(SampleContract.contract([]))
        let words = "the backend wrote \(secret) here"
        var observability = RunRecord.Observability(
            arePushesObservable: true,
            areProbeChangesObservable: true,
            latency: .milliseconds(1)
        )
        observability.plainPurchaseStatus = words
        var finding = Finding(
            .responseDiffers,
            expected: words,
            actual: words,
            location: SampleContract.location
        )
        finding.nearMiss = [words]
        var result = CaseResult(
            contract: SampleContract.contract([]),
            verdict: .failed,
            findings: [finding],
            note: words,
            volatilePaths: [words],
            timeline: [exchange(secret)],
            base: base,
            backendOutput: words
        )
        result.hints = [words]
        result.judgment = CaseJudgment(
            CaseEvidence(
                plan: plan,
                subject: RunRecord(
                    plan: plan.subject,
                    namespace: Namespace(name: "n", idForm: .string),
                    base: base,
                    began: base,
                    ended: base,
                    exchanges: [exchange(secret)],
                    settleEvidence: .notNeeded
                ),
                baselines: [],
                profile: profile,
                observability: observability
            )
        )
        var report = RunReport(
            version: "1",
            suite: "s",
            seed: "x",
            target: profile.target ?? "",
            began: base,
            seconds: 1,
            jobs: 1,
            cases: [result],
            isInterrupted: false,
            notes: [words]
        )
        report.declared = SecretDeclaration(profile)
        return report
    }

    private struct Sink: Sendable {
        let name: String
        let text: @Sendable (RunReport, Profile, Redacted<ReplayCommand>) throws -> String
    }

    private static func terminal(_ replay: Redacted<ReplayCommand>) -> TerminalReport {
        TerminalReport(style: TerminalStyle(isColored: false), replay: replay)
    }

    /// Everything that a run is written to.
    private static let sinks: [Sink] = [
        Sink(name: "json") { JSONReport.render($0.redacted(), replay: $2) },
        Sink(name: "junit") { report, _, replay in
            JUnitReport.render(report.redacted(), replay: replay)
        },
        Sink(name: "html") { HTMLReport.render($0.redacted(), replay: $2) },
        Sink(name: "markdown") { MarkdownReport.render($0.redacted(), replay: $2) },
        Sink(name: "github") { report, _, _ in GitHubReport.render(report.redacted()) },
        Sink(name: "badge") { report, _, _ in BadgeReport.render(report.redacted()) },
        Sink(name: "terminal") { terminal($2).blocks($0.redacted()).joined() },
        Sink(name: "summary") { terminal($2).summary($0.redacted()) },
        Sink(name: "saved run") { report, profile, _ in
            try SavedRun.lines(report, profile: profile, key: 7).joined(separator: "\n")
        },
        Sink(name: "known failures") { report, _, _ in
            KnownFailures.text(KnownFailures.linesAcceptingFailures(report), of: report)
        },
        Sink(name: "journal") { report, profile, _ in
            let redaction = JournalLine.redaction(SecretDeclaration(profile))
            return report.cases[0].timeline.map { JournalLine.value($0, redaction).text }
                .joined(separator: "\n")
        },
        Sink(name: "an error of init, doctor and verify") { report, profile, _ in
            "the backend ended: \(report.notes[0])".redacted(SecretDeclaration(profile)).value
        },
        Sink(name: "the command that init starts") { _, profile, _ in
            Redaction.forReports().command(profile.start?.command ?? "none")
        },
    ]

    @Test("a secret of a profile is in no sink", arguments: places)
    func everySink(place: SecretLocation) throws {
        let secret = "planted7Zq\(place.name.utf8.count)"
        var profile = Self.profile()
        place.plant(&profile, secret)
        let declared = SecretDeclaration(profile)
        #expect(declared.values.values.contains { $0.exposed.contains(secret) })
        let report = Self.report(profile, secret)
        let replay = ReplayCommand(
            ["assay", "verify", "--target", profile.target ?? ""]
                + (profile.start.map { ["--start", $0.command] } ?? [])
        ).redacted(declared)
        for sink in Self.sinks {
            let text = try sink.text(report, profile, replay)
            #expect(!text.isEmpty, "\(sink.name)")
            let place = text.firstRange(of: secret).map { text[..<$0.upperBound].suffix(160) }
            #expect(place == nil, "\(sink.name)")
        }
    }

    @Test("a saved run is judged as it was, without the secret", arguments: places)
    func judging(place: SecretLocation) throws {
        var profile = Self.profile()
        place.plant(&profile, "planted7Zq")
        let report = Self.report(profile, "planted7Zq")
        let lines = try SavedRun.lines(report, profile: profile, key: 7)
        let saved = try SavedRun(parsing: lines.joined(separator: "\n"))
        #expect(saved.entries.first?.subject != nil, "the evidence is there")
        #expect(saved.head.profile.probes.count == 1)
        #expect(saved.head.profile.endpoints.keys == profile.endpoints.keys)
    }

    @Test("a short value is masked where its name is", arguments: ["abc", "dev", "true1"])
    func shortValues(value: String) throws {
        var profile = Self.profile()
        profile.start = Profile.StartSettings(
            command: "WEBHOOK_SECRET=\(value) node server.js",
            environment: ["API_TOKEN": value]
        )
        #expect(!SecretDeclaration(profile).values.values.contains { $0.exposed == value })
        let lines = try SavedRun.lines(Self.report(profile, "x"), profile: profile, key: 7)
        let start = try SavedRun(parsing: lines.joined(separator: "\n")).head.profile.start
        #expect(start?.environment["API_TOKEN"]?.contains(value) == false)
        #expect(start?.command.contains(value) == false)
        #expect(start?.command.hasSuffix(" node server.js") == true)
        let replay = ReplayCommand(["assay", "--start", "WEBHOOK_SECRET=\(value) node \(value).js"])
            .redacted(SecretDeclaration(profile)).value.text([])
        #expect(!replay.contains("=\(value)") && replay.contains("node \(value).js"))
    }

    @Test func `names, references and plain words are not treated as secrets`() {
        var profile = Self.profile()
        profile.start = Profile.StartSettings(
            command: "API_TOKEN=$OUTER_TOKEN PORT=8080 node server.js --listen 127.0.0.1:8080",
            environment: [
                "REVENUECAT_API_KEY": "{{revenuecat-key}}", "API_TOKEN": "${OUTER}",
                "CLIENT_IP": "127.0.0.1-first", "SUPPORT_EMAIL": "help1234@shop.example",
                "NODE_ENV": "production1",
            ]
        )
        profile.probes[0].source = .get("/state/{{id}}?token={{session}}&page=12345678")
        let usual = SecretDeclaration(Self.profile())
        #expect(SecretDeclaration(profile).values == usual.values)
    }

    @Test(
        "a value is distinct by its length and its letters",
        arguments: [
            ("abc", false), ("12345", false), ("abc123", true), ("development", false),
            ("Development", true), ("12345678", true), ("localhost", false),
            ("correct horse battery", true),
        ]
    )
    func distinct(value: String, isDistinctive: Bool) {
        #expect(SecretDeclaration.isDistinctive(value) == isDistinctive)
    }
}
