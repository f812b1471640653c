/// What a profile, a provider or a running fake knows to be secret beyond the tables.
package struct SecretDeclaration: Hashable, Sendable {
    /// Values that are secret wherever they stand, by the name under which a mark shows them.
    package var values: [String: Secret]
    /// Names of headers, members and parameters that hold secrets, in any case.
    package var names: [String]

    package init(values: [String: Secret] = [:], names: [String] = []) {
        self.values = values
        self.names = names
    }

    /// What a profile declares.
    package init(_ profile: Profile) {
        self.init(names: profile.allSecretNames)
        for (name, secret) in profile.secrets { values[name.rawValue] = secret }
        for (name, secret) in profile.allCredentials.flatMap(\.headers)
        where !secret.exposed.contains("{{") {
            // Two requests may send other values under one name, and both are secret.
            var key = name.lowercased()
            while let other = values[key], other != secret { key += "-" }
            values[key] = secret
        }
    }
}
