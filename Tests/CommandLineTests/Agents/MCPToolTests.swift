import Foundation
import TestSupport
import Testing
import Values

@testable import AssayCLI

/// The tools of `assay mcp`: their options, command lines, paths and results.
@Suite("Tools for coding agents")
struct MCPToolTests {
    private let temporaryFolder: TemporaryFolder
    private let folder: WritableFolder

    init() throws {
        temporaryFolder = try TemporaryFolder()
        folder = try #require(WritableFolder(temporaryFolder.path))
    }

    private func words(_ name: String, _ arguments: JSONObject) throws -> [String] {
        let tool = try #require(MCPTool.all.first { $0.name == name })
        return try tool.words(arguments, in: folder)
    }

    private func refusal(_ name: String, _ arguments: JSONObject) throws -> String {
        do {
            return "accepted: \(try words(name, arguments))"
        } catch let error as MCPTool.ArgumentError {
            return error.description
        }
    }

    @Test func `arguments become a command line that no value can change`() throws {
        let values: JSONObject = [
            "only": ["S-03", "--skip"], "seed": 7, "fail-fast": true, "dry-run": false,
            "paths": ["-x.yaml"],
        ]
        let line = try words("verify", values)
        #expect(line.first == "verify")
        #expect(line.suffix(2) == ["--", "-x.yaml"])
        for word in ["--only=S-03", "--only=--skip", "--seed=7", "--fail-fast"] {
            #expect(line.contains(word))
        }
        #expect(!line.contains { $0.hasPrefix("--dry-run") })
        #expect(try words("explain", ["subject": "S-03"]) == ["explain", "--", "S-03"])
    }

    @Test func `a replay without cases repeats the failed ones`() throws {
        #expect(try words("replay", [:]).contains("--rerun-failed"))
        let line = try words("replay", ["only": ["S-03"], "seed": "9"])
        #expect(!line.contains("--rerun-failed"))
        #expect(line.contains("--seed=9"))
    }

    @Test(
        "a wrong argument is refused with its name",
        arguments: [
            ("verify", ["ony": ["S-03"]], "did you mean 'only'?"),
            ("verify", ["watch": true], "no option 'watch'"),
            ("verify", ["allow-host": ["example.com"]], "no option 'allow-host'"),
            ("verify", ["fail-fast": "true"], "takes true or false"),
            ("verify", ["seed": ["a"]], "takes a string, not an array"),
            ("verify", ["seed": "a\u{0}b"], "null character"),
            ("verify", ["report": ["json=-"]], "FORMAT=PATH"),
            ("verify", ["save": ""], "is empty"),
            ("explain", [:], "needs 'subject'"),
        ] as [(String, JSONObject, String)]
    )
    func refused(name: String, arguments: JSONObject, reason: String) throws {
        #expect(try refusal(name, arguments).contains(reason))
    }

    @Test(arguments: 0..<200)
    func `arguments of any kind are accepted or refused`(seed: UInt64) throws {
        var arbitrary = ArbitraryValues(seed: seed)
        for tool in MCPTool.all {
            var arguments = arbitrary.object()
            for option in tool.options where arbitrary.int(0...3) == 0 {
                arguments[option.name] = arbitrary.json()
            }
            do {
                let line = try tool.words(arguments, in: folder)
                #expect(line.starts(with: tool.commandWords))
                let positional = line.split(separator: "--", maxSplits: 1)
                #expect(
                    positional.first?.dropFirst(tool.commandWords.count)
                        .allSatisfy { $0.hasPrefix("--") } == true
                )
            } catch {
                #expect(!error.description.isEmpty)
            }
        }
    }

    /// A new option that writes a file must be checked too.
    @Test func `the path of every option that writes is checked`() {
        for option in MCPTool.all.flatMap(\.options)
        where option.kind != .flag && option.help.contains(/\b[Ww]rites? |folder for/) {
            #expect(
                MCPOption.writtenPaths.contains(option.name),
                "--\(option.name): \(option.help)"
            )
        }
    }

    @Test func `every withheld option is an option of a command`() {
        let commands = CommandTable.commands.values
        let names = commands.flatMap { command in
            (command["arguments"]?.array ?? []).compactMap { $0["preferredName"]?["name"]?.string }
        }
        for name in MCPTool.withheldOptions.subtracting(["version"]) {
            #expect(names.contains(name), "\(name)")
        }
        #expect(
            MCPTool.all.map(\.name) == ["init", "doctor", "verify", "explain", "replay", "send"]
        )
    }

    // MARK: Paths

    @Test func `a path is inside only after every link was followed`() throws {
        try temporaryFolder.write("x", to: "real/file")
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/up",
            withDestinationPath: "/tmp"
        )
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/alias",
            withDestinationPath: "real"
        )
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/dangling",
            withDestinationPath: "nowhere"
        )
        let inside = ["a", "./a/b", "real/../a", "alias/new", folder.path + "/a", "a//b", "."]
        let outside = [
            "..", "../a", "/etc/a", "up/a", "alias/../../a", "real/../../a", "dangling",
            folder.path + "x/a", "missing/../../a", "/",
        ]
        for path in inside { #expect(folder.contains(path), "\(path)") }
        for path in outside { #expect(!folder.contains(path), "\(path)") }
    }

    // MARK: Results

    @Test(
        "the exit code decides whether a result is an error",
        arguments: [
            (0, false), (1, false), (5, false), (2, true), (3, true), (4, true), (6, true),
            (70, true), (74, true), (130, true), (99, true), (nil, true),
        ] as [(Int32?, Bool)]
    )
    func isError(status: Int32?, isError: Bool) {
        let output = ToolOutput(output: "\nout\n", messages: ["", "note"], status: status)
        #expect(output.isError == isError)
        #expect(output.text.hasPrefix("out\n\nnote\n\n"))
        if let status { #expect(output.text.contains("exit code \(status)")) }
    }

    @Test func `a long result keeps its start and its end`() {
        let lines = (1...5000).map { "line \($0) of the output" }
        let text = ToolOutput(output: lines.joined(separator: "\n"), messages: [], status: 0).text
        #expect(text.count <= ToolOutput.lengthMax)
        #expect(text.hasPrefix("line 1 of the output\n"))
        #expect(text.contains("\nline 5000 of the output\n"))
        let shown = text.split(separator: "\n").count { $0.hasPrefix("line ") }
        #expect(text.contains("… \(5000 - shown) lines left out"))
        // One long line without a line break is shortened too.
        let word = ToolOutput.shortened(String(repeating: "x", count: 100_000))
        #expect(word.count <= ToolOutput.lengthMax)
    }
}
