/// The marks that replace secrets: `‹kind:fingerprint›` or `‹kind fingerprint›`.
package enum SecretMark {
    static let openingBytes: [UInt8] = Array("‹".utf8)
    static let closingBytes: [UInt8] = Array("›".utf8)
    /// The maximum length of a mark in bytes; a longer text between `‹` and `›` is not a mark.
    private static let byteCountMax = 80

    /// Whether the whole string is the mark of a secret.
    package static func isMark(_ text: String) -> Bool {
        guard text.hasPrefix("‹") else { return false }
        let bytes = Array(text.utf8)
        return end(in: bytes, at: 0) == bytes.count
    }

    /// Returns the end of a mark that begins at `start`; nil when no mark begins there.
    static func end(in bytes: [UInt8], at start: Int) -> Int? {
        guard bytes[start] == openingBytes[0], bytes[start...].starts(with: openingBytes) else {
            return nil
        }
        let limit = min(bytes.count, start + byteCountMax)
        var index = start + openingBytes.count
        let kindStart = index
        while index < limit, (97...122).contains(bytes[index]) { index += 1 }
        guard SecretNames.kinds.contains(String(decoding: bytes[kindStart..<index], as: UTF8.self))
        else { return nil }
        if index < limit, bytes[index] == UInt8(ascii: ":") || bytes[index] == UInt8(ascii: " ") {
            index += 1
            while index < limit, isFingerprintByte(bytes[index]) { index += 1 }
        }
        guard index < bytes.count, bytes[index...].starts(with: closingBytes) else { return nil }
        return index + closingBytes.count
    }

    /// Returns a secret's name with only the characters that a mark can contain.
    static func name(_ name: String) -> String {
        let bytes = name.utf8.map { isFingerprintByte($0) ? $0 : UInt8(ascii: "-") }
        return String(decoding: bytes.prefix(40), as: UTF8.self)
    }

    /// Whether the byte can be part of a mark's fingerprint or of the name of a declared secret in
    /// a mark.
    private static func isFingerprintByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 48...57, 65...90, 97...122, UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}
