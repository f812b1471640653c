internal import Values

/// A seeded generator of the IDs that a fake issues.
///
/// Two runs with the same seed get exactly the same IDs.
package struct IDSource: Hashable, Codable, Sendable {
    private var generator: SeededGenerator

    package init(seed: UInt64, text: String) {
        generator = SeededGenerator(seed: seed, text: text)
    }

    package mutating func hex(_ count: Int) -> String {
        drawString(count, from: "0123456789abcdef")
    }

    package mutating func digits(_ count: Int) -> String { drawString(count, from: "0123456789") }

    package mutating func alphanumerics(_ count: Int) -> String {
        drawString(count, from: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
    }

    /// Returns the next version 4 UUID of this generator, in lower case.
    package mutating func uuid() -> String {
        let digits = Array("0123456789abcdef".utf8)
        var randomWords = [generator.next(), generator.next()]
        return String(unsafeUninitializedCapacity: 36) { buffer in
            var nibbleIndex = 0
            for position in 0..<36 {
                if position == 8 || position == 13 || position == 18 || position == 23 {
                    buffer[position] = UInt8(ascii: "-")
                    continue
                }
                let wordIndex = nibbleIndex < 16 ? 0 : 1
                var digit = digits[Int(randomWords[wordIndex] & 15)]
                randomWords[wordIndex] >>= 4
                if position == 14 { digit = UInt8(ascii: "4") }
                if position == 19 { digit = UInt8(ascii: "a") }
                buffer[position] = digit
                nibbleIndex += 1
            }
            return 36
        }
    }

    package mutating func drawString(_ count: Int, from alphabet: String) -> String {
        let alphanumerics = Array(alphabet.utf8)
        let bytes = (0..<count).map { _ in
            alphanumerics[Int.random(in: 0..<alphanumerics.count, using: &generator)]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
