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
    private let kind: Lookup
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
        if value.isEmpty || SecretMark.isMark(value) || isHarmless(value) { return value }
        guard !known.isEmpty else { return mask(kind, value) }
        // An answer that shows a declared secret is recognised by its mark.
        let clean = known.replaced(in: value)
        if clean == value { return mask(kind, value) }
        if SecretMark.isMark(clean) { return clean }
        return (known.mark(in: Array(value.utf8)) ?? "") + mask(kind, value)
    }

    func kind(ofMember name: String) -> String? { kind(name, .members) }

    /// What `name: value` in a text holds: a member, or a header as logs print them.
    func kind(inText name: String) -> String? { kind(name, .members) ?? kind(name, .headers) }

    /// Running text: declared values, words by their looks, and `name=value` by its name.
    package func text(_ text: String) -> String { scanned(text, findsPairs: true) }

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
            // Google's clients send their API key as plain `key`.
            let secret = kind(FormText.decoded(written), .parameters)
            let shown = self.text(written) + "="
            if let secret { return shown + masked(secret, FormText.decoded(value)) }
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
        guard let kind = kind(field.name, .headers) else { return string(field.value) }
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
        return json(value, kind: nil, &isChanged)
    }

    /// The kind is what the name above says of the value.
    private func json(_ value: JSONValue, kind: String?, _ isChanged: inout Bool) -> JSONValue {
        switch value {
        case .object(let object):
            var members: [JSONObject.Member] = []
            members.reserveCapacity(object.members.count)
            for member in object.members {
                let below = self.kind(ofMember: member.key) ?? inherited(kind, by: member.key)
                let key = text(member.key)
                isChanged = isChanged || key != member.key
                members.append(.init(key: key, value: json(member.value, kind: below, &isChanged)))
            }
            return .object(JSONObject(members: members))
        case .array(let elements):
            var redacted: [JSONValue] = []
            redacted.reserveCapacity(elements.count)
            for element in elements { redacted.append(json(element, kind: kind, &isChanged)) }
            return .array(redacted)
        case .string(let text):
            let clean = kind.map { masked($0, text) } ?? string(text)
            isChanged = isChanged || clean != text
            return .string(clean)
        case .number(let number):
            let text = number.description
            let isCard = SecretLooks.cardEnd(in: Array(text.utf8), at: 0) == text.utf8.count
            let known = ["password", "key", "phone", "card", "account"].first { $0 == kind }
            guard let kind = known ?? (isCard ? "card" : nil) else { return value }
            isChanged = true
            return .string(masked(kind, text))
        case .bool, .null: return value
        }
    }

    /// RevenueCat's attributes hold their value one level down; of a credential everything counts.
    private func inherited(_ kind: String?, by key: String) -> String? {
        switch kind {
        case "password", "key", "token": kind
        default: key == "value" ? kind : nil
        }
    }

    /// A text that may hold JSON itself.
    func string(_ text: String) -> String {
        guard let first = text.utf8.first(where: { $0 > 0x20 }),
            first == UInt8(ascii: "{") || first == UInt8(ascii: "["),
            let value = Self.parsed(Array(text.utf8))
        else { return self.text(text) }
        var isChanged = false
        let clean = json(value, kind: nil, &isChanged)
        return isChanged ? clean.text : text
    }

    static func parsed(_ bytes: [UInt8]) -> JSONValue? {
        try? JSONValue(parsing: bytes, options: .init(depthMax: depthMax, duplicateKeys: .keep))
    }

    func jsonBody(_ value: JSONValue) -> RedactedBody {
        var isChanged = false
        let clean = json(value, kind: nil, &isChanged)
        return isChanged ? .json(clean) : .unchangedJSON(value)
    }
}

extension JSONValue {
    /// The value for people: what stands under a secret's name, or looks like one, is left out.
    package var withoutSecrets: JSONValue { Redaction.forPeople().json(self) }
}
