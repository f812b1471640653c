import TestSupport
import Testing
import Values

/// Wire text is compared and taken apart by code points: what Swift takes for one letter may be two
/// keys, and a sign of ASCII may be joined by the mark behind it.
@Suite("Exact text")
struct CodePointComparisonTests {
    static let composed = "caf\u{e9}"
    static let decomposed = "cafe\u{301}"

    private static let pairs: [(String, String, Bool)] = [
        ("", "", true), ("a", "a", true), ("a", "A", false), ("a", "ab", false), ("ab", "a", false),
        (composed, composed, true), (composed, decomposed, false),
        // The Kelvin sign and K, the ohm sign and omega: one letter for Swift, two for the wire.
        ("\u{212a}", "K", false), ("\u{2126}", "\u{3a9}", false),
        // Hangul as syllable and as its parts.
        ("\u{ac00}", "\u{1100}\u{1161}", false),
        // Two marks in either order.
        ("q\u{307}\u{323}", "q\u{323}\u{307}", false), ("\r\n", "\n", false),
    ]

    @Test("strings are equal if their code points are equal", arguments: pairs)
    func sameness(left: String, right: String, isSame: Bool) {
        #expect(left.isExactly(right) == isSame)
        #expect(right.isExactly(left) == isSame)
        #expect((ExactText(left) == ExactText(right)) == isSame)
        #expect(Set([ExactText(left), ExactText(right)]).count == (isSame ? 1 : 2))
        #expect((JSONValue.string(left) == .string(right)) == isSame)
        #expect(Set([JSONValue.string(left), .string(right)]).count == (isSame ? 1 : 2))
    }

    @Test(
        "text is replaced only where its code points are the same",
        arguments: [
            (composed, composed, "x"), (composed, decomposed, composed), ("a b a", "a", "x b x"),
            ("aaa", "aa", "xa"), ("abc", "abd", "abc"), ("abc", "", "abc"), ("", "a", ""),
            ("e\u{301}", "e", "x\u{301}"),
        ]
    )
    func replacement(text: String, part: String, expected: String) {
        #expect(text.replacingExactly(part, with: "x").isExactly(expected))
    }

    @Test("two Unicode spellings of a letter are two keys", arguments: [false, true])
    func keys(isReversed: Bool) throws {
        let keys =
            isReversed ? [Self.decomposed, Self.composed] : [Self.composed, Self.decomposed]
        let value = try JSONValue(parsing: "{\"\(keys[0])\":1,\"\(keys[1])\":2}")
        #expect(value[keys[0]] == 1 && value[keys[1]] == 2)
        var object = try #require(value.object)
        object[keys[0]] = 3
        #expect(object.members.map(\.value) == [3, 2])
        object[keys[0]] = nil
        #expect(object.keys.count == 1 && object[keys[1]] == 2)
        #expect(object[keys[0]] == nil)
    }

    @Test
    func `objects with both spellings are equal in any order but not with swapped values`() {
        let one: JSONValue = .object([Self.composed: 1, Self.decomposed: 2])
        let same: JSONValue = .object([Self.decomposed: 2, Self.composed: 1])
        let swapped: JSONValue = .object([Self.composed: 2, Self.decomposed: 1])
        #expect(one == same && one.hashValue == same.hashValue)
        #expect(one != swapped)
        #expect(one.differences(from: same).isEmpty)
        #expect(one.differences(from: swapped).map(\.pointer.tokens.count) == [1, 1])
        #expect(JSONValue.object([Self.composed: 1]) != .object([Self.decomposed: 1]))
        let there = JSONValue.object([Self.composed: 1])
            .differences(from: .object([Self.decomposed: 1]))
        #expect(there.count == 2, "one key is gone, and another came")
    }

    @Test func `a duplicate key is refused unless duplicates are kept`() throws {
        let text = "{\"\(Self.composed)\":1,\"\(Self.composed)\":2}"
        #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
        let kept = try JSONValue(
            parsing: Array(text.utf8),
            options: .init(duplicateKeys: .keep)
        )
        #expect(kept[Self.composed] == 2, "the last one counts")
    }

    // MARK: Pointers

    @Test func `a pointer matches one Unicode spelling`() {
        let value: JSONValue = .object([Self.composed: 1])
        #expect(value[JSONPointer(tokens: [Self.composed])] == 1)
        #expect(value[JSONPointer(tokens: [Self.decomposed])] == nil)
        let (one, other) = (
            JSONPointer(tokens: [Self.composed]), JSONPointer(tokens: [Self.decomposed])
        )
        #expect(one != other && Set([one, other]).count == 2)
        #expect(!one.appending("x").isInside(other) && one.appending("x").isInside(one))
        var changed = value
        changed.set(other, to: 2)
        #expect(changed.object?.members.count == 2)
    }

    @Test func `token boundaries change the pointer`() {
        #expect(JSONPointer(tokens: ["a", "b"]) != JSONPointer(tokens: ["ab"]))
        #expect(
            Set([JSONPointer(tokens: ["a", "b"]), JSONPointer(tokens: ["ab"])]).count == 2
        )
        #expect(JSONPointer(tokens: []) != JSONPointer(tokens: [""]))
    }

    @Test(
        "tokens that begin with a combining mark round-trip",
        arguments: [
            ["\u{301}x"], ["a/\u{301}"], ["~\u{301}"], ["/\u{301}", "~1\u{308}"], ["\u{301}"],
            ["\u{200d}", "\u{fe0f}a"], ["~0", "~1", "~2"], ["", "\u{301}", ""],
        ]
    )
    func tokens(tokens: [String]) throws {
        let pointer = JSONPointer(tokens: tokens)
        let read = try #require(JSONPointer(pointer.description))
        #expect(read.tokens.count == tokens.count)
        #expect(zip(read.tokens, tokens).allSatisfy { $0.isExactly($1) })
        var value = JSONValue.object([:])
        value.set(pointer, to: true)
        #expect(value[read] == true)
    }

    @Test func `a pointer may begin with a slash before a combining mark`() {
        #expect(JSONPointer("/\u{301}a")?.tokens.count == 1)
        #expect(JSONPointer("\u{301}/a") == nil)
    }

    @Test func `values that differ only in Unicode spelling are reported as different`() {
        for seed in 0..<UInt64(200) {
            var made = ArbitraryValues(seed: seed)
            var value = JSONValue.object(made.object())
            let valuePaths = value.allPointers.filter { !$0.tokens.isEmpty }
            let position = made.one(of: valuePaths + [JSONPointer(tokens: ["x"])])
            value.set(position, to: .string(Self.composed))
            var other = value
            other.set(position, to: .string(Self.decomposed))
            #expect(value != other, "seed \(seed)")
            #expect(value.differences(from: other).map(\.pointer) == [position], "seed \(seed)")
        }
    }

    // MARK: Taking apart

    private static let cuts: [(String, [String])] = [
        ("", [""]), ("a", ["a"]), ("a&b", ["a", "b"]), ("&", ["", ""]), ("a&&b", ["a", "", "b"]),
        ("a&\u{301}b", ["a", "\u{301}b"]), ("a&\u{fe0f}", ["a", "\u{fe0f}"]),
        ("é&e\u{301}", ["é", "e\u{301}"]),
    ]

    @Test("separators are found before any following character", arguments: cuts)
    func parts(text: String, expected: [String]) {
        let parts = text.parts(between: "&")
        #expect(parts.count == expected.count)
        #expect(zip(parts, expected).allSatisfy { $0.isExactly($1) })
        #expect(parts.joined(separator: "&").isExactly(text))
        let cut = text.cut(at: "&")
        #expect((cut == nil) == (expected.count == 1))
        if let cut {
            #expect(cut.before.isExactly(expected[0]))
            #expect(cut.after.isExactly(expected.dropFirst().joined(separator: "&")))
        }
    }

    @Test(
        "lines end with LF or CRLF",
        arguments: [
            ("", [""]), ("a", ["a"]), ("a\nb", ["a", "b"]), ("a\r\nb\r\n", ["a", "b", ""]),
            ("a\rb", ["a\rb"]), ("\r\n", ["", ""]), ("a\n\r\nb", ["a", "", "b"]),
        ]
    )
    func lines(text: String, expected: [String]) {
        #expect(text.exactLines == expected)
    }

    private static let valuePaths: [(String, String, Int?)] = [
        ("abc", "a", 0), ("abc", "bc", 1), ("abc", "abcd", nil), ("", "a", nil), ("aab", "ab", 1),
        ("ababac", "abac", 2), ("abc", "", nil), ("xé", "é", 1), ("e\u{301}", "e", 0),
    ]

    @Test("a byte sequence is found at its first position", arguments: valuePaths)
    func position(text: String, needle: String, expected: Int?) {
        let bytes = Array(text.utf8)
        #expect(bytes.position(of: Array(needle.utf8)) == expected)
        #expect(bytes.containsText(needle) == (expected != nil))
        if let expected {
            #expect(bytes.position(of: Array(needle.utf8), from: expected) == expected)
            #expect(
                bytes.position(of: Array(needle.utf8), from: expected + 1).map { $0 > expected }
                    ?? true
            )
        }
        #expect(bytes.position(of: Array(needle.utf8), from: bytes.count) == nil)
    }

    // MARK: Requests, forms, commands

    @Test func `a query begins at the question mark before any character`() {
        #expect(HTTPMessage.Request("GET", "/a?\u{301}b").path == "/a")
        #expect(HTTPMessage.Request("GET", "/a?b?c").path == "/a")
        #expect(HTTPMessage.Request("GET", "?").path == "")
        #expect(HTTPMessage.Request("GET", "/a").path == "/a")
    }

    @Test func `form separators are found before any character`() {
        let pairs = FormText.pairs("a=\u{301}1&\u{301}b=2&&c")
        #expect(pairs.map { ExactText($0.name) } == ["a", "\u{301}b", "c"].map(ExactText.init))
        #expect(pairs.map { ExactText($0.value) } == ["\u{301}1", "2", ""].map(ExactText.init))
    }

    @Test func `bridge command separators are found before any character`() {
        let command = BridgeCommand("setvault://\u{301}x?key=\u{301}a&\u{301}value=b&locked=true")
        #expect(command.scheme == "setvault")
        #expect(command.path.isExactly("\u{301}x"))
        #expect(command["key"]?.isExactly("\u{301}a") == true)
        #expect(command.parameters.count == 3)
        #expect(command["locked"] == "true")
        #expect(command.notes == ["characters that a URL cannot contain"])
        let fragment = BridgeCommand("setvault://?key=a#\u{301}")
        #expect(fragment.notes.contains("an unescaped # starts a fragment"))
    }

    @Test func `a local push is split at its separators`() {
        let parts = (0..<5000).map { "\u{301}part\($0)" }
        let command = BridgeCommand(
            "sendlocalpushmsg://push.send?" + parts.joined(separator: "&!#")
        )
        #expect(command.parameters.count == parts.count)
        #expect(zip(command.parameters, parts).allSatisfy { $0.value.isExactly($1) })
        #expect(BridgeCommand("sendlocalpushmsg://x?").parameters.map(\.value) == [""])
    }
}
