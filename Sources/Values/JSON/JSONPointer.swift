/// The path of a value inside a JSON document, as RFC 6901 writes it: `/event/entitlement_ids/0`.
///
/// RFC 6901 allows only an index as the component for an element of an array. Here, an
/// `ElementSelection` such as `id=premium` is allowed too, as in `/entitlements/id=premium/active`.
package struct JSONPointer: Hashable, Sendable, CustomStringConvertible {
    package let tokens: [String]

    package init(tokens: [String] = []) {
        self.tokens = tokens
    }

    /// Parses a JSON pointer, which is empty or begins with a slash; returns nil for any other
    /// string.
    package init?(_ text: String) {
        guard !text.isEmpty else {
            tokens = []
            return
        }
        guard text.utf8.first == UInt8(ascii: "/") else { return nil }
        tokens = text.parts(between: "/").dropFirst().map(Self.unescaped)
    }

    package var description: String { tokens.map { "/" + Self.escaped($0) }.joined() }

    package static func == (left: JSONPointer, right: JSONPointer) -> Bool {
        left.tokens.elementsEqual(right.tokens) { $0.isExactly($1) }
    }

    package func hash(into hasher: inout Hasher) {
        for token in tokens { hasher.combine(ExactText(token)) }
    }

    package func appending(_ token: String) -> JSONPointer { JSONPointer(tokens: tokens + [token]) }

    /// The pointer to the object or array that contains the value; nil for the pointer to the whole
    /// document.
    package var parent: JSONPointer? {
        tokens.isEmpty ? nil : JSONPointer(tokens: Array(tokens.dropLast()))
    }

    /// Whether this pointer equals `other` or points to a value inside the value at `other`.
    package func isInside(_ other: JSONPointer) -> Bool {
        tokens.starts(with: other.tokens) { $0.isExactly($1) }
    }

    /// Whether the value of this pointer may contain the value of a path in which every element of
    /// an array is named by its index, or the reverse.
    package func mayOverlap(_ path: JSONPointer) -> Bool {
        zip(tokens, path.tokens).allSatisfy { component, token in
            component.isExactly(token)
                || ElementSelection(component) != nil && Int(token) != nil
        }
    }

    /// Escapes each `~` and `/` in a key, so that the key can be a part of a pointer.
    ///
    /// The function works on bytes, because a combining mark may follow one of these characters.
    private static func escaped(_ token: String) -> String {
        var bytes: [UInt8] = []
        for byte in token.utf8 {
            switch byte {
            case UInt8(ascii: "~"): bytes += "~0".utf8
            case UInt8(ascii: "/"): bytes += "~1".utf8
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Replaces `~0` by `~` and `~1` by `/` in a component of a pointer; a tilde before any other
    /// byte is kept.
    private static func unescaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            switch (byte, rest.first) {
            case (UInt8(ascii: "~"), UInt8(ascii: "0")?):
                bytes.append(byte)
                rest.removeFirst()
            case (UInt8(ascii: "~"), UInt8(ascii: "1")?):
                bytes.append(UInt8(ascii: "/"))
                rest.removeFirst()
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension JSONValue {
    /// The value at that path in this document; nil when the path does not exist.
    package subscript(pointer: JSONPointer) -> JSONValue? {
        var value = self
        for token in pointer.tokens {
            switch value {
            case .object(let object):
                guard let next = object[token] else { return nil }
                value = next
            case .array(let elements):
                guard let next = elements.element(namedBy: token) else { return nil }
                value = next
            case .null, .bool, .number, .string:
                return nil
            }
        }
        return value
    }

    /// Sets the value at that path, and creates missing objects along the path; nil removes the
    /// existing value.
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

    /// Returns every path at which this value and the other value differ, with the values of both
    /// at that path.
    ///
    /// A missing value is nil.
    package func differences(
        from other: JSONValue,
        at pointer: JSONPointer = JSONPointer()
    ) -> [(pointer: JSONPointer, left: JSONValue?, right: JSONValue?)] {
        switch (self, other) {
        case (.object(let left), .object(let right)):
            let keys = left.keys + right.keys.filter { left[$0] == nil }
            return keys.flatMap { key in
                switch (left[key], right[key]) {
                case (let ownValue?, let otherValue?):
                    ownValue.differences(from: otherValue, at: pointer.appending(key))
                case (let ownValue, let otherValue):
                    [(pointer.appending(key), ownValue, otherValue)]
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
