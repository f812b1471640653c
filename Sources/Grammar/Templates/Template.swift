package import Values

/// A parsed string with `{{name}}` placeholders, which can be filled with values many times.
///
/// All places in contracts and profiles use this type. The places differ in the available names
/// (`TemplateScope`) and in the source of the values (`TemplateSource`).
///
/// - A name is enclosed in `{{` and the next `}}`. Blanks around the name are ignored, and the name
///   contains no brace.
/// - `{{{{` is an escape for two literal braces: `{{{{user}}` is the string `{{user}}`.
/// - `{{` without a name is literal text in a `Template`, but `TemplateChecks` reports it as an
///   error in a contract or profile.
package struct Template: Hashable, Sendable, CustomStringConvertible {
    package enum Piece: Hashable, Sendable {
        case text(String)
        case name(String)
    }

    /// The literal texts and names of the template, in order.
    ///
    /// Two literal texts are never adjacent, and no literal text is empty.
    package private(set) var pieces: [Piece] = []

    package init(_ text: String) {
        guard Self.containsOpeningBraces(text) else {
            append(text)
            return
        }
        for token in Self.tokens(in: text) {
            switch token.kind {
            case .text(let text): append(text)
            case .name(let name): pieces.append(.name(name))
            case .unclosedBraces: append("{{")
            }
        }
    }

    /// The names in the template, in order of appearance.
    package var names: [String] {
        pieces.compactMap { if case .name(let name) = $0 { name } else { nil } }
    }

    /// The name when the template consists of one name and nothing else; nil for any other
    /// template.
    package var wholeName: String? {
        if pieces.count == 1, case .name(let name) = pieces[0] { name } else { nil }
    }

    /// The literal text when the template contains no name; nil when it contains a name.
    package var plainText: String? {
        switch pieces.first {
        case nil: ""
        case .text(let text) where pieces.count == 1: text
        case .text, .name: nil
        }
    }

    /// The source string of the template, which is parsed as an equal template.
    package var description: String {
        pieces.map { piece in
            switch piece {
            case .text(let text): Self.escaped(text)
            case .name(let name): "{{\(name)}}"
            }
        }.joined()
    }

    /// Returns a string with its braces escaped, so that it is parsed as literal text.
    package static func escaped(_ text: String) -> String {
        containsOpeningBraces(text) ? text.replacing("{{", with: "{{{{") : text
    }

    /// Whether a string contains `{{`.
    ///
    /// The check is one scan of the bytes, because most strings contain no template.
    private static func containsOpeningBraces(_ text: String) -> Bool {
        var isOpen = false
        for byte in text.utf8 {
            if byte == UInt8(ascii: "{"), isOpen { return true }
            isOpen = byte == UInt8(ascii: "{")
        }
        return false
    }

    /// Returns the template's string with each name replaced by its value; a name whose value is
    /// nil remains as `{{name}}`.
    package func filled(_ value: (String) -> String?) -> String {
        pieces.map { piece in
            switch piece {
            case .text(let text): text
            case .name(let name): value(name) ?? "{{\(name)}}"
            }
        }.joined()
    }

    /// Returns a template in which other templates replace the names; a name remains when its
    /// replacement is nil.
    package func replacing(_ template: (String) -> Template?) -> Template {
        var result = self
        result.pieces = []
        for piece in pieces {
            switch piece {
            case .text(let text): result.append(text)
            case .name(let name):
                for piece in template(name)?.pieces ?? [piece] {
                    switch piece {
                    case .text(let text): result.append(text)
                    case .name: result.pieces.append(piece)
                    }
                }
            }
        }
        return result
    }

    /// Returns the value of the template's only name in a string that matches the template; nil
    /// when the string does not match.
    package func value(of name: String, in text: Substring) -> Substring? {
        let piecesAroundName = pieces.split(
            separator: .name(name),
            omittingEmptySubsequences: false
        )
        guard piecesAroundName.count == 2, names.count == 1 else { return nil }
        let texts = piecesAroundName.map { side in
            side.map { if case .text(let text) = $0 { text } else { "" } }.joined()
        }
        guard text.count >= texts[0].count + texts[1].count, text.hasPrefix(texts[0]),
            text.hasSuffix(texts[1])
        else { return nil }
        return text.dropFirst(texts[0].count).dropLast(texts[1].count)
    }

    private mutating func append(_ text: String) {
        guard !text.isEmpty else { return }
        if case .text(let before)? = pieces.last {
            pieces[pieces.count - 1] = .text(before + text)
        } else {
            pieces.append(.text(text))
        }
    }

    // MARK: Reading

    /// One part of a string that is being parsed as a template, with the part's range in the
    /// string.
    struct Token {
        enum Kind {
            case text(String)
            case name(String)
            /// `{{` that opens a name without a closing `}}`.
            case unclosedBraces
        }

        let kind: Kind
        let range: Range<String.Index>
    }

    /// Splits a string into literal texts and template names, from left to right.
    ///
    /// In a run of opening braces, every four braces mean two literal braces. Two remaining braces
    /// open a name; of three remaining braces, the first is literal. Every literal string can be
    /// written this way: see `escaped`.
    static func tokens(in text: String) -> [Token] {
        var tokens: [Token] = []
        let bytes = text.utf8
        var position = bytes.startIndex
        func addToken(_ kind: Token.Kind, until end: String.Index) {
            if position < end { tokens.append(Token(kind: kind, range: position..<end)) }
            position = end
        }
        while let brace = bytes[position...].firstIndex(of: UInt8(ascii: "{")) {
            let runEnd = bytes[brace...].firstIndex { $0 != UInt8(ascii: "{") } ?? bytes.endIndex
            let count = bytes.distance(from: brace, to: runEnd)
            let literal = String(repeating: "{", count: count / 4 * 2 + count % 2)
            let opensName = count % 4 >= 2
            let nameStart = bytes.index(runEnd, offsetBy: opensName ? -2 : 0)
            addToken(.text(text[position..<brace] + literal), until: nameStart)
            guard opensName else { continue }
            guard let close = closingBraces(bytes, after: runEnd) else {
                addToken(.unclosedBraces, until: runEnd)
                continue
            }
            let name = text[runEnd..<close].trimmingBlanks
            addToken(.name(name), until: bytes.index(close, offsetBy: 2))
        }
        addToken(.text(String(text[position...])), until: bytes.endIndex)
        return tokens
    }

    /// Returns the position of the `}}` that closes a name; nil when there is no closing `}}`, or
    /// another brace comes before it.
    private static func closingBraces(
        _ bytes: String.UTF8View,
        after start: String.Index
    ) -> String.Index? {
        guard
            let brace = bytes[start...].firstIndex(where: {
                $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "}")
            }), bytes[brace...].starts(with: "}}".utf8)
        else { return nil }
        return brace
    }
}

extension Substring {
    fileprivate var trimmingBlanks: String {
        var text = self
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}

// MARK: - Filling

/// A source of values for template names.
package protocol TemplateSource {
    /// Returns the value of a template name.
    ///
    /// The first call for a name may generate the value, which later calls return.
    mutating func value(of name: String) -> TemplateValue
}

package enum TemplateValue: Hashable, Sendable {
    case value(JSONValue)
    /// The name is known but has no value here, so the field that contains the template is omitted.
    case absent
    /// The name is unknown, so `{{name}}` remains. The code that reads files rejects such names.
    case unknown
}

extension TemplateSource {
    /// Returns a string with every template name replaced by its value; an absent value becomes an
    /// empty string.
    package mutating func fill(_ text: String) -> String {
        fill(text) { $0 } ?? ""
    }

    /// Returns a URL path and query with every template name replaced by its percent-encoded value.
    package mutating func fill(target: String) -> String {
        fill(target, isOptional: false) { $0.percentEncoded } ?? ""
    }

    /// Returns a string with every template name replaced by its value; nil when a value is absent.
    package mutating func fillIfPresent(_ text: String) -> String? {
        fill(text, isOptional: true) { $0 }
    }

    private mutating func fill(
        _ text: String,
        isOptional: Bool = false,
        _ encode: (String) -> String
    ) -> String? {
        guard text.contains("{{") else { return text }
        var output = ""
        for piece in Template(text).pieces {
            switch piece {
            case .text(let text): output += text
            case .name(let name):
                switch value(of: name) {
                case .value(let value): output += encode(value.string ?? value.text)
                case .absent: if isOptional { return nil }
                case .unknown: output += "{{\(name)}}"
                }
            }
        }
        return output
    }

    /// Returns a JSON value with the template names in its strings and keys replaced by their
    /// values.
    ///
    /// A string that consists of one template takes the JSON type of the template's value. A member
    /// with an absent value is omitted, and an array element with an absent value becomes null.
    package mutating func fill(_ value: JSONValue) -> JSONValue {
        fillIfPresent(value) ?? .null
    }

    private mutating func fillIfPresent(_ value: JSONValue) -> JSONValue? {
        switch value {
        case .string(let text):
            guard text.contains("{{") else { return value }
            guard let name = Template(text).wholeName else {
                return fillIfPresent(text).map(JSONValue.string)
            }
            switch self.value(of: name) {
            case .value(let value): return value
            case .absent: return nil
            case .unknown: return value
            }
        case .array(let elements):
            var filled: [JSONValue] = []
            for element in elements { filled.append(fillIfPresent(element) ?? .null) }
            return .array(filled)
        case .object(let object):
            var members: [JSONObject.Member] = []
            for member in object.members {
                guard let value = fillIfPresent(member.value) else { continue }
                members.append(.init(key: fill(member.key), value: value))
            }
            return .object(JSONObject(members: members))
        case .null, .bool, .number: return value
        }
    }
}

/// The error for an unknown template name.
package struct UnknownTemplateName: Error, Hashable, Sendable, CustomStringConvertible {
    package let name: String
    package let known: [String]

    package init(name: String, known: [String]) {
        self.name = name
        self.known = known
    }

    package var description: String {
        "unknown template {{\(name)}}; available: "
            + known.map { "{{\($0)}}" }.joined(separator: ", ")
    }
}

/// A table of values by name, which fills the templates of a profile.
package struct NamedValues: TemplateSource, Hashable, Sendable {
    /// The values by template name; a name with a nil value is known but has no value.
    package var values: [String: JSONValue?]

    package init(_ values: [String: JSONValue?]) { self.values = values }

    /// Creates a table of string values; a name with a nil string is known but has no value.
    package init(texts: [String: String?]) {
        values = texts.mapValues { $0.map(JSONValue.string) }
    }

    package func value(of name: String) -> TemplateValue {
        guard let known = values[name] else { return .unknown }
        return known.map(TemplateValue.value) ?? .absent
    }

    /// Returns a string with every template name replaced by its value.
    ///
    /// - Throws: `UnknownTemplateName` for a name that is not in the table.
    package func filled(_ text: String) throws(UnknownTemplateName) -> String {
        for name in Template(text).names where values[name] == nil {
            throw UnknownTemplateName(name: name, known: values.keys.sorted())
        }
        var copy = self
        return copy.fill(text)
    }
}
