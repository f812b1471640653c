import Reports
import Testing

/// Words as a POSIX shell has to be given them.
@Suite("Shell commands")
struct ShellCommandTests {
    @Test(
        "a word is quoted where a shell would read more into it",
        arguments: [
            ("plain", "plain"), ("a/b.yaml", "a/b.yaml"), ("x/copies:2,at:3", "x/copies:2,at:3"),
            ("", "''"), ("two words", "'two words'"), ("it's", "'it'\\''s'"), ("$HOME", "'$HOME'"),
            ("a*", "'a*'"), ("node server.js --port {{port}}", "'node server.js --port {{port}}'"),
            ("a;b", "'a;b'"), ("\"", "'\"'"), ("#", "'#'"), ("~", "'~'"), ("a\nb", "'a\nb'"),
            ("ü", "'ü'"),
        ]
    )
    func quotes(word: String, expected: String) {
        #expect(ShellCommand.quoted(word) == expected)
    }

    @Test func `a replay names its case, unless the command shows all`() {
        let one = ReplayCommand(["assay", "verify"])
        #expect(one.text("a/b") == "assay verify --only a/b")
        #expect(one.explanation(of: ["E204", "S-05"]) == "assay explain E204 S-05")
        #expect(
            ReplayCommand(["assay", "judge", "x"], acceptsCaseIDs: false).text("a")
                == "assay judge x"
        )
    }
}
