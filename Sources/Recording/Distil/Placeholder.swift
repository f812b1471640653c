internal import Conformance

/// A placeholder `‹kind:fingerprint›` that replaces a secret in a recording.
struct Placeholder: Hashable {
    let text: String
    let kind: String

    /// The beginning of the secret, such as `rk_live_`; nil when it is unknown.
    var prefix: String? {
        guard let dot = text.firstIndex(of: ".") else { return nil }
        let prefix = text[text.index(after: dot)...].dropLast()
        return prefix.isEmpty ? nil : String(prefix)
    }

    /// Whether all exchanges that contain this placeholder belong to the same user.
    ///
    /// That is false for signatures and for secrets of the whole session, which identify no user.
    var linksExchanges: Bool { !["secret", "signature", "key", "address"].contains(kind) }

    private static let opening = Array("‹".utf8)
    private static let closing = Array("›".utf8)

    static func all(in text: String) -> [Placeholder] {
        // Searches the bytes first, because almost no string contains a placeholder.
        guard text.utf8.contains(0xe2) else { return [] }
        let bytes = Array(text.utf8)
        var found: [Placeholder] = []
        var index = 0
        while let open = bytes.place(of: opening, from: index),
            let close = bytes.place(of: closing, from: open)
        {
            index = close + closing.count
            let inner = bytes[(open + opening.count)..<close]
            let words = inner.split(separator: UInt8(ascii: ":"))
            if words.count == 2 {
                found.append(
                    Placeholder(
                        text: String(decoding: bytes[open..<index], as: UTF8.self),
                        kind: String(decoding: words[0], as: UTF8.self)
                    )
                )
            }
        }
        return found
    }
}
