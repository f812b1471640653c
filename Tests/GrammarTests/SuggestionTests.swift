import Grammar
import Testing

@Suite("Suggestions")
struct SuggestionTests {
    /// Each misspelt name of a large file is compared with all that are known.
    @Test func `a word of thousands of letters is compared with no short name`() {
        let names = (0..<100).map { "some-known-name-\($0)" }
        let word = String(repeating: "x", count: 4096)
        for _ in 0..<1000 { #expect(Suggestion.nearest(to: word, among: names) == nil) }
        #expect(Suggestion.nearest(to: "some-knwon-name-7", among: names) == "some-known-name-7")
    }
}
