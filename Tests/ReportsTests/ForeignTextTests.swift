import Contracts
import Judging
import Redaction
import Reports
import Testing
import Values

/// Text that is not ours reaches no terminal and no log processor as a command, in any report.
@Suite("Untrusted text")
struct ForeignTextTests {
    private static let pieces = [
        "::error::planted", " ::set-output name=a::b", "::stop-commands::x", "::",
        "##vso[task.complete result=Failed]", "##[group]planted", "###[x", "##teamcity[message]",
        "\u{0}", "\r", "\r\n", "\n", "\n", " ", " ", "\t", "\u{85}", "\u{9b}31m", "\u{7f}",
        "\u{1b}[31m", "\u{1b}[2J", "\u{202a}", "\u{202e}", "\u{2066}", "\u{2069}", "\u{200e}",
        "\u{200f}", "\u{61c}", "\u{2028}", "\u{2029}", "\u{feff}", "\u{e0041}", "\u{a0}",
        "word", "é", "e\u{301}", ":", ":\u{301}:", "#", "[", "]", "<", "&", "\"", "|", "`",
        String(repeating: "x", count: 61) + "::error::y", "Foo::Bar", "[::1]:8080",
    ]

    private static func text(_ generator: inout SeededGenerator) -> String {
        (0..<Int.random(in: 1...10, using: &generator)).map { _ in
            pieces[Int.random(in: 0..<pieces.count, using: &generator)]
        }.joined()
    }

    private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0a: false
        case 0..<0x20, 0x7f..<0xa0, 0x061c, 0x200e, 0x200f, 0x202a...0x202e, 0x2066...0x2069,
            0x2028, 0x2029, 0xfeff, 0xe0000...0xe007f:
            true
        default: false
        }
    }

    private static func trimmed(_ line: Substring) -> Substring {
        let start = line.unicodeScalars.drop { $0.properties.isWhitespace }
        return Substring(start)
    }

    /// The first fault of what was printed; nil where there is none.
    private static func fault(
        _ text: String,
        isOurs: (Substring) -> Bool = { _ in false }
    ) -> String? {
        if let scalar = text.unicodeScalars.first(where: isForbidden) {
            return "U+\(String(scalar.value, radix: 16))"
        }
        for line in text.split(separator: "\n") where !isOurs(line) {
            if trimmed(line).unicodeScalars.starts(with: "::".unicodeScalars) {
                return String(line.prefix(120))
            }
        }
        return text.firstMatch(of: #/##[A-Za-z]*\[/#).map { String($0.output) }
    }

    private static let replay = ReplayCommand(["assay", "verify"]).redacted(SecretDeclaration())

    private static func terminal(_ stop: StopCommandsPair? = nil) -> TerminalReport {
        TerminalReport(style: TerminalStyle(isColored: false), replay: replay, stop: stop)
    }

    /// Every renderer that prints text around what it is given.
    private static let renderers:
        [(name: String, render: @Sendable (Redacted<RunReport>) -> String)] = [
            ("json", { JSONReport.render($0, replay: replay) }),
            ("junit", { JUnitReport.render($0, replay: replay) }),
            ("html", { HTMLReport.render($0, replay: replay) }),
            ("markdown", { MarkdownReport.render($0, replay: replay) }),
            ("badge", { BadgeReport.render($0) }),
            ("terminal", { terminal().blocks($0).joined() }),
            ("summary", { terminal().summary($0) }),
            ("lines", { terminal().blocks($0, fullCaseMax: 1).joined() }),
        ]

    @Test("no line of a report is a workflow command", arguments: 0..<UInt64(40))
    func reports(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let planted = Self.text(&generator)
        let report = ReportFixtures.planted(planted).redacted()
        for (name, render) in Self.renderers {
            let fault = Self.fault(render(report))
            #expect(fault == nil, "\(name) for \(planted.debugDescription)")
        }
    }

    @Test("annotations come only from Assay", arguments: 0..<UInt64(60))
    func annotations(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let planted = Self.text(&generator)
        let text = GitHubReport.render(ReportFixtures.planted(planted).redacted())
        let fault = Self.fault(text) { line in
            ["::error ", "::warning ", "::notice "].contains { line.hasPrefix($0) }
        }
        #expect(fault == nil, "\(planted.debugDescription)")
    }

    @Test("text printed without a renderer is escaped as well", arguments: 0..<UInt64(200))
    func output(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let planted = "name: " + Self.text(&generator) + "\n" + Self.text(&generator)
        let shown = TerminalOutput(keepsANSICodes: false).text(planted)
        let fault = Self.fault(shown)
        #expect(fault == nil, "\(planted.debugDescription)")
        #expect(TerminalOutput(keepsANSICodes: false).text(shown) == shown)
        #expect(shown.exactLines.count == planted.parts(between: "\n").count)
    }

    @Test func `our own colors stay on a terminal, and no other code does`() {
        let output = TerminalOutput(keepsANSICodes: true)
        let style = TerminalStyle(isColored: true)
        #expect(output.text(style.red("FAIL")) == style.red("FAIL"))
        #expect(output.text("\r\u{1b}[K3/7") == "\r\u{1b}[K3/7")
        #expect(output.text("\u{1b}[2Jx") == "\\u{1b}[2Jx")
        #expect(output.text(style.red("::error::x")) == style.red("\\u{3a}:error::x"))
        let log = TerminalOutput(keepsANSICodes: false)
        #expect(log.text(style.red("FAIL")) == "\\u{1b}[31mFAIL\\u{1b}[0m")
    }

    @Test func `ordinary text stays as it is`() {
        for text in [
            "Foo::Bar failed at [::1]:8080", "## heading", "#[derive(Debug)]", "a: b", "🦊 é",
            "time 10:00::11",
        ] {
            #expect(text.printable == text)
            #expect(TerminalOutput(keepsANSICodes: false).text(text) == text)
        }
    }

    @Test func `an escape can be read`() {
        #expect("::error::x".printable == "\\u{3a}:error::x")
        #expect(" ::error::x".printable == " \\u{3a}:error::x")
        #expect("a ##vso[x]".printable == "a \\u{23}#vso[x]")
        #expect("a\u{202e}b".printable == "a\\u{202e}b")
        #expect("see ::error::x".wrapped(6) == ["see", "\\u{3a}:erro", "r::x"])
    }

    @Test("JSON that is printed is the same document", arguments: 0..<UInt64(60))
    func document(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let value: JSONValue = [
            "a": .string(Self.text(&generator)),
            "b": [.string(Self.text(&generator)), 1, .null],
        ]
        let text = value.printedText
        #expect(try JSONValue(parsing: text) == value)
        #expect(Self.fault(text) == nil)
    }

    @Test func `GitHub Actions output of a backend is wrapped between stop-commands`() throws {
        var generator = SeededGenerator(seed: 7)
        #expect(StopCommandsPair([:], using: &generator) == nil)
        #expect(StopCommandsPair(["GITHUB_ACTIONS": "false"], using: &generator) == nil)
        let stop = try #require(StopCommandsPair(["GITHUB_ACTIONS": "true"], using: &generator))
        let other = try #require(StopCommandsPair(["GITHUB_ACTIONS": "true"], using: &generator))
        #expect(stop != other, "a token is used once")
        let result = ReportFixtures.result(.failed) {
            $0.backendOutput = "::error::planted\nready"
        }
        let lines = Self.terminal(stop).block(result.redacted(SecretDeclaration()))
            .split(separator: "\n").map(String.init)
        let start = try #require(lines.firstIndex { $0.hasPrefix("::stop-commands::") })
        let token = lines[start].dropFirst("::stop-commands::".count)
        #expect(lines[start + 1] == "    \\u{3a}:error::planted")
        #expect(lines[start + 2] == "    ready")
        #expect(lines[start + 3] == "::\(token)::")
        #expect(lines.count { $0.contains(token) } == 2)
        let hostile = stop.enclosed(["::\(token)::", "x"])
        #expect(hostile.count { $0.contains(token) } == 2, "the token is in no foreign line")
        let text = hostile.joined(separator: "\n")
        let shown = TerminalOutput(keepsANSICodes: false, stop: stop).text(text).exactLines
        #expect(shown.first == hostile.first && shown.last == hostile.last)
        #expect(shown[1].hasPrefix("\\u{3a}:"))
    }
}
