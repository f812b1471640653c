import Foundation
import TestSupport
import Testing

/// The help, the suggestions for wrong words, and the demo: the output that new users see first.
@Suite("Help and demo")
struct HelpTests {
    /// The titles of a help text and the options below each title.
    private static func sections(_ command: String) async throws -> [(
        title: String, flags: [String]
    )] {
        let help = try await Program.run([command, "--help"]).output
        var sections: [(title: String, flags: [String])] = []
        for line in help.split(separator: "\n") {
            #expect(line.count <= 80, "\(line)")
            if line.hasSuffix(":"), line == line.uppercased(), !line.hasPrefix(" ") {
                sections.append((String(line.dropLast()), []))
            } else if line.hasPrefix("  --"), !sections.isEmpty {
                let flag = line.dropFirst(2).prefix { $0 != " " }
                sections[sections.count - 1].flags.append(String(flag))
            }
        }
        return sections
    }

    @Test func `verify lists the five most used options first`() async throws {
        let sections = try await Self.sections("verify")
        let titled = sections.filter { $0.title != "ARGUMENTS" }
        #expect(
            titled.map(\.title) == [
                "MOST USED", "HOW TO REACH THE BACKEND", "WHAT TO RUN", "REPORTS",
                "CI AND ACCEPTED FAILURES", "LIMITS", "OPTIONS",
            ]
        )
        #expect(
            titled.first?.flags == ["--start", "--target", "--only", "--rerun-failed", "--report"]
        )
        #expect(titled.last?.flags == ["--version"])
    }

    @Test func `the commands are in groups, and each is in one`() async throws {
        let help = try await Program.run(["--help"]).output
        #expect(!help.contains("SUBCOMMANDS"))
        #expect(help.contains("\nTEST A BACKEND OR AN APP:\n  demo "))
        for name in ["verify", "explain", "serve", "record", "mutants"] {
            #expect(help.components(separatedBy: "\n  \(name) ").count == 2, "\(name)")
        }
    }

    @Test(
        "a wrong word gets a suggestion",
        arguments: [
            (["test"], "'assay verify'"), (["mock"], "'assay serve'"),
            (["Verify"], "'assay verify'"), (["S-03"], "'assay explain S-03'"),
            (["e204"], "'assay explain E204'"),
            (["explain", "S-99"], "the clauses with 'S' are S-01 to"),
            (["explain", "s03"], "did you mean 'S-03'?"),
            (["explain", "Q-01"], "clauses begin with 'A'"),
            (["explain", "E999"], "did you mean 'E9"),
            (["list", "--only", "s-3"], "did you mean 'S-03'?"),
            (["list", "--only", "S-99"], "the clauses with 'S' are S-01 to"),
        ]
    )
    func suggests(words: [String], suggestion: String) async throws {
        let result = try await Program.run(words)
        #expect([2, 4].contains(result.status))
        #expect(result.errors.contains(suggestion), "\(result.errors)")
    }

    @Test func `explain shows a key with an example and its templates`() async throws {
        let result = try await Program.run(["explain", "endpoints.login"])
        #expect(result.status == 0)
        #expect(result.output.contains("  example     assay: 1\n"))
        #expect(result.output.contains("                  post: /api/login\n"))
        #expect(result.output.contains("{{password}}      the password of the account"))
    }

    @Test(
        "explain fits 80 columns and cuts no word",
        arguments: ["profile", "contract", "products", "endpoints.login", "start", "S-03", "E204"]
    )
    func fits(subject: String) async throws {
        let result = try await Program.run(["explain", subject])
        #expect(result.status == 0)
        for line in result.output.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
        if subject == "profile" {
            #expect(result.output.split(separator: "\n").count < 200)
            #expect(result.output.contains("through a proxy with its own certificate authority"))
        }
    }

    @Test func `explain products lists products and how to map them`() async throws {
        let output = try await Program.run(["explain", "products"]).output
        #expect(output.contains("premium_yearly"))
        #expect(output.contains("365 days, unlocks your entitlement"))
        #expect(output.contains("extras_monthly"))
        #expect(output.contains("    premium_monthly: com.example.product"))
    }

    @Test func `the demo shows one finding in full and counts the rest`() async throws {
        let folder = try TemporaryFolder()
        let result = try await Program.run(["demo"], folder: folder.path)
        #expect(result.status == 0, "\(result)")
        #expect(result.output.contains("PASS  40 cases of "))
        #expect(result.output.components(separatedBy: "\nFAIL  ").count == 3)
        #expect(result.output.components(separatedBy: "\n  replay ").count == 2)
        #expect(result.output.contains(" more cases of 40 fail, with clauses "))
        #expect(result.output.split(separator: "\n").count < 80)
        #expect((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) == [])
    }

    @Test func `init --add writes a block from a route of the files`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("app.post('/auth/login', (req, res) => {})\n", to: "server.js")
        let none = try await Program.run(["init", "--add", "login"], folder: folder.path)
        #expect(none.status == 2)
        try folder.write("assay: 1\ntarget: http://127.0.0.1:1\n", to: "assay.yaml")
        let added = try await Program.run(["init", "--add", "login"], folder: folder.path)
        #expect(added.status == 0, "\(added)")
        #expect(added.output.contains("from POST /auth/login (server.js:1)"))
        #expect(folder.read("assay.yaml")?.contains("    post: /auth/login\n") == true)
        let again = try await Program.run(["init", "--add", "login"], folder: folder.path)
        #expect(again.status == 2)
        #expect(again.errors.contains("has 'endpoints.login' already"))
        let unknown = try await Program.run(["init", "--add", "nope"], folder: folder.path)
        #expect(unknown.status == 2)
    }

    @Test func `doctor without a profile prints the one that it would write`() async throws {
        let folder = try TemporaryFolder()
        let result = try await Program.run(
            ["doctor"] + ExitCodeTests.start(),
            folder: folder.path
        )
        #expect(result.output.contains("--write assay.yaml' writes:"), "\(result)")
        #expect(result.output.contains("\nassay: 1\nstart:\n"))
        #expect(folder.read("assay.yaml") == nil)
    }
}
