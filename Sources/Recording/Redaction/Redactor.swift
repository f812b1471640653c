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

    private struct Known {
        struct Entry {
            let bytes: [UInt8]
            let placeholder: [UInt8]
        }

        var placeholders: [String: String] = [:]
        /// The values that are looked for everywhere, by their first eight bytes; the oldest is
        /// forgotten.
        var sought: [UInt64: [Entry]] = [:]
        var order: [UInt64] = []
        /// Which pairs of bytes a value begins with, so that almost every place is passed quickly.
        var beginnings = [Bool](repeating: false, count: 65_536)

        mutating func seek(_ text: String, _ placeholder: String) {
            // As it stands in JSON.
            let bytes = Array(JSONValue.string(text).bytes.dropFirst().dropLast())
            guard bytes.count >= soughtLengthMin else { return }
            if order.count >= soughtMax {
                let oldest = order.removeFirst()
                sought[oldest] = nil
            }
            let word = Self.word(bytes, at: 0)
            order.append(word)
            sought[word, default: []].append(
                Entry(bytes: bytes, placeholder: Array(placeholder.utf8))
            )
            beginnings[Int(bytes[0]) << 8 | Int(bytes[1])] = true
        }

        static func word(_ bytes: [UInt8], at start: Int) -> UInt64 {
            bytes[start..<(start + 8)].reduce(0) { $0 << 8 | UInt64($1) }
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
        added = Set(names.map(Self.normal))
        for secret in secrets where !secret.isEmpty {
            let value = secret.exposed
            _ = placeholder("secret", value)
            let words = value.split(separator: " ").map(String.init)
            if words.count == 2 { _ = placeholder("secret", words[1]) }
        }
    }

    // MARK: What is secret

    /// Headers whose value is a credential or proves one.
    private static let headers: [String: String] = [
        "authorization": "authorization", "proxyauthorization": "authorization",
        "cookie": "cookie", "setcookie": "cookie", "xapikey": "key", "xgoogapikey": "key",
        "xauthtoken": "token", "xcsrftoken": "token", "xaccesstoken": "token",
        "xrevenuecatwebhooksignature": "signature", "xpurchaselyrequestsignature": "signature",
        "xpurchaselysignature": "signature", "xfirebaseappcheck": "token",
        "xforwardedfor": "address", "xrealip": "address",
    ]

    /// Members and parameters by their names, without case and punctuation: RevenueCat's device
    /// attributes (`$email`, `$idfa`), Firebase's tokens, stores' receipts, and what backends call
    /// theirs.
    private static let members: [String: String] = {
        let byKind: [String: [String]] = [
            "password": ["password", "newpassword", "oldpassword", "passwordhash", "passwd"],
            "token": [
                "token", "idtoken", "accesstoken", "refreshtoken", "sessioncookie", "customtoken",
                "devicetoken", "pushtoken", "fcmtoken", "apnstoken", "apnstokens", "fcmtokens",
                "jwt", "oobcode", "ooblink", "sessiontoken", "authtoken", "proof",
                "identifiertoken",
            ],
            "key": ["apikey", "appkey", "secret", "clientsecret", "privatekey", "signingkey"],
            "receipt": ["fetchtoken", "purchasetoken", "receipt", "receiptdata", "latestreceipt"],
            "signature": ["signature", "sig"],
            "authorization": ["authorization"],
            "email": ["email", "emailaddress", "mail"],
            "phone": ["phone", "phonenumber"],
            "device": [
                "deviceid", "installid", "installationid", "idfa", "idfv", "gpsadid", "androidid",
                "advertisingid", "vendorid",
            ],
            "address": ["ip", "ipaddress"],
        ]
        var table: [String: String] = [:]
        for (kind, names) in byKind { for name in names { table[name] = kind } }
        return table
    }()

    /// Beginnings of keys that providers hand out, and of the webhook secrets they make.
    private static let prefixes = [
        "sk_", "appl_", "goog_", "os_v2_", "AIza", "whsec_", "rcb_", "strp_", "amzn_",
    ]

    private static func normal(_ name: String) -> String {
        String(
            decoding: name.utf8.compactMap { byte -> UInt8? in
                switch byte {
                case 65...90: byte + 32
                case 48...57, 97...122: byte
                default: nil
                }
            },
            as: UTF8.self
        )
    }

    private func kind(_ name: String, in table: [String: String]) -> String? {
        let name = Self.normal(name)
        return table[name] ?? (added.contains(name) ? "secret" : nil)
    }

    // MARK: Placeholders

    /// `‹kind:fingerprint›`; the kind is that under which the value was first seen.
    private func placeholder(_ kind: String, _ value: String) -> String {
        if value.isEmpty || Self.isPlaceholder(value) { return value }
        let fingerprint = Digest.fingerprint(value, key: key)
        return known.withLock { known in
            if let found = known.placeholders[value] { return found }
            let made = "‹\(kind):\(fingerprint)›"
            if known.placeholders.count >= 4 * Self.soughtMax { known.placeholders.removeAll() }
            known.placeholders[value] = made
            known.seek(value, made)
            return made
        }
    }

    package static func isPlaceholder(_ text: String) -> Bool {
        text.hasPrefix("‹") && text.hasSuffix("›")
    }

    /// A line as it is written: every secret that is known by now is replaced, wherever it stands.
    package func line(_ value: JSONValue) -> [UInt8] {
        let bytes = value.bytes
        return known.withLock { known in
            var output: [UInt8] = []
            var copied = 0
            var index = 0
            while index < bytes.count {
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

    /// Secrets that are known by their looks, wherever they stand, and those that are known already.
    package func text(_ text: String) -> String {
        let bytes = text.utf8
        let mayHoldSecrets =
            bytes.contains(UInt8(ascii: "@")) || bytes.contains(UInt8(ascii: "_"))
            || text.contains("eyJ") || text.contains("AIza") || text.contains("earer ")
        guard mayHoldSecrets else { return text }
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
            guard let kind = kind(field.name, in: Self.headers) else {
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
            let secret = parts[0] == "key" ? "key" : kind(parts[0], in: Self.members)
            guard parts.count == 2, let kind = secret else { return self.text(String(pair)) }
            return parts[0] + "=" + placeholder(kind, parts[1].percentDecoded)
        }.joined(separator: "&")
    }

    /// A body's bytes without secrets.
    package func body(_ bytes: [UInt8], contentType: String?) -> [UInt8] {
        guard !bytes.isEmpty else { return bytes }
        if let value = try? JSONValue(
            parsing: bytes,
            options: .init(depthMax: 128, duplicateKeys: .keep)
        ) {
            let redacted = json(value)
            return redacted == value ? bytes : redacted.bytes
        }
        guard let text = String(validating: bytes, as: UTF8.self) else { return bytes }
        if contentType?.lowercased().hasPrefix("application/x-www-form-urlencoded") == true {
            return Array(parameters(text).utf8)
        }
        return Array(self.text(text).utf8)
    }

    package func json(_ value: JSONValue) -> JSONValue { json(value, kind: nil) }

    private func json(_ value: JSONValue, kind: String?) -> JSONValue {
        switch value {
        case .object(let object):
            .object(
                JSONObject(
                    members: object.members.map { member in
                        // RevenueCat's attributes hold their value one level down.
                        let own = self.kind(member.key, in: Self.members)
                        let inherited = member.key == "value" ? kind : nil
                        return .init(
                            key: text(member.key),
                            value: json(member.value, kind: own ?? inherited)
                        )
                    }
                )
            )
        case .array(let elements): .array(elements.map { json($0, kind: kind) })
        case .string(let text):
            .string(kind.map { placeholder($0, text) } ?? self.text(text))
        case .number(let number) where kind == "password" || kind == "key" || kind == "phone":
            .string(placeholder(kind ?? "secret", number.description))
        case .number, .bool, .null: value
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
