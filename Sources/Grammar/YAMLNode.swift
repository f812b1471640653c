package import Values

/// A node of a contract file that is to be written as YAML.
package indirect enum YAMLNode: Hashable, Sendable {
    /// Characters that are written unchanged, without quotes.
    case plain(String)
    /// A string that is quoted only if YAML would read it as another type.
    case text(String)
    /// A string that is always written in quotes.
    case quoted(String)
    /// A JSON value, on one line if it fits, otherwise with one member per line; JSON is valid
    /// YAML.
    case json(JSONValue)
    /// A list on one line: `[a, b]`.
    case row([YAMLNode])
    /// A mapping on one line: `{a: b, c: d}`.
    case flow([Entry])
    /// A mapping with one entry per line.
    case block([Entry])
    /// A list with a dash before each element; elements may take several lines.
    case list([YAMLNode])

    package struct Entry: Hashable, Sendable {
        package let key: String
        package let value: YAMLNode
        /// Whether a blank line precedes the entry in the file.
        package var isPrecededByBlankLine = false

        package init(_ key: String, _ value: YAMLNode, isPrecededByBlankLine: Bool = false) {
            self.key = key
            self.value = value
            self.isPrecededByBlankLine = isPrecededByBlankLine
        }
    }

    package static func number(_ number: Int) -> YAMLNode { .plain(String(number)) }

    // MARK: Text

    package static let lineWidth = 100

    /// Returns the text of a whole YAML file with these top-level entries.
    package static func file(_ entries: [Entry]) -> String {
        var text = ""
        for entry in entries {
            if entry.isPrecededByBlankLine { text += "\n" }
            write(entry, indent: 0, after: "", to: &text)
        }
        return text
    }

    /// Appends a YAML entry and a line break to the output.
    ///
    /// `firstLinePrefix`, such as a list dash, replaces the indentation of the entry's first line.
    private static func write(
        _ entry: Entry,
        indent: Int,
        after firstLinePrefix: String? = nil,
        to text: inout String
    ) {
        let indentation = String(repeating: " ", count: indent)
        let keyPrefix = (firstLinePrefix ?? indentation) + key(entry.key) + ":"
        switch entry.value {
        case .plain, .text, .quoted, .row, .flow: text += "\(keyPrefix) \(entry.value.line)\n"
        case .json(let value):
            let oneLineText = "\(keyPrefix) \(entry.value.line)"
            // Every character has at least one byte, so the byte count is an upper bound.
            if oneLineText.utf8.count <= lineWidth || oneLineText.count <= lineWidth {
                text += oneLineText + "\n"
                return
            }
            text += keyPrefix + "\n"
            for line in escapedForYAML(value.prettyText).parts(between: "\n") {
                text += "\(indentation)  \(line)\n"
            }
        case .block(let entries):
            text += entries.isEmpty ? keyPrefix + " {}\n" : keyPrefix + "\n"
            for entry in entries { write(entry, indent: indent + 2, to: &text) }
        case .list(let elements):
            text += elements.isEmpty ? keyPrefix + " []\n" : keyPrefix + "\n"
            for element in elements { write(element, indent: indent + 2, to: &text) }
        }
    }

    private static func write(_ element: YAMLNode, indent: Int, to text: inout String) {
        let elementPrefix = String(repeating: " ", count: indent) + "- "
        guard case .block(let entries) = element, !entries.isEmpty else {
            text += elementPrefix + element.line + "\n"
            return
        }
        for (index, entry) in entries.enumerated() {
            write(entry, indent: indent + 2, after: index == 0 ? elementPrefix : nil, to: &text)
        }
    }

    /// The whole node on one line.
    package var line: String {
        switch self {
        case .plain(let text): text
        case .text(let text):
            Self.isPlain(text) && !Self.nonStringWords.contains(text.lowercased())
                ? text : Self.escapedForYAML(JSONValue.string(text).text)
        case .quoted(let text): Self.escapedForYAML(JSONValue.string(text).text)
        case .json(let value): Self.escapedForYAML(value.text)
        case .row(let elements), .list(let elements):
            "[" + elements.map(\.line).joined(separator: ", ") + "]"
        case .flow(let entries), .block(let entries):
            "{" + entries.map { "\(Self.key($0.key)): \($0.value.line)" }.joined(separator: ", ")
                + "}"
        }
    }

    /// The string without quotes; for any other node, the node on one line.
    package var content: String {
        switch self {
        case .plain(let text), .text(let text), .quoted(let text): text
        case .json, .row, .flow, .block, .list: line
        }
    }

    /// Returns a mapping key, quoted unless it is a plain word, because keys in these files are
    /// always strings.
    private static func key(_ key: String) -> String {
        isPlain(key) ? key : YAMLNode.quoted(key).line
    }

    /// Whether YAML needs no quotes for the text: it consists only of letters, digits, blanks and a
    /// few other characters.
    private static func isPlain(_ text: String) -> Bool {
        guard let first = text.utf8.first, text.utf8.last != 0x20 else { return false }
        func isLetter(_ byte: UInt8) -> Bool {
            (65...90).contains(byte) || (97...122).contains(byte)
        }
        return (isLetter(first) || first == UInt8(ascii: "/"))
            && text.utf8.allSatisfy { byte in
                isLetter(byte) || (48...57).contains(byte) || "_-./ ".utf8.contains(byte)
            }
    }

    /// Words that YAML, or an older version of YAML, does not read as strings.
    private static let nonStringWords: Set<String> = [
        "null", "true", "false", "yes", "no", "on", "off", "y", "n",
    ]

    /// Returns JSON text with escapes for characters that YAML rejects or reads as line breaks.
    private static func escapedForYAML(_ text: String) -> String {
        // Almost all texts are ASCII, for which a scan of the bytes is enough.
        guard text.utf8.contains(where: { $0 >= 0x7f }),
            text.unicodeScalars.contains(where: needsEscape)
        else { return text }
        var output = ""
        for scalar in text.unicodeScalars {
            guard needsEscape(scalar) else {
                output.unicodeScalars.append(scalar)
                continue
            }
            let digits = String(scalar.value, radix: 16)
            output += "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        }
        return output
    }

    private static func needsEscape(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x7f...0x9f, 0x2028, 0x2029, 0xfeff, 0xfffe, 0xffff: true
        default: false
        }
    }
}
