import Foundation
import TestSupport
import Testing

/// One type writes files for the user, and one writes to standard output: both check every write.
@Suite("Writing")
struct WritingTests {
    /// Ways to write that return no reason, or are easy to leave unchecked.
    private static let forbiddenPatterns = [
        "write(to: URL", "FileHandle(forWriting", "FileHandle.standardOutput", "fopen(", "fputs(",
        "fwrite(", " print(", "to: STDOUT_FILENO",
    ]

    /// Files that may contain one of them, with the reason.
    private static let allowed = [
        "Sources/AssayCLI/Terminal/StandardOutput.swift": "the one writer of standard output"
    ]

    @Test func `every write of the command line is checked`() {
        let modules = ["AssayCLI", "Replay", "Recording", "Browser", "Programs"]
        for module in modules {
            for line in Repository.lines(below: "Sources/\(module)") {
                guard Self.allowed[line.path] == nil else { continue }
                for way in Self.forbiddenPatterns where line.text.contains(way) {
                    Issue.record(
                        "\(line.path):\(line.number): '\(way)'; use OutputFile or StandardOutput"
                    )
                }
            }
        }
    }
}
