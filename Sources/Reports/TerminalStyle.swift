/// How a terminal is written to: its width, and its colours; on anything else every text comes back as
/// it is.
package struct TerminalStyle: Hashable, Sendable {
    /// What is wide enough where nobody says how wide it is.
    package static let standardWidth = 98
    /// Columns that a terminal may have: below the first a picture of what was said has no room, and
    /// lines beyond the second are hard to read.
    package static let widths = 72...160

    package let isColoured: Bool
    /// How many characters a line has at most.
    package let width: Int

    package init(isColoured: Bool, width: Int = standardWidth) {
        self.isColoured = isColoured
        self.width = min(max(width, Self.widths.lowerBound), Self.widths.upperBound)
    }

    package func bold(_ text: String) -> String { wrap(text, "1") }
    package func dim(_ text: String) -> String { wrap(text, "2") }
    package func red(_ text: String) -> String { wrap(text, "31") }
    package func green(_ text: String) -> String { wrap(text, "32") }
    package func yellow(_ text: String) -> String { wrap(text, "33") }

    private func wrap(_ text: String, _ code: String) -> String {
        isColoured ? "\u{1b}[\(code)m\(text)\u{1b}[0m" : text
    }
}
