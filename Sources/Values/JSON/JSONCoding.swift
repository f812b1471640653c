/// Conversion of any codable value to JSON and back, without Foundation, for saving and loading
/// state.
///
/// Object members are sorted by name and set elements by their encoding, so that equal values
/// produce equal bytes. A `JSONValue` inside a codable value keeps its order of members and the
/// spelling of its numbers.
extension JSONValue {
    package init(encoding value: some Encodable) throws {
        let slot = EncodingSlot()
        try slot.encode(value)
        self = slot.value
    }

    /// Decodes a value from this JSON.
    ///
    /// - Throws: `DecodingError` with the path of the member that does not match the type.
    package func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        try SlotDecoder(value: self, codingPath: []).decode(type)
    }
}

extension JSONValue: Codable {
    package init(from decoder: any Decoder) throws {
        guard let decoder = decoder as? SlotDecoder else { throw JSONCodingError.unsupportedCoder }
        self = decoder.value
    }

    package func encode(to encoder: any Encoder) throws {
        guard let encoder = encoder as? SlotEncoder else { throw JSONCodingError.unsupportedCoder }
        encoder.slot.kind = .value(self)
    }
}

extension JSONObject: Codable {
    package init(from decoder: any Decoder) throws {
        guard let object = try JSONValue(from: decoder).object else {
            throw DecodingError.typeMismatch(
                JSONObject.self,
                .init(codingPath: decoder.codingPath, debugDescription: "not an object")
            )
        }
        self = object
    }

    package func encode(to encoder: any Encoder) throws {
        try JSONValue.object(self).encode(to: encoder)
    }
}

private enum JSONCodingError: Error {
    /// A `JSONValue` was used with another encoder or decoder than `JSONValue.init(encoding:)` and
    /// `decoded(as:)`.
    case unsupportedCoder
}

private struct PathKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = Int(stringValue)
    }

    init(intValue: Int) {
        stringValue = String(intValue)
        self.intValue = intValue
    }
}

// MARK: Encoding

/// Collections whose iteration order can differ between two equal values.
private protocol UnorderedCollection {
    static var slotsPerElement: Int { get }
}

extension Set: UnorderedCollection {
    fileprivate static var slotsPerElement: Int { 1 }
}

/// A dictionary whose keys are not strings is encoded as an array of alternating keys and values,
/// so that each entry has two slots.
extension Dictionary: UnorderedCollection {
    fileprivate static var slotsPerElement: Int { 2 }
}

/// A JSON value that an encoder fills in later.
///
/// The members of objects and the elements of arrays are slots too, so that they can be filled in
/// any order.
private final class EncodingSlot {
    enum Kind {
        case value(JSONValue)
        case object([(String, EncodingSlot)])
        case array([EncodingSlot])
    }

    var kind = Kind.value(.null)

    var value: JSONValue {
        switch kind {
        case .value(let value): value
        case .array(let slots): .array(slots.map(\.value))
        case .object(let members):
            .object(
                JSONObject(
                    members: members.map { .init(key: $0.0, value: $0.1.value) }
                        .sorted { $0.key.sortsBefore($1.key) }
                )
            )
        }
    }

    func encode(_ value: some Encodable) throws {
        switch value {
        case let text as String: kind = .value(.string(text))
        case let flag as Bool: kind = .value(.bool(flag))
        case let number as Double: kind = .value(.number(JSONNumber(number)))
        case let number as any FixedWidthInteger & Encodable:
            // Numbers beyond `Int64` do not occur in saved state, but they must not be truncated.
            kind = .value(Int64(exactly: number).map(JSONValue.integer) ?? .string("\(number)"))
        default:
            try value.encode(to: SlotEncoder(slot: self))
            if case .array(let slots) = kind, let value = value as? any UnorderedCollection {
                kind = .array(Self.sorted(slots, by: type(of: value).slotsPerElement))
            }
        }
    }

    /// Sorts the elements of a set or dictionary, whose order differs from run to run.
    ///
    /// Each element consists of `count` slots and is sorted by the JSON text of the first slot.
    private static func sorted(_ slots: [EncodingSlot], by count: Int) -> [EncodingSlot] {
        stride(from: 0, to: slots.count, by: count)
            .map { (key: slots[$0].value.text, slots: slots[$0..<min($0 + count, slots.count)]) }
            .sorted { $0.key.sortsBefore($1.key) }.flatMap(\.slots)
    }

    func appendMember(_ name: String) -> EncodingSlot {
        let slot = EncodingSlot()
        if case .object(var members) = kind {
            members.append((name, slot))
            kind = .object(members)
        }
        return slot
    }

    func appendElement() -> EncodingSlot {
        let slot = EncodingSlot()
        if case .array(var slots) = kind {
            slots.append(slot)
            kind = .array(slots)
        }
        return slot
    }
}

private struct SlotEncoder: Encoder {
    let slot: EncodingSlot
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        if case .object = slot.kind {} else { slot.kind = .object([]) }
        return KeyedEncodingContainer(KeyedSlotEncodingContainer<Key>(slot: slot))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        if case .array = slot.kind {} else { slot.kind = .array([]) }
        return UnkeyedSlotEncodingContainer(slot: slot)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        SingleValueSlotEncodingContainer(slot: slot)
    }
}

private struct KeyedSlotEncodingContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let slot: EncodingSlot
    var codingPath: [any CodingKey] { [] }

    mutating func encodeNil(forKey key: Key) throws { _ = slot.appendMember(key.stringValue) }

    mutating func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        try slot.appendMember(key.stringValue).encode(value)
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        SlotEncoder(slot: slot.appendMember(key.stringValue)).container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        SlotEncoder(slot: slot.appendMember(key.stringValue)).unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder { SlotEncoder(slot: slot.appendMember("super")) }

    mutating func superEncoder(forKey key: Key) -> any Encoder {
        SlotEncoder(slot: slot.appendMember(key.stringValue))
    }
}

private struct UnkeyedSlotEncodingContainer: UnkeyedEncodingContainer {
    let slot: EncodingSlot
    var codingPath: [any CodingKey] { [] }
    var count: Int { if case .array(let slots) = slot.kind { slots.count } else { 0 } }

    mutating func encodeNil() throws { _ = slot.appendElement() }

    mutating func encode<Value: Encodable>(_ value: Value) throws {
        try slot.appendElement().encode(value)
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) -> KeyedEncodingContainer<Nested> {
        SlotEncoder(slot: slot.appendElement()).container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        SlotEncoder(slot: slot.appendElement()).unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder { SlotEncoder(slot: slot.appendElement()) }
}

private struct SingleValueSlotEncodingContainer: SingleValueEncodingContainer {
    let slot: EncodingSlot
    var codingPath: [any CodingKey] { [] }

    mutating func encodeNil() throws { slot.kind = .value(.null) }
    mutating func encode<Value: Encodable>(_ value: Value) throws { try slot.encode(value) }
}

// MARK: Decoding

private struct SlotDecoder: Decoder {
    let value: JSONValue
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let decodedValue: Any? =
            switch type {
            case is String.Type: value.string
            case is Bool.Type: value.bool
            case is Double.Type: Self.number(value)
            case let integer as any FixedWidthInteger.Type: Self.integer(value, integer)
            default: try type.init(from: self)
            }
        guard let decodedValue = decodedValue as? Value else {
            throw DecodingError.typeMismatch(
                type,
                .init(codingPath: codingPath, debugDescription: "found \(value.kind)")
            )
        }
        return decodedValue
    }

    private static func number(_ value: JSONValue) -> Double? {
        if case .number(let number) = value { number.double } else { nil }
    }

    private static func integer<Number: FixedWidthInteger>(
        _ value: JSONValue,
        _ type: Number.Type
    ) -> Number? {
        value.int64.flatMap { Number(exactly: $0) } ?? value.string.flatMap { Number($0) }
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard let object = value.object else { throw typeMismatchError("an object") }
        return KeyedDecodingContainer(
            ObjectDecodingContainer<Key>(object: object, codingPath: codingPath)
        )
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard let elements = value.array else { throw typeMismatchError("an array") }
        return ArrayDecodingContainer(elements: elements, codingPath: codingPath)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer {
        SlotSingleValueDecodingContainer(decoder: self)
    }

    private func typeMismatchError(_ expectedType: String) -> DecodingError {
        DecodingError.typeMismatch(
            JSONValue.self,
            .init(codingPath: codingPath, debugDescription: "\(expectedType) expected")
        )
    }
}

private struct ObjectDecodingContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let object: JSONObject
    let codingPath: [any CodingKey]

    var allKeys: [Key] { object.keys.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { object[key.stringValue] != nil }

    func decodeNil(forKey key: Key) throws -> Bool { object[key.stringValue]?.isNull ?? true }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try decoder(key).decode(type)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try decoder(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoder(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder {
        SlotDecoder(value: .object(object), codingPath: codingPath)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }

    private func decoder(_ key: Key) throws -> SlotDecoder {
        guard let value = object[key.stringValue] else {
            throw DecodingError.keyNotFound(
                key,
                .init(codingPath: codingPath, debugDescription: "'\(key.stringValue)' is missing")
            )
        }
        return SlotDecoder(value: value, codingPath: codingPath + [key])
    }
}

private struct ArrayDecodingContainer: UnkeyedDecodingContainer {
    let elements: [JSONValue]
    let codingPath: [any CodingKey]
    var currentIndex = 0

    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    mutating func decodeNil() throws -> Bool {
        guard !isAtEnd, elements[currentIndex].isNull else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try nextElementDecoder().decode(type)
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> {
        try nextElementDecoder().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try nextElementDecoder().unkeyedContainer()
    }

    mutating func superDecoder() throws -> any Decoder { try nextElementDecoder() }

    private mutating func nextElementDecoder() throws -> SlotDecoder {
        let path = codingPath + [PathKey(intValue: currentIndex)]
        guard !isAtEnd else {
            throw DecodingError.valueNotFound(
                JSONValue.self,
                .init(codingPath: path, debugDescription: "the array ends here")
            )
        }
        defer { currentIndex += 1 }
        return SlotDecoder(value: elements[currentIndex], codingPath: path)
    }
}

private struct SlotSingleValueDecodingContainer: SingleValueDecodingContainer {
    let decoder: SlotDecoder
    var codingPath: [any CodingKey] { decoder.codingPath }

    func decodeNil() -> Bool { decoder.value.isNull }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try decoder.decode(type) }
}
