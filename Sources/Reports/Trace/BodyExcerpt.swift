internal import Values

/// Shortens the body of a message so that the members that a finding judges stay visible.
enum BodyExcerpt {
    /// The longest body that is shown whole, in characters.
    private static let lengthMax = 200
    /// The longest body that is shown of a body that was reduced to its judged members, in
    /// characters.
    private static let reducedLengthMax = 400
    /// The minimum length of a word of a finding, because shorter words occur in every body.
    private static let wordLengthMin = 3

    /// Returns the words of findings by which a body is searched.
    static func words(of texts: [String]) -> Set<String> {
        Set(
            texts.flatMap { text in
                text.split { !$0.isLetter && !$0.isNumber && $0 != "_" && $0 != "-" }
                    .filter { $0.count >= wordLengthMin }.map(String.init)
            }
        )
    }

    /// Returns a body on one line.
    ///
    /// A long JSON body is reduced to the members whose name or value is one of the words, and `…`
    /// replaces the others. Any other long body is cut at its end.
    static func text(_ body: [UInt8], keeping words: Set<String>) -> String {
        guard let value = JSONValue(ifValid: body) else {
            let text = String(decoding: body, as: UTF8.self)
            return cut(text.split(whereSeparator: \.isWhitespace).joined(separator: " "))
        }
        let text = spaced(value)
        guard text.count > lengthMax else { return text }
        return reduced(value, words).map { cut($0, reducedLengthMax) } ?? cut(text)
    }

    /// Returns JSON on one line with spaces at which a line can be wrapped.
    private static func spaced(_ value: JSONValue) -> String {
        switch value {
        case .object(let object):
            let parts = object.members.map {
                "\(JSONValue.string($0.key).text): \(spaced($0.value))"
            }
            return "{" + parts.joined(separator: ", ") + "}"
        case .array(let elements): return "[" + elements.map(spaced).joined(separator: ", ") + "]"
        case .string, .number, .bool, .null: return value.text
        }
    }

    private static func cut(_ text: String, _ lengthMax: Int = lengthMax) -> String {
        text.count > lengthMax ? text.prefix(lengthMax - 1) + "…" : text
    }

    /// Returns the parts of a value that contain one of the words; nil when none does.
    private static func reduced(_ value: JSONValue, _ words: Set<String>) -> String? {
        switch value {
        case .object(let object):
            let parts = object.members.map { member -> String? in
                let name = JSONValue.string(member.key).text
                if words.contains(member.key), member.value.text.count <= lengthMax / 2 {
                    return "\(name): \(spaced(member.value))"
                }
                return reduced(member.value, words).map { "\(name): \($0)" }
            }
            return joined(parts, "{", "}")
        case .array(let elements): return joined(elements.map { reduced($0, words) }, "[", "]")
        case .string(let text): return words.contains(text) ? value.text : nil
        case .number: return words.contains(value.text) ? value.text : nil
        case .bool, .null: return nil
        }
    }

    /// Joins the parts, with one `…` for each group of missing parts; nil when all are missing.
    private static func joined(_ parts: [String?], _ opening: String, _ closing: String) -> String?
    {
        guard parts.contains(where: { $0 != nil }) else { return nil }
        var texts: [String] = []
        for part in parts where part != nil || texts.last != "…" { texts.append(part ?? "…") }
        return opening + texts.joined(separator: ", ") + closing
    }
}
