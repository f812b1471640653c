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
        var lines = text.drop { $0 == "\u{feff}" }.split(whereSeparator: \.isNewline)[...]
        while let line = lines.popFirst() {
            var rest = trimmed(line)
            if rest.hasPrefix("export ") { rest = trimmed(rest.dropFirst(7)) }
            guard let equals = rest.firstIndex(of: "=") else { continue }
            let name = trimmed(rest[..<equals])
            guard let first = name.first, first.isLetter || first == "_",
                name.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" })
            else { continue }
            var written = String(trimmed(rest[rest.index(after: equals)...]))
            // A key in PEM has lines of its own: quotation marks hold them together.
            var taken = lines
            var whole = written
            while !isClosed(whole[...]), let next = taken.popFirst() { whole += "\n" + next }
            if isClosed(whole[...]) { (written, lines) = (whole, taken) }
            found[String(name)] = value(written[...])
        }
        return found
    }

    /// Whether a value that begins with a quotation mark has its second one.
    private static func isClosed(_ text: Substring) -> Bool {
        guard let quote = text.first, quote == "\"" || quote == "'" else { return true }
        var rest = text.dropFirst()
        while let character = rest.popFirst() {
            if character == quote { return true }
            if character == "\\", quote == "\"" { rest = rest.dropFirst() }
        }
        return false
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
