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
        entries.flatMap { ($0.isSpaced ? [""] : []) + lines($0, indent: 0) }
            .joined(separator: "\n") + "\n"
    }

    private static func lines(_ entry: Entry, indent: Int) -> [String] {
        let space = String(repeating: " ", count: indent)
        let key = key(entry.key)
        switch entry.value {
        case .plain, .text, .quoted, .row, .flow: return ["\(space)\(key): \(entry.value.line)"]
        case .json(let value):
            let short = "\(space)\(key): \(entry.value.line)"
            if short.count <= lineWidth { return [short] }
            let lines = readable(value.prettyText).split(separator: "\n")
            return ["\(space)\(key):"] + lines.map { "\(space)  \($0)" }
        case .block(let entries):
            if entries.isEmpty { return ["\(space)\(key): {}"] }
            return ["\(space)\(key):"] + entries.flatMap { lines($0, indent: indent + 2) }
        case .list(let elements):
            if elements.isEmpty { return ["\(space)\(key): []"] }
            return ["\(space)\(key):"] + elements.flatMap { element($0, indent: indent + 2) }
        }
    }

    private static func element(_ element: Written, indent: Int) -> [String] {
        let space = String(repeating: " ", count: indent)
        guard case .block(let entries) = element, !entries.isEmpty else {
            return ["\(space)- \(element.line)"]
        }
        let all = entries.flatMap { lines($0, indent: indent + 2) }
        return ["\(space)- " + all[0].dropFirst(indent + 2)] + all.dropFirst()
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
        text.first.map { $0.isASCII && $0.isLetter || $0 == "/" } ?? false
            && text.allSatisfy {
                $0.isASCII && ($0.isLetter || $0.isNumber || "_-./ ".contains($0))
            }
            && text.last != " "
    }

    /// Words that YAML, or an older version of it, takes for something else than a text.
    private static let reserved: Set<String> = [
        "null", "true", "false", "yes", "no", "on", "off", "y", "n",
    ]

    /// JSON text with escapes for the characters that YAML does not take, or takes for line breaks.
    private static func readable(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: needsEscape) else { return text }
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
