internal import Foundation
internal import Redaction
internal import Values

/// The `.env` file next to a profile.
///
/// Many backends load variables from this file with a dotenv library. `${NAME}` in the profile
/// reads the same variables, so that Assay and the backend use the same secrets.
///
/// The format is the one that dotenv libraries share. Each line is `NAME=value` or `export
/// NAME=value`, and `#` after a space starts a comment. Single quotes keep every character, and
/// double quotes support `\n`, `\"` and `\\`. A value in quotes may span several lines.
enum DotEnv {
    /// Returns the environment together with the variables of the `.env` file.
    ///
    /// A variable that the environment sets keeps its value.
    static func mergedVariables(
        nextTo profilePath: String,
        _ environment: [String: String]
    ) -> [String: String] {
        guard let data = FileManager.default.contents(atPath: path(nextTo: profilePath)) else {
            return environment
        }
        return environment.merging(parse(String(decoding: data, as: UTF8.self))) { own, _ in own }
    }

    /// Returns the variables of the file that the profile names under `env-file`, except those that
    /// the environment sets.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - environment: The environment of Assay.
    /// - Returns: The values by name.
    /// - Throws: A failure with exit status 2 if the file cannot be read.
    static func variables(
        ofFile path: String,
        _ environment: [String: String]
    ) throws -> [String: Secret] {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw CommandFailure(
                .usage,
                "the file '\(path)' under 'start: env-file' does not exist or cannot be read"
            )
        }
        return parse(String(decoding: data, as: UTF8.self))
            .filter { environment[$0.key] == nil }.mapValues { Secret($0) }
    }

    static func path(nextTo profilePath: String) -> String {
        let folder = PathName(profilePath).folder
        return (folder.isEmpty ? "" : folder + "/") + ".env"
    }

    static func parse(_ text: String) -> [String: String] {
        var variables: [String: String] = [:]
        let lines = Array(text.drop { $0 == "\u{feff}" }.split(whereSeparator: \.isNewline))
        var index = 0
        while index < lines.count {
            let line = lines[index]
            index += 1
            var remainingText = trimmed(line)
            if remainingText.hasPrefix("export ") {
                remainingText = trimmed(remainingText.dropFirst(7))
            }
            guard let equalsIndex = remainingText.firstIndex(of: "=") else { continue }
            let name = trimmed(remainingText[..<equalsIndex])
            guard let first = name.first, first.isLetter || first == "_",
                name.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" })
            else { continue }
            var valueText = String(
                trimmed(remainingText[remainingText.index(after: equalsIndex)...])
            )
            // A value in quotation marks may have several lines, such as a PEM key.
            if let quote = valueText.first, quote == "\"" || quote == "'" {
                var quoteScan = QuoteScan(quote)
                var end = index
                // An unclosed value is read to the end of the file. This happens at most once for
                // each kind of quotation mark, because the opening mark of a later value closes an
                // earlier value.
                quoteScan.scanText(valueText.dropFirst())
                while !quoteScan.isClosed, end < lines.count {
                    quoteScan.scanText("\n")
                    quoteScan.scanText(lines[end])
                    end += 1
                }
                if quoteScan.isClosed {
                    valueText = ([valueText] + lines[index..<end].map(String.init))
                        .joined(separator: "\n")
                    index = end
                }
            }
            variables[String(name)] = value(valueText[...])
        }
        return variables
    }

    /// Searches for the closing quotation mark of a value in a `.env` file.
    ///
    /// It receives the value line by line, and reads each character once.
    private struct QuoteScan {
        private let quote: Character
        private var isEscaped = false
        private(set) var isClosed = false

        init(_ quote: Character) { self.quote = quote }

        mutating func scanText(_ text: Substring) {
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
        let trimmedStart = text.drop { $0 == " " || $0 == "\t" }
        let end = trimmedStart.lastIndex { $0 != " " && $0 != "\t" }
        return end.map { trimmedStart[...$0] } ?? ""
    }

    private static func value(_ text: Substring) -> String {
        guard let quote = text.first, quote == "\"" || quote == "'" else {
            // A comment starts after a space or a tab; a `#` inside a word belongs to the value.
            let commentRange = text.range(of: " #") ?? text.range(of: "\t#")
            if text.hasPrefix("#") { return "" }
            return String(trimmed(commentRange.map { text[..<$0.lowerBound] } ?? text))
        }
        var value = ""
        var remainingText = text.dropFirst()
        while let character = remainingText.popFirst(), character != quote {
            guard character == "\\", quote == "\"", let next = remainingText.popFirst() else {
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
