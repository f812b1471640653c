import Testing
import TestSupport

/// The output of a backend reaches the terminal and the log of a CI service as text.
@Suite("Untrusted output")
struct ForeignOutputTests {
    private static let secret = "planted7Zq9"

    /// A backend that prints its secret and commands of log processors, and ends.
    private static let start =
        "WEBHOOK_SECRET=\(secret) sh -c 'echo got $WEBHOOK_SECRET; echo ::error::planted; "
        + "echo \"  ::set-output name=a::b\"; echo \"##vso[task.complete]\"; "
        + "echo \"##[group]x\"; printf \"\\033[2J\\342\\200\\256x\\n\"; exit 3'"

    private static func lines(_ text: String) -> [Substring] { text.split(separator: "\n") }

    private static func isCommand(_ line: Substring) -> Bool {
        line.drop { $0.isWhitespace }.hasPrefix("::")
            || line.contains(#/##[a-z]*\[/#)
    }

    @Test(
        "output of a backend that fails to start contains no workflow command and no secret",
        arguments: ["verify", "doctor", "init", "explore"]
    )
    func failing(command: String) async throws {
        let result = try await Program.run([command, "--start", Self.start])
        #expect(result.status == 6, "\(result.errors)")
        let text = result.output + result.errors
        #expect(text.contains("planted"), "the log is shown: \(text)")
        #expect(!text.contains(Self.secret), "\(text)")
        #expect(!Self.lines(text).contains(where: Self.isCommand), "\(text)")
        #expect(!text.unicodeScalars.contains { $0 == "\u{1b}" || $0 == "\u{202e}" })
    }

    @Test func `GitHub Actions output of a backend is wrapped in stop-commands`() async throws {
        let result = try await Program.run(
            ["verify", "--start", Self.start],
            environment: ["GITHUB_ACTIONS": "true"]
        )
        let commands = Self.lines(result.errors).filter(Self.isCommand)
        #expect(commands.count == 2, "\(result.errors)")
        let token = try #require(commands.first).dropFirst("::stop-commands::".count)
        #expect(commands.first?.hasPrefix("::stop-commands::") == true)
        #expect(commands.last ?? "" == "::\(token)::")
    }

    @Test func `annotations printed by a run are still workflow commands`() async throws {
        let result = try await Program.run(
            ["verify", "--only", "revenuecat/smoke/first-purchase", "--report", "github=-"]
                + ExitCodeTests.start(),
            environment: ["GITHUB_ACTIONS": "true"]
        )
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.output.contains("\n::notice title=Assay::1 passed"), "\(result.output)")
    }

    @Test func `a file name is not parsed as a workflow command`() async throws {
        let result = try await Program.run(["judge", "x\n::error::planted"])
        #expect(result.status == 2 || result.status == 3)
        #expect(!Self.lines(result.errors).contains(where: Self.isCommand), "\(result.errors)")
    }
}
