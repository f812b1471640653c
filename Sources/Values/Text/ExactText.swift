/// A string that equals another string only when all their code points are the same.
///
/// Swift's `==` treats two spellings of one letter as equal: `é`, and `e` with a combining mark.
/// They are different strings in JSON keys (RFC 8259, section 8.3), IDs and signed bodies, which
/// are compared code point by code point.
package struct ExactText: Hashable, Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func == (left: ExactText, right: ExactText) -> Bool {
        left.text.isExactly(right.text)
    }

    package func hash(into hasher: inout Hasher) {
        var copy = text
        copy.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // The byte 0xff ends each string, so that hashing "a" and then "b" differs from hashing
        // "ab".
        hasher.combine(UInt8(0xff))
    }
}

/// Encodes the text as a string, also as a key of a dictionary.
extension ExactText: Codable, CodingKeyRepresentable {
    private struct TextCodingKey: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    package var codingKey: any CodingKey { TextCodingKey(stringValue: text) }

    package init?(codingKey: some CodingKey) { self.init(codingKey.stringValue) }

    package init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(String.self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

extension String {
    /// Whether this string and `other` consist of the same code points.
    package func isExactly(_ other: String) -> Bool {
        let (ownBytes, otherBytes) = (utf8, other.utf8)
        guard ownBytes.count == otherBytes.count else { return false }
        let isSame: Bool?? = ownBytes.withContiguousStorageIfAvailable { ownBytes in
            otherBytes.withContiguousStorageIfAvailable { otherBytes in
                ownBytes.indices.allSatisfy { ownBytes[$0] == otherBytes[$0] }
            }
        }
        return (isSame ?? nil) ?? ownBytes.elementsEqual(otherBytes)
    }

    /// Returns this string with every occurrence of `text` replaced, compared code point by code
    /// point.
    ///
    /// The string stays unchanged when `text` is empty.
    package func replacingExactly(_ text: String, with replacement: String) -> String {
        let (bytes, needle) = (Array(utf8), Array(text.utf8))
        var result: [UInt8] = []
        var start = 0
        while let found = bytes.position(of: needle, from: start) {
            result += bytes[start..<found]
            result += replacement.utf8
            start = found + needle.count
        }
        return start == 0 ? self : String(decoding: result + bytes[start...], as: UTF8.self)
    }

    /// Whether this string comes before `other` in the order of code points.
    func sortsBefore(_ other: String) -> Bool {
        utf8.lexicographicallyPrecedes(other.utf8)
    }
}

extension StringProtocol where UTF8View.SubSequence == Substring.UTF8View {
    /// Splits the string at every occurrence of an ASCII separator and keeps empty parts.
    ///
    /// The standard library's `split` compares whole characters. It would miss a separator that is
    /// followed by a combining mark, and a line feed that follows a carriage return.
    package func parts(between separator: Unicode.Scalar, splitsMax: Int = .max) -> [String] {
        utf8.split(
            separator: UInt8(ascii: separator),
            maxSplits: splitsMax,
            omittingEmptySubsequences: false
        ).map { String(Substring($0)) }
    }

    /// Returns the strings before and after the first occurrence of the separator; nil when the
    /// string does not contain it.
    package func cut(at separator: Unicode.Scalar) -> (before: String, after: String)? {
        let parts = parts(between: separator, splitsMax: 1)
        return parts.count == 2 ? (parts[0], parts[1]) : nil
    }

    /// The lines of the string, without the line feed and the carriage return at the end of each
    /// line.
    package var exactLines: [String] {
        parts(between: "\n").map { line in
            line.utf8.last == 13 ? String(Substring(line.utf8.dropLast())) : line
        }
    }
}

extension [UInt8] {
    /// Returns the index of the first occurrence of the bytes `needle` at or after `start`.
    ///
    /// The result is nil when `needle` does not occur or is empty.
    package func position(of needle: [UInt8], from start: Int = 0) -> Int? {
        guard let first = needle.first, count - start >= needle.count else { return nil }
        return withUnsafeBufferPointer { bytes in
            needle.withUnsafeBufferPointer { needle in
                for position in start...(bytes.count - needle.count) where bytes[position] == first
                {
                    var index = 1
                    while index < needle.count, bytes[position + index] == needle[index] {
                        index += 1
                    }
                    if index == needle.count { return position }
                }
                return nil
            }
        }
    }

    /// Whether this array contains the UTF-8 bytes of the string.
    package func containsText(_ text: String) -> Bool { position(of: Array(text.utf8)) != nil }
}
