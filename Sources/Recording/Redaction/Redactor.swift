package import Conformance
internal import FakeServers
internal import Providers

/// Replaces secrets before anything is written, so that equal ones stay equal and none can be read.
///
/// A placeholder is `‹kind:fingerprint›`; the fingerprint is keyed with a key that is never written.
/// What counts as a secret: the headers, members and query parameters below by their names, and
/// e-mail addresses, web tokens and provider keys by their looks, anywhere in a text. A value that
/// was a secret once is replaced wherever it turns up later, whatever stands around it.
package struct Redactor: Sendable {
    /// Names that the profile adds, in any case; of headers, members and parameters alike.
    private let added: Set<String>
    private let key: [UInt8]
    private let known = Locked(Known())
    /// What names were found to mean.
    private let kinds = Locked<[Table: [String: String?]]>([:])

    private struct Known {
        struct Entry {
            let bytes: [UInt8]
            let placeholder: [UInt8]
            let isKept: Bool
        }

        var placeholders: [String: String] = [:]
        /// The values that are looked for everywhere, by their first eight bytes; the oldest is
        /// forgotten.
        var sought: [UInt64: [Entry]] = [:]
        var order: [UInt64] = []
        /// Which pairs of bytes a value begins with, so that almost every place is passed quickly.
        var beginnings = [Bool](repeating: false, count: 65_536)

        /// Those of the profile are kept, whatever the session brings.
        mutating func seek(_ text: String, _ placeholder: String, isKept: Bool) {
            // As it stands in JSON.
            let bytes = Array(JSONValue.string(text).bytes.dropFirst().dropLast())
            guard bytes.count >= soughtLengthMin else { return }
            if order.count >= soughtMax {
                let oldest = order.removeFirst()
                sought[oldest]?.removeAll { !$0.isKept }
            }
            let word = Self.word(bytes, at: 0)
            if !isKept { order.append(word) }
            sought[word, default: []].append(
                Entry(bytes: bytes, placeholder: Array(placeholder.utf8), isKept: isKept)
            )
            beginnings[Int(bytes[0]) << 8 | Int(bytes[1])] = true
        }

        static func word(_ bytes: [UInt8], at start: Int) -> UInt64 {
            bytes[start..<(start + 8)].reduce(0) { $0 << 8 | UInt64($1) }
        }

        /// The next place where one may begin.
        func next(in bytes: [UInt8], from start: Int) -> Int? {
            guard start + soughtLengthMin <= bytes.count else { return nil }
            return beginnings.withUnsafeBufferPointer { beginnings in
                bytes.withUnsafeBufferPointer { bytes in
                    var pair = Int(bytes[start])
                    for index in start..<(bytes.count - soughtLengthMin + 1) {
                        pair = (pair & 0xff) << 8 | Int(bytes[index + 1])
                        if beginnings[pair] { return index }
                    }
                    return nil
                }
            }
        }

        /// The longest known value that begins at that place.
        func entry(in bytes: [UInt8], at start: Int) -> Entry? {
            guard start + soughtLengthMin <= bytes.count,
                beginnings[Int(bytes[start]) << 8 | Int(bytes[start + 1])],
                let entries = sought[Self.word(bytes, at: start)]
            else { return nil }
            return entries.filter { bytes[start...].starts(with: $0.bytes) }
                .max { $0.bytes.count < $1.bytes.count }
        }
    }

    /// A session has few secrets and repeats them; a load test has many and repeats none.
    private static let soughtMax = 256
    /// Shorter values would be found inside words.
    private static let soughtLengthMin = 8

    /// - Parameters:
    ///   - key: What fingerprints are keyed with.
    ///   - secrets: Values that are secret wherever they stand: those of the profile.
    ///   - names: Further names of headers, members and parameters that hold secrets.
    package init(key: [UInt8], secrets: [Secret] = [], names: [String] = []) {
        self.key = key
        added = Set(names.map(SecretNames.normal))
        for secret in secrets where !secret.isEmpty {
            let value = secret.exposed
            _ = placeholder("secret", value, isKept: true)
            let words = value.split(separator: " ").map(String.init)
            if words.count == 2 { _ = placeholder("secret", words[1], isKept: true) }
        }
    }

    // MARK: What is secret

    /// Beginnings of keys that providers hand out, and of the webhook secrets they make.
    private static let prefixes = [
        "sk_", "appl_", "goog_", "os_v2_", "AIza", "whsec_", "rcb_", "strp_", "amzn_",
    ]

    private func kind(_ name: String, in table: Table) -> String? {
        if let found = kinds.withLock({ $0[table]?[name] }) { return found }
        let normal = SecretNames.normal(name)
        let listed =
            table == .headers ? SecretNames.header(normal) : SecretNames.member(normal)
        let kind = listed ?? (added.contains(normal) ? "secret" : nil)
        kinds.withLock { kinds in
            // Names repeat; a stranger's ten thousand names must not be kept.
            if kinds[table, default: [:]].count < 4096 {
                kinds[table, default: [:]].updateValue(kind, forKey: name)
            }
        }
        return kind
    }

    private enum Table { case headers, members }

    // MARK: Placeholders

    /// `‹kind:fingerprint›`; the kind is that under which the value was first seen.
    private func placeholder(_ kind: String, _ value: String, isKept: Bool = false) -> String {
        if value.isEmpty || Self.isPlaceholder(value) { return value }
        let fingerprint = Digest.fingerprint(value, key: key)
        return known.withLock { known in
            if let found = known.placeholders[value] { return found }
            let made = "‹\(kind):\(fingerprint)›"
            if known.placeholders.count >= 4 * Self.soughtMax { known.placeholders.removeAll() }
            known.placeholders[value] = made
            known.seek(value, made, isKept: isKept)
            return made
        }
    }

    package static func isPlaceholder(_ text: String) -> Bool {
        text.hasPrefix("‹") && text.hasSuffix("›")
    }

    /// A line as it is written: every secret that is known by now is replaced, wherever it stands.
    package func line(_ value: JSONValue) -> [UInt8] { line(bytes: value.bytes) }

    func line(bytes: [UInt8]) -> [UInt8] {
        known.withLock { known in
            var output: [UInt8] = []
            var copied = 0
            var index = 0
            while let next = known.next(in: bytes, from: index) {
                index = next
                if let entry = known.entry(in: bytes, at: index) {
                    output += bytes[copied..<index]
                    output += entry.placeholder
                    index += entry.bytes.count
                    copied = index
                } else {
                    index += 1
                }
            }
            return copied == 0 ? bytes : output + bytes[copied...]
        }
    }

    /// Whether a known secret stands in bytes that nobody can take it out of.
    package func isSecret(_ bytes: [UInt8]) -> Bool {
        known.withLock { known in
            bytes.indices.contains { known.entry(in: bytes, at: $0) != nil }
        }
    }

    // MARK: Texts

    /// Whether it is worth looking at the words; almost no text holds any of these.
    private static func mayHoldSecrets(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            bytes.indices.contains { index in
                switch bytes[index] {
                case UInt8(ascii: "@"): true
                case UInt8(ascii: "J"), UInt8(ascii: "_"), UInt8(ascii: "a"), UInt8(ascii: " "):
                    beginnings.contains { beginning in
                        let start = index + 1 - beginning.count
                        return start >= 0
                            && bytes[start...index].elementsEqual(beginning)
                    }
                default: false
                }
            }
        }
    }

    /// How the words begin that are secrets by their looks; each ends in a byte that is looked for.
    private static let beginnings: [[UInt8]] =
        (["eyJ", "bearer ", "Bearer ", "AIza"] + prefixes.filter { $0.hasSuffix("_") })
        .map { Array($0.utf8) }

    /// Secrets that are known by their looks, wherever they stand, and those that are known already.
    package func text(_ text: String) -> String {
        guard Self.mayHoldSecrets(text) else { return text }
        var output = ""
        var word = ""
        var previous = ""
        func flush() -> String {
            defer {
                previous = word
                word = ""
            }
            if previous.lowercased() == "bearer", word.utf8.count >= Self.soughtLengthMin {
                return placeholder("authorization", word)
            }
            return Self.looks(word).map { placeholder($0, word) } ?? word
        }
        for character in text {
            if character.isLetter || character.isNumber || "._%+@$-".contains(character) {
                word.append(character)
            } else {
                if !word.isEmpty { output += flush() }
                output.append(character)
            }
        }
        if !word.isEmpty { output += flush() }
        return output
    }

    /// What a word is by its looks.
    private static func looks(_ word: String) -> String? {
        if word.hasPrefix("eyJ"),
            word.split(separator: ".", omittingEmptySubsequences: false).count >= 3
        {
            return "token"
        }
        if word.utf8.count >= 12, prefixes.contains(where: word.hasPrefix) { return "key" }
        let parts = word.split(separator: "@", omittingEmptySubsequences: false)
        if parts.count == 2, !parts[0].isEmpty, parts[1].contains("."), parts[1].count > 3,
            !word.hasPrefix("$")
        {
            return "email"
        }
        return nil
    }

    // MARK: Requests and answers

    package func fields(_ fields: [HTTPMessage.Field]) -> [HTTPMessage.Field] {
        fields.map { field in
            guard let kind = kind(field.name, in: .headers) else {
                return HTTPMessage.Field(field.name, text(field.value))
            }
            switch kind {
            case "authorization":
                // The scheme says how it was meant; the rest is the secret.
                let words = field.value.split(separator: " ", maxSplits: 1).map(String.init)
                guard words.count == 2 else { break }
                return HTTPMessage.Field(field.name, words[0] + " " + placeholder(kind, words[1]))
            case "cookie": return HTTPMessage.Field(field.name, cookies(field.value))
            default: break
            }
            return HTTPMessage.Field(field.name, placeholder(kind, field.value))
        }
    }

    /// `sid=secret; Path=/`: every value but those of the attributes.
    private func cookies(_ text: String) -> String {
        let attributes = [
            "path", "domain", "expires", "max-age", "samesite", "httponly", "secure", "priority",
        ]
        return text.split(separator: ";").map { part in
            let pair = part.split(separator: "=", maxSplits: 1).map(String.init)
            let name = pair[0].filter { !$0.isWhitespace }
            guard pair.count == 2, !attributes.contains(name.lowercased()) else {
                return String(part)
            }
            return pair[0] + "=" + placeholder("cookie", pair[1])
        }.joined(separator: ";")
    }

    /// Path and query; parameters are secret by their names.
    package func target(_ text: String) -> String {
        guard let mark = text.firstIndex(of: "?") else { return self.text(text) }
        let path = self.text(String(text[..<mark]))
        return path + "?" + parameters(String(text[text.index(after: mark)...]))
    }

    /// `a=1&token=secret`, as queries and forms write it.
    private func parameters(_ text: String) -> String {
        text.split(separator: "&", omittingEmptySubsequences: false).map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1).map(String.init)
            // Google's clients send their API key as plain `key`.
            let secret = parts[0] == "key" ? "key" : kind(parts[0], in: .members)
            guard parts.count == 2, let kind = secret else { return self.text(String(pair)) }
            return parts[0] + "=" + placeholder(kind, parts[1].percentDecoded)
        }.joined(separator: "&")
    }

    /// A body without secrets, as what it is.
    enum RedactedBody {
        case unchangedJSON(JSONValue)
        case json(JSONValue)
        case text(String)
        /// No text; known secrets may stand in it.
        case bytes
    }

    func redacted(_ bytes: [UInt8], contentType: String?) -> RedactedBody {
        if let value = try? JSONValue(
            parsing: bytes,
            options: .init(depthMax: 128, duplicateKeys: .keep)
        ) {
            var isChanged = false
            let redacted = json(value, kind: nil, &isChanged)
            return isChanged ? .json(redacted) : .unchangedJSON(value)
        }
        guard let text = String(validating: bytes, as: UTF8.self) else { return .bytes }
        if contentType?.lowercased().hasPrefix("application/x-www-form-urlencoded") == true {
            return .text(parameters(text))
        }
        return .text(self.text(text))
    }

    /// A body's bytes without secrets.
    package func body(_ bytes: [UInt8], contentType: String?) -> [UInt8] {
        switch redacted(bytes, contentType: contentType) {
        case .unchangedJSON, .bytes: bytes
        case .json(let value): value.bytes
        case .text(let text): Array(text.utf8)
        }
    }

    package func json(_ value: JSONValue) -> JSONValue {
        var isChanged = false
        return json(value, kind: nil, &isChanged)
    }

    private func json(
        _ value: JSONValue,
        kind: String?,
        _ isChanged: inout Bool
    ) -> JSONValue {
        switch value {
        case .object(let object):
            var members: [JSONObject.Member] = []
            members.reserveCapacity(object.members.count)
            for member in object.members {
                // RevenueCat's attributes hold their value one level down.
                let own = self.kind(member.key, in: .members)
                let inherited = member.key == "value" ? kind : nil
                let key = text(member.key)
                isChanged = isChanged || key != member.key
                members.append(
                    .init(key: key, value: json(member.value, kind: own ?? inherited, &isChanged))
                )
            }
            return .object(JSONObject(members: members))
        case .array(let elements):
            var redacted: [JSONValue] = []
            for element in elements { redacted.append(json(element, kind: kind, &isChanged)) }
            return .array(redacted)
        case .string(let text):
            let redacted = kind.map { placeholder($0, text) } ?? self.text(text)
            isChanged = isChanged || redacted != text
            return .string(redacted)
        case .number(let number) where kind == "password" || kind == "key" || kind == "phone":
            isChanged = true
            return .string(placeholder(kind ?? "secret", number.description))
        case .number, .bool, .null: return value
        }
    }

    /// The whole exchange without secrets.
    package func exchange(_ exchange: Exchange) -> Exchange {
        var copy = exchange
        copy.request.target = target(exchange.request.target)
        copy.request.fields = fields(exchange.request.fields)
        copy.request.body = body(
            exchange.request.body,
            contentType: exchange.request[field: "content-type"]
        )
        copy.request.parsedBody = nil
        if case .answered(var response) = exchange.outcome {
            response.body = body(response.body, contentType: response[field: "content-type"])
            response.fields = fields(response.fields)
            copy.outcome = .answered(response)
        }
        copy.effects = exchange.effects.map(effect)
        return copy
    }

    package func effect(_ effect: Effect) -> Effect {
        var effect = effect
        effect.recipients = effect.recipients.map(text)
        effect.content = json(effect.content)
        effect.idempotencyKey = effect.idempotencyKey.map(text)
        return effect
    }
}

extension String {
    /// The text with `%41` and `+` decoded; what is no encoding stays.
    var percentDecoded: String {
        guard contains("%") || contains("+") else { return self }
        var output: [UInt8] = []
        var rest = Array(utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                output.append(value)
                rest = rest.dropFirst(2)
            } else {
                output.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return String(decoding: output, as: UTF8.self)
    }
}
