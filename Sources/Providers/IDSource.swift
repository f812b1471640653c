internal import Conformance

/// Where a fake draws its ids from: a seeded stream, so that a run can be repeated to the letter.
package struct IDSource: Hashable, Codable, Sendable {
    private var generator: SeededGenerator

    package init(seed: UInt64, text: String) {
        generator = SeededGenerator(seed: seed, text: text)
    }

    package mutating func hex(_ count: Int) -> String { draw(count, from: "0123456789abcdef") }

    package mutating func digits(_ count: Int) -> String { draw(count, from: "0123456789") }

    package mutating func letters(_ count: Int) -> String {
        draw(count, from: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
    }

    /// A version 4 UUID in lower case.
    package mutating func uuid() -> String {
        var bytes = Array(hex(32).utf8)
        bytes[12] = UInt8(ascii: "4")
        bytes[16] = UInt8(ascii: "a")
        for position in [20, 16, 12, 8] { bytes.insert(UInt8(ascii: "-"), at: position) }
        return String(decoding: bytes, as: UTF8.self)
    }

    package mutating func draw(_ count: Int, from alphabet: String) -> String {
        let letters = Array(alphabet.utf8)
        let bytes = (0..<count).map { _ in
            letters[Int.random(in: 0..<letters.count, using: &generator)]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
