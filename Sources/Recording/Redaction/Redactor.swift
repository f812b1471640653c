internal import Providers
package import Redaction
package import Values

/// Replaces the secrets of one recording with placeholders.
///
/// Equal secrets get the same placeholder, and no placeholder reveals its secret.
///
/// A placeholder is `‹kind:fingerprint›`, or `‹kind:fingerprint.prefix›` for a key whose prefix
/// identifies its service. The fingerprint is a hash with a key that is never written. The kind of
/// a secret is the kind of its first occurrence. After that, the same value is replaced wherever it
/// occurs.
package struct Redactor: Sendable {
    /// The secrets, headers and names that the redactor has seen so far.
    private struct Caches {
        var placeholders: [String: String] = [:]
        var knownSecrets = KnownSecrets(removableValueCountMax: knownSecretCountMax)
        /// Headers that contain no secret, cached because most headers repeat within a session.
        var fieldsWithoutSecrets: Set<HTTPMessage.Field> = []
        /// The kind of secret that a header, JSON member or parameter holds, by its name; nil when
        /// it holds none.
        var secretKindByNameAndPosition: [SecretNames.Position: [String: String?]] = [:]
    }

    /// The maximum number of secrets that are searched for in every line of the recording.
    ///
    /// A session has few secrets and repeats them; a load test has many and repeats none.
    private static let knownSecretCountMax = 256
    /// The minimum length in bytes of a secret that is searched for in every line.
    ///
    /// Shorter secrets would also match inside words.
    private static let knownSecretLengthMin = 8
    /// The maximum number of cached names and headers, so that a recorded client with ten thousand
    /// names does not fill the memory.
    private static let cachedNameCountMax = 4096
    /// The maximum length in bytes of a header value that is cached.
    ///
    /// Longer values rarely repeat.
    private static let cachedFieldLengthMax = 200

    private let key: [UInt8]
    /// Names of headers, JSON members and parameters that the profile of the backend declares
    /// secret.
    private let names: [String]
    private let caches = Locked(Caches())

    /// Creates the redactor of one recording.
    ///
    /// - Parameters:
    ///   - key: The key of the hash that makes the fingerprints in placeholders.
    ///   - secrets: Values that are secret wherever they occur: the secrets in the profile of the
    ///     backend.
    ///   - names: Names of headers, JSON members and parameters that hold secrets, in addition to
    ///     the built-in names.
    package init(key: [UInt8], secrets: [Secret] = [], names: [String] = []) {
        self.key = key
        self.names = names
        for secret in secrets where !secret.isEmpty {
            let value = secret.exposed
            _ = placeholder("secret", value, isPermanent: true)
            let schemeAndCredential = value.split(separator: " ").map(String.init)
            if schemeAndCredential.count == 2 {
                _ = placeholder("secret", schemeAndCredential[1], isPermanent: true)
            }
        }
    }

    private var redaction: Redaction {
        let lookUpDeclaredKind = Redaction.kindLookup(names)
        return Redaction(
            kind: { name, position in
                if let cachedResult = caches.withLock({
                    $0.secretKindByNameAndPosition[position]?[name]
                }) {
                    return cachedResult
                }
                let kind = lookUpDeclaredKind(name, position)
                caches.withLock { caches in
                    guard
                        caches.secretKindByNameAndPosition[position, default: [:]].count
                            < Self.cachedNameCountMax
                    else {
                        return
                    }
                    caches.secretKindByNameAndPosition[position, default: [:]].updateValue(
                        kind,
                        forKey: name
                    )
                }
                return kind
            },
            mask: { kind, value in placeholder(kind, value) }
        )
    }

    private func placeholder(_ kind: String, _ value: String, isPermanent: Bool = false) -> String {
        let fingerprint = Digest.fingerprint(value, key: key)
        return caches.withLock { caches in
            if let cachedResult = caches.placeholders[value] { return cachedResult }
            // The placeholder keeps the prefix of a key, such as `rk_live_`, which identifies its
            // service.
            let prefix = SecretPatterns.prefix(of: value).map { "." + $0 } ?? ""
            let newPlaceholder = "‹\(kind):\(fingerprint)\(prefix)›"
            if caches.placeholders.count >= 4 * Self.knownSecretCountMax {
                caches.placeholders.removeAll()
            }
            caches.placeholders[value] = newPlaceholder
            if value.utf8.count >= Self.knownSecretLengthMin,
                isPermanent || Self.isUnlikelySecret(value)
            {
                caches.knownSecrets.add(value, newPlaceholder, isPermanent: isPermanent)
            }
            return newPlaceholder
        }
    }

    /// Returns whether a secret is distinctive enough to be searched for in every line.
    ///
    /// A secret of lowercase letters, underscores and hyphens could be an ordinary word elsewhere.
    private static func isUnlikelySecret(_ value: String) -> Bool {
        !value.utf8.allSatisfy { (97...122).contains($0) || $0 == 0x5f || $0 == 0x2d }
    }

    package static func isPlaceholder(_ text: String) -> Bool { SecretMark.isMark(text) }

    // MARK: Lines

    /// Returns a line as it is written to the recording file, with every secret that is known so
    /// far replaced.
    package func line(_ value: JSONValue) -> [UInt8] { line(bytes: value.bytes) }

    func line(bytes: [UInt8]) -> [UInt8] {
        caches.withLock { $0.knownSecrets.maskingSecrets(in: bytes) }
    }

    /// Returns whether bytes contain a known secret.
    ///
    /// It is used for binary data, in which a secret cannot be replaced.
    package func isSecret(_ bytes: [UInt8]) -> Bool {
        caches.withLock { $0.knownSecrets.areContained(in: bytes) }
    }

    // MARK: Messages

    package func text(_ text: String) -> String { redaction.text(text) }

    package func fields(_ fields: [HTTPMessage.Field]) -> [HTTPMessage.Field] {
        let redaction = redaction
        return fields.map { field in
            guard field.value.utf8.count <= Self.cachedFieldLengthMax else {
                return redaction.fields([field])[0]
            }
            if caches.withLock({ $0.fieldsWithoutSecrets.contains(field) }) { return field }
            let redacted = redaction.fields([field])[0]
            if redacted == field {
                caches.withLock { caches in
                    if caches.fieldsWithoutSecrets.count >= Self.cachedNameCountMax {
                        caches.fieldsWithoutSecrets.removeAll()
                    }
                    caches.fieldsWithoutSecrets.insert(field)
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

    /// Returns the exchange with every secret replaced.
    package func exchange(_ exchange: Exchange) -> Exchange { redaction.exchange(exchange) }

    package func effect(_ effect: Effect) -> Effect { redaction.effect(effect) }
}

extension String {
    /// The string with `%41` and `+` decoded; malformed escapes stay unchanged.
    var percentDecoded: String { FormText.decoded(self) }
}
