import Testing
@testable import Contracts

/// What can be told of a selector without a browser.
@Suite("CSS selectors")
struct CSSSelectorTests {
    @Test(
        "selectors that a browser takes",
        arguments: [
            "#buy", "button.primary", "[data-testid=\"buy\"]", "main > button:nth-child(2)",
            "a[href$='.html']", "#a #b, .c", "details summary", "button:not([disabled])", "*",
            "[title='a ) b']", "#größe", "li:first-child::marker", ".a.b.c", "p + p ~ p",
        ]
    )
    func taken(selector: String) { #expect(CSSSelector.problem(selector) == nil) }

    @Test(
        "selectors that name nothing anywhere",
        arguments: [
            ("", "empty"), ("   ", "empty"), ("//button[1]", "XPath"), ("(//a)[1]", "XPath"),
            ("button:contains('Buy')", "test library"), ("text=Buy", "test library"),
            ("#menu >> #buy", "test library"), ("#1st", "digit"), (".2", "digit"),
            ("[data-id", "not closed"), ("button:not(.a", "not closed"), ("a]", "never opened"),
            ("a[b)", "never opened"), ("[a='b]", "not closed"), ("#buy {", "not allowed"),
            ("#a >", "ends with"), ("> #a", "begins with"), ("#a,", "ends with"), ("#", "no name"),
            ("a.", "no name"), ("#.a", "no name"),
        ]
    )
    func refused(selector: String, why: String) {
        #expect(CSSSelector.problem(selector)?.contains(why) == true)
    }
}
