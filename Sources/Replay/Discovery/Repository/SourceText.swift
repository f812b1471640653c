internal import Foundation

/// The text of a source file, which is searched by regular expressions.
struct SourceText: Sendable {
    /// A part of the text that matches a pattern.
    struct Match: Sendable {
        /// The number of the line that contains the first character, from 1.
        let line: Int
        /// The number of the line that contains the last character.
        let lastLine: Int
        let text: String
        fileprivate let groups: [String: String]

        /// The text of a named group; nil if the group is empty or matched nothing.
        subscript(_ group: String) -> String? { groups[group].flatMap { $0.isEmpty ? nil : $0 } }
        /// Whether the group matched, even the empty string.
        func hasGroup(_ group: String) -> Bool { groups[group] != nil }
    }

    let path: String
    let text: String
    /// The lines of the text, each up to 400 characters.
    let lines: [String]

    private static let lineLengthMax = 400
    private static let lineCountMax = 20_000

    init(path: String, text: String) {
        self.path = path
        // The limits keep generated files, such as bundles, from slowing down the search.
        // A carriage return and a line feed are one character of a string.
        lines = text.replacing("\r\n", with: "\n").split(
            separator: "\n",
            omittingEmptySubsequences: false
        )
        .prefix(Self.lineCountMax).map { String($0.prefix(Self.lineLengthMax)) }
        self.text = lines.joined(separator: "\n")
    }

    /// The name of the file with its extension.
    var name: String { path.split(separator: "/").last.map(String.init) ?? path }

    /// Returns the parts of the text that match a pattern, in their order.
    func matches(_ pattern: Pattern) -> [Match] {
        let nsText = text as NSString
        let found = pattern.expression.matches(
            in: text,
            range: NSRange(location: 0, length: nsText.length)
        )
        guard !found.isEmpty else { return [] }
        var lineCounter = LineCounter(text: nsText)
        return found.map { result in
            var groups: [String: String] = [:]
            for (index, name) in pattern.groupNames.enumerated() {
                let range = result.range(at: index + 1)
                guard range.location != NSNotFound, groups[name] == nil else { continue }
                groups[name] = nsText.substring(with: range)
            }
            let line = lineCounter.line(at: result.range.location)
            let matched = nsText.substring(with: result.range)
            return Match(
                line: line,
                lastLine: line + matched.count { $0 == "\n" },
                text: matched,
                groups: groups
            )
        }
    }

    /// Returns the last line of the block that the given line opens, according to the indentation.
    func lastLineOfBlock(openedAt line: Int) -> Int {
        let indentation = Self.indentation(of: lines[line - 1])
        var last = line
        for number in (line + 1)..<(max(lines.count, line) + 1) {
            let text = lines[number - 1]
            guard !text.allSatisfy(\.isWhitespace) else { continue }
            guard Self.indentation(of: text) > indentation else { break }
            last = number
        }
        return last
    }

    private static func indentation(of line: String) -> Int {
        var width = 0
        for character in line {
            switch character {
            case " ": width += 1
            case "\t": width += 4
            default: return width
            }
        }
        return width
    }

    /// Counts the lines up to increasing positions of a text.
    private struct LineCounter {
        let text: NSString
        private var position = 0
        private var lineNumber = 1

        init(text: NSString) { self.text = text }

        mutating func line(at location: Int) -> Int {
            while position < location {
                if text.character(at: position) == 10 { lineNumber += 1 }
                position += 1
            }
            return lineNumber
        }
    }
}

/// A regular expression in which every capturing group has a name.
///
/// Several groups may have the same name in alternatives; the first that matches counts.
struct Pattern: Sendable, ExpressibleByStringLiteral {
    let expression: NSRegularExpression
    let groupNames: [String]

    /// Returns whether the pattern matches a part of a short string, such as a path.
    func occurs(in text: String) -> Bool {
        expression.firstMatch(
            in: text,
            range: NSRange(location: 0, length: text.utf16.count)
        ) != nil
    }

    /// Returns the text of a group in the first match of a short string; nil if it matches nothing.
    func first(_ group: String, in text: String) -> String? {
        SourceText(path: "", text: text).matches(self).first?[group]
    }

    init(stringLiteral source: String) {
        var names: [String] = []
        var plain = ""
        var rest = Substring(source)
        // ICU accepts a name only once, so the names are replaced by their numbers.
        while let range = rest.firstRange(of: "(?<"),
            let end = rest[range.upperBound...].firstIndex(of: ">")
        {
            let name = rest[range.upperBound..<end]
            if name.first?.isLetter == true {
                names.append(String(name))
                plain += rest[..<range.lowerBound] + "("
                rest = rest[rest.index(after: end)...]
            } else {
                plain += rest[..<range.upperBound]
                rest = rest[range.upperBound...]
            }
        }
        groupNames = names
        do {
            expression = try NSRegularExpression(
                pattern: plain + rest,
                options: [.anchorsMatchLines]
            )
        } catch {
            // The patterns are constants of this program, and a test compiles each of them.
            preconditionFailure("the pattern '\(source)' is not a regular expression")
        }
    }
}

extension SourceText {
    /// Whether a line verifies an ID token or a session cookie, and not a token of Google or Apple.
    var callsTokenVerifier: Bool {
        let text = text.lowercased()
        guard
            ["idtoken", "id_token", "sessioncookie", "session_cookie"].contains(
                where: text.contains
            )
        else { return false }
        return lines.contains { line in
            let line = line.lowercased()
            let isCall =
                line.contains(/verify_?(?:id_?token|session_?cookie)/)
                || line.contains(/id_?token\s*::\s*signature/)
            return isCall && !line.contains(/(?:client|oauth2?|google|apple)\w*\s*\.\s*verify/)
        }
    }
}
