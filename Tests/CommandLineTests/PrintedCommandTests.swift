import Foundation
import Testing
import TestSupport

/// A command that Assay prints does what it says when a person pastes it.
@Suite("Printed commands")
struct PrintedCommandTests {
    /// A contract that no backend can keep, in a folder whose name a shell would take apart.
    private static func folder() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        try folder.write(
            """
            contract: own/never
            title: A purchase is answered with a teapot's status
            clause: S-01
            source: this test
            given:
              - register: ada
            steps:
              - deliver: purchase
                event: {type: INITIAL_PURCHASE, user: ada}
            expect:
              status: 418
            """,
            to: "it's mine/own/never.yaml"
        )
        return folder
    }

    /// The one line of that kind, without its label.
    private static func line(_ label: String, in text: String) throws -> String {
        let lines = text.split(separator: "\n").filter { $0.hasPrefix("  \(label) ") }
        return try #require(lines.first).drop { $0 != "/" }.description
    }

    @Test func `the printed replay command of a user contract reproduces the finding`() async throws
    {
        let folder = try Self.folder()
        let first = try await Program.run(
            ["verify", "--contracts", "it's mine", "--only", "own/never"] + ExitCodeTests.start(),
            folder: folder.path
        )
        #expect(first.status == 1, "\(first)")
        let line = try Self.line("replay", in: first.output)
        let again = try await Program.paste(line, folder: folder.path)
        #expect(again.status == 1, "\(line)\n\(again)")
        #expect(again.output.contains("1 case"))
        #expect(try Self.line("replay", in: again.output) == line)
    }

    @Test func `the replay command of a contract path names the file`() async throws {
        let folder = try Self.folder()
        let first = try await Program.run(
            ["verify", "it's mine/own/never.yaml"],
            folder: folder.path,
            environment: ["ASSAY_START": ExitCodeTests.start()[1], "ASSAY_SEED": "a seed's text"]
        )
        #expect(first.status == 1, "\(first)")
        // Pasted into a shell that knows none of the variables.
        let line = try Self.line("replay", in: first.output)
        let again = try await Program.paste(line, folder: folder.path)
        #expect(again.status == 1, "\(line)\n\(again)")
        #expect(again.output.contains("1 case"))
    }

    @Test func `the printed command shows a saved run again`() async throws {
        let folder = try Self.folder()
        let first = try await Program.run(
            ["verify", "it's mine/own/never.yaml", "--save", "a run.ndjson"]
                + ExitCodeTests.start(),
            folder: folder.path
        )
        #expect(first.status == 1, "\(first)")
        let judged = try await Program.run(["judge", "a run.ndjson"], folder: folder.path)
        let line = try Self.line("replay", in: judged.output)
        let again = try await Program.paste(line, folder: folder.path)
        #expect(again.status == 1, "\(line)\n\(again)")
        #expect(again.output == judged.output)
    }

    @Test func `the replay command of a scripted app keeps its defects`() async throws {
        let folder = try TemporaryFolder()
        let first = try await Program.run(
            ["app", "--scripted", "--defect", "paywall-ungated", "--only", "C-16"],
            folder: folder.path
        )
        #expect(first.status == 1, "\(first)")
        let line = try Self.line("replay", in: first.output)
        let again = try await Program.paste(line, folder: folder.path)
        #expect(again.status == 1, "\(line)\n\(again)")
        #expect(again.output.contains("1 case"))
    }

    @Test func `the printed explain command finds the finding`() async throws {
        let folder = try TemporaryFolder()
        let first = try await Program.run(
            ["app", "--scripted", "--defect", "paywall-ungated", "--only", "C-16"],
            folder: folder.path
        )
        let line = try Self.line("explain", in: first.output)
        let result = try await Program.paste(line, folder: folder.path)
        #expect(result.status == 0, "\(line)\n\(result)")
        #expect(result.output.contains("E5"))
    }
}
