internal import Conformance

extension String {
    /// The text broken into lines of at most `width` characters, at blanks where there are any.
    ///
    /// A line that would begin a command for a log processor only because of the break is escaped.
    package func wrapped(_ width: Int) -> [String] {
        var lines: [String] = []
        for paragraph in parts(between: "\n") {
            var line = ""
            for word in paragraph.split(separator: " ", omittingEmptySubsequences: true) {
                var rest = word
                if !line.isEmpty, line.count + 1 + rest.count > width {
                    lines.append(line.printableStart)
                    line = ""
                }
                while rest.count > width {
                    lines.append(String(rest.prefix(width)).printableStart)
                    rest = rest.dropFirst(width)
                }
                line += (line.isEmpty ? "" : " ") + rest
            }
            lines.append(line.printableStart)
        }
        return lines
    }

    /// The text on one line, with escapes of what a terminal or a log processor obeys: see
    /// `ForeignText`.
    package var printable: String {
        ForeignText.escaped(self, keepsLines: false, escape: \.visibleEscape)
    }

    /// Printable text that keeps its line breaks.
    package var printableLines: String {
        exactLines.map(\.printable).joined(separator: "\n")
    }

    /// A line that begins no command for a log processor.
    var printableStart: String {
        let start = unicodeScalars.prefix { $0.properties.isWhitespace }
        let rest = unicodeScalars[start.endIndex...]
        guard rest.starts(with: "::".unicodeScalars) else { return self }
        let colon: Unicode.Scalar = ":"
        return String(start) + colon.visibleEscape + String(rest.dropFirst())
    }
}
