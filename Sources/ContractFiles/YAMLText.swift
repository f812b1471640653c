internal import Conformance

/// Texts, lists and JSON as YAML that reads back as the same values.
extension ContractWriter {
    static func flow(_ fields: [(String, String)]) -> String {
        "{" + fields.map { "\($0.0): \($0.1)" }.joined(separator: ", ") + "}"
    }

    /// The text as it stands where YAML takes it for a text, else in quotes.
    static func scalar(_ text: String) -> String {
        let isPlain =
            text.first.map { $0.isLetter || $0 == "/" } ?? false
            && text.allSatisfy {
                $0.isASCII && ($0.isLetter || $0.isNumber || "_-./ ".contains($0))
            }
            && !["null", "true", "false", "yes", "no", "on", "off"].contains(text.lowercased())
            && text.last != " "
        return isPlain ? text : quoted(text)
    }

    static func quoted(_ text: String) -> String { flow(JSONValue.string(text)) }

    /// The names, on one line.
    static func list(_ names: [String]) -> String {
        "[" + names.map(scalar).joined(separator: ", ") + "]"
    }

    /// JSON is YAML, on one line.
    static func flow(_ value: JSONValue) -> String { escaped(value.text) }

    /// YAML takes some characters for breaks of lines, or for none at all, that stand in JSON's
    /// strings as they are (YAML 1.2, section 5.1).
    static func escaped(_ json: String) -> String {
        func isSafe(_ scalar: Unicode.Scalar) -> Bool {
            switch scalar.value {
            case 0x0A, 0x20...0x7E, 0xA0...0x2027, 0x202A...0xD7FF, 0xE000...0xFEFE,
                0xFF00...0xFFFD, 0x10000...0x10FFFF:
                true
            default: false
            }
        }
        guard !json.unicodeScalars.allSatisfy(isSafe) else { return json }
        var text = ""
        for scalar in json.unicodeScalars {
            if isSafe(scalar) {
                text.unicodeScalars.append(scalar)
            } else {
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return text
    }
}
