/// An implementation of Base32 (RFC 4648, section 6), the encoding in which users type secrets into
/// apps.
enum Base32 {
    static let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

    /// Decodes a Base32 string; nil when a character is not in the alphabet.
    static func bytes(_ text: String) -> [UInt8]? {
        let alphabetBytes = Array(alphabet.utf8)
        var bytes: [UInt8] = []
        var (bitBuffer, bufferedBitCount): (UInt32, UInt32) = (0, 0)
        for byte in text.utf8 where byte != UInt8(ascii: "=") {
            guard let value = alphabetBytes.firstIndex(of: byte) else { return nil }
            bitBuffer = bitBuffer << 5 | UInt32(value)
            bufferedBitCount += 5
            guard bufferedBitCount >= 8 else { continue }
            bufferedBitCount -= 8
            bytes.append(UInt8(bitBuffer >> bufferedBitCount & 0xff))
        }
        return bytes
    }
}
