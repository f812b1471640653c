/// Escapes strings for an HTML page and marks their differences.
enum HTMLText {
    static func escaped(_ text: String) -> String { MarkupText.escaped(text) }

    /// Returns a number of seconds with three decimals.
    static func seconds(_ seconds: Double) -> String {
        let milliseconds = Int((seconds * 1000).rounded())
        let digits = String(milliseconds % 1000)
        return "\(milliseconds / 1000)." + String(repeating: "0", count: 3 - digits.count) + digits
    }

    /// Returns two strings escaped for HTML, with their differing parts marked.
    ///
    /// Strings that have too little in common have no marks.
    static func markingDifferences(_ left: String, _ right: String) -> (left: String, right: String)
    {
        let escapedTexts = (escaped(left), escaped(right))
        let (first, second) = (Array(left), Array(right))
        let length = max(first.count, second.count)
        guard left != right, length <= 2000 else { return escapedTexts }
        let commonPrefixCount = zip(first, second).prefix { $0 == $1 }.count
        let commonSuffixCount = zip(
            first.dropFirst(commonPrefixCount).reversed(),
            second.dropFirst(commonPrefixCount).reversed()
        )
        .prefix { $0 == $1 }.count
        guard (commonPrefixCount + commonSuffixCount) * 3 >= length else { return escapedTexts }
        func marked(_ text: [Character]) -> String {
            let middle = text[commonPrefixCount..<(text.count - commonSuffixCount)]
            guard !middle.isEmpty else { return escaped(String(text)) }
            return escaped(String(text[..<commonPrefixCount])) + "<mark>" + escaped(String(middle))
                + "</mark>"
                + escaped(String(text[(text.count - commonSuffixCount)...]))
        }
        return (marked(first), marked(second))
    }

    /// Returns lines escaped for HTML.
    ///
    /// Each line that does not occur in the previous lines is marked. If there are no previous
    /// lines, no line is marked.
    static func markingChangedLines(_ lines: [String], since previousLines: [String]?) -> String {
        guard let previousLines, previousLines != lines else {
            return escaped(lines.joined(separator: "\n"))
        }
        let previousLineSet = Set(previousLines)
        return lines.map { line in
            previousLineSet.contains(line) ? escaped(line) : "<mark>\(escaped(line))</mark>"
        }.joined(separator: "\n")
    }
}
