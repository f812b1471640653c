extension JSONValue {
    /// The options of the JSON parser: the maximum nesting depth, and whether duplicate keys are
    /// accepted.
    package struct ParseOptions: Hashable, Sendable {
        package enum DuplicateKeys: Hashable, Sendable {
            case reject, keep
            /// The object contains each key once, with the value of its last member.
            case keepLast
        }

        package let depthMax: Int
        package let duplicateKeys: DuplicateKeys

        package init(depthMax: Int = 256, duplicateKeys: DuplicateKeys = .reject) {
            self.depthMax = depthMax
            self.duplicateKeys = duplicateKeys
        }
    }

    package init(
        parsing bytes: [UInt8],
        options: ParseOptions = ParseOptions()
    ) throws(JSONError) {
        try self.init(parsing: bytes[...], options: options)
    }

    package init(
        parsing bytes: ArraySlice<UInt8>,
        options: ParseOptions = ParseOptions()
    ) throws(JSONError) {
        let result = bytes.withUnsafeBufferPointer { bytes -> Result<JSONValue, JSONError> in
            var parser = JSONParser(bytes: bytes, options: options)
            do throws(JSONError) {
                return .success(try parser.parseDocument())
            } catch {
                return .failure(error)
            }
        }
        self = try result.get()
    }

    package init(parsing text: String) throws(JSONError) {
        try self.init(parsing: Array(text.utf8))
    }

    /// Parses a document of another program, for which text that is not JSON is an ordinary case;
    /// nil for such text.
    package init?(ifValid bytes: [UInt8], options: ParseOptions = ParseOptions()) {
        guard let value = try? JSONValue(parsing: bytes, options: options) else { return nil }
        self = value
    }

    package init?(ifValid bytes: ArraySlice<UInt8>, options: ParseOptions = ParseOptions()) {
        guard let value = try? JSONValue(parsing: bytes, options: options) else { return nil }
        self = value
    }

    package init?(ifValid text: String) { self.init(ifValid: Array(text.utf8)) }
}

/// A recursive-descent parser for JSON in UTF-8 bytes.
///
/// The nesting depth is limited, so that hostile input cannot exhaust the stack.
private struct JSONParser {
    /// The number of members from which on an object's keys are looked up in a dictionary instead
    /// of one by one.
    private static let linearSearchKeyCountMax = 16

    let bytes: UnsafeBufferPointer<UInt8>
    let options: JSONValue.ParseOptions
    var index = 0

    mutating func parseDocument() throws(JSONError) -> JSONValue {
        let value = try parseValue(depth: 0)
        skipWhitespace()
        guard index == bytes.count else { throw failure(.trailingBytes) }
        return value
    }

    private mutating func parseValue(depth: Int) throws(JSONError) -> JSONValue {
        skipWhitespace()
        guard index < bytes.count else { throw failure(.unexpectedEnd) }
        guard depth <= options.depthMax else {
            throw failure(.tooDeep(depthMax: options.depthMax))
        }
        switch bytes[index] {
        case UInt8(ascii: "{"): return try parseObject(depth: depth)
        case UInt8(ascii: "["): return try parseArray(depth: depth)
        case UInt8(ascii: "\""): return .string(try parseString())
        case UInt8(ascii: "t"): return try parseKeyword("true", .bool(true))
        case UInt8(ascii: "f"): return try parseKeyword("false", .bool(false))
        case UInt8(ascii: "n"): return try parseKeyword("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            return .number(try parseNumber())
        case let byte: throw failure(.unexpectedByte(byte, expected: "a value"))
        }
    }

    private mutating func parseObject(depth: Int) throws(JSONError) -> JSONValue {
        index += 1
        var members: [JSONObject.Member] = []
        var indices: [ExactText: Int] = [:]
        skipWhitespace()
        if consumeIfPresent(UInt8(ascii: "}")) { return .object(JSONObject()) }
        while true {
            skipWhitespace()
            let keyStart = index
            guard index < bytes.count else { throw failure(.unexpectedEnd) }
            guard bytes[index] == UInt8(ascii: "\"") else {
                throw failure(.unexpectedByte(bytes[index], expected: "a key in quotes"))
            }
            let key = try parseString()
            let earlierIndex =
                options.duplicateKeys == .keep ? nil : firstIndex(of: key, members, &indices)
            if earlierIndex != nil, options.duplicateKeys == .reject {
                throw failure(.duplicateKey(key), at: keyStart)
            }
            skipWhitespace()
            try require(UInt8(ascii: ":"), "':'")
            let value = try parseValue(depth: depth + 1)
            if let earlierIndex {
                members[earlierIndex].value = value
            } else {
                members.append(.init(key: key, value: value))
            }
            skipWhitespace()
            if consumeIfPresent(UInt8(ascii: "}")) { return .object(JSONObject(members: members)) }
            try require(UInt8(ascii: ","), "',' or '}'")
        }
    }

    /// Returns the index of the member with that key in the object that is being parsed; nil when
    /// the object has no such member.
    ///
    /// With few members, which is the usual case, the keys are compared one by one, because this is
    /// fastest. With more, `indices` is used, and a new key is added to it as the key of the next
    /// member.
    private func firstIndex(
        of key: String,
        _ members: [JSONObject.Member],
        _ indices: inout [ExactText: Int]
    ) -> Int? {
        if members.count < Self.linearSearchKeyCountMax {
            return members.firstIndex { $0.key.isExactly(key) }
        }
        if indices.isEmpty {
            for (index, member) in members.enumerated() { indices[ExactText(member.key)] = index }
        }
        let index = indices[ExactText(key)]
        if index == nil { indices[ExactText(key)] = members.count }
        return index
    }

    private mutating func parseArray(depth: Int) throws(JSONError) -> JSONValue {
        index += 1
        var elements: [JSONValue] = []
        skipWhitespace()
        if consumeIfPresent(UInt8(ascii: "]")) { return .array([]) }
        while true {
            elements.append(try parseValue(depth: depth + 1))
            skipWhitespace()
            if consumeIfPresent(UInt8(ascii: "]")) { return .array(elements) }
            try require(UInt8(ascii: ","), "',' or ']'")
        }
    }

    private mutating func parseKeyword(
        _ word: StaticString,
        _ value: JSONValue
    ) throws(JSONError) -> JSONValue {
        for position in 0..<word.utf8CodeUnitCount {
            guard index < bytes.count else { throw failure(.unexpectedEnd) }
            guard bytes[index] == word.utf8Start[position] else {
                throw failure(.unexpectedByte(bytes[index], expected: "'\(word)'"))
            }
            index += 1
        }
        return value
    }

    private mutating func parseNumber() throws(JSONError) -> JSONNumber {
        let start = index
        _ = consumeIfPresent(UInt8(ascii: "-"))
        guard let first = peek, isDigit(first) else { throw failure(.invalidNumber, at: start) }
        if first == UInt8(ascii: "0") {
            index += 1
            if let next = peek, isDigit(next) { throw failure(.invalidNumber, at: start) }
        } else {
            skipDigits()
        }
        if consumeIfPresent(UInt8(ascii: ".")) { try requireDigits(start) }
        if let next = peek, next | 0x20 == UInt8(ascii: "e") {
            index += 1
            if !consumeIfPresent(UInt8(ascii: "+")) { _ = consumeIfPresent(UInt8(ascii: "-")) }
            try requireDigits(start)
        }
        let text = UnsafeBufferPointer(rebasing: bytes[start..<index])
        return JSONNumber(checked: String(decoding: text, as: UTF8.self))
    }

    private mutating func requireDigits(_ start: Int) throws(JSONError) {
        guard let byte = peek, isDigit(byte) else { throw failure(.invalidNumber, at: start) }
        skipDigits()
    }

    private mutating func parseString() throws(JSONError) -> String {
        let start = index
        index += 1
        // Most strings contain no escape and are copied as they are.
        var bitwiseOrOfBytes: UInt8 = 0
        while index < bytes.count, bytes[index] >= 0x20, bytes[index] != UInt8(ascii: "\\") {
            guard bytes[index] == UInt8(ascii: "\"") else {
                bitwiseOrOfBytes |= bytes[index]
                index += 1
                continue
            }
            let text = UnsafeBufferPointer(rebasing: bytes[(start + 1)..<index])
            index += 1
            let string = String(decoding: text, as: UTF8.self)
            // A difference shows that the bytes were not valid UTF-8, because the decoder replaced
            // the invalid bytes.
            guard bitwiseOrOfBytes < 0x80 || string.utf8.elementsEqual(text) else {
                throw failure(.invalidUTF8, at: invalidUTF8Offset(from: start + 1))
            }
            return string
        }
        var text = Array(bytes[(start + 1)..<index])
        while true {
            guard index < bytes.count else { throw failure(.unexpectedEnd) }
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: "\""):
                index += 1
                guard let string = String(validating: text, as: UTF8.self) else {
                    throw failure(.invalidUTF8, at: invalidUTF8Offset(from: start + 1))
                }
                return string
            case UInt8(ascii: "\\"):
                index += 1
                text.append(contentsOf: String(try parseEscape()).utf8)
            case 0..<0x20:
                throw failure(.controlCharacter(byte))
            default:
                text.append(byte)
                index += 1
            }
        }
    }

    private mutating func parseEscape() throws(JSONError) -> Unicode.Scalar {
        guard let byte = peek else { throw failure(.unexpectedEnd) }
        index += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{c}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            let start = index - 2
            let first = try parseHexQuad()
            if let scalar = Unicode.Scalar(first) { return scalar }
            guard first < 0xdc00, consumeIfPresent(UInt8(ascii: "\\")),
                consumeIfPresent(UInt8(ascii: "u"))
            else {
                throw failure(.unpairedSurrogate, at: start)
            }
            let lowSurrogate = try parseHexQuad()
            guard (0xdc00...0xdfff).contains(lowSurrogate),
                let scalar = Unicode.Scalar(
                    0x10000 + (UInt32(first - 0xd800) << 10) + UInt32(lowSurrogate - 0xdc00)
                )
            else { throw failure(.unpairedSurrogate, at: start) }
            return scalar
        default: throw failure(.invalidEscape, at: index - 1)
        }
    }

    private mutating func parseHexQuad() throws(JSONError) -> UInt16 {
        guard index + 4 <= bytes.count else { throw failure(.unexpectedEnd, at: bytes.count) }
        var value: UInt16 = 0
        for _ in 0..<4 {
            let character = Character(Unicode.Scalar(bytes[index]))
            guard character.isASCII, let digit = character.hexDigitValue else {
                throw failure(.invalidEscape)
            }
            value = value << 4 | UInt16(digit)
            index += 1
        }
        return value
    }

    private var peek: UInt8? { index < bytes.count ? bytes[index] : nil }

    private func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private mutating func skipDigits() {
        while let byte = peek, isDigit(byte) { index += 1 }
    }

    private mutating func skipWhitespace() {
        while let byte = peek, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 {
            index += 1
        }
    }

    private mutating func consumeIfPresent(_ byte: UInt8) -> Bool {
        guard peek == byte else { return false }
        index += 1
        return true
    }

    private mutating func require(_ byte: UInt8, _ expected: String) throws(JSONError) {
        guard let nextByte = peek else { throw failure(.unexpectedEnd) }
        guard nextByte == byte else { throw failure(.unexpectedByte(nextByte, expected: expected)) }
        index += 1
    }

    /// Returns the offset of the first byte at or after `start` that does not begin a valid UTF-8
    /// character.
    private func invalidUTF8Offset(from start: Int) -> Int {
        var offset = start
        while offset < index {
            let length = (1...4).first { length in
                offset + length <= index
                    && String(validating: bytes[offset..<(offset + length)], as: UTF8.self) != nil
            }
            guard let length else { break }
            offset += length
        }
        return offset
    }

    private func failure(_ problem: JSONError.Problem, at offset: Int? = nil) -> JSONError {
        let offset = min(offset ?? index, bytes.count)
        var line = 1
        var lineStart = 0
        for position in 0..<offset where bytes[position] == 0x0a {
            line += 1
            lineStart = position + 1
        }
        return JSONError(
            problem: problem,
            offset: offset,
            line: line,
            column: offset - lineStart + 1
        )
    }
}
