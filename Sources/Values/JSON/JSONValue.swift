/// A JSON value that keeps the spelling of its numbers and the order of its object members.
package enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case number(JSONNumber)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    /// Compares two JSON values; strings are compared by code points, and numbers by value.
    package static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.string(let left), .string(let right)): left.isExactly(right)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        case (.null, _), (.bool, _), (.number, _), (.string, _), (.array, _), (.object, _): false
        }
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        switch self {
        case .null: break
        case .bool(let flag): hasher.combine(flag)
        case .number(let number): hasher.combine(number)
        case .string(let text): hasher.combine(ExactText(text))
        case .array(let elements): hasher.combine(elements)
        case .object(let object): hasher.combine(object)
        }
    }

    package var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    package var bool: Bool? {
        if case .bool(let flag) = self { flag } else { nil }
    }

    package var int64: Int64? {
        if case .number(let number) = self { number.int64 } else { nil }
    }

    package var array: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    package var object: JSONObject? {
        if case .object(let members) = self { members } else { nil }
    }

    package var isNull: Bool { self == .null }

    /// The value of the member with that key; nil when this value is not an object or has no such
    /// member.
    package subscript(key: String) -> JSONValue? { object?[key] }

    /// The name of the value's type, as error messages print it.
    package var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    // The type is deliberately not `ExpressibleByNilLiteral`. Otherwise, `condition ? nil : value`
    // would silently mean JSON null where a missing member is meant.

    package init(stringLiteral value: String) { self = .string(value) }
    package init(integerLiteral value: Int64) { self = .number(JSONNumber(value)) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(JSONObject(members: elements.map { .init(key: $0.0, value: $0.1) }))
    }

    package static func integer(_ value: Int64) -> JSONValue { .number(JSONNumber(value)) }

    package static func strings(_ values: [String]) -> JSONValue {
        .array(values.map(JSONValue.string))
    }

    /// Every string inside the value, in order of appearance; keys are not included.
    package var strings: [String] {
        switch self {
        case .string(let text): [text]
        case .array(let elements): elements.flatMap(\.strings)
        case .object(let object): object.members.flatMap(\.value.strings)
        case .null, .bool, .number: []
        }
    }

    /// Returns a copy in which every key is renamed and every scalar (null, boolean, number,
    /// string) is replaced; arrays and objects keep their structure.
    ///
    /// - Parameters:
    ///   - rename: Returns the new name of a key.
    ///   - transform: Returns the replacement of a scalar.
    /// - Returns: The copy with the new keys and scalars.
    package func mapLeaves(
        keys rename: (String) -> String = { $0 },
        _ transform: (JSONValue) -> JSONValue
    ) -> JSONValue {
        switch self {
        case .array(let elements):
            return .array(elements.map { $0.mapLeaves(keys: rename, transform) })
        case .object(let object):
            return .object(
                JSONObject(
                    members: object.members.map {
                        .init(
                            key: rename($0.key),
                            value: $0.value.mapLeaves(keys: rename, transform)
                        )
                    }
                )
            )
        case .null, .bool, .number, .string:
            return transform(self)
        }
    }
}
