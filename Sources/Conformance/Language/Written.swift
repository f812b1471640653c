/// A part of a contract file on its way to text: intent first, one fact a line.
package indirect enum Written: Hashable, Sendable {
    /// As it will stand there.
    case plain(String)
    /// A text; it gets quotes where YAML would take it for something else.
    case text(String)
    /// A text in quotes.
    case quoted(String)
    /// On one line where that fits, else a member a line; JSON is YAML.
    case json(JSONValue)
    /// `[a, b]`
    case row([Written])
    /// `{a: b, c: d}`
    case flow([Entry])
    /// A fact a line.
    case block([Entry])
    /// An element of several lines after each dash.
    case list([Written])

    package struct Entry: Hashable, Sendable {
        package let key: String
        package let value: Written
        /// An empty line stands before it.
        package var isSpaced = false

        package init(_ key: String, _ value: Written, isSpaced: Bool = false) {
            self.key = key
            self.value = value
            self.isSpaced = isSpaced
        }
    }

    package static func number(_ number: Int) -> Written { .plain(String(number)) }

    // MARK: Text

    package static let lineWidth = 100

    /// The lines of a whole file.
    package static func file(_ entries: [Entry]) -> String {
        var text = ""
        for entry in entries {
            if entry.isSpaced { text += "\n" }
            write(entry, indent: 0, after: "", to: &text)
        }
        return text
    }

    /// Writes an entry and the end of its last line; a lead, such as a dash, stands at its first line
    /// in place of the blanks.
    private static func write(
        _ entry: Entry,
        indent: Int,
        after lead: String? = nil,
        to text: inout String
    ) {
        let space = String(repeating: " ", count: indent)
        let start = (lead ?? space) + key(entry.key) + ":"
        switch entry.value {
        case .plain, .text, .quoted, .row, .flow: text += "\(start) \(entry.value.line)\n"
        case .json(let value):
            let short = "\(start) \(entry.value.line)"
            // No letter is shorter than a byte.
            if short.utf8.count <= lineWidth || short.count <= lineWidth {
                text += short + "\n"
                return
            }
            text += start + "\n"
            for line in readable(value.prettyText).parts(between: "\n") {
                text += "\(space)  \(line)\n"
            }
        case .block(let entries):
            text += entries.isEmpty ? start + " {}\n" : start + "\n"
            for entry in entries { write(entry, indent: indent + 2, to: &text) }
        case .list(let elements):
            text += elements.isEmpty ? start + " []\n" : start + "\n"
            for element in elements { write(element, indent: indent + 2, to: &text) }
        }
    }

    private static func write(_ element: Written, indent: Int, to text: inout String) {
        let dash = String(repeating: " ", count: indent) + "- "
        guard case .block(let entries) = element, !entries.isEmpty else {
            text += dash + element.line + "\n"
            return
        }
        for (index, entry) in entries.enumerated() {
            write(entry, indent: indent + 2, after: index == 0 ? dash : nil, to: &text)
        }
    }

    /// All of it on one line.
    package var line: String {
        switch self {
        case .plain(let text): text
        case .text(let text):
            Self.isPlain(text) && !Self.reserved.contains(text.lowercased())
                ? text : Self.readable(JSONValue.string(text).text)
        case .quoted(let text): Self.readable(JSONValue.string(text).text)
        case .json(let value): Self.readable(value.text)
        case .row(let elements), .list(let elements):
            "[" + elements.map(\.line).joined(separator: ", ") + "]"
        case .flow(let entries), .block(let entries):
            "{" + entries.map { "\(Self.key($0.key)): \($0.value.line)" }.joined(separator: ", ")
                + "}"
        }
    }

    /// What a text says; other values as they are written.
    var content: String {
        switch self {
        case .plain(let text), .text(let text), .quoted(let text): text
        case .json, .row, .flow, .block, .list: line
        }
    }

    /// A key is a text whatever it looks like.
    private static func key(_ key: String) -> String {
        isPlain(key) ? key : Written.quoted(key).line
    }

    /// Whether YAML takes it for one word or more as it stands, text or not.
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

    /// Words that YAML, or an older version of it, takes for something else than a text.
    private static let reserved: Set<String> = [
        "null", "true", "false", "yes", "no", "on", "off", "y", "n",
    ]

    /// JSON text with escapes for the characters that YAML does not take, or takes for line breaks.
    private static func readable(_ text: String) -> String {
        // Almost all texts are ASCII, and looked at as bytes.
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
