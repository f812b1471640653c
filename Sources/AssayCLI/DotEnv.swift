internal import Conformance
internal import Foundation

/// The `.env` that lies beside a profile: what a backend's own libraries read there stands for
/// `${NAME}` in the profile as well, so that both mean the same secret.
///
/// The form that dotenv libraries share: `NAME=value` or `export NAME=value` a line, `#` behind a blank
/// begins a comment, single quotes keep everything, double quotes know `\n`, `\"` and `\\`, and a value
/// in quotes may have several lines.
enum DotEnv {
    /// The variables of the file in that folder under those of the environment, which count more.
    static func merged(
        beside profilePath: String,
        _ environment: [String: String]
    ) -> [String: String] {
        guard let data = FileManager.default.contents(atPath: path(beside: profilePath)) else {
            return environment
        }
        return environment.merging(parse(String(decoding: data, as: UTF8.self))) { own, _ in own }
    }

    static func path(beside profilePath: String) -> String {
        let folder = PathName(profilePath).folder
        return (folder.isEmpty ? "" : folder + "/") + ".env"
    }

    static func parse(_ text: String) -> [String: String] {
        var found: [String: String] = [:]
        let lines = Array(text.drop { $0 == "\u{feff}" }.split(whereSeparator: \.isNewline))
        var index = 0
        while index < lines.count {
            let line = lines[index]
            index += 1
            var rest = trimmed(line)
            if rest.hasPrefix("export ") { rest = trimmed(rest.dropFirst(7)) }
            guard let equals = rest.firstIndex(of: "=") else { continue }
            let name = trimmed(rest[..<equals])
            guard let first = name.first, first.isLetter || first == "_",
                name.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" })
            else { continue }
            var written = String(trimmed(rest[rest.index(after: equals)...]))
            // A key in PEM has lines of its own: quotation marks hold them together.
            if let quote = written.first, quote == "\"" || quote == "'" {
                var scan = QuoteScan(quote)
                var end = index
                // The end of the file is reached without a closing mark at most once for each of
                // the two marks: the first mark of a value further down would close this one.
                scan.read(written.dropFirst())
                while !scan.isClosed, end < lines.count {
                    scan.read("\n")
                    scan.read(lines[end])
                    end += 1
                }
                if scan.isClosed {
                    written = ([written] + lines[index..<end].map(String.init))
                        .joined(separator: "\n")
                    index = end
                }
            }
            found[String(name)] = value(written[...])
        }
        return found
    }

    /// Looks for the second quotation mark of a value, piece by piece, each character once.
    private struct QuoteScan {
        private let quote: Character
        private var isEscaped = false
        private(set) var isClosed = false

        init(_ quote: Character) { self.quote = quote }

        mutating func read(_ text: Substring) {
            for character in text where !isClosed {
                if isEscaped {
                    isEscaped = false
                } else if character == quote {
                    isClosed = true
                } else if character == "\\", quote == "\"" {
                    isEscaped = true
                }
            }
        }
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let start = text.drop { $0 == " " || $0 == "\t" }
        let end = start.lastIndex { $0 != " " && $0 != "\t" }
        return end.map { start[...$0] } ?? ""
    }

    private static func value(_ text: Substring) -> String {
        guard let quote = text.first, quote == "\"" || quote == "'" else {
            // A comment begins behind a blank; a `#` inside a word is part of it.
            let comment = text.range(of: " #") ?? text.range(of: "\t#")
            if text.hasPrefix("#") { return "" }
            return String(trimmed(comment.map { text[..<$0.lowerBound] } ?? text))
        }
        var value = ""
        var rest = text.dropFirst()
        while let character = rest.popFirst(), character != quote {
            guard character == "\\", quote == "\"", let next = rest.popFirst() else {
                value.append(character)
                continue
            }
            switch next {
            case "n": value.append("\n")
            case "\"", "\\", "$": value.append(next)
            default: value.append("\\\(next)")
            }
        }
        return value
    }
}
