package import Conformance

/// The one law by which text that is not ours is escaped: log lines, bodies, headers, URLs, names from
/// contracts and files.
///
/// Two kinds of scalars get an escape. The first are those that a terminal or a viewer obeys and does
/// not draw: controls, bidirectional overrides, line and paragraph separators, tags. The second is
/// the sign that begins a command for the log processor of a CI service: the first colon of a line
/// that starts with `::`, and the first `#` of `##[`, `##vso[`, `##teamcity[` anywhere. The escape
/// is that of the format: `\u{3a}:error` in plain text, `&#58;:error` in HTML, `\u0023#vso[` in JSON.
package enum ForeignText {
    /// Finds the signs that begin a command for a log processor.
    struct CommandScan {
        /// Nothing but white space came before in the line: a runner trims a line first.
        private var isAtLineStart = true

        /// The longest name between `##` and `[` that is looked at.
        private static let nameLengthMax = 32

        /// Whether the scalar at that place begins a command; each place is asked in order.
        mutating func begins(_ scalars: [Unicode.Scalar], at index: Int) -> Bool {
            let scalar = scalars[index]
            let wasAtLineStart = isAtLineStart
            if scalar == "\n" || scalar == "\r" {
                isAtLineStart = true
            } else if !scalar.properties.isWhitespace {
                isAtLineStart = false
            }
            let next = index + 1 < scalars.count ? scalars[index + 1] : nil
            switch scalar {
            // At the end of a text, a colon of ours may follow.
            case ":": return wasAtLineStart && (next == ":" || next == nil)
            case "#":
                guard next == "#" else { return false }
                let rest = scalars[(index + 2)...].prefix(Self.nameLengthMax)
                return rest.first { !$0.properties.isAlphabetic } == "["
            default: return false
            }
        }

        /// Passes over text that a log processor does not see, such as a color's code.
        mutating func startLine() { isAtLineStart = true }
    }

    /// The text with every such scalar escaped.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - keepsLines: Whether line feeds stay.
    ///   - escape: The format's escape of a scalar.
    /// - Returns: The escaped text.
    static func escaped(
        _ text: String,
        keepsLines: Bool,
        escape: (Unicode.Scalar) -> String
    ) -> String {
        if text.utf8.allSatisfy({ (0x20..<0x7f).contains($0) && $0 != 0x23 && $0 != 0x3a }) {
            return text
        }
        let scalars = Array(text.unicodeScalars)
        var scan = CommandScan()
        var output = String.UnicodeScalarView()
        for (index, scalar) in scalars.enumerated() {
            let begins = scan.begins(scalars, at: index)
            let isKept = keepsLines && scalar == "\n"
            if begins || scalar.isUnprintable && !isKept {
                output.append(contentsOf: escape(scalar).unicodeScalars)
            } else {
                output.append(scalar)
            }
        }
        return String(output)
    }

    /// JSON whose strings are escaped in JSON's own way: it is the same document.
    package static func escapedJSON(_ json: String) -> String {
        escaped(json, keepsLines: true) { scalar in
            String(scalar).utf16.map { unit in
                let hex = String(unit, radix: 16)
                return "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
            }.joined()
        }
    }
}

extension Unicode.Scalar {
    /// Whether a terminal or a viewer obeys it and does not draw it.
    package var isUnprintable: Bool {
        switch value {
        // Controls.
        case 0..<0x20, 0x7f..<0xa0: true
        // Marks and overrides of direction.
        case 0x061c, 0x200e, 0x200f, 0x202a...0x202e, 0x2066...0x206f: true
        // Separators of lines and paragraphs, the byte order mark, annotations, tags.
        case 0x2028, 0x2029, 0xfeff, 0xfff9...0xfffb, 0xe0000...0xe007f: true
        default: false
        }
    }

    /// The escape that people read: `\u{202e}`.
    package var visibleEscape: String { "\\u{\(String(value, radix: 16))}" }
}

extension JSONValue {
    /// Pretty JSON that can be printed into a log.
    package var printedText: String { ForeignText.escapedJSON(prettyText) }
}
