import Foundation
import Testing
import TestSupport

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The exit codes, the reports of earlier runs, and the users that may read what a run leaves.
@Suite("Output and exit codes")
struct OutputTests {
    // MARK: The table of exit codes

    private static let page = "Sources/AssayCLI/Assay.docc/ContinuousIntegration.md"

    /// The table that `--help` prints.
    private static func table() async throws -> [(code: Int, meaning: String)] {
        let help = try await Program.run(["--help"]).output
        let lines = help.split(separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex { $0.hasPrefix("Exit codes:") })
        var rows: [(code: Int, meaning: String)] = []
        for line in lines[(start + 1)...].prefix(while: { !$0.isEmpty }) {
            #expect(line.count <= 80, "\(line)")
            let words = line.split(separator: " ")
            if line.hasPrefix("       "), !rows.isEmpty {
                rows[rows.count - 1].meaning += " " + words.joined(separator: " ")
            } else {
                let code = try #require(words.first.flatMap { Int($0) }, "\(line)")
                rows.append((code, words.dropFirst().joined(separator: " ")))
            }
        }
        return rows
    }

    @Test func `the exit codes of --help match the CI page`() async throws {
        let table = try await Self.table()
        #expect(table.map(\.code) == [0, 1, 2, 3, 4, 5, 6, 70, 74, 130])
        let rows = Repository.text(of: Self.page).split(separator: "\n")
            .filter { $0.wholeMatch(of: /\| \d+ \| .* \|/) != nil }.map(String.init)
        #expect(rows == table.map { "| \($0.code) | \($0.meaning) |" })
    }

    @Test func `documentation pages name only exit codes from the table`() async throws {
        let codes = Set(try await Self.table().map(\.code))
        let pages = Repository.files(below: "Sources/AssayCLI/Assay.docc", ending: "md")
            .filter { !$0.path.contains("/Decisions/") && !$0.path.hasSuffix("/Changelog.md") }
        for (path, text) in pages + [("README.md", Repository.text(of: "README.md"))] {
            for match in text.matches(of: /\b[Ee]xits? (?:codes? |with )?(\d+)/) {
                let code = try #require(Int(match.1))
                #expect(codes.contains(code), "\(path): \(match.0)")
            }
        }
    }

    // MARK: Reports of an earlier run

    @Test func `a killed run leaves no report of an earlier run`() async throws {
        let folder = try TemporaryFolder()
        try folder.write(
            "assay: 1\nstart: {command: exec sleep 3000, timeout: 50m}\n",
            to: "assay.yaml"
        )
        let names = ["r.json", "out/r.html"]
        for name in names { try folder.write("yesterday", to: name) }
        let program = try Program(
            ["verify", "--report", "json=r.json", "--report", "html=out/r.html"],
            folder: folder.path
        )
        let areRemoved = try await program.comesTo {
            names.allSatisfy { folder.read($0) == nil }
        }
        program.signal(SIGKILL)
        _ = await program.wait()
        #expect(areRemoved)
        #expect(names.allSatisfy { folder.read($0) == nil })
    }

    @Test(arguments: ["judge", "merge", "app", "explore", "verify"])
    func `a command without a result leaves neither an old nor an empty report`(
        command: String
    ) async throws {
        let folder = try TemporaryFolder()
        try folder.write("yesterday", to: "old.json")
        let subject = ["judge": ["none"], "merge": ["none"], "app": ["--only", "none"]]
        let reports = ["--report", "json=old.json", "--report", "html=new.html"]
        let start = ["explore", "verify"].contains(command) ? ["--start", "exit 3"] : []
        let result = try await Program.run(
            [command] + (subject[command] ?? []) + start + reports,
            folder: folder.path
        )
        #expect([2, 4, 6].contains(result.status), "\(result)")
        #expect(folder.read("new.html") == nil)
        // 'app' selects its scenarios before it looks at reports.
        #expect((folder.read("old.json") == nil) == (command != "app"))
    }

    @Test func `a dry run or an invalid report option keeps the earlier report`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("yesterday", to: "r.json")
        let verify = ["verify", "--start", "exit 3", "--report", "json=r.json"]
        let dry = try await Program.run(verify + ["--dry-run"], folder: folder.path)
        #expect(dry.status == 0, "\(dry)")
        let wrong = try await Program.run(
            verify + ["--report", "html=/proc/nope/x"],
            folder: folder.path
        )
        #expect(wrong.status == 2)
        #expect(folder.read("r.json") == "yesterday")
    }

    @Test func `the CI step summary keeps lines of other commands`() async throws {
        let folder = try TemporaryFolder()
        let summary = try folder.write("lines of another command\n", to: "summary.md")
        let result = try await Program.run(
            ["verify", "--start", "exit 3", "--report", "markdown=\(summary)"],
            folder: folder.path,
            environment: ["GITHUB_STEP_SUMMARY": summary]
        )
        #expect(result.status == 6)
        #expect(folder.read("summary.md") == "lines of another command\n")
    }

    // MARK: Baselines

    @Test func `a missing baseline file is an empty list`() async throws {
        let folder = try TemporaryFolder()
        let result = try await Program.run(
            ["verify", "--start", "exit 3", "--baseline", "known.txt"],
            folder: folder.path
        )
        #expect(result.status == 6, "\(result)")
        #expect(folder.read("known.txt") == nil)
    }
}
