package import Values

/// The rules by which secrets are removed from messages before they leave the process; all output
/// is redacted.
///
/// Three kinds of values are secrets. The first are the values of headers, members and parameters
/// with certain names (`SecretNames` and declared names). The second are words with the format of a
/// secret (`SecretPatterns`). The third are declared values, in any position. Content that cannot be
/// parsed, such as invalid JSON, is masked as a whole. Equal secrets get equal marks, and redacting
/// twice changes nothing.
///
/// A redaction is created for each use, because the function that makes marks may keep state about
/// earlier values.
package struct Redaction {
    /// A function that returns the mark which replaces a secret value of a kind.
    package typealias MarkMaker = (_ kind: String, _ value: String) -> String
    /// A function that returns the kind of secret that a name indicates in a position of a message;
    /// nil for any other name.
    package typealias KindLookup = (_ name: String, SecretNames.Position) -> String?

    /// The maximum nesting depth of JSON that is parsed; deeper JSON is masked as a whole.
    private static let depthMax = 128

    let known: KnownSecrets
    private let mask: MarkMaker
    let kind: KindLookup
    private let isHarmless: (String) -> Bool

    /// Creates a redaction with its sources of secrets and its marks.
    ///
    /// - Parameters:
    ///   - known: Secret values that are masked in any position.
    ///   - kind: Returns the kind of secret that a name indicates; nil for any other name.
    ///   - isHarmless: Returns whether a value is not a secret, because Assay generated it.
    ///   - mask: Returns the mark that replaces a secret value.
    package init(
        known: KnownSecrets = KnownSecrets(),
        kind: @escaping KindLookup = Redaction.kindLookup([]),
        isHarmless: @escaping (String) -> Bool = { _ in false },
        mask: @escaping MarkMaker
    ) {
        self.known = known
        self.kind = kind
        self.isHarmless = isHarmless
        self.mask = mask
    }

    /// Returns the redaction for reports and other output for readers.
    ///
    /// Each mark contains the kind of the secret and a 16-bit fingerprint of its value, so that
    /// equal secrets can be recognized.
    package static func forReports(_ declared: SecretDeclaration = SecretDeclaration()) -> Redaction
    {
        let mask: MarkMaker = { kind, value in "‹\(kind) \(Secret(value).fingerprint)›" }
        return Redaction(
            known: KnownSecrets(declared.values) { "‹secret:\($0)›" },
            kind: kindLookup(declared.names),
            mask: mask
        )
    }

    /// Returns a lookup of names in the built-in tables and in a list of further names.
    package static func kindLookup(_ names: [String]) -> KindLookup {
        let declared = Set(names.map(SecretNames.normalizedName))
        return { name, position in
            let normalizedName = SecretNames.normalizedName(name)
            return SecretNames.kind(of: normalizedName, in: position)
                ?? (declared.contains(normalizedName) ? "secret" : nil)
        }
    }

    // MARK: Values and texts

    /// Returns the mark that replaces one secret value; a value that is already a mark is returned
    /// unchanged.
    package func masked(_ kind: String, _ value: String) -> String {
        if value.isEmpty || SecretMark.isMark(value) || Self.harmlessValues.contains(value)
            || isHarmless(value)
        {
            return value
        }
        guard !known.isEmpty else { return mask(kind, value) }
        // A declared secret inside the value keeps its own mark, by which `SecretRule` recognizes
        // it in a response.
        let redactedValue = known.maskingSecrets(in: value)
        if redactedValue == value { return mask(kind, value) }
        if SecretMark.isMark(redactedValue) { return redactedValue }
        return (known.mark(in: Array(value.utf8)) ?? "") + mask(kind, value)
    }

    /// Values, such as `true`, that often follow the name of a secret but are not secrets.
    private static let harmlessValues: Set<String> = [
        "true", "false", "null", "nil", "none", "undefined",
    ]

    func kind(ofMember name: String) -> String? { kind(name, .members) }

    /// Returns the kind of secret that a name indicates in `name: value` within text, which may be
    /// a JSON member or a logged header.
    func kind(inText name: String) -> String? { kind(name, .members) ?? kind(name, .headers) }

    /// Returns the kind of secret that a name indicates in `name=value` within text; nil for any
    /// other name.
    func kind(ofAssigned name: String) -> String? { kind(name, .stringMembers) }

    /// Returns the kind of secret in a query or form parameter of that name; nil when its value is
    /// not a secret.
    ///
    /// For a name that indicates a secret only in parameters, such as `code`, the value must also
    /// look like a credential.
    func kind(ofParameter name: String, _ value: String) -> String? {
        guard let found = kind(name, .parameters) else { return nil }
        // Google's clients send their API key as a parameter named `key`, so every value of a
        // parameter with this kind of secret is masked.
        let isSecret =
            found == "key" || kind(name, .stringMembers) != nil
            || SecretPatterns.mayBeCredential(value)
        return isSecret ? found : nil
    }

    /// Redacts free text: declared values, words with the format of a secret, and the value in
    /// `name=value` when the name is that of a secret.
    package func text(_ text: String) -> String {
        guard text.utf8.contains(0x0a), Self.hasJSONLine(text) else {
            return redactedText(text, findsNameValuePairs: true)
        }
        // Logs and reports contain printed HTTP messages, whose lines of JSON are parsed before
        // they are redacted.
        let lines = text.parts(between: "\n").map { line in
            guard Self.isJSONLine(line.utf8), let value = Self.parsedJSON(Array(line.utf8)) else {
                return line
            }
            guard let redactedValue = changedJSON(value) else { return line }
            return redactedValue.text + (line.utf8.last == 13 ? "\r" : "")
        }
        return redactedText(lines.joined(separator: "\n"), findsNameValuePairs: true)
    }

    private static func hasJSONLine(_ text: String) -> Bool {
        text.utf8.split(separator: 0x0a).contains(where: isJSONLine)
    }

    private static func isJSONLine(_ line: some Collection<UInt8>) -> Bool {
        let first = line.first { $0 > 0x20 }
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    }

    /// Redacts text that a contract's author wrote, in which a name such as `password` does not
    /// make the value after it a secret.
    package func words(_ text: String) -> String { redactedText(text, findsNameValuePairs: false) }

    private func redactedText(_ text: String, findsNameValuePairs: Bool) -> String {
        let redactedValue = known.maskingSecrets(in: text)
        guard SecretPatterns.mayContainSecret(redactedValue) else { return redactedValue }
        return TextScan(self, redactedValue, findsNameValuePairs: findsNameValuePairs)
            .redactedText() ?? redactedValue
    }

    // MARK: Targets and forms

    /// Redacts the path and query of a request; a parameter with the name of a secret is masked.
    package func target(_ target: String) -> String {
        guard let (path, query) = target.cut(at: "?") else { return text(target) }
        return text(path) + "?" + parameters(query)
    }

    /// Redacts a string in the format of queries and forms, such as `a=1&token=secret`; any string
    /// is accepted.
    package func parameters(_ text: String) -> String {
        text.parts(between: "&").map { pair in
            guard let (encodedName, value) = pair.cut(at: "=") else { return self.text(pair) }
            let plain = FormText.decoded(value)
            let secret = kind(ofParameter: FormText.decoded(encodedName), plain)
            let redactedNameAndEqualsSign = self.text(encodedName) + "="
            if let secret { return redactedNameAndEqualsSign + masked(secret, plain) }
            return redactedNameAndEqualsSign + redactedEncodedText(value, decodesPlusAsSpace: true)
        }.joined(separator: "&")
    }

    /// Redacts a percent-encoded string by decoding it first.
    ///
    /// A string whose decoded form contains no secret is returned unchanged.
    func redactedEncodedText(_ text: String, decodesPlusAsSpace: Bool) -> String {
        let plain = FormText.decoded(text, decodesPlusAsSpace: decodesPlusAsSpace)
        let redactedValue = string(plain)
        guard redactedValue != plain else { return known.maskingSecrets(in: text) }
        return SecretMark.isMark(redactedValue)
            ? redactedValue : Self.percentEncodedAroundMarks(redactedValue)
    }

    /// Percent-encodes a string except for the marks of secrets in it, which stay readable.
    private static func percentEncodedAroundMarks(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var output = ""
        var start = 0
        var index = 0
        func plain(_ end: Int) -> String {
            String(decoding: bytes[start..<end], as: UTF8.self).percentEncoded
        }
        while index < bytes.count {
            guard let end = SecretMark.end(in: bytes, at: index) else {
                index += 1
                continue
            }
            output += plain(index) + String(decoding: bytes[index..<end], as: UTF8.self)
            start = end
            index = end
        }
        return output + plain(bytes.count)
    }

    // MARK: Headers

    package func fields(_ fields: [HTTPMessage.Field]) -> [HTTPMessage.Field] {
        fields.map { HTTPMessage.Field($0.name, redactedFieldValue($0)) }
    }

    private func redactedFieldValue(_ field: HTTPMessage.Field) -> String {
        guard let kind = kind(field.name, .headers) else {
            return Self.isDigest(field.name)
                ? known.maskingSecrets(in: field.value) : string(field.value)
        }
        if SecretMark.isMark(field.value) { return field.value }
        switch kind {
        case "authorization":
            // The authorization scheme, such as `Bearer`, is kept, and the credential after it is
            // masked.
            let words = field.value.split(separator: " ", maxSplits: 1).map(String.init)
            guard words.count == 2 else { return masked(kind, field.value) }
            return words[0] + " " + masked(kind, words[1])
        case "cookie":
            let isSetCookieField = SecretNames.normalizedName(field.name) == "setcookie"
            return redactedCookies(field.value, hasAttributes: isSetCookieField)
        default: return masked(kind, field.value)
        }
    }

    /// Whether a header or member of that name contains a digest or a version.
    ///
    /// A digest looks random but only identifies content, and a version such as `1.2.3.4` looks
    /// like an IP address.
    static func isDigest(_ name: String) -> Bool {
        let normalizedName = SecretNames.normalizedName(name)
        return digestFieldNames.contains { normalizedName.hasSuffix($0) }
    }

    private static let digestFieldNames = [
        "etag", "ifnonematch", "ifmatch", "digest", "sha256", "sha1", "sha512", "md5", "checksum",
        "integrity", "version", "build",
    ]

    private static let cookieAttributes: Set<String> = [
        "path", "domain", "expires", "max-age", "samesite", "httponly", "secure", "priority",
        "partitioned",
    ]

    /// Redacts the value of a cookie header such as `sid=secret; Path=/`.
    ///
    /// All values are masked except those of attributes in a response, such as `Path`.
    private func redactedCookies(_ text: String, hasAttributes: Bool) -> String {
        text.parts(between: ";").enumerated().map { index, part in
            let pair = part.cut(at: "=")
            let name = (pair?.before ?? part).filter { !$0.isWhitespace }
            let isAttribute =
                hasAttributes && index > 0 && Self.cookieAttributes.contains(name.lowercased())
            if isAttribute { return part }
            guard let (before, value) = pair else {
                return name.isEmpty ? part : masked("cookie", name)
            }
            return self.text(before) + "=" + masked("cookie", value)
        }.joined(separator: ";")
    }

    // MARK: JSON

    package func json(_ value: JSONValue) -> JSONValue { changedJSON(value) ?? value }

    /// Returns the document with its secrets masked; nil when it contains none.
    private func changedJSON(_ value: JSONValue) -> JSONValue? {
        var document = RedactedJSON(self)
        let redactedValue = document.redacted(value)
        return document.isChanged ? redactedValue : nil
    }

    /// Redacts a string, which may itself contain JSON.
    func string(_ text: String) -> String {
        if SecretPatterns.isIPAddress(text) { return masked("address", text) }
        guard let first = text.utf8.first(where: { $0 > 0x20 }),
            first == UInt8(ascii: "{") || first == UInt8(ascii: "["),
            let value = Self.parsedJSON(Array(text.utf8))
        else { return self.text(text) }
        return changedJSON(value)?.text ?? text
    }

    static func parsedJSON(_ bytes: [UInt8]) -> JSONValue? {
        JSONValue(ifValid: bytes, options: .init(depthMax: depthMax, duplicateKeys: .keep))
    }

    func jsonBody(_ value: JSONValue) -> RedactedBody {
        changedJSON(value).map { .json($0) } ?? .unchangedJSON(value)
    }
}

extension JSONValue {
    /// A copy of the value for display, in which every value with the name or the format of a
    /// secret is masked.
    package var withoutSecrets: JSONValue { Redaction.forReports().json(self) }
}
