/// A text in which `{{name}}` stands for a value: read once, filled wherever it is needed.
///
/// There is one engine. What differs from place to place is which names exist (`TemplateScope`) and
/// where their values come from (`TemplateSource`).
///
/// - A name stands between `{{` and the next `}}`; blanks around it do not count, and no brace
///   stands in it.
/// - `{{{{` stands for two braces that are meant: `{{{{user}}` is the text `{{user}}`.
/// - Two braces that no name follows are text here and an error where a file is read.
package struct Template: Hashable, Sendable, CustomStringConvertible {
    package enum Piece: Hashable, Sendable {
        case text(String)
        case name(String)
    }

    /// Never two texts in a row, and no empty one.
    package private(set) var pieces: [Piece] = []

    package init(_ text: String) {
        guard Self.hasBraces(text) else {
            append(text)
            return
        }
        for token in Self.tokens(in: text) {
            switch token.kind {
            case .text(let text): append(text)
            case .name(let name): pieces.append(.name(name))
            case .unclosed: append("{{")
            }
        }
    }

    /// The names in it, in order of appearance.
    package var names: [String] {
        pieces.compactMap { if case .name(let name) = $0 { name } else { nil } }
    }

    /// Its name, when it is one name and nothing else.
    package var wholeName: String? {
        if pieces.count == 1, case .name(let name) = pieces[0] { name } else { nil }
    }

    /// The text that it is when no name stands in it; nil when one does.
    package var plainText: String? {
        switch pieces.first {
        case nil: ""
        case .text(let text) where pieces.count == 1: text
        case .text, .name: nil
        }
    }

    /// A text that reads as this template.
    package var description: String {
        pieces.map { piece in
            switch piece {
            case .text(let text): Self.escaped(text)
            case .name(let name): "{{\(name)}}"
            }
        }.joined()
    }

    /// The text written so that it stands for itself, whatever braces are in it.
    package static func escaped(_ text: String) -> String {
        hasBraces(text) ? text.replacing("{{", with: "{{{{") : text
    }

    /// Most texts have none, and are looked at once, as bytes.
    private static func hasBraces(_ text: String) -> Bool {
        var isOpen = false
        for byte in text.utf8 {
            if byte == UInt8(ascii: "{"), isOpen { return true }
            isOpen = byte == UInt8(ascii: "{")
        }
        return false
    }

    /// The text with each name replaced; nil for a name leaves `{{name}}` where it is.
    package func filled(_ value: (String) -> String?) -> String {
        pieces.map { piece in
            switch piece {
            case .text(let text): text
            case .name(let name): value(name) ?? "{{\(name)}}"
            }
        }.joined()
    }

    /// The template with names replaced by templates; nil leaves a name where it is.
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

    /// What stands in a text in the place of the template's one name; nil when the text is not made
    /// like that.
    package func value(of name: String, in text: Substring) -> Substring? {
        let sides = pieces.split(separator: .name(name), omittingEmptySubsequences: false)
        guard sides.count == 2, names.count == 1 else { return nil }
        let texts = sides.map { side in
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

    /// One part of a text, and where it stands there.
    struct Token {
        enum Kind {
            case text(String)
            case name(String)
            /// Two braces that open a name which never ends.
            case unclosed
        }

        let kind: Kind
        let range: Range<String.Index>
    }

    /// Reads a text from left to right.
    ///
    /// Of a run of braces each four stand for two; two that remain open a name, and of three the
    /// first is text. So every text can be written: see `escaped`.
    static func tokens(in text: String) -> [Token] {
        var tokens: [Token] = []
        let bytes = text.utf8
        var position = bytes.startIndex
        func add(_ kind: Token.Kind, until end: String.Index) {
            if position < end { tokens.append(Token(kind: kind, range: position..<end)) }
            position = end
        }
        while let brace = bytes[position...].firstIndex(of: UInt8(ascii: "{")) {
            let runEnd = bytes[brace...].firstIndex { $0 != UInt8(ascii: "{") } ?? bytes.endIndex
            let count = bytes.distance(from: brace, to: runEnd)
            let literal = String(repeating: "{", count: count / 4 * 2 + count % 2)
            let opensName = count % 4 >= 2
            let nameStart = bytes.index(runEnd, offsetBy: opensName ? -2 : 0)
            add(.text(text[position..<brace] + literal), until: nameStart)
            guard opensName else { continue }
            guard let close = closing(bytes, after: runEnd) else {
                add(.unclosed, until: runEnd)
                continue
            }
            let name = text[runEnd..<close].trimmingBlanks
            add(.name(name), until: bytes.index(close, offsetBy: 2))
        }
        add(.text(String(text[position...])), until: bytes.endIndex)
        return tokens
    }

    /// Where the `}}` of a name stands; nil when another brace comes first, or none.
    private static func closing(
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

/// Where the values of names come from.
package protocol TemplateSource {
    /// What a name stands for now; asking may make a value up, which stays.
    mutating func value(of name: String) -> TemplateValue
}

package enum TemplateValue: Hashable, Sendable {
    case value(JSONValue)
    /// The name is known and stands for nothing here: what would hold it is left out.
    case absent
    /// Nobody knows the name; `{{name}}` stays as it is. No file gets here: reading it refused.
    case unknown
}

extension TemplateSource {
    /// The text with every name replaced; one that stands for nothing leaves nothing.
    package mutating func fill(_ text: String) -> String {
        fill(text) { $0 } ?? ""
    }

    /// A path and query with every name replaced, percent-encoded.
    package mutating func fill(target: String) -> String {
        fill(target, isOptional: false) { $0.percentEncoded } ?? ""
    }

    /// The text with every name replaced; nil when a name in it stands for nothing.
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

    /// The value with the names in its texts and keys replaced.
    ///
    /// A text that is one name takes the kind of what it stands for; a member whose text stands for
    /// nothing is left out, and an element is null.
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

/// A name that nothing stands for.
package struct UnknownTemplateName: Error, Hashable, Sendable, CustomStringConvertible {
    package let name: String
    package let known: [String]

    package init(name: String, known: [String]) {
        self.name = name
        self.known = known
    }

    package var description: String {
        "nothing is called {{\(name)}} here; known: "
            + known.map { "{{\($0)}}" }.joined(separator: ", ")
    }
}

/// Values that are known by name: what a profile's texts are filled with.
package struct NamedValues: TemplateSource, Hashable, Sendable {
    /// A name without a value stands for nothing here.
    package var values: [String: JSONValue?]

    package init(_ values: [String: JSONValue?]) { self.values = values }

    /// Texts by name; a name without one stands for nothing here.
    package init(texts: [String: String?]) {
        values = texts.mapValues { $0.map(JSONValue.string) }
    }

    package func value(of name: String) -> TemplateValue {
        guard let known = values[name] else { return .unknown }
        return known.map(TemplateValue.value) ?? .absent
    }

    /// The text with every name replaced.
    ///
    /// - Throws: `UnknownTemplateName` for one that is not among the values.
    package func filled(_ text: String) throws(UnknownTemplateName) -> String {
        for name in Template(text).names where values[name] == nil {
            throw UnknownTemplateName(name: name, known: values.keys.sorted())
        }
        var copy = self
        return copy.fill(text)
    }
}
