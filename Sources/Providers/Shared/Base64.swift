/// Base64 encoding and decoding for tokens and keys, without Foundation.
package enum Base64 {
    private static let standardAlphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8
    )
    private static let urlSafeAlphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8
    )

    /// Encodes bytes with the URL-safe alphabet and without padding, as JSON web tokens require
    /// (RFC 7515, section 2).
    package static func url(_ bytes: some Collection<UInt8>) -> String {
        encode(bytes, urlSafeAlphabet, isPadded: false)
    }

    package static func text(_ bytes: some Collection<UInt8>) -> String {
        encode(bytes, standardAlphabet, isPadded: true)
    }

    private static func encode(
        _ bytes: some Collection<UInt8>,
        _ alphabet: [UInt8],
        isPadded: Bool
    ) -> String {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count * 4 / 3 + 4)
        var bitBuffer: UInt32 = 0
        var bufferedBitCount = 0
        for byte in bytes {
            bitBuffer = bitBuffer << 8 | UInt32(byte)
            bufferedBitCount += 8
            while bufferedBitCount >= 6 {
                bufferedBitCount -= 6
                output.append(alphabet[Int(bitBuffer >> UInt32(bufferedBitCount) & 63)])
            }
        }
        if bufferedBitCount > 0 {
            output.append(alphabet[Int(bitBuffer << UInt32(6 - bufferedBitCount) & 63)])
        }
        while isPadded, output.count % 4 != 0 { output.append(UInt8(ascii: "=")) }
        return String(decoding: output, as: UTF8.self)
    }

    /// Decodes Base64 in the standard or the URL-safe alphabet, with or without padding.
    ///
    /// Returns nil when a character belongs to neither alphabet.
    package static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        var output: [UInt8] = []
        var bitBuffer: UInt32 = 0
        var bufferedBitCount = 0
        var count = 0
        for byte in text.utf8 where byte != UInt8(ascii: "=") {
            let sixBitValue: UInt8
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): sixBitValue = byte - 65
            case UInt8(ascii: "a")...UInt8(ascii: "z"): sixBitValue = byte - 71
            case UInt8(ascii: "0")...UInt8(ascii: "9"): sixBitValue = byte + 4
            case UInt8(ascii: "+"), UInt8(ascii: "-"): sixBitValue = 62
            case UInt8(ascii: "/"), UInt8(ascii: "_"): sixBitValue = 63
            default: return nil
            }
            bitBuffer = bitBuffer << 6 | UInt32(sixBitValue)
            bufferedBitCount += 6
            count += 1
            if bufferedBitCount >= 8 {
                bufferedBitCount -= 8
                output.append(UInt8(truncatingIfNeeded: bitBuffer >> UInt32(bufferedBitCount)))
            }
        }
        return count % 4 == 1 ? nil : output
    }
}
