/// A location in a file: path, line and column (both from 1), and the text of the line.
package struct SourceLocation: Hashable, Codable, Sendable, CustomStringConvertible {
    package let path: String
    package let line: Int
    package let column: Int
    /// The text of the line, which error messages show above the caret.
    package let text: String
    /// The number of characters to underline in error messages, at least 1.
    package let length: Int

    package init(path: String, line: Int, column: Int, text: String = "", length: Int = 1) {
        self.path = path
        self.line = line
        self.column = column
        self.text = text
        self.length = max(1, length)
    }

    package var description: String { "\(path):\(line):\(column)" }

    /// The text of the line with its line number, and carets below the underlined characters.
    package var excerpt: String {
        let lineNumber = String(line)
        let gutter = String(repeating: " ", count: lineNumber.count)
        let indent = String(repeating: " ", count: max(0, column - 1))
        let underlineWidth = max(1, min(length, text.count - column + 1))
        return """
            \(lineNumber) | \(text)
            \(gutter) | \(indent)\(String(repeating: "^", count: underlineWidth))
            """
    }
}
