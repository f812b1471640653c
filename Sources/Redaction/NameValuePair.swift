/// A pair in text whose name marks the value as secret: `name=value`, `name: value` or
/// `"name": "value"`.
struct NameValuePair {
    let kind: String
    /// The range of the pair's value, without quotation marks.
    let value: Range<Int>
    /// Whether the value is percent-encoded, as in a query.
    let isPercentEncoded: Bool

    /// Words, such as `null` or `missing`, that documents and reports contain in place of a secret
    /// value.
    private static let placeholderValues: Set<String> = [
        "null", "nil", "none", "true", "false", "undefined", "missing", "wrong", "invalid",
        "required", "absent", "empty", "{", "[",
    ]

    private static let proseBeginnings: Set<String> = [
        "must", "is", "was", "should", "cannot", "can", "has", "have", "may", "needs", "not",
        "does",
        "too", "at", "expired",
    ]

    private static func isProse(_ text: String) -> Bool {
        guard let blank = text.firstIndex(of: " ") else { return false }
        return proseBeginnings.contains(text[..<blank].lowercased())
    }

    init?(_ redaction: Redaction, _ bytes: [UInt8], nameEnd: Int, nameStart: Int) {
        var reader = PairReader(bytes: bytes, index: nameEnd)
        // The name may have escaped quotation marks or brackets around it: {\"token\": …},
        // user[token]=…
        reader.skipBytes { "]\\\"'".utf8.contains($0) }
        let isQuoted = reader.index > nameEnd
        reader.skipBytes { $0 == 0x20 || $0 == 9 }
        let isFollowedByEqualsSign = reader.nextByte == UInt8(ascii: "=")
        let isFollowedByColon = reader.nextByte == UInt8(ascii: ":")
        // In invalid JSON, the colon between name and value may be missing.
        guard
            isFollowedByEqualsSign || isFollowedByColon
                || isQuoted && reader.nextByte == UInt8(ascii: "\"")
        else {
            return nil
        }
        let name = String(decoding: bytes[nameStart..<nameEnd], as: UTF8.self)
        let range: Range<Int>
        let kindOfAssigned = isFollowedByEqualsSign ? redaction.kind(ofAssigned: name) : nil
        if let kind = kindOfAssigned ?? Self.kind(redaction, bytes, name, nameStart, nameEnd) {
            self.kind = kind
            if isFollowedByEqualsSign || isFollowedByColon { reader.index += 1 }
            if reader.nextByte == UInt8(ascii: ">") { reader.index += 1 }
            reader.skipBytes { $0 == 0x20 || $0 == 9 }
            range = reader.value(kind, isFollowedByEqualsSign: isFollowedByEqualsSign)
        } else if isFollowedByEqualsSign, name == "name", let field = reader.formField(redaction) {
            (kind, range) = field
        } else {
            return nil
        }
        let text = String(decoding: bytes[range], as: UTF8.self)
        // The value is not a secret when it is prose, such as the error message of a form. It is
        // also not a secret when it repeats the name, as a program prints the name of a variable.
        let isNameRepeated =
            text.utf8.starts(with: name.utf8)
            && text.utf8.dropFirst(name.utf8.count).first.map { ")}],;".utf8.contains($0) } != false
        let isProse = isFollowedByColon && Self.isProse(text) || isNameRepeated
        let isTemplate =
            text.hasSuffix("}}") && (text.hasPrefix("{{") || text.hasPrefix("Bearer {{"))
        // In `/passes/pass=premium/open`, a path of the profile, `pass` is the name of what a user
        // buys.
        let isElementOfPath =
            isFollowedByEqualsSign && name == "pass" && nameStart > 0
            && bytes[nameStart - 1] == UInt8(ascii: "/")
            && (text.contains("/") || bytes[range.upperBound...].first == UInt8(ascii: "/"))
        guard !text.isEmpty, !isTemplate, !isProse, !isElementOfPath, !SecretMark.isMark(text),
            !Self.placeholderValues.contains(text.lowercased())
        else { return nil }
        value = range
        isPercentEncoded = isFollowedByEqualsSign && text.contains { $0 == "%" || $0 == "+" }
    }

    private static func kind(
        _ redaction: Redaction,
        _ bytes: [UInt8],
        _ name: String,
        _ nameStart: Int,
        _ nameEnd: Int
    ) -> String? {
        if let kind = redaction.kind(inText: name) { return kind }
        if SecretNames.isKeyVariable(name) { return "key" }
        guard isWebQuery(bytes, nameStart) else { return nil }
        let remainingBytes = bytes[min(nameEnd + 1, bytes.count)...]
        let value = remainingBytes.prefix { !"&;#\"'<> \t\r\n".utf8.contains($0) }
        return redaction.kind(ofParameter: name, String(decoding: value, as: UTF8.self))
    }

    /// Whether the name at this position is a parameter in the query or the fragment of a URL or a
    /// path.
    ///
    /// In a command of a phone's bridge, such as `setvault://?key=…`, `key` is the name of a vault
    /// entry and not a credential.
    private static func isWebQuery(_ bytes: [UInt8], _ nameStart: Int) -> Bool {
        guard nameStart > 0, "?&#;".utf8.contains(bytes[nameStart - 1]) else { return false }
        let endBytes = Set("\"'<>() \t\r\n".utf8)
        let bytesBeforeName = bytes[..<nameStart]
        let start = bytesBeforeName.lastIndex(where: endBytes.contains).map { $0 + 1 } ?? 0
        return bytesBeforeName[start...].starts(with: "/".utf8)
            || bytesBeforeName[start...].firstRange(of: Array(":/".utf8)) != nil
                && bytesBeforeName[start...].firstRange(of: Array("://?".utf8)) == nil
            || bytesBeforeName[start...].starts(with: "?".utf8)
    }

    /// Reads the value of a name-value pair, starting at a byte position of the text.
    private struct PairReader {
        let bytes: [UInt8]
        var index: Int

        var nextByte: UInt8? { index < bytes.count ? bytes[index] : nil }

        mutating func skipBytes(while isIncluded: (UInt8) -> Bool) {
            while let byte = nextByte, isIncluded(byte) { index += 1 }
        }

        /// Returns the range of the value that begins at the current position; an empty range when
        /// there is none.
        mutating func value(_ kind: String, isFollowedByEqualsSign: Bool) -> Range<Int> {
            guard let first = nextByte else { return index..<index }
            if let end = SecretMark.end(in: bytes, at: index) { return index..<end }
            if bytes[index...].starts(with: "{{".utf8) { return templateRange() }
            switch first {
            case UInt8(ascii: "{"): return objectRange()
            case UInt8(ascii: "["): return valueRangeThrough(UInt8(ascii: "]"))
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                return quotedRange(by: first, isEscaped: false)
            case UInt8(ascii: "\\"):
                index += 1
                guard let quote = nextByte, quote == UInt8(ascii: "\"") else {
                    return index..<index
                }
                return quotedRange(by: quote, isEscaped: true)
            default: return unquotedValueRange(kind, isFollowedByEqualsSign: isFollowedByEqualsSign)
            }
        }

        private mutating func templateRange() -> Range<Int> {
            let start = index
            let end = bytes[start...].firstRange(of: Array("}}".utf8))?.upperBound
            return start..<(end ?? start)
        }

        /// Returns the range up to the matching closing brace, or to the end of a truncated text.
        private mutating func objectRange() -> Range<Int> {
            let start = index
            var depth = 0
            while let byte = nextByte {
                index += 1
                if byte == UInt8(ascii: "{") { depth += 1 }
                if byte == UInt8(ascii: "}") { depth -= 1 }
                if depth == 0 { break }
            }
            return start..<index
        }

        /// Reads `name="password"` in a multipart header or an HTML element, and returns the range
        /// of the value of the field with this name.
        mutating func formField(_ redaction: Redaction) -> (kind: String, value: Range<Int>)? {
            index += 1
            let name: String
            if nextByte == UInt8(ascii: "\"") {
                name = String(
                    decoding: bytes[quotedRange(by: 0x22, isEscaped: false)],
                    as: UTF8.self
                )
                index += 1
            } else {
                name = String(
                    decoding: bytes[unquotedValueRange("", isFollowedByEqualsSign: true)],
                    as: UTF8.self
                )
            }
            guard let kind = redaction.kind(inText: name) else { return nil }
            skipBytes { $0 == 0x20 || $0 == 9 }
            if index < bytes.count, bytes[index...].starts(with: "value=\"".utf8) {
                index += 6
                return (kind, quotedRange(by: 0x22, isEscaped: false))
            }
            let lineStart = index
            skipBytes { $0 == 13 || $0 == 10 }
            guard bytes[lineStart..<index].count(where: { $0 == 10 }) >= 2 else { return nil }
            let start = index
            skipBytes { $0 != 13 && $0 != 10 }
            return (kind, start..<index)
        }

        private mutating func valueRangeThrough(_ last: UInt8) -> Range<Int> {
            let start = index
            skipBytes { $0 != last }
            return start..<min(index + 1, bytes.count)
        }

        /// Returns the range up to the closing quotation mark, or to the end of a truncated text.
        private mutating func quotedRange(by quote: UInt8, isEscaped: Bool) -> Range<Int> {
            index += 1
            let start = index
            while let byte = nextByte, byte != quote {
                let isBackslash = byte == UInt8(ascii: "\\")
                if isBackslash, isEscaped, index + 1 < bytes.count, bytes[index + 1] == quote {
                    break
                }
                index += isBackslash ? 2 : 1
            }
            return start..<min(index, bytes.count)
        }

        private static let valueEndBytesAfterEqualsSign = Set("&;,\"'<>)]} \t\r\n".utf8)
        private static let valueEndBytesAfterColon = Set(";,\"'<>]} \t\r\n".utf8)
        private static let lineEndBytes = Set("\r\n".utf8)
        private static let phraseEndBytes = Set(";,\"'\r\n".utf8)
        private static let listEndBytes = Set("\"' \t\r\n".utf8)

        private mutating func unquotedValueRange(_ kind: String, isFollowedByEqualsSign: Bool)
            -> Range<
                Int
            >
        {
            let start = index
            let endBytes: Set<UInt8> =
                switch kind {
                case "cookie": Self.lineEndBytes
                case "password" where !isFollowedByEqualsSign: Self.phraseEndBytes
                case "signature" where !isFollowedByEqualsSign: Self.listEndBytes
                default:
                    isFollowedByEqualsSign
                        ? Self.valueEndBytesAfterEqualsSign : Self.valueEndBytesAfterColon
                }
            skipBytes { !endBytes.contains($0) }
            // A comma at the end belongs to the sentence and not to the signature.
            if kind == "signature", index > start, bytes[index - 1] == UInt8(ascii: ",") {
                index -= 1
            }
            let word = String(decoding: bytes[start..<index], as: UTF8.self).lowercased()
            // The first word is the authorization scheme, and the credential follows.
            if ["bearer", "basic", "key", "token"].contains(word), nextByte == 0x20 {
                index += 1
                let credentialStart = index
                skipBytes { !endBytes.contains($0) }
                return credentialStart..<index
            }
            return start..<index
        }
    }
}
