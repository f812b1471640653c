/// `‹kind:fingerprint›`, as the redactor writes it.
struct Placeholder: Hashable {
    let text: String
    let kind: String

    /// Secrets of the whole session tie nobody to anybody; neither do signatures.
    var ties: Bool { !["secret", "signature", "key", "address"].contains(kind) }

    static func all(in text: String) -> [Placeholder] {
        // Looked for as bytes: almost no text has one.
        guard text.utf8.contains(0xe2), text.contains("‹") else { return [] }
        var found: [Placeholder] = []
        var rest = text[...]
        while let open = rest.firstIndex(of: "‹"), let close = rest[open...].firstIndex(of: "›") {
            let whole = rest[open...close]
            let words = whole.dropFirst().dropLast().split(separator: ":")
            if words.count == 2 {
                found.append(Placeholder(text: String(whole), kind: String(words[0])))
            }
            rest = rest[rest.index(after: close)...]
        }
        return found
    }
}
