/// A text as it came over the wire: the same as another when every code point is the same.
///
/// Swift's own `==` takes two spellings of one letter, `é` and `e` with a mark, for one text. On the
/// wire they are two: keys of JSON are compared code point by code point (RFC 8259, section 8.3), and
/// so are ids and signed bodies.
package struct ExactText: Hashable, Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func == (left: ExactText, right: ExactText) -> Bool {
        left.text.isExactly(right.text)
    }

    package func hash(into hasher: inout Hasher) {
        var copy = text
        copy.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // An end, so that "a", "b" is another hash than "ab".
        hasher.combine(UInt8(0xff))
    }
}

extension String {
    /// Whether both are the same code points.
    package func isExactly(_ other: String) -> Bool {
        let (mine, theirs) = (utf8, other.utf8)
        guard mine.count == theirs.count else { return false }
        let isSame: Bool?? = mine.withContiguousStorageIfAvailable { mine in
            theirs.withContiguousStorageIfAvailable { theirs in
                mine.indices.allSatisfy { mine[$0] == theirs[$0] }
            }
        }
        return (isSame ?? nil) ?? mine.elementsEqual(theirs)
    }

    /// Whether it stands before the other in the order of code points.
    func isExactlyBefore(_ other: String) -> Bool {
        utf8.lexicographicallyPrecedes(other.utf8)
    }
}

extension StringProtocol where UTF8View.SubSequence == Substring.UTF8View {
    /// What stands between signs of ASCII, the empty parts too.
    ///
    /// `split` of the library looks for whole letters: a sign that is followed by a combining mark,
    /// or a line feed that follows a carriage return, would be none.
    package func parts(between sign: Unicode.Scalar, splitsMax: Int = .max) -> [String] {
        utf8.split(
            separator: UInt8(ascii: sign),
            maxSplits: splitsMax,
            omittingEmptySubsequences: false
        ).map { String(Substring($0)) }
    }

    /// What stands before the first such sign and behind it; nil without one.
    package func cut(at sign: Unicode.Scalar) -> (before: String, after: String)? {
        let parts = parts(between: sign, splitsMax: 1)
        return parts.count == 2 ? (parts[0], parts[1]) : nil
    }

    /// Its lines, without the line feed and the carriage return at their ends.
    package var exactLines: [String] {
        parts(between: "\n").map { line in
            line.utf8.last == 13 ? String(Substring(line.utf8.dropLast())) : line
        }
    }
}

extension [UInt8] {
    /// Where bytes first stand in these, from a place on; nil when they do not, or are none.
    package func place(of needle: [UInt8], from start: Int = 0) -> Int? {
        guard let first = needle.first, count - start >= needle.count else { return nil }
        return withUnsafeBufferPointer { bytes in
            needle.withUnsafeBufferPointer { needle in
                for place in start...(bytes.count - needle.count) where bytes[place] == first {
                    var index = 1
                    while index < needle.count, bytes[place + index] == needle[index] {
                        index += 1
                    }
                    if index == needle.count { return place }
                }
                return nil
            }
        }
    }

    /// Whether the text stands in these bytes, as bytes.
    package func holds(_ text: String) -> Bool { place(of: Array(text.utf8)) != nil }
}
