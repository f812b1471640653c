internal import Foundation

/// The `.env` that lies beside a profile: what a backend's own libraries read there stands for
/// `${NAME}` in the profile as well, so that both mean the same secret.
///
/// The form that dotenv libraries share: `NAME=value` or `export NAME=value` a line, `#` begins a
/// comment, single quotes keep everything, double quotes know `\n`, `\"` and `\\`.
enum DotEnv {
    /// The variables of the file in that folder under those of the environment, which count more.
    static func merged(
        beside profilePath: String,
        _ environment: [String: String]
    ) -> [String: String] {
        let folder = (profilePath as NSString).deletingLastPathComponent
        let path = (folder.isEmpty ? "" : folder + "/") + ".env"
        guard let data = FileManager.default.contents(atPath: path),
            let text = String(data: data, encoding: .utf8)
        else { return environment }
        return environment.merging(parse(text)) { own, _ in own }
    }

    static func parse(_ text: String) -> [String: String] {
        var found: [String: String] = [:]
        for line in text.split(whereSeparator: \.isNewline) {
            var rest = trimmed(line)
            if rest.hasPrefix("export ") { rest = trimmed(rest.dropFirst(7)) }
            guard let equals = rest.firstIndex(of: "=") else { continue }
            let name = trimmed(rest[..<equals])
            guard let first = name.first, first.isLetter || first == "_",
                name.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" })
            else { continue }
            found[String(name)] = value(trimmed(rest[rest.index(after: equals)...]))
        }
        return found
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
