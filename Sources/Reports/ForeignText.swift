package import Values

/// Escapes text that does not come from Assay: log lines, message bodies, headers, URLs, and names
/// from contracts and files.
///
/// Two kinds of Unicode scalars are escaped. The first kind are scalars that a terminal or viewer
/// interprets instead of showing them: control characters, bidirectional overrides, line and
/// paragraph separators, and tags. The second kind begins a command for the log processor of a CI
/// service: the first colon of a line that starts with `::`, and the first `#` of `##[`, `##vso[`
/// and `##teamcity[` anywhere. The escape depends on the format: `\u{3a}:error` in plain text,
/// `&#58;:error` in HTML, `\u0023#vso[` in JSON.
package enum ForeignText {
    /// Finds the characters in foreign text that begin a command for the log processor of a CI
    /// service.
    struct LogCommandScan {
        /// Whether the line has only contained white space so far.
        ///
        /// A CI runner trims a line before it looks for a command.
        private var isAtLineStart = true

        /// The maximum length of a command's name between `##` and `[`.
        private static let nameLengthMax = 32

        /// Returns whether the scalar at an index begins a command for a log processor.
        ///
        /// The caller must pass all indices in order.
        mutating func startsLogCommand(_ scalars: [Unicode.Scalar], at index: Int) -> Bool {
            let scalar = scalars[index]
            let wasAtLineStart = isAtLineStart
            if scalar == "\n" || scalar == "\r" {
                isAtLineStart = true
            } else if !scalar.properties.isWhitespace {
                isAtLineStart = false
            }
            let nextScalar = index + 1 < scalars.count ? scalars[index + 1] : nil
            switch scalar {
            // Assay may append a second colon to a colon at the end of the string.
            case ":": return wasAtLineStart && (nextScalar == ":" || nextScalar == nil)
            case "#":
                guard nextScalar == "#" else { return false }
                let rest = scalars[(index + 2)...].prefix(Self.nameLengthMax)
                return rest.first { !$0.properties.isAlphabetic } == "["
            default: return false
            }
        }

        /// Marks the position as a line start, after text that a log processor ignores, such as a
        /// color code.
        mutating func startLine() { isAtLineStart = true }
    }

    /// Returns the text with dangerous scalars escaped: those that a terminal or viewer interprets,
    /// and those that begin a command for a log processor.
    ///
    /// - Parameters:
    /// - text: The foreign text.
    /// - keepsLines: Whether line feeds are kept.
    /// - escape: A function that returns the escape of a scalar in the output format.
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
        var scan = LogCommandScan()
        var output = String.UnicodeScalarView()
        for (index, scalar) in scalars.enumerated() {
            let startsLogCommand = scan.startsLogCommand(scalars, at: index)
            let isKept = keepsLines && scalar == "\n"
            if startsLogCommand || scalar.isUnprintable && !isKept {
                output.append(contentsOf: escape(scalar).unicodeScalars)
            } else {
                output.append(scalar)
            }
        }
        return String(output)
    }

    /// Returns an equivalent JSON document that is safe to print in a terminal or the log of a CI
    /// service.
    ///
    /// Scalars within strings that a terminal or a log processor interprets become JSON escapes.
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
    /// Whether a terminal or viewer interprets the scalar instead of showing it.
    package var isUnprintable: Bool {
        switch value {
        // Control characters.
        case 0..<0x20, 0x7f..<0xa0: true
        // Direction marks and overrides.
        case 0x061c, 0x200e, 0x200f, 0x202a...0x202e, 0x2066...0x206f: true
        // Line and paragraph separators, the byte order mark, annotations, tags.
        case 0x2028, 0x2029, 0xfeff, 0xfff9...0xfffb, 0xe0000...0xe007f: true
        default: false
        }
    }

    /// The scalar as a visible escape, such as `\u{202e}`.
    package var visibleEscape: String { "\\u{\(String(value, radix: 16))}" }
}

extension JSONValue {
    /// The value as indented JSON that is safe to print in the log of a CI service.
    package var printedText: String { ForeignText.escapedJSON(prettyText) }
}
