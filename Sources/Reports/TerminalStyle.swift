/// The width and the colors of terminal output.
///
/// Without colors, every string is returned unchanged.
package struct TerminalStyle: Hashable, Sendable {
    /// The width to use when the width of the terminal is unknown, in columns.
    package static let standardWidth = 98
    /// The supported widths in columns.
    ///
    /// The timeline of a case does not fit in less than the minimum, and lines longer than the
    /// maximum are hard to read.
    package static let supportedWidths = 72...160

    package let isColored: Bool
    /// The maximum number of characters in a line.
    package let width: Int

    package init(isColored: Bool, width: Int = standardWidth) {
        self.isColored = isColored
        self.width = min(
            max(width, Self.supportedWidths.lowerBound),
            Self.supportedWidths.upperBound
        )
    }

    package func bold(_ text: String) -> String { wrap(text, "1") }
    package func dim(_ text: String) -> String { wrap(text, "2") }
    package func red(_ text: String) -> String { wrap(text, "31") }
    package func green(_ text: String) -> String { wrap(text, "32") }
    package func yellow(_ text: String) -> String { wrap(text, "33") }

    private func wrap(_ text: String, _ code: String) -> String {
        isColored ? "\u{1b}[\(code)m\(text)\u{1b}[0m" : text
    }
}
