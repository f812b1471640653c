internal import Values

/// Recognizes secrets by their format, independent of the name under which they occur.
///
/// A word is a secret when it begins like a service's key or has a valid checksum, as card and
/// account numbers have. It is also a secret when it has a unique format (web tokens, addresses) or
/// is too random to be typed by a person.
package enum SecretPatterns {
    /// The prefixes of the API keys and webhook secrets that services issue, such as `sk_`.
    private static let prefixes = [
        // Subscription services.
        "sk_", "rk_", "appl_", "goog_", "amzn_", "mac_", "strp_", "rcb_", "atk_", "os_v2_",
        "whsec_",
        "pdl_", "ctm_key_",
        // Google.
        "AIza", "ya29.", "GOCSPX-", "1//0",
        // Code hosts and registries.
        "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "gldt-", "glrt-", "glptt-",
        "npm_", "pypi-",
        "dckr_pat_",
        // Clouds and chats.
        "AKIA", "ASIA", "dop_v1_", "hf_", "sbp_", "xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-",
        "xapp-",
        "SG.", "shpat_", "shpss_", "sq0atp-", "sq0csp-", "sk-", "lin_api_", "EAACEdEose0",
        "ExponentPushToken", "sb_secret_", "dapi", "AGE-SECRET-KEY-1",
        // Hashes of passwords.
        "$argon2", "$2a$", "$2b$", "$2y$", "$scrypt$",
    ].map { Array($0.utf8) }

    /// The minimum length of an API key; a shorter word only begins with the same prefix by chance.
    private static let keyLengthMin = 12
    /// The minimum length of a web token or of one part of it; a shorter word only begins with the
    /// same prefix by chance.
    private static let tokenLengthMin = 24

    /// Parts of URL paths, such as `reset/`, that are followed by a token which authenticates the
    /// user who opens the link.
    private static let pathWords = [
        "reset/", "password/", "verify/", "verification/", "email/", "confirm/", "confirmation/",
        "invite/", "invitation/", "invitations/", "invites/", "magic/", "magic-link/", "activate/",
        "activation/", "unsubscribe/", "token/", "tokens/", "recover/", "recovery/", "callback/",
        "auth/", "share/", "sessions/", "session/", "otp/", "hooks/", "/t/", "/s/",
    ].map { Array($0.utf8) }
    /// Parts of URL paths, such as `otp/`, that are never followed by the ID of a user or an
    /// object.
    private static let strictPathWords = [
        "reset/", "magic/", "magic-link/", "otp/", "verify/", "verification/",
    ].map { Array($0.utf8) }
    private static let pathTokenLengthMin = 16

    /// Whether a part of a URL path after a word such as `reset/` is a token that authenticates the
    /// user who opens the link.
    ///
    /// A token is long and mixes letters and digits. A UUID is usually the ID of a user and not a
    /// token, except after a word in `strictPathWords`.
    static func isPathToken(_ part: ArraySlice<UInt8>, after precedingBytes: ArraySlice<UInt8>)
        -> Bool
    {
        func follows(_ words: [[UInt8]]) -> Bool {
            words.contains { word in
                precedingBytes.suffix(word.count)
                    .elementsEqual(word, by: { $0 == $1 || $0 | 0x20 == $1 })
            }
        }
        guard part.allSatisfy({ isKeyByte($0) || $0 == 0x2e }), follows(pathWords) else {
            return false
        }
        let digits = part.count { (48...57).contains($0) }
        let letters = part.count { (97...122).contains($0 | 0x20) }
        let isUUID = part.count == 36 && part.count { $0 == 0x2d } == 4
        if part.count >= pathTokenLengthMin, digits > 0, letters > 0, !isUUID { return true }
        guard follows(strictPathWords) else { return false }
        return isUUID || part.count >= 8 && digits > 1 && letters > 1
            || (4...8).contains(digits) && digits == part.count
    }

    /// The beginnings of possible secrets, such as `sk_` or `Bearer `, grouped by their last byte.
    ///
    /// A string that contains one of them is scanned for secrets.
    private static let secretStartsByLastByte: [[[UInt8]]] = {
        let schemes = [
            "bearer ", "Bearer ", "BEARER ", "basic ", "Basic ", "-----BEGIN ", "eyJ", "password ",
            "Password ", "token ", "Token ", "secret ", "Secret ", "code is ", " -u ", "--user ",
        ]
        var table = [[[UInt8]]](repeating: [], count: 256)
        for beginning in prefixes + schemes.map({ Array($0.utf8) }) + pathWords {
            if let last = beginning.last { table[Int(last)].append(beginning) }
        }
        return table
    }()

    /// The minimum number of consecutive letters and digits in a random key; shorter sequences are
    /// words, IDs and dates.
    private static let randomKeyLengthMin = 32
    /// The maximum length of a random key; longer words are public keys, certificates and images.
    private static let randomKeyLengthMax = 256
    /// The minimum number of digits in a card or phone number, not counting spaces and hyphens.
    private static let numberDigitCountMin = 10

    /// Whether the string may contain a secret and must be scanned; false for almost every string.
    package static func mayContainSecret(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            var (keyCharacterCount, digits, dots) = (0, 0, 0)
            for index in bytes.indices {
                let byte = bytes[index]
                switch byte {
                case UInt8(ascii: "@"), UInt8(ascii: "="), UInt8(ascii: ":"), UInt8(ascii: "%"),
                    UInt8(ascii: "<"):
                    return true
                case UInt8(ascii: "\""):
                    // Two quoted strings follow each other, as in JSON with a missing colon.
                    if bytes[(index + 1)...].prefix(2).elementsEqual(" \"".utf8) { return true }
                    (keyCharacterCount, digits) = (0, 0)
                case 48...57:
                    (keyCharacterCount, digits) = (keyCharacterCount + 1, digits + 1)
                    if mayStartIBAN(bytes, index) { return true }
                case 65...90, 97...122, UInt8(ascii: "_"):
                    (keyCharacterCount, digits) = (keyCharacterCount + 1, 0)
                case UInt8(ascii: "-"), UInt8(ascii: "/"): keyCharacterCount += 1
                case UInt8(ascii: " "): keyCharacterCount = 0
                case UInt8(ascii: "+"):
                    if index + 1 < bytes.count, (49...57).contains(bytes[index + 1]) { return true }
                case UInt8(ascii: "."):
                    dots = digits > 0 ? dots + 1 : 0
                    (keyCharacterCount, digits) = (0, 0)
                    // Four numbers separated by three dots may be an IP address.
                    if dots == 3 { return true }
                default: (keyCharacterCount, digits) = (0, 0)
                }
                if keyCharacterCount >= randomKeyLengthMin || digits >= numberDigitCountMin {
                    return true
                }
                for beginning in secretStartsByLastByte[Int(byte)] {
                    let start = index + 1 - beginning.count
                    if start >= 0, bytes[start...index].elementsEqual(beginning) { return true }
                }
            }
            return false
        }
    }

    /// Whether an account number (IBAN) may begin with two letters and two digits at this position;
    /// `index` is the position of the second digit.
    private static func mayStartIBAN(_ bytes: UnsafeBufferPointer<UInt8>, _ index: Int) -> Bool {
        index >= 3 && bytes.count - index > ibanLengthMin - 4
            && (48...57).contains(bytes[index - 1]) && (65...90).contains(bytes[index - 2])
            && (65...90).contains(bytes[index - 3]) && (index == 3 || !isKeyByte(bytes[index - 4]))
    }

    /// Returns the kind of secret that a word is by its format, such as `key`, `token` or `email`;
    /// nil for any other word.
    package static func kind(of word: ArraySlice<UInt8>) -> String? {
        if word.starts(with: Array("eyJ".utf8)) {
            let dots = word.count { $0 == UInt8(ascii: ".") }
            if dots >= 2 || word.count >= tokenLengthMin { return "token" }
        }
        let isLong = word.count >= keyLengthMin || word.first == UInt8(ascii: "$")
        if isLong, prefixes.contains(where: word.starts) { return "key" }
        if isEmail(word) { return "email" }
        if isPhone(word) { return "phone" }
        if isHexKey(word) { return "key" }
        if isIBAN(word) { return "account" }
        return isLegacyKey(word) || isRandomKey(word) ? "key" : nil
    }

    /// Returns the prefix of an API key that identifies its service, such as `rk_live_`; nil for an
    /// unknown prefix.
    package static func prefix(of value: String) -> String? {
        let bytes = Array(value.utf8)
        guard bytes.count >= keyLengthMin,
            let longestPrefix = prefixes.filter({ bytes.starts(with: $0) }).max(by: {
                $0.count < $1.count
            })
        else { return nil }
        // Some keys have a second prefix after the first, such as `app_` in `os_v2_app_` and
        // `proj-` in `sk-proj-`.
        var end = longestPrefix.count
        let prefixExtensions = ["live_", "test_", "app_", "org_", "proj-", "ant-"]
        for prefixExtension in prefixExtensions
        where bytes[end...].starts(with: prefixExtension.utf8) {
            end += prefixExtension.utf8.count
            break
        }
        let text = String(decoding: bytes[..<end], as: UTF8.self)
        return text.utf8.allSatisfy(isKeyByte) ? text : nil
    }

    static func isKeyByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 48...57, 65...90, 97...122, UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
    }

    /// Whether the word is an email address: one `@` between a name and a host with a dot.
    ///
    /// RevenueCat's `$email` and similar names are not addresses.
    private static func isEmail(_ word: ArraySlice<UInt8>) -> Bool {
        let at = UInt8(ascii: "@")
        guard let atSignIndex = word.firstIndex(of: at), atSignIndex > word.startIndex,
            word.first != UInt8(ascii: "$")
        else { return false }
        let host = word[(atSignIndex + 1)...]
        guard let dot = host.lastIndex(of: UInt8(ascii: ".")), !host.contains(at) else {
            return false
        }
        // `logo@2x.png` is an image and `pkg@1.2.3` is a version; neither is an email address.
        let last = host[(dot + 1)...]
        return dot > host.startIndex && (2...24).contains(last.count)
            && last.allSatisfy { (97...122).contains($0 | 0x20) || $0 >= 0x80 || $0 == 0x25 }
            && !fileExtensions.contains { last.elementsEqual($0.utf8) }
    }

    private static let fileExtensions = ["png", "jpg", "jpeg", "gif", "svg", "webp", "js", "css"]

    /// Whether the word is an international phone number (E.164): `+4915123456789`.
    private static func isPhone(_ word: ArraySlice<UInt8>) -> Bool {
        guard word.first == UInt8(ascii: "+"), (11...16).contains(word.count) else { return false }
        let digits = word.dropFirst()
        return digits.first != UInt8(ascii: "0") && digits.allSatisfy { (48...57).contains($0) }
    }

    /// Whether the word is an API key with a short prefix and the number of hexadecimal digits that
    /// the service uses.
    ///
    /// The prefix alone is too short to identify an API key.
    private static func isHexKey(_ word: ArraySlice<UInt8>) -> Bool {
        let prefix: Int
        if word.count == 36, word.starts(with: "key-".utf8) {
            prefix = 4
        } else if word.count == 34, word.starts(with: "SK".utf8) {
            prefix = 2
        } else {
            return false
        }
        return word.dropFirst(prefix).allSatisfy {
            (48...57).contains($0) || (97...102).contains($0)
        }
    }

    /// Whether the string is a public IP address; loopback and private addresses identify no user.
    static func isIPAddress(_ text: String) -> Bool {
        guard (7...39).contains(text.utf8.count) else { return false }
        if text.utf8.contains(UInt8(ascii: ":")) {
            let parts = text.parts(between: ":")
            let isHex = parts.allSatisfy { part in
                part.utf8.count <= 4
                    && part.utf8.allSatisfy {
                        (48...57).contains($0) || (97...102).contains($0 | 0x20)
                    }
            }
            // Public IPv6 addresses begin with 2 or 3 (RFC 4291, section 2.4).
            return isHex && (3...8).contains(parts.count) && parts[0].utf8.count == 4
                && (parts[0].utf8.first == 50 || parts[0].utf8.first == 51)
        }
        return isIPAddress(Array(text.utf8)[...])
    }

    /// Whether the word is a public IPv4 address with a number that is too large for a version.
    static func isIPAddress(_ word: ArraySlice<UInt8>) -> Bool {
        guard (7...15).contains(word.count), word.count(where: { $0 == 0x2e }) == 3 else {
            return false
        }
        let parts = word.split(separator: 0x2e, omittingEmptySubsequences: false)
        let numbers = parts.compactMap { part -> Int? in
            guard (1...3).contains(part.count) else { return nil }
            return Int(String(decoding: part, as: UTF8.self))
        }
        guard numbers.count == 4, numbers.allSatisfy({ (0...255).contains($0) }) else {
            return false
        }
        switch (numbers[0], numbers[1]) {
        case (0, _), (10, _), (127, _), (192, 168), (172, 16...31), (169, 254), (224..., _):
            return false
        default: return numbers[0] >= 24 && numbers.dropFirst().contains { $0 >= 32 }
        }
    }

    /// Whether a value may be a credential by its length and its digits; ordinary words are shorter
    /// and have no digits.
    static func mayBeCredential(_ value: String) -> Bool {
        let count = value.utf8.count
        return count >= 16 || count >= 6 && value.utf8.contains { (48...57).contains($0) }
    }

    /// Whether the string contains both letters and digits.
    static func hasLettersAndDigits(_ text: String) -> Bool {
        text.utf8.contains { (48...57).contains($0) }
            && text.utf8.contains { (97...122).contains($0 | 0x20) }
    }

    // MARK: Randomness

    /// Whether the word is an API key in the older format of a push service: the text of a UUID in
    /// Base64.
    private static func isLegacyKey(_ word: ArraySlice<UInt8>) -> Bool {
        guard word.count == 48 else { return false }
        var text: [UInt8] = []
        var bitBuffer = 0
        for (index, byte) in word.enumerated() {
            switch byte {
            case 65...90: bitBuffer = bitBuffer << 6 | Int(byte) - 65
            case 97...122: bitBuffer = bitBuffer << 6 | Int(byte) - 71
            case 48...57: bitBuffer = bitBuffer << 6 | Int(byte) + 4
            default: return false
            }
            guard index % 4 == 3 else { continue }
            text += [
                UInt8(bitBuffer >> 16 & 0xff), UInt8(bitBuffer >> 8 & 0xff),
                UInt8(bitBuffer & 0xff),
            ]
            bitBuffer = 0
        }
        return text.enumerated().allSatisfy { index, byte in
            [8, 13, 18, 23].contains(index)
                ? byte == 0x2d : (48...57).contains(byte) || (97...102).contains(byte | 0x20)
        }
    }

    /// Whether a word is a generated key, because it is too long and too random for anything else.
    ///
    /// Such a word is a key of at least 240 bits written with 64 possible characters, or of 256
    /// bits in hexadecimal digits. IDs of services are shorter: a UUID has 36 characters, and a
    /// Firebase user ID has 28. A digest that a backend may use as an ID has 40 hexadecimal digits.
    private static func isRandomKey(_ word: ArraySlice<UInt8>) -> Bool {
        guard (randomKeyLengthMin...randomKeyLengthMax).contains(word.count),
            word.allSatisfy({ isKeyByte($0) || $0 == 0x2e || $0 == 0x2b })
        else {
            return false
        }
        var countsByCharacter = [Int](repeating: 0, count: 128)
        var (uppercaseCount, lowercaseCount, digits, otherCharacterCount, characterKindChanges) = (
            0, 0, 0, 0, 0
        )
        var previousKind: UInt8 = 0
        for byte in word {
            countsByCharacter[Int(byte & 0x7f)] += 1
            let kind: UInt8
            switch byte {
            case 48...57: (digits, kind) = (digits + 1, 1)
            case 65...90: (uppercaseCount, kind) = (uppercaseCount + 1, 2)
            case 97...122: (lowercaseCount, kind) = (lowercaseCount + 1, 3)
            default: (otherCharacterCount, kind) = (otherCharacterCount + 1, 4)
            }
            if kind != previousKind { characterKindChanges += 1 }
            previousKind = kind
        }
        let isHex = word.allSatisfy {
            (48...57).contains($0) || (65...70).contains($0) || (97...102).contains($0)
        }
        let distinctCharacterCount = countsByCharacter.count { $0 > 0 }
        if isHex {
            return word.count >= 64 && distinctCharacterCount >= 10 && digits > 8
                && uppercaseCount + lowercaseCount > 8
                && (uppercaseCount == 0 || lowercaseCount == 0)
        }
        return uppercaseCount >= 4 && lowercaseCount >= 4 && digits >= 3
            && otherCharacterCount <= word.count / 8 && distinctCharacterCount >= 16
            && characterKindChanges >= word.count / 4
    }

    /// Returns the end of a random word in Base64, with slashes or plus signs, that begins at
    /// `start`.
    ///
    /// The result is nil when no such word begins there, or when a part between slashes is an
    /// ordinary word, as in a path.
    static func base64End(in bytes: [UInt8], at start: Int) -> Int? {
        var end = start
        var slashOrPlusCount = 0
        while end < bytes.count, isKeyByte(bytes[end]) || bytes[end] == 0x2f || bytes[end] == 0x2b {
            if bytes[end] == 0x2f || bytes[end] == 0x2b { slashOrPlusCount += 1 }
            end += 1
        }
        let word = bytes[start..<end]
        // A word after a slash is a part of a path.
        let isPrecededBySlash = start > 0 && bytes[start - 1] == 0x2f
        guard slashOrPlusCount > 0, !isPrecededBySlash, bytes[start] != 0x2f,
            isRandomKey(word.filter { $0 != 0x2f }[...])
        else {
            return nil
        }
        let parts = word.split { $0 == 0x2f }
        let hasWord = parts.contains { part in
            part.count >= 3
                && part.allSatisfy { (97...122).contains($0) || $0 == 0x2d || $0 == 0x5f }
        }
        guard !hasWord else { return nil }
        while end < bytes.count, bytes[end] == 0x3d { end += 1 }
        return end
    }
}
