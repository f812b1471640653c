/// Takes the secrets out of messages: the one redactor, in front of everything that leaves.
///
/// What counts as a secret: headers, members and parameters by their names (`SecretNames`, and what
/// is declared), words by their looks (`SecretLooks`), and declared values wherever they stand. What
/// cannot be looked into, such as JSON that does not parse, is left out as a whole. The same secret
/// gives the same mark, so that what was equal stays equal; redacting twice changes nothing.
///
/// It is made where it is used: the mask may keep books about what it has seen.
package struct Redaction {
    /// What stands in for a secret of that kind.
    package typealias Mask = (_ kind: String, _ value: String) -> String
    /// The kind of secret that a name promises; nil for any other name.
    package typealias Lookup = (_ name: String, SecretNames.Place) -> String?

    /// Deeper values are left out as a whole.
    private static let depthMax = 128

    let known: KnownSecrets
    private let mask: Mask
    let kind: Lookup
    private let isHarmless: (String) -> Bool

    /// - Parameters:
    ///   - known: Values that are looked for everywhere.
    ///   - kind: Which names hold secrets.
    ///   - isHarmless: Whether a value is a made-up one that anybody may see.
    ///   - mask: What stands in for a secret.
    package init(
        known: KnownSecrets = KnownSecrets(),
        kind: @escaping Lookup = Redaction.lookup([]),
        isHarmless: @escaping (String) -> Bool = { _ in false },
        mask: @escaping Mask
    ) {
        self.known = known
        self.kind = kind
        self.isHarmless = isHarmless
        self.mask = mask
    }

    /// For whatever people read: a mark says the kind, and sixteen bits by which equal secrets can
    /// be told to be equal.
    package static func forPeople(_ declared: SecretDeclaration = SecretDeclaration()) -> Redaction
    {
        let mask: Mask = { kind, value in "‹\(kind) \(Secret(value).fingerprint)›" }
        return Redaction(
            known: KnownSecrets(declared.values) { "‹secret:\($0)›" },
            kind: lookup(declared.names),
            mask: mask
        )
    }

    /// The tables, and further names.
    package static func lookup(_ names: [String]) -> Lookup {
        let declared = Set(names.map(SecretNames.normal))
        return { name, place in
            let normal = SecretNames.normal(name)
            return SecretNames.kind(of: normal, in: place)
                ?? (declared.contains(normal) ? "secret" : nil)
        }
    }

    // MARK: Values and texts

    /// What stands in for one secret; a mark stays as it is.
    func masked(_ kind: String, _ value: String) -> String {
        if value.isEmpty || SecretMark.isMark(value) || Self.trifles.contains(value)
            || isHarmless(value)
        {
            return value
        }
        guard !known.isEmpty else { return mask(kind, value) }
        // An answer that shows a declared secret is recognised by its mark.
        let clean = known.replaced(in: value)
        if clean == value { return mask(kind, value) }
        if SecretMark.isMark(clean) { return clean }
        return (known.mark(in: Array(value.utf8)) ?? "") + mask(kind, value)
    }

    /// What stands under a secret's name and is none.
    private static let trifles: Set<String> = [
        "true", "false", "null", "nil", "none", "undefined",
    ]

    func kind(ofMember name: String) -> String? { kind(name, .members) }

    /// What `name: value` in a text holds: a member, or a header as logs print them.
    func kind(inText name: String) -> String? { kind(name, .members) ?? kind(name, .headers) }

    /// What `name=value` in a text holds.
    func kind(ofAssigned name: String) -> String? { kind(name, .leaves) }

    /// What a parameter holds; a name that says something else elsewhere needs a value that looks
    /// like a credential.
    func kind(ofParameter name: String, _ value: String) -> String? {
        guard let found = kind(name, .parameters) else { return nil }
        // Google's clients send their API key as plain `key`.
        let isPlain =
            found == "key" || kind(name, .leaves) != nil || SecretLooks.isCredible(value)
        return isPlain ? found : nil
    }

    /// Running text: declared values, words by their looks, and `name=value` by its name.
    package func text(_ text: String) -> String {
        guard text.utf8.contains(0x0a), Self.hasJSONLine(text) else {
            return scanned(text, findsPairs: true)
        }
        // A message as logs and reports print it: its lines of JSON are read as that.
        var isChanged = false
        let lines = text.parts(between: "\n").map { line in
            guard Self.isJSONLine(line.utf8), let value = Self.parsed(Array(line.utf8)) else {
                return line
            }
            let clean = json(value, Above(), &isChanged)
            return isChanged ? clean.text + (line.utf8.last == 13 ? "\r" : "") : line
        }
        return scanned(isChanged ? lines.joined(separator: "\n") : text, findsPairs: true)
    }

    private static func hasJSONLine(_ text: String) -> Bool {
        text.utf8.split(separator: 0x0a).contains(where: isJSONLine)
    }

    private static func isJSONLine(_ line: some Collection<UInt8>) -> Bool {
        let first = line.first { $0 > 0x20 }
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    }

    /// Text that is a person's own, such as a line of a contract: names say nothing in it.
    package func words(_ text: String) -> String { scanned(text, findsPairs: false) }

    private func scanned(_ text: String, findsPairs: Bool) -> String {
        let clean = known.replaced(in: text)
        guard SecretLooks.isWorthALook(clean) else { return clean }
        return TextScan(self, clean, findsPairs: findsPairs).result() ?? clean
    }

    // MARK: Targets and forms

    /// Path and query; parameters are secret by their names.
    package func target(_ target: String) -> String {
        guard let (path, query) = target.cut(at: "?") else { return text(target) }
        return text(path) + "?" + parameters(query)
    }

    /// `a=1&token=secret`, as queries and forms write it; any text at all is taken.
    package func parameters(_ text: String) -> String {
        text.parts(between: "&").map { pair in
            guard let (written, value) = pair.cut(at: "=") else { return self.text(pair) }
            let plain = FormText.decoded(value)
            let secret = kind(ofParameter: FormText.decoded(written), plain)
            let shown = self.text(written) + "="
            if let secret { return shown + masked(secret, plain) }
            return shown + encoded(value, plusIsBlank: true)
        }.joined(separator: "&")
    }

    /// A percent-encoded text: looked at as what it stands for, and left alone where that holds no
    /// secret.
    func encoded(_ text: String, plusIsBlank: Bool) -> String {
        let plain = FormText.decoded(text, plusIsBlank: plusIsBlank)
        let clean = string(plain)
        guard clean != plain else { return known.replaced(in: text) }
        return SecretMark.isMark(clean) ? clean : Self.encodedAroundMarks(clean)
    }

    /// Marks stay readable in what is encoded again.
    private static func encodedAroundMarks(_ text: String) -> String {
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
        fields.map { HTTPMessage.Field($0.name, fieldValue($0)) }
    }

    private func fieldValue(_ field: HTTPMessage.Field) -> String {
        guard let kind = kind(field.name, .headers) else {
            return Self.isDigest(field.name)
                ? known.replaced(in: field.value) : string(field.value)
        }
        if SecretMark.isMark(field.value) { return field.value }
        switch kind {
        case "authorization":
            // The scheme says how it was meant; the rest is the secret.
            let words = field.value.split(separator: " ", maxSplits: 1).map(String.init)
            guard words.count == 2 else { return masked(kind, field.value) }
            return words[0] + " " + masked(kind, words[1])
        case "cookie":
            let isSet = SecretNames.normal(field.name) == "setcookie"
            return cookies(field.value, hasAttributes: isSet)
        default: return masked(kind, field.value)
        }
    }

    /// Whether a name is that of a digest, which names a content and is chance all the same, or of a
    /// version, which looks like an address.
    private static func isDigest(_ name: String) -> Bool {
        let normal = SecretNames.normal(name)
        return digests.contains { normal.hasSuffix($0) }
    }

    private static let digests = [
        "etag", "ifnonematch", "ifmatch", "digest", "sha256", "sha1", "sha512", "md5", "checksum",
        "integrity", "version", "build",
    ]

    private static let cookieAttributes: Set<String> = [
        "path", "domain", "expires", "max-age", "samesite", "httponly", "secure", "priority",
        "partitioned",
    ]

    /// `sid=secret; Path=/`: every value but those of an answer's attributes.
    private func cookies(_ text: String, hasAttributes: Bool) -> String {
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

    package func json(_ value: JSONValue) -> JSONValue {
        var isChanged = false
        return json(value, Above(), &isChanged)
    }

    /// What the names above a value say of it.
    private struct Above {
        /// The kind of secret that stands below a name.
        var kind: String?
        /// What stands here tells what is wrong with something.
        var isComplaint = false
        /// It is the number of a purchase, an order or a person.
        var isNumber = false
        /// It names a content or a version, whatever it looks like.
        var isDigest = false
    }

    private func json(_ value: JSONValue, _ above: Above, _ isChanged: inout Bool) -> JSONValue {
        switch value {
        case .object(let object):
            var members: [JSONObject.Member] = []
            members.reserveCapacity(object.members.count)
            let told = kindOfValue(in: object)
            for member in object.members {
                var below = self.above(member, above)
                if below.kind == nil, Self.valueNames.contains(member.key) { below.kind = told }
                let key = self.key(member.key, above)
                isChanged = isChanged || key != member.key
                members.append(.init(key: key, value: json(member.value, below, &isChanged)))
            }
            return .object(JSONObject(members: members))
        case .array(let elements):
            var redacted: [JSONValue] = []
            redacted.reserveCapacity(elements.count)
            var below = above
            for element in elements {
                redacted.append(json(element, below, &isChanged))
                // `["Authorization", "…"]`, as lists of headers are written.
                if elements.count == 2, below.kind == nil, let name = element.string {
                    below.kind = kind(name, .headers)
                }
            }
            return .array(redacted)
        case .string(let text):
            let isProse = above.isComplaint && text.utf8.contains(0x20)
            let kind = isProse ? nil : above.kind
            let clean =
                kind.map { masked($0, text) }
                ?? (above.isDigest ? known.replaced(in: text) : string(text))
            isChanged = isChanged || clean != text
            return .string(clean)
        case .number(let number):
            let text = number.description
            let known = ["password", "key", "phone", "card", "account"].first { $0 == above.kind }
            let isCard =
                !above.isNumber
                && SecretLooks.cardEnd(in: Array(text.utf8), at: 0) == text.utf8.count
            guard let kind = known ?? (isCard ? "card" : nil) else { return value }
            isChanged = true
            return .string(masked(kind, text))
        case .bool, .null: return value
        }
    }

    private func above(_ member: JSONObject.Member, _ above: Above) -> Above {
        let isText = if case .string = member.value { true } else { false }
        let key = member.key
        let isCredential = ["password", "key", "token", "secret"].contains(above.kind)
        // RevenueCat's attributes hold their value one level down; of a credential everything counts.
        let inherited = isCredential || key == "value" ? above.kind : nil
        return Above(
            kind: kind(key, isText ? .leaves : .members) ?? inherited,
            isComplaint: above.isComplaint
                || SecretNames.complaints.contains(SecretNames.normal(key)),
            isNumber: ["id", "Id", "ID"].contains { key.hasSuffix($0) },
            isDigest: isText && Self.isDigest(key)
        )
    }

    /// A name, which is a secret itself where credentials are kept by their values.
    private func key(_ key: String, _ above: Above) -> String {
        guard let kind = above.kind, ["key", "token"].contains(kind), key.utf8.count >= 16,
            SecretLooks.isMixed(key)
        else { return text(key) }
        return masked(kind, key)
    }

    private static let valueNames: Set<String> = ["value", "val", "content", "Value"]
    private static let nameNames: Set<String> = ["name", "key", "field", "path", "header", "Name"]

    /// What `{"name": "password", "value": …}` holds, and `{"path": "/password", "value": …}`.
    private func kindOfValue(in object: JSONObject) -> String? {
        guard (2...8).contains(object.members.count),
            object.members.contains(where: { Self.valueNames.contains($0.key) })
        else { return nil }
        for member in object.members where Self.nameNames.contains(member.key) {
            guard let name = member.value.string?.parts(between: "/").last else { continue }
            if let kind = kind(name, .leaves) ?? kind(name, .headers) { return kind }
        }
        return nil
    }

    /// A text that may hold JSON itself.
    func string(_ text: String) -> String {
        if SecretLooks.isAddress(text) { return masked("address", text) }
        guard let first = text.utf8.first(where: { $0 > 0x20 }),
            first == UInt8(ascii: "{") || first == UInt8(ascii: "["),
            let value = Self.parsed(Array(text.utf8))
        else { return self.text(text) }
        var isChanged = false
        let clean = json(value, Above(), &isChanged)
        return isChanged ? clean.text : text
    }

    static func parsed(_ bytes: [UInt8]) -> JSONValue? {
        try? JSONValue(parsing: bytes, options: .init(depthMax: depthMax, duplicateKeys: .keep))
    }

    func jsonBody(_ value: JSONValue) -> RedactedBody {
        var isChanged = false
        let clean = json(value, Above(), &isChanged)
        return isChanged ? .json(clean) : .unchangedJSON(value)
    }
}

extension JSONValue {
    /// The value for people: what stands under a secret's name, or looks like one, is left out.
    package var withoutSecrets: JSONValue { Redaction.forPeople().json(self) }
}
