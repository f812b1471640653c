internal import Conformance

extension String {
    /// The text broken into lines of at most `width` characters, at blanks where there are any.
    package func wrapped(_ width: Int) -> [String] {
        var lines: [String] = []
        for paragraph in parts(between: "\n") {
            var line = ""
            for word in paragraph.split(separator: " ", omittingEmptySubsequences: true) {
                var rest = word
                if !line.isEmpty, line.count + 1 + rest.count > width {
                    lines.append(line)
                    line = ""
                }
                while rest.count > width {
                    lines.append(String(rest.prefix(width)))
                    rest = rest.dropFirst(width)
                }
                line += (line.isEmpty ? "" : " ") + rest
            }
            lines.append(line)
        }
        return lines
    }

    /// Control characters as escapes, so that nothing a backend sends moves the cursor.
    package var printable: String {
        String(
            unicodeScalars.map { scalar in
                scalar.value < 0x20 || scalar.value == 0x7f || (0x80..<0xa0).contains(scalar.value)
                    ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar)
            }.joined()
        )
    }

    /// Printable text that keeps its line breaks.
    var printableLines: String {
        exactLines.map(\.printable).joined(separator: "\n")
    }
}
