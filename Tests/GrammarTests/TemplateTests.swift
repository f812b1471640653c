import Contracts
import Grammar
import Testing
import Values

@Suite("Templates")
struct TemplateTests {
    private static let spellings: [(String, [Template.Piece])] = [
        ("", []), ("plain", [.text("plain")]), ("{{user.ada}}", [.name("user.ada")]),
        ("{{ user.ada }}", [.name("user.ada")]),
        ("a{{x}}b{{y}}", [.text("a"), .name("x"), .text("b"), .name("y")]),
        ("{{x}}{{y}}", [.name("x"), .name("y")]), ("{{}}", [.name("")]),
        ("{\"a\":{{x}}}", [.text("{\"a\":"), .name("x"), .text("}")]),
        ("{{{{user}}", [.text("{{user}}")]), ("{{{{{{x}}", [.text("{{"), .name("x")]),
        ("{{{x}}", [.text("{"), .name("x")]), ("{{{{{x}}", [.text("{{{x}}")]),
        ("{{open", [.text("{{open")]), ("{{a}b}}", [.text("{{a}b}}")]),
        ("{{a {{x}}", [.text("{{a "), .name("x")]), ("}} {", [.text("}} {")]),
        ("é{{x}}🦊", [.text("é"), .name("x"), .text("🦊")]),
    ]

    @Test("a template is parsed into literal strings and names", arguments: spellings)
    func reads(text: String, pieces: [Template.Piece]) {
        #expect(Template(text).pieces == pieces)
    }

    @Test("an escaped string is parsed as the original string", arguments: 0..<UInt64(300))
    func escapes(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let text = Self.mutilated(&generator)
        #expect(Template(Template.escaped(text)).plainText == text)
    }

    @Test(
        "the value of a template's only name is extracted from a matching string",
        arguments: [
            ("/u/{{id}}", "/u/7", "7"), ("{{id}}.json", "7.json", "7"), ("id={{id}}", "id=", ""),
            ("/u/{{id}}", "/v/7", nil), ("plain", "plain", nil), ("{{id}}{{id}}", "77", nil),
        ] as [(String, String, String?)]
    )
    func finds(template: String, text: String, found: String?) {
        #expect(Template(template).value(of: "id", in: Substring(text)).map(String.init) == found)
    }

    @Test func `an unknown template name is reported with the known names`() {
        let values = NamedValues(texts: ["port": "1", "data": "d"])
        #expect((try? values.filled("{{port}}/{{data}}")) == "1/d")
        #expect(throws: UnknownTemplateName(name: "prt", known: ["data", "port"])) {
            try values.filled("{{prt}}")
        }
    }

    /// Names, braces and pieces of both in any order.
    static func mutilated(_ generator: inout SeededGenerator) -> String {
        let pieces = [
            "{", "{{", "{{{", "{{{{", "}", "}}", "}}}", "user.ada", "now+30d", "{{user.ada}}",
            "{{now-1h}}", "{{some.a}}", "{{any}}", " ", ".", "+", "e\u{301}", "🦊", "\n",
            "{{usr.ada}}",
        ]
        return (0..<Int.random(in: 0...9, using: &generator)).map { _ in
            pieces.randomElement(using: &generator) ?? ""
        }.joined()
    }
}
