/// Secrets that are known by their looks, whatever name stands beside them.
package enum SecretLooks {
    /// Beginnings of keys that providers hand out, and of the webhook secrets they make.
    private static let prefixes = [
        "sk_", "appl_", "goog_", "os_v2_", "AIza", "whsec_", "rcb_", "strp_", "amzn_", "ya29.",
        "ghp_", "github_pat_", "xoxb-", "xoxp-", "AKIA",
    ].map { Array($0.utf8) }

    /// A key has at least this many characters; a shorter word merely begins like one.
    private static let keyLengthMin = 12
    /// A web token, or one part of it; a shorter word merely begins like one.
    private static let tokenLengthMin = 24

    /// How words begin that are worth a look; each ends in a byte that `isWorthALook` stops at.
    private static let beginnings: [[UInt8]] =
        prefixes
        + ["eyJ", "bearer ", "Bearer ", "BEARER ", "basic ", "Basic ", "-----BEGIN "].map {
            Array($0.utf8)
        }

    /// Whether a text may hold anything that a scan would find; almost none does.
    package static func isWorthALook(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            bytes.indices.contains { index in
                switch bytes[index] {
                case UInt8(ascii: "@"), UInt8(ascii: "="), UInt8(ascii: ":"), UInt8(ascii: "%"):
                    true
                case UInt8(ascii: "\""):
                    // Two texts side by side, as in JSON that is broken.
                    bytes[(index + 1)...].prefix(2).elementsEqual(" \"".utf8)
                case UInt8(ascii: "J"), UInt8(ascii: "_"), UInt8(ascii: "a"), UInt8(ascii: " "),
                    UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "A"):
                    beginnings.contains { beginning in
                        let start = index + 1 - beginning.count
                        return start >= 0 && bytes[start...index].elementsEqual(beginning)
                    }
                default: false
                }
            }
        }
    }

    /// The kind of secret that a word is by its looks: a provider's key, a web token, an address.
    package static func kind(of word: ArraySlice<UInt8>) -> String? {
        if word.starts(with: Array("eyJ".utf8)) {
            let dots = word.count { $0 == UInt8(ascii: ".") }
            if dots >= 2 || word.count >= tokenLengthMin { return "token" }
        }
        if word.count >= keyLengthMin, prefixes.contains(where: word.starts) { return "key" }
        return isEmail(word) ? "email" : nil
    }

    /// One `@` with something in front of it and a host with a dot behind it; RevenueCat's `$email`
    /// and the like are names.
    private static func isEmail(_ word: ArraySlice<UInt8>) -> Bool {
        let at = UInt8(ascii: "@")
        guard let place = word.firstIndex(of: at), place > word.startIndex,
            word.first != UInt8(ascii: "$")
        else { return false }
        let host = word[(place + 1)...]
        return host.count > 3 && host.contains(UInt8(ascii: ".")) && !host.contains(at)
    }
}
