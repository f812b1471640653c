@testable import Recording

import Testing

@Suite("Strings that differ between runs")
struct TextMaskTests {
    private static func masked(
        _ pattern: String,
        _ seen: [String],
        names: [String: String] = [:],
        differsInEveryRun: Bool = true
    ) -> String {
        TextMask.masked(
            pattern,
            seen.map { ($0, names) },
            around: 2026,
            differsInEveryRun: differsInEveryRun
        )
    }

    @Test(
        "equal parts stay, and differing parts become patterns of their kind",
        arguments: [
            ("ORD-2026-000004", ["ORD-2026-000032", "ORD-2026-000063"], "ORD-2026-{{any.number}}"),
            ("W/\"a1\"", ["W/\"b2\"", "W/\"c3\""], "W/\"{{any.text}}\""),
            ("17", ["18", "19"], "{{any.text}}"),
            (
                "http://127.0.0.1:81/o/4", ["http://127.0.0.1:92/o/5", "http://127.0.0.1:93/o/6"],
                "http://127.0.0.1:{{any.number}}/o/{{any.number}}"
            ),
            (
                "a=1; Expires=Tue, 24 Nov 2026 01:22:08 GMT; Path=/",
                ["a=2; Expires=Wed, 25 Nov 2026 01:22:08 GMT; Path=/", "a=3; Expires=Thu; Path=/"],
                "a={{any.number}}; Expires={{any.text}}; Path=/"
            ),
            (
                "6f2d3c6a-0b6e-4c53-9a0e-0123456789ab", ["7f2d3c6a-0b6e-4c53-9a0e-0123456789ab"],
                "{{any.uuid}}"
            ),
            (
                "urn:6f2d3c6a-0b6e-4c53-9a0e-0123456789ab",
                [
                    "urn:7f2d3c6a-0b6e-4c53-9a0e-0123456789ab",
                    "urn:8f2d3c6a-0b6e-4c53-9a0e-0123456789ab",
                ],
                "urn:{{any.uuid}}"
            ),
            (
                "asked at 9:05 by one", ["asked at 23:59:59.25 by one", "asked at 23:59 by one"],
                "asked at {{any.text}} by one"
            ),
            ("head ab+c/d= tail", ["head x tail", "head yz=/ tail"], "head {{any.text}} tail"),
            ("{{{{a}} 1", ["{{a}} 2", "{{a}} 3"], "{{{{a}} {{any.number}}"),
        ]
    )
    func kinds(pattern: String, seen: [String], wanted: String) {
        #expect(Self.masked(pattern, seen) == wanted)
    }

    /// "Welcome" has become "Bye": no accident, as every play says so.
    @Test func `parts equal in every run but not as recorded stay`() {
        let seen = ["Bye! Order 7 of 9", "Bye! Order 8 of 11"]
        #expect(
            Self.masked("Hi! Order 1 of 4", seen) == "Hi! Order {{any.number}} of {{any.number}}"
        )
        #expect(
            Self.masked("Hi! Order 1 of 4", seen, differsInEveryRun: false)
                == "{{any.text}}! Order {{any.number}} of {{any.number}}"
        )
        #expect(Self.masked("a|b|c d", ["a|x", "a|x"]) == "a|b|c d")
    }

    @Test func `run-specific names do not count as differences, and captured values stay`() {
        #expect(
            Self.masked(
                "Hi {{user.ada}}, {{some.code1}}: 1",
                ["Hi n-ada, A1: 2", "Hi n-ada, B2: 3"],
                names: ["user.ada": "n-ada"]
            ) == "Hi {{user.ada}}, {{some.code1}}: {{any.number}}"
        )
    }

    @Test func `a string of random parts matches any string`() {
        let texts = (0..<3).map { play in (0..<12).map { "\($0 * 7 + play)" }.joined(separator: " ")
        }
        #expect(Self.masked(texts[0], Array(texts.dropFirst())) == "{{any.text}}")
    }

    @Test(
        "dates in digits and in words, and what is none",
        arguments: [
            ("2026-11-24", "*"), ("on 24.11.2026.", "on *."), ("Nov 24, 2026", "*"),
            ("Tue, 24 Nov 2026 01:22:08 GMT", "*"), ("Tue Nov 24 01:22:08 2026", "*"),
            ("from 2026-11-24 01:22:08 +0000 on", "from * on"), ("11/24/2026 at 1:22 PM", "*"),
            ("the 24th of November, 2026!", "the *!"), ("24 Nov 2026 and 25 Nov 2026", "* and *"),
            ("ORD-2026-000123", "ORD-2026-000123"), ("v2.4.11", "v2.4.11"),
            ("born 1999-11-24", "born 1999-11-24"), ("2026", "2026"), ("May I?", "May I?"),
            ("10 of 2026", "10 of 2026"), ("premium_monthly", "premium_monthly"), ("", ""),
        ]
    )
    func dates(text: String, wanted: String) {
        #expect(DateSpans.replaced(in: text, around: 2026, by: "*") == wanted)
    }
}
