/// A place inside a JSON value, as RFC 6901 writes it: `/event/entitlement_ids/0`.
package struct JSONPointer: Hashable, Sendable, CustomStringConvertible {
    package let tokens: [String]

    package init(tokens: [String] = []) {
        self.tokens = tokens
    }

    /// Nil when the text is neither empty nor begins with a slash.
    package init?(_ text: String) {
        guard !text.isEmpty else {
            tokens = []
            return
        }
        guard text.hasPrefix("/") else { return nil }
        tokens = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map {
            Self.replace("~0", "~", in: Self.replace("~1", "/", in: String($0)))
        }
    }

    package var description: String {
        tokens.map { "/" + Self.replace("/", "~1", in: Self.replace("~", "~0", in: $0)) }.joined()
    }

    package func appending(_ token: String) -> JSONPointer { JSONPointer(tokens: tokens + [token]) }

    /// Whether this place is `other` or lies inside it.
    package func isInside(_ other: JSONPointer) -> Bool { tokens.starts(with: other.tokens) }

    private static func replace(_ old: String, _ new: String, in text: String) -> String {
        text.split(separator: old, omittingEmptySubsequences: false).joined(separator: new)
    }
}

extension JSONValue {
    /// The value at that place; nil when nothing is there.
    package subscript(pointer: JSONPointer) -> JSONValue? {
        var value = self
        for token in pointer.tokens {
            switch value {
            case .object(let object):
                guard let next = object[token] else { return nil }
                value = next
            case .array(let elements):
                guard let index = Int(token), elements.indices.contains(index) else { return nil }
                value = elements[index]
            case .null, .bool, .number, .string:
                return nil
            }
        }
        return value
    }

    /// Puts a value at that place, making objects on the way; nil removes what is there.
    package mutating func set(_ pointer: JSONPointer, to newValue: JSONValue?) {
        guard let token = pointer.tokens.first else {
            self = newValue ?? .null
            return
        }
        let rest = JSONPointer(tokens: Array(pointer.tokens.dropFirst()))
        if case .array(var elements) = self, let index = Int(token),
            elements.indices.contains(index)
        {
            if rest.tokens.isEmpty, newValue == nil {
                elements.remove(at: index)
            } else {
                elements[index].set(rest, to: newValue)
            }
            self = .array(elements)
            return
        }
        var object = self.object ?? JSONObject()
        if rest.tokens.isEmpty {
            object[token] = newValue
        } else {
            var child = object[token] ?? .object(JSONObject())
            child.set(rest, to: newValue)
            object[token] = child
        }
        self = .object(object)
    }

    /// Every place where the two values differ; a missing value is nil.
    package func differences(
        from other: JSONValue,
        at pointer: JSONPointer = JSONPointer()
    ) -> [(pointer: JSONPointer, left: JSONValue?, right: JSONValue?)] {
        switch (self, other) {
        case (.object(let left), .object(let right)):
            let keys = left.keys + right.keys.filter { left[$0] == nil }
            return keys.flatMap { key in
                switch (left[key], right[key]) {
                case (let mine?, let theirs?):
                    mine.differences(from: theirs, at: pointer.appending(key))
                case (let mine, let theirs): [(pointer.appending(key), mine, theirs)]
                }
            }
        case (.array(let left), .array(let right)) where left.count == right.count:
            return zip(left, right).enumerated().flatMap { index, pair in
                pair.0.differences(from: pair.1, at: pointer.appending(String(index)))
            }
        default:
            return self == other ? [] : [(pointer, self, other)]
        }
    }
}

extension JSONPointer: Codable {
    package init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let pointer = JSONPointer(text) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "not a JSON pointer")
            )
        }
        self = pointer
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
