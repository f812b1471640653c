/// The reason why bytes are not valid JSON, with the position of the error.
package struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Problem: Hashable, Sendable {
        case unexpectedEnd
        case unexpectedByte(UInt8, expected: String)
        case invalidUTF8
        case invalidNumber
        case invalidEscape
        case unpairedSurrogate
        case controlCharacter(UInt8)
        case duplicateKey(String)
        case tooDeep(depthMax: Int)
        case trailingBytes
    }

    package let problem: Problem
    /// The position of the error as a zero-based offset in bytes.
    package let offset: Int
    /// The line of the error, counted from 1; the column counts bytes from 1.
    package let line: Int
    package let column: Int

    package var description: String {
        "line \(line), column \(column): \(sentence)"
    }

    private var sentence: String {
        switch problem {
        case .unexpectedEnd: "the text ends inside a value"
        case .unexpectedByte(let byte, let expected):
            "found \(Self.byteName(byte)) where \(expected) is expected"
        case .invalidUTF8: "these bytes are not UTF-8"
        case .invalidNumber: "this is not a JSON number"
        case .invalidEscape: "this escape does not exist in JSON"
        case .unpairedSurrogate: "half of a surrogate pair is not a character"
        case .controlCharacter(let byte):
            "the control character \(Self.byteName(byte)) must be escaped in a string"
        case .duplicateKey(let key): "the key '\(key)' appears twice in one object"
        case .tooDeep(let depthMax): "nested deeper than \(depthMax) levels"
        case .trailingBytes: "more text follows the value"
        }
    }

    private static func byteName(_ byte: UInt8) -> String {
        guard byte > 0x20, byte < 0x7f else { return "byte 0x" + String(byte, radix: 16) }
        return "'\(Character(Unicode.Scalar(byte)))'"
    }
}
