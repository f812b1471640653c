package import Values

/// The secrets that a profile, a provider or a running fake declares in addition to the built-in
/// tables.
package struct SecretDeclaration: Hashable, Sendable {
    /// The values that are secret in any position, keyed by the name that the mark of the value
    /// shows.
    package var values: [String: Secret]
    /// The names of headers, members and parameters that contain secrets, without regard to case.
    package var names: [String]
    /// The keys of the values that are not declared, but were found in the profile's texts under
    /// the name of a secret.
    ///
    /// The backend may have such a value from another source, so a response that contains the value
    /// violates no clause.
    package private(set) var foundSecretNames: Set<String> = []

    package init(values: [String: Secret] = [:], names: [String] = []) {
        self.values = values
        self.names = names
    }

    /// Adds the values and names of another declaration.
    package mutating func merge(_ other: SecretDeclaration) {
        names += other.names.filter { !names.contains($0) }
        for (name, secret) in other.values.sorted(by: { $0.key < $1.key }) {
            if other.foundSecretNames.contains(name) {
                addFoundSecret(name, secret.exposed)
            } else {
                var key = name
                while let known = values[key], known != secret { key += "-" }
                values[key] = secret
            }
        }
    }

    // MARK: Values in commands, URLs and bodies

    /// Whether a value that was found under the name of a secret is also masked in all other
    /// positions.
    ///
    /// A short value or a plain word, such as `true`, `dev` or `localhost`, occurs in many
    /// unrelated places, so it is masked only under its name. A value is distinctive when it has at
    /// least 6 bytes with letters and digits. It is also distinctive with at least 8 bytes and a
    /// digit or a capital letter, or with at least 16 bytes.
    package static func isDistinctive(_ value: String) -> Bool {
        let bytes = value.utf8
        let hasDigit = bytes.contains { (48...57).contains($0) }
        let hasCapital = bytes.contains { (65...90).contains($0) }
        let hasLetter = hasCapital || bytes.contains { (97...122).contains($0) }
        return bytes.count >= 16 || bytes.count >= 8 && (hasDigit || hasCapital)
            || bytes.count >= 6 && hasDigit && hasLetter
    }

    /// Whether a string is a value itself and not a reference to a value: `{{…}}`, `$NAME`,
    /// `${NAME}`.
    package static func isLiteral(_ text: String) -> Bool {
        let isReference =
            text.hasPrefix("${") || text.hasPrefix("$(")
            || text.utf8.first == UInt8(ascii: "$")
                && text.utf8.dropFirst().allSatisfy { (65...90).contains($0) || $0 == 95 }
        return !text.isEmpty && !text.contains("{{") && !isReference && !SecretMark.isMark(text)
    }

    /// Returns the range of the password in the first URL of the bytes; nil when no URL contains a
    /// password.
    static func passwordRange(in bytes: [UInt8]) -> Range<Int>? {
        guard let schemeSeparatorIndex = bytes.position(of: Array("://".utf8)) else { return nil }
        let start = schemeSeparatorIndex + 3
        let authorityEndBytes = Set("/?#\"'<> \t\r\n".utf8)
        let end = bytes[start...].firstIndex(where: authorityEndBytes.contains) ?? bytes.count
        guard let at = bytes[start..<end].lastIndex(of: UInt8(ascii: "@")),
            let colon = bytes[start..<at].firstIndex(of: UInt8(ascii: ":")), colon + 1 < at
        else { return nil }
        return (colon + 1)..<at
    }

    /// Adds the secrets that a command line contains under the name of a secret.
    package mutating func addCommand(_ command: String, _ redaction: Redaction) {
        for found in CommandSecrets(kind: redaction.kind(ofVariable:)).matches(in: command) {
            addFoundSecret(found.name, found.value)
        }
        // A word of the command may contain a URL with a password.
        for word in command.split(whereSeparator: { $0.isWhitespace || "'\"".contains($0) })
        where word.contains("://") {
            addURL(String(word), redaction)
        }
    }

    /// Adds the password and the secret parameters of a URL.
    package mutating func addURL(_ url: String, _ redaction: Redaction) {
        let bytes = Array(url.utf8)
        if let range = Self.passwordRange(in: bytes) {
            let password = String(decoding: bytes[range], as: UTF8.self)
            addFoundSecret("password", password)
            addFoundSecret("password", FormText.decoded(password, decodesPlusAsSpace: false))
        }
        guard let query = url.cut(at: "?")?.after else { return }
        for (name, value) in FormText.pairs(query.cut(at: "#")?.before ?? query)
        where redaction.kind(ofParameter: name, value).map(SecretNames.credentialKinds.contains)
            == true
        {
            addFoundSecret(name, value)
        }
    }

    /// Adds the strings of a JSON body under the names of secrets.
    package mutating func addBody(_ body: JSONValue, _ redaction: Redaction) {
        switch body {
        case .object(let object):
            for member in object.members {
                if let text = member.value.string, redaction.kind(ofVariable: member.key) != nil {
                    addFoundSecret(member.key, text)
                } else {
                    addBody(member.value, redaction)
                }
            }
        case .array(let elements): for element in elements { addBody(element, redaction) }
        case .string, .number, .bool, .null: break
        }
    }

    /// Adds a value that was found under the name of a secret, unless the value is already known or
    /// not distinctive.
    package mutating func addFoundSecret(_ name: String, _ value: String) {
        guard Self.isLiteral(value), Self.isDistinctive(value),
            !values.values.contains(where: { $0.exposed.contains(value) })
        else { return }
        var key = SecretMark.name(name)
        while values[key] != nil { key += "-" }
        values[key] = Secret(value)
        foundSecretNames.insert(key)
    }
}
