/// The format of the IDs in OneSignal's API: UUIDs of 32 hexadecimal digits in five groups.
enum UUIDFormat {
    static func matches(_ text: String) -> Bool {
        var position = 0
        for byte in text.utf8 {
            switch (position, byte) {
            case (8, UInt8(ascii: "-")), (13, UInt8(ascii: "-")), (18, UInt8(ascii: "-")),
                (23, UInt8(ascii: "-")):
                break
            case (8, _), (13, _), (18, _), (23, _): return false
            case (_, UInt8(ascii: "0")...UInt8(ascii: "9")),
                (_, UInt8(ascii: "a")...UInt8(ascii: "f")),
                (_, UInt8(ascii: "A")...UInt8(ascii: "F")):
                break
            default: return false
            }
            position += 1
        }
        return position == 36
    }

    /// Derives an ID in the format of a UUID from a string, always the same ID for the same string.
    static func derivedID(from text: String) -> String {
        let digestDigits = Array(Digest.sha256(Array(text.utf8)).dropFirst(7).prefix(32))
        let hexDigits = digestDigits.enumerated().map { index, digit in
            index == 12 ? "5" : index == 16 ? "8" : digit
        }
        let ranges = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32]
        return ranges.map { String(hexDigits[$0]) }.joined(separator: "-")
    }
}
