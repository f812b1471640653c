internal import Grammar

/// Finds mistakes in a CSS selector without a browser.
///
/// A browser finds all other mistakes before the first test of the app.
enum CSSSelector {
    /// Returns the reason why no browser accepts a CSS selector; nil when a browser may accept it.
    static func problem(_ text: String) -> String? {
        if text.allSatisfy(\.isWhitespace) { return "it is empty" }
        if text.hasPrefix("/") || text.hasPrefix("(/") {
            return "it is an XPath; write a CSS selector, for example '#buy'"
        }
        if let testLibrarySyntax = testLibrarySyntax.first(where: { text.contains($0) }) {
            return "'\(testLibrarySyntax)' is syntax of a test library, not of CSS"
        }
        if let problem = nestingProblem(text) { return problem }
        let selectorWithoutSpaces = text.filter { !$0.isWhitespace }
        if let last = selectorWithoutSpaces.last, ">+~,".contains(last) {
            return "it ends with '\(last)'"
        }
        if let first = selectorWithoutSpaces.first, ">+~,".contains(first) {
            return "it begins with '\(first)'"
        }
        for (mark, next) in zip(selectorWithoutSpaces, selectorWithoutSpaces.dropFirst())
        where "#.".contains(mark) {
            if next.isNumber {
                return "a name cannot begin with a digit: write '[id=\"…\"]' instead of "
                    + "'\(mark)\(next)…'"
            }
            if "#.>+~, ".contains(next) { return "'\(mark)' has no name" }
        }
        if selectorWithoutSpaces.last == "#" || selectorWithoutSpaces.last == "." {
            return "'\(selectorWithoutSpaces.suffix(1))' has no name"
        }
        return nil
    }

    /// Selector syntax of test libraries that no browser supports.
    private static let testLibrarySyntax = [
        ":contains(", ":has-text(", ":visible", ":hidden", ":eq(", "text=", ">>",
    ]

    /// Returns the first problem with brackets, parentheses and quotes in a selector; nil when
    /// there is none.
    private static func nestingProblem(_ text: String) -> String? {
        let openingBracketByClosing: [Character: Character] = ["]": "[", ")": "("]
        var openBrackets: [Character] = []
        var openQuote: Character?
        for character in text {
            if let mark = openQuote {
                if character == mark { openQuote = nil }
            } else if "\"'".contains(character) {
                openQuote = character
            } else if "[(".contains(character) {
                openBrackets.append(character)
            } else if let other = openingBracketByClosing[character] {
                guard openBrackets.popLast() == other else {
                    return "'\(character)' is never opened"
                }
            } else if "{};".contains(character) {
                return "'\(character)' is not allowed in a selector"
            }
        }
        if let openQuote { return "a string that begins with \(openQuote) is not closed" }
        return openBrackets.last.map { "'\($0)' is not closed" }
    }
}

extension Syntax where Value == String {
    /// The syntax of a CSS selector, which reports common mistakes as errors.
    static var selector: Syntax<String> {
        let text = Syntax<String>.text("a CSS selector")
        return Syntax(
            text.shape,
            read: { node, reader in
                guard let selector = text.read(node, &reader) else { return nil }
                if let problem = CSSSelector.problem(selector) {
                    reader.fail(
                        .conflict(
                            "'\(selector)' is not a CSS selector: \(problem)",
                            remedy: "Write a selector that 'document.querySelector' accepts."
                        ),
                        at: node.location
                    )
                }
                return selector
            },
            write: text.write
        )
    }
}
