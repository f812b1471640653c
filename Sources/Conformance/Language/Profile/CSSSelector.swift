/// What can be told of a CSS selector without a browser: the mistakes by which it names nothing.
///
/// A browser knows the rest, and is asked before the first scenario.
enum CSSSelector {
    /// Why no browser takes it; nil when one may.
    static func problem(_ text: String) -> String? {
        if text.allSatisfy(\.isWhitespace) { return "it is empty" }
        if text.hasPrefix("/") || text.hasPrefix("(/") {
            return "it is an XPath; write a CSS selector, for example '#buy'"
        }
        if let foreign = foreign.first(where: { text.contains($0) }) {
            return "'\(foreign)' belongs to a test library and not to CSS"
        }
        if let problem = nesting(text) { return problem }
        let bare = text.filter { !$0.isWhitespace }
        if let last = bare.last, ">+~,".contains(last) { return "it ends with '\(last)'" }
        if let first = bare.first, ">+~,".contains(first) { return "it begins with '\(first)'" }
        for (mark, next) in zip(bare, bare.dropFirst()) where "#.".contains(mark) {
            if next.isNumber {
                return "a name cannot begin with a digit: write '[id=\"…\"]' instead of "
                    + "'\(mark)\(next)…'"
            }
            if "#.>+~, ".contains(next) { return "'\(mark)' names nothing" }
        }
        if bare.last == "#" || bare.last == "." { return "'\(bare.suffix(1))' names nothing" }
        return nil
    }

    /// What selectors of test libraries have, and no browser knows.
    private static let foreign = [
        ":contains(", ":has-text(", ":visible", ":hidden", ":eq(", "text=", ">>",
    ]

    /// Brackets, parentheses and quotes that do not close.
    private static func nesting(_ text: String) -> String? {
        let pairs: [Character: Character] = ["]": "[", ")": "("]
        var open: [Character] = []
        var quote: Character?
        for character in text {
            if let mark = quote {
                if character == mark { quote = nil }
            } else if "\"'".contains(character) {
                quote = character
            } else if "[(".contains(character) {
                open.append(character)
            } else if let other = pairs[character] {
                guard open.popLast() == other else { return "'\(character)' closes nothing" }
            } else if "{};".contains(character) {
                return "'\(character)' has no place in a selector"
            }
        }
        if let quote { return "a text that begins with \(quote) does not end" }
        return open.last.map { "'\($0)' is not closed" }
    }
}

extension Syntax where Value == String {
    /// A CSS selector.
    static var selector: Syntax<String> {
        let text = Syntax<String>.text("a CSS selector")
        return Syntax(
            text.shape,
            read: { node, reader in
                guard let selector = text.read(node, &reader) else { return nil }
                if let problem = CSSSelector.problem(selector) {
                    reader.fail(
                        .conflict(
                            "'\(selector)' is no CSS selector: \(problem)",
                            remedy: "Write what 'document.querySelector' takes."
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
