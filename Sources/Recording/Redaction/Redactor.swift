package import Conformance
internal import FakeServers
internal import Providers

/// Keeps the books of `Redaction` for one recording, so that equal secrets stay equal and none can
/// be read.
///
/// A placeholder is `‹kind:fingerprint›`, or `‹kind:fingerprint.prefix›` for a key whose beginning says
/// whose it is; the fingerprint is keyed with a key that is never written,
/// and the kind is that under which the value was first seen. A value that was a secret once is
/// replaced wherever it turns up later, whatever stands around it.
package struct Redactor: Sendable {
    /// What has been seen so far.
    private struct Books {
        var placeholders: [String: String] = [:]
        var known = KnownSecrets(countMax: soughtMax)
        /// Headers that hold nothing secret; most of a session's are the same.
        var clean: Set<HTTPMessage.Field> = []
        /// What names were found to mean.
        var kinds: [SecretNames.Place: [String: String?]] = [:]
    }

    /// A session has few secrets and repeats them; a load test has many and repeats none.
    private static let soughtMax = 256
    /// Shorter values would be found inside words, in bytes.
    private static let soughtLengthMin = 8
    /// Names repeat; a stranger's ten thousand names must not be kept.
    private static let nameCountMax = 4096
    /// Longer headers do not repeat, in bytes.
    private static let cleanLengthMax = 200

    private let key: [UInt8]
    /// Names that the profile adds; of headers, members and parameters alike.
    private let names: [String]
    private let books = Locked(Books())

    /// - Parameters:
    ///   - key: What fingerprints are keyed with.
    ///   - secrets: Values that are secret wherever they stand: those of the profile.
    ///   - names: Further names of headers, members and parameters that hold secrets.
    package init(key: [UInt8], secrets: [Secret] = [], names: [String] = []) {
        self.key = key
        self.names = names
        for secret in secrets where !secret.isEmpty {
            let value = secret.exposed
            _ = placeholder("secret", value, isKept: true)
            let words = value.split(separator: " ").map(String.init)
            if words.count == 2 { _ = placeholder("secret", words[1], isKept: true) }
        }
    }

    private var redaction: Redaction {
        let declared = Redaction.lookup(names)
        return Redaction(
            kind: { name, place in
                if let found = books.withLock({ $0.kinds[place]?[name] }) { return found }
                let kind = declared(name, place)
                books.withLock { books in
                    guard books.kinds[place, default: [:]].count < Self.nameCountMax else { return }
                    books.kinds[place, default: [:]].updateValue(kind, forKey: name)
                }
                return kind
            },
            mask: { kind, value in placeholder(kind, value) }
        )
    }

    private func placeholder(_ kind: String, _ value: String, isKept: Bool = false) -> String {
        let fingerprint = Digest.fingerprint(value, key: key)
        return books.withLock { books in
            if let found = books.placeholders[value] { return found }
            // What its service puts in front says what it is, and how a backend knows it.
            let prefix = SecretLooks.prefix(of: value).map { "." + $0 } ?? ""
            let made = "‹\(kind):\(fingerprint)\(prefix)›"
            if books.placeholders.count >= 4 * Self.soughtMax { books.placeholders.removeAll() }
            books.placeholders[value] = made
            if value.utf8.count >= Self.soughtLengthMin, isKept || Self.isUnlikely(value) {
                books.known.add(value, made, isKept: isKept)
            }
            return made
        }
    }

    /// Whether a value may be looked for everywhere: a word of small letters is a word elsewhere.
    private static func isUnlikely(_ value: String) -> Bool {
        !value.utf8.allSatisfy { (97...122).contains($0) || $0 == 0x5f || $0 == 0x2d }
    }

    package static func isPlaceholder(_ text: String) -> Bool { SecretMark.isMark(text) }

    // MARK: Lines

    /// A line as it is written: every secret that is known by now is replaced, wherever it stands.
    package func line(_ value: JSONValue) -> [UInt8] { line(bytes: value.bytes) }

    func line(bytes: [UInt8]) -> [UInt8] { books.withLock { $0.known.replaced(in: bytes) } }

    /// Whether a known secret stands in bytes that nobody can take it out of.
    package func isSecret(_ bytes: [UInt8]) -> Bool {
        books.withLock { $0.known.occur(in: bytes) }
    }

    // MARK: Messages

    package func text(_ text: String) -> String { redaction.text(text) }

    package func fields(_ fields: [HTTPMessage.Field]) -> [HTTPMessage.Field] {
        let redaction = redaction
        return fields.map { field in
            guard field.value.utf8.count <= Self.cleanLengthMax else {
                return redaction.fields([field])[0]
            }
            if books.withLock({ $0.clean.contains(field) }) { return field }
            let redacted = redaction.fields([field])[0]
            if redacted == field {
                books.withLock { books in
                    if books.clean.count >= Self.nameCountMax { books.clean.removeAll() }
                    books.clean.insert(field)
                }
            }
            return redacted
        }
    }

    package func target(_ text: String) -> String { redaction.target(text) }

    func redacted(_ bytes: [UInt8], contentType: String?) -> RedactedBody {
        redaction.redacted(bytes, contentType: contentType)
    }

    package func json(_ value: JSONValue) -> JSONValue { redaction.json(value) }

    /// The whole exchange without secrets.
    package func exchange(_ exchange: Exchange) -> Exchange { redaction.exchange(exchange) }

    package func effect(_ effect: Effect) -> Effect { redaction.effect(effect) }
}

extension String {
    /// The text with `%41` and `+` decoded; what is no encoding stays.
    var percentDecoded: String { FormText.decoded(self) }
}
