internal import Values

extension String {
    /// Returns the text as lines of at most `width` characters, broken at spaces where possible.
    ///
    /// A line is escaped when the line break makes the line begin with a command for the log
    /// processor of a CI service.
    package func wrapped(_ width: Int) -> [String] {
        var lines: [String] = []
        for paragraph in parts(between: "\n") {
            // The indentation of a line, as in a YAML example, is part of its meaning.
            let indentation = String(paragraph.prefix { $0 == " " }.prefix(width / 2))
            var line = indentation
            for word in paragraph.split(separator: " ", omittingEmptySubsequences: true) {
                var remainingText = word
                if line != indentation, line.count + 1 + remainingText.count > width {
                    lines.append(line.printableStart)
                    line = indentation
                }
                while indentation.count + remainingText.count > width {
                    let length = width - indentation.count
                    lines.append((indentation + remainingText.prefix(length)).printableStart)
                    remainingText = remainingText.dropFirst(length)
                }
                line += (line == indentation ? "" : " ") + remainingText
            }
            lines.append(line == indentation ? "" : line.printableStart)
        }
        return lines
    }

    /// The text on one line.
    ///
    /// Scalars that a terminal or a log processor interprets are escaped, as `ForeignText` defines.
    package var printable: String {
        ForeignText.escaped(self, keepsLines: false, escape: \.visibleEscape)
    }

    /// The text with its line breaks.
    ///
    /// Other scalars that a terminal or a log processor interprets are escaped.
    package var printableLines: String {
        exactLines.map(\.printable).joined(separator: "\n")
    }

    /// The line with its first character escaped if the line would begin a command for the log
    /// processor of a CI service.
    var printableStart: String {
        let leadingWhitespace = unicodeScalars.prefix { $0.properties.isWhitespace }
        let remainingText = unicodeScalars[leadingWhitespace.endIndex...]
        guard remainingText.starts(with: "::".unicodeScalars) else { return self }
        let colon: Unicode.Scalar = ":"
        return String(leadingWhitespace) + colon.visibleEscape + String(remainingText.dropFirst())
    }
}
