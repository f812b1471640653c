internal import Values

/// A placeholder `‹kind:fingerprint›` that replaces a secret in a recording.
struct Placeholder: Hashable {
    let text: String
    let kind: String

    /// The beginning of the secret, such as `rk_live_`; nil when it is unknown.
    var prefix: String? {
        guard let dotIndex = text.firstIndex(of: ".") else { return nil }
        let prefix = text[text.index(after: dotIndex)...].dropLast()
        return prefix.isEmpty ? nil : String(prefix)
    }

    /// Whether all exchanges that contain this placeholder belong to the same user.
    ///
    /// This is false for signatures, keys, IP addresses and other secrets that do not identify a
    /// user.
    var linksExchanges: Bool { !["secret", "signature", "key", "address"].contains(kind) }

    private static let openingMark = Array("‹".utf8)
    private static let closingMark = Array("›".utf8)

    static func all(in text: String) -> [Placeholder] {
        // Searches the bytes first, because almost no string contains a placeholder.
        guard text.utf8.contains(0xe2) else { return [] }
        let bytes = Array(text.utf8)
        var placeholders: [Placeholder] = []
        var index = 0
        while let openingIndex = bytes.position(of: openingMark, from: index),
            let closingIndex = bytes.position(of: closingMark, from: openingIndex)
        {
            index = closingIndex + closingMark.count
            let innerBytes = bytes[(openingIndex + openingMark.count)..<closingIndex]
            let kindAndFingerprint = innerBytes.split(separator: UInt8(ascii: ":"))
            if kindAndFingerprint.count == 2 {
                placeholders.append(
                    Placeholder(
                        text: String(decoding: bytes[openingIndex..<index], as: UTF8.self),
                        kind: String(decoding: kindAndFingerprint[0], as: UTF8.self)
                    )
                )
            }
        }
        return placeholders
    }
}
