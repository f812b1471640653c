import Testing
import TestSupport

/// A failure that `try?` ignores is a bug as soon as it hides something from the user.
@Suite("Ignored errors")
struct TryTests {
    /// The number of lines above a `try?` in which its comment may be.
    private static let commentDistanceMax = 4

    /// The parser, whose initializers with `ifValid` return nil for text that is not JSON.
    private static let parserPath = "Sources/Values/JSON/JSONParser.swift"

    /// Returns whether a line contains `try?` outside a comment.
    private static func ignoresError(_ line: Substring) -> Bool {
        !line.drop { $0 == " " }.hasPrefix("//") && line.contains(#/\btry\? /#)
    }

    /// Returns whether a line has a `//` comment that is neither a doc comment nor a mark.
    private static func hasComment(_ line: Substring) -> Bool {
        line.contains(#/(?:^| )// (?!MARK:)/#)
    }

    /// Returns the numbers of the lines that ignore an error without a comment, counted from 1.
    private static func unexplainedLines(in text: String) -> [Int] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.indices.filter { index in
            let start = max(0, index - commentDistanceMax)
            return ignoresError(lines[index]) && !lines[start...index].contains(where: hasComment)
        }
        .map { $0 + 1 }
    }

    @Test func `every ignored error has a comment with the reason`() {
        let files = Repository.files(below: "Sources")
            .filter { !$0.path.hasPrefix("Sources/AssayBenchmarks/") && $0.path != Self.parserPath }
        #expect(files.count > 500, "the sources were not found")
        var ignoredErrorCount = 0
        for file in files {
            ignoredErrorCount += file.text.split(separator: "\n").count(where: Self.ignoresError)
            for number in Self.unexplainedLines(in: file.text) {
                Issue.record(
                    """
                    \(file.path):\(number): handle the error, or write above it in a // comment why \
                    it does not matter; for text that may not be JSON use JSONValue(ifValid:)
                    """
                )
            }
        }
        #expect(ignoredErrorCount > 50, "the pattern does not find them")
    }

    @Test(
        "an ignored error without a comment is found",
        arguments: [
            "try? file.close()", "    let data = (try? file.readToEnd()) ?? nil",
            "/// Closes the file.\ntry? file.close()", "// MARK: Files\ntry? file.close()",
            "// The reason.\n\n\n\n\ntry? file.close()", "// A URL.\n\n\n\nlet x = 1\ntry? read()",
        ]
    )
    func isFound(text: String) { #expect(Self.unexplainedLines(in: text).count == 1) }

    @Test(
        "an ignored error with a comment, and other code, are not found",
        arguments: [
            "// The file was only read.\ntry? file.close()",
            "    try? file.close()  // The file was only read.",
            "// The reason.\n\n\n\ntry? file.close()", "let last: Entry? = nil",
            "/// Calls `try? read()`.", "let entry = try read()",
        ]
    )
    func isNotFound(text: String) { #expect(Self.unexplainedLines(in: text).isEmpty) }
}
