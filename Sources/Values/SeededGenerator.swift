/// A generator of pseudorandom numbers (SplitMix64) that produces the same numbers for the same
/// seed on every machine.
package struct SeededGenerator: RandomNumberGenerator, Hashable, Codable, Sendable {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    /// Creates a generator for a seed and a string; different strings give unrelated numbers.
    package init(seed: UInt64, text: String) {
        state = text.utf8.reduce(seed ^ 0xcbf2_9ce4_8422_2325) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
        return value ^ value >> 31
    }
}
