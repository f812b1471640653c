internal import Reports

/// The layout of `assay explain`: labels in a narrow column, and text to the right of it that fits 80
/// columns.
enum ExplainText {
    /// The width of the text, in characters.
    static let width = 80 - labelWidth - 2

    private static let labelWidth = 12

    /// Prints labeled texts, wrapped to the width of the column.
    static func printParts(_ parts: [(label: String, text: String)]) {
        for (label, text) in parts { printLines(text.wrapped(width), label: label) }
    }

    /// Prints lines, with a label in front of the first one.
    static func printLines(_ lines: [String], label: String) {
        for (index, line) in lines.enumerated() {
            let column = index == 0 ? label : ""
            let padding = String(repeating: " ", count: labelWidth - column.count)
            Terminal.output("  " + column + padding + line + "\n")
        }
    }
}
