internal import Values

/// A scan of free text, byte by byte, for secrets.
///
/// The scan finds words with the format of a secret, credentials after an authorization scheme,
/// credentials in URLs, and private keys in PEM. It also finds the value in `name=value` and
/// `"name": "value"` when the name is that of a secret.
struct TextScan {
    private let redaction: Redaction
    private let bytes: [UInt8]
    private let findsNameValuePairs: Bool
    private var output: [UInt8] = []
    private var copiedByteCount = 0
    private var index = 0
    /// The secret parts of markup elements after the current position, and their kinds.
    private var secretElements: [(range: Range<Int>, kind: String)] = []
    /// The end of the authorization scheme (`Bearer`, `Basic`) before the next word; nil when no
    /// scheme precedes it.
    private var schemeEnd: Int?

    /// Creates a scan of one string.
    ///
    /// If `findsNameValuePairs` is true, the scan also masks the value after the name of a secret,
    /// as in `password=value`.
    init(_ redaction: Redaction, _ text: String, findsNameValuePairs: Bool) {
        self.redaction = redaction
        self.findsNameValuePairs = findsNameValuePairs
        bytes = Array(text.utf8)
    }

    /// Returns the text with its secrets masked; nil when it contains none.
    func redactedText() -> String? {
        var scan = self
        scan.scanBytes()
        guard scan.copiedByteCount > 0 else { return nil }
        return String(decoding: scan.output + bytes[scan.copiedByteCount...], as: UTF8.self)
    }

    private mutating func scanBytes() {
        while index < bytes.count {
            if let (range, kind) = secretElements.first, index >= range.lowerBound {
                secretElements.removeFirst()
                if index < range.upperBound {
                    replace(index..<range.upperBound, mask(kind, index..<range.upperBound))
                }
            } else if let end = SecretMark.end(in: bytes, at: index) {
                index = end
            } else if isWordByte(at: index) {
                word()
            } else {
                if findsNameValuePairs { secretElements += markupSecrets() }
                maskURLCredentials()
                index += 1
            }
        }
    }

    // MARK: Bytes

    private static let wordPunctuation = Set("._%+@$-".utf8)

    /// Whether the byte is part of a word: a letter, a digit, or a sign inside addresses, keys and
    /// tokens.
    private func isWordByte(at index: Int) -> Bool {
        switch bytes[index] {
        case 48...57, 65...90, 97...122: true
        // General punctuation, such as the quotation mark `“` and the `›` at the end of a mark, is
        // not part of a word.
        case 0xe2: index + 1 >= bytes.count || bytes[index + 1] != 0x80
        case 0x80...0xff: true
        case let byte: Self.wordPunctuation.contains(byte)
        }
    }

    private func byte(_ index: Int) -> UInt8? { index < bytes.count ? bytes[index] : nil }

    private func end(from start: Int, while isIncluded: (UInt8) -> Bool) -> Int {
        var end = start
        while end < bytes.count, isIncluded(bytes[end]) { end += 1 }
        return end
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }

    private func string(_ range: Range<Int>) -> String {
        String(decoding: bytes[range], as: UTF8.self)
    }

    private mutating func replace(_ range: Range<Int>, _ text: String) {
        output += bytes[copiedByteCount..<range.lowerBound]
        output += text.utf8
        copiedByteCount = range.upperBound
        index = range.upperBound
    }

    // MARK: Words

    private mutating func word() {
        let start = index
        if let (end, kind) = groupedNumber(at: start) {
            return replace(start..<end, mask(kind, start..<end))
        }
        var end = start
        while end < bytes.count, isWordByte(at: end) { end += 1 }
        if let range = privateKeyRange(at: start) { return replace(range, mask("key", range)) }
        if let range = credentialRange(at: start) {
            return replace(range, mask("authorization", range))
        }
        // A full stop at the end of a word ends the sentence and is not part of the word.
        while end > start + 1, bytes[end - 1] == UInt8(ascii: ".") { end -= 1 }
        let word = bytes[start..<end]
        if let kind = SecretPatterns.kind(of: word), !isDigest(at: start) {
            // The secret continues after the word in a token such as `ExponentPushToken[…]` and in
            // a hash such as `$argon2id$v=19$m=65536,t=3,p=4$…`.
            let isHash = bytes[start] == UInt8(ascii: "$")
            let hasBracketedIndex = byte(end) == UInt8(ascii: "[")
            let secretEnd =
                isHash
                ? self.end(from: end) { !" \t\r\n\"'<>".utf8.contains($0) }
                : hasBracketedIndex ? self.end(from: end) { $0 != UInt8(ascii: "]") } : end
            return replace(start..<secretEnd, mask(kind, start..<secretEnd))
        }
        if SecretPatterns.isPathToken(word, after: bytes[..<start]) {
            return replace(start..<end, mask("token", start..<end))
        }
        // A word of four numbers after a slash is a version, as in `Chrome/120.0.0.0`.
        if SecretPatterns.isIPAddress(word), start == 0 || bytes[start - 1] != UInt8(ascii: "/") {
            return replace(start..<end, mask("address", start..<end))
        }
        if let end = SecretPatterns.base64End(in: bytes, at: start) {
            return replace(start..<end, mask("key", start..<end))
        }
        if word.contains(UInt8(ascii: "%")), let clean = decoded(start..<end) {
            return replace(start..<end, clean)
        }
        if findsNameValuePairs,
            let pair = NameValuePair(redaction, bytes, nameEnd: end, nameStart: start)
        {
            let value = string(pair.value)
            let plain = pair.isPercentEncoded ? FormText.decoded(value) : value
            return replace(pair.value, redaction.masked(pair.kind, plain))
        }
        if findsNameValuePairs, let (kind, range) = announcedSecret(by: start..<end) {
            return replace(range, mask(kind, range))
        }
        let isScheme =
            (5...6).contains(end - start)
            && Self.authorizationSchemes.contains(string(start..<end).lowercased())
        schemeEnd = isScheme ? end : nil
        index = max(end, start + 1)
    }

    /// Whether a digest in the notation `sha256:…` begins at this position.
    private func isDigest(at start: Int) -> Bool {
        ["sha256:", "sha384:", "sha512:"].contains {
            bytes[..<start].suffix(7).elementsEqual($0.utf8)
        }
    }

    /// Returns the end and the kind of a card, account or phone number that begins at this position
    /// and may consist of groups.
    private func groupedNumber(at start: Int) -> (end: Int, kind: String)? {
        let found =
            SecretPatterns.cardEnd(in: bytes, at: start).map { ($0, "card") }
            ?? SecretPatterns.ibanEnd(in: bytes, at: start).map { ($0, "account") }
            ?? SecretPatterns.phoneEnd(in: bytes, at: start).map { ($0, "phone") }
        return found.flatMap { $0.0 == bytes.count || !isWordByte(at: $0.0) ? $0 : nil }
    }

    /// Returns the secret that follows a word such as `token` or `--password` without `=` or `:`
    /// between word and secret.
    ///
    /// Examples: `--password x`, `token x`, `the password is x`, `-u name:x`, `the code is 123456`.
    private func announcedSecret(by name: Range<Int>) -> (kind: String, value: Range<Int>)? {
        let text = string(name)
        var start = end(from: name.upperBound, while: Self.isBlank)
        guard start > name.upperBound, start < bytes.count else { return nil }
        if bytes[start...].starts(with: "is ".utf8) { start += 3 }
        let valueEnd = end(from: start) { !" \t\r\n\"'`,;<>()".utf8.contains($0) }
        let value = string(start..<valueEnd).trimmingFullStops
        let range = start..<(start + value.utf8.count)
        guard let first = value.utf8.first, isWordByte(at: start), first != UInt8(ascii: "%"),
            !value.utf8.contains(0xe2)
        else { return nil }
        if text == "-u" || text == "--user" {
            return value.utf8.contains(UInt8(ascii: ":")) ? ("authorization", range) : nil
        }
        if text.hasSuffix("code"), (4...8).contains(value.utf8.count),
            value.utf8.allSatisfy({ (48...57).contains($0) })
        {
            return ("password", range)
        }
        guard let kind = redaction.kind(inText: text),
            ["password", "key", "token", "secret"].contains(kind)
        else { return nil }
        let isFlag = text.hasPrefix("--") && !value.hasPrefix("-")
        let isCredential = value.utf8.count >= 8 && SecretPatterns.hasLettersAndDigits(value)
        return isFlag || isCredential ? (kind, range) : nil
    }

    private func mask(_ kind: String, _ range: Range<Int>) -> String {
        redaction.masked(kind, string(range))
    }

    /// Redacts a percent-encoded word such as `ada%40example.org` or `oobCode%3Dsecret`.
    ///
    /// The result is nil when the word is not encoded or contains no secret.
    private func decoded(_ range: Range<Int>) -> String? {
        let text = string(range)
        guard FormText.decoded(text, decodesPlusAsSpace: false) != text else { return nil }
        let clean = redaction.redactedEncodedText(text, decodesPlusAsSpace: false)
        return clean == text ? nil : clean
    }

    private static let authorizationSchemes: Set<String> = ["bearer", "basic"]
    /// The minimum length of a credential after `Bearer` or `Basic`; shorter words there are
    /// ordinary text.
    private static let credentialLengthMin = 8

    /// Returns the range of a credential that begins at this position after `Bearer` or `Basic`;
    /// nil without one.
    private func credentialRange(at start: Int) -> Range<Int>? {
        guard let schemeEnd, schemeEnd < start, bytes[schemeEnd..<start].allSatisfy(Self.isBlank)
        else { return nil }
        let end = end(from: start) { byte in
            switch byte {
            case 48...57, 65...90, 97...122: true
            default: "-._~+/=".utf8.contains(byte)
            }
        }
        let isProse = bytes[start..<end].allSatisfy { (97...122).contains($0) || $0 == 46 }
        let isBearer = bytes[..<schemeEnd].suffix(6).map { $0 | 0x20 } == Array("bearer".utf8)
        guard end - start >= Self.credentialLengthMin, isBearer || !isProse else { return nil }
        return start..<end
    }

    /// Returns the range of a PEM private key that begins at this position, up to its last line or
    /// to the end of the text.
    private func privateKeyRange(at start: Int) -> Range<Int>? {
        guard bytes[start...].starts(with: "-----BEGIN ".utf8) else { return nil }
        let remainingBytes = bytes[start...]
        let head = string(start..<min(bytes.count, start + 60))
        guard head.contains("PRIVATE KEY") else { return nil }
        guard let footerRange = remainingBytes.firstRange(of: Array("-----END ".utf8)) else {
            return start..<bytes.count
        }
        let closingDashes = bytes[footerRange.upperBound...].firstRange(of: Array("-----".utf8))
        return start..<(closingDashes?.upperBound ?? bytes.count)
    }

    /// Returns the secrets in and after a markup element that begins at this position.
    ///
    /// Examples: `<password>secret</password>`, `<input name="password" value="secret">`.
    private func markupSecrets() -> [(range: Range<Int>, kind: String)] {
        guard bytes[index] == UInt8(ascii: "<") else { return [] }
        var nameStart = index + 1
        var nameEnd = end(from: nameStart, while: Self.isNameByte)
        if byte(nameEnd) == UInt8(ascii: ":") {
            nameStart = nameEnd + 1
            nameEnd = end(from: nameStart, while: Self.isNameByte)
        }
        guard nameEnd > nameStart else { return [] }
        let (head, attributes) = attributes(from: nameEnd)
        guard head < bytes.count else { return [] }
        var found: [(range: Range<Int>, kind: String)] = []
        let names = attributes.filter { Self.nameAttributes.contains($0.name) }
        let isPassword = attributes.contains {
            $0.name == "type" && string($0.value).lowercased() == "password"
        }
        if let kind = names.lazy.compactMap({ redaction.kind(inText: string($0.value)) }).first
            ?? (isPassword ? "password" : nil)
        {
            let values = attributes.filter { ["value", "content"].contains($0.name) }
            found += values.map { ($0.value, kind) }
        }
        let name = string(nameStart..<nameEnd)
        if name == "key", let propertyListSecret = propertyListSecret(after: head + 1) {
            return found + [propertyListSecret]
        }
        guard let kind = redaction.kind(inText: name), bytes[head - 1] != UInt8(ascii: "/") else {
            return found
        }
        var start = head + 1
        var valueEnd = end(from: start) { $0 != UInt8(ascii: "<") }
        if bytes[start...].starts(with: "<![CDATA[".utf8) {
            start += 9
            valueEnd = bytes[start...].firstRange(of: Array("]]>".utf8))?.lowerBound ?? bytes.count
        } else if bytes[start..<valueEnd].allSatisfy({ $0 <= 0x20 }) {
            // Everything inside a markup element with the name of a secret is secret.
            let closingTag = Array("</".utf8) + bytes[(index + 1)..<nameEnd]
            valueEnd = bytes[start...].firstRange(of: closingTag)?.lowerBound ?? start
        }
        if start < valueEnd, SecretMark.end(in: bytes, at: start) == nil,
            !bytes[start..<valueEnd].allSatisfy({ $0 <= 0x20 })
        {
            found.append((start..<valueEnd, kind))
        }
        return found
    }

    private static let nameAttributes: Set<String> = ["name", "key", "id", "property"]

    /// Returns the attributes of an element's start tag and the position of the tag's end.
    private func attributes(
        from start: Int
    ) -> (head: Int, found: [(name: String, value: Range<Int>)]) {
        var found: [(name: String, value: Range<Int>)] = []
        var position = start
        while position < bytes.count, bytes[position] != UInt8(ascii: ">") {
            let nameStart = position
            position = end(from: position, while: Self.isNameByte)
            guard position > nameStart, byte(position) == UInt8(ascii: "=") else {
                position += position == nameStart ? 1 : 0
                continue
            }
            let name = string(nameStart..<position).lowercased()
            position += 1
            guard let quote = byte(position) else { break }
            let isQuoted = quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'")
            let valueStart = isQuoted ? position + 1 : position
            position = end(from: valueStart) {
                isQuoted ? $0 != quote : $0 > 0x20 && $0 != UInt8(ascii: ">")
            }
            found.append((name, valueStart..<position))
            if isQuoted { position += 1 }
        }
        return (min(position, bytes.count), found)
    }

    /// Returns the secret in an entry of an XML property list, such as
    /// `<key>password</key><string>secret</string>`.
    private func propertyListSecret(after start: Int) -> (range: Range<Int>, kind: String)? {
        let nameEnd = end(from: start) { $0 != UInt8(ascii: "<") }
        guard nameEnd < bytes.count, let kind = redaction.kind(inText: string(start..<nameEnd)),
            bytes[nameEnd...].starts(with: "</key>".utf8)
        else { return nil }
        let stringTagStart = end(from: nameEnd + 6) { $0 <= 0x20 }
        guard bytes[stringTagStart...].starts(with: "<string>".utf8) else { return nil }
        let value = stringTagStart + 8
        return (value..<end(from: value) { $0 != UInt8(ascii: "<") }, kind)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 48...57, 65...90, 97...122, UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    /// Masks the credentials in front of a URL's host, as in `https://user:password@host`, when the
    /// scan reaches the colon after the scheme.
    private mutating func maskURLCredentials() {
        guard bytes[index] == UInt8(ascii: ":"), bytes[index...].starts(with: "://".utf8) else {
            return
        }
        let start = index + 3
        let endBytes = Set("/?#\"'<> \t\r\n".utf8)
        let end = end(from: start) { !endBytes.contains($0) }
        guard let at = bytes[start..<end].lastIndex(of: UInt8(ascii: "@")), at > start else {
            return
        }
        replace(start..<at, mask("authorization", start..<at))
        // The caller advances past the `@`.
    }
}

extension String {
    /// A copy of the string without the full stops at its end.
    fileprivate var trimmingFullStops: String {
        String(decoding: utf8.reversed().drop { $0 == UInt8(ascii: ".") }.reversed(), as: UTF8.self)
    }
}
