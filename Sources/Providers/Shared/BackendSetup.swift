package import Redaction
package import Values

/// The values that a backend under test needs to call the fakes and to receive their webhook
/// events.
package struct BackendSetup: Sendable {
    /// The base URL of each running fake.
    ///
    /// A provider without an entry is not running.
    package var addresses: [Exchange.Party: String]
    package var secrets: [SecretName: Secret]
    /// The Firebase project whose ID tokens the backend accepts.
    package var project: String
    /// Whether the fake Firebase signs its tokens, as in production.
    ///
    /// If false, tokens are unsigned, as in the Firebase emulator.
    package var isSigned: Bool

    package init(
        addresses: [Exchange.Party: String],
        secrets: [SecretName: Secret],
        project: String,
        isSigned: Bool
    ) {
        self.addresses = addresses
        self.secrets = secrets
        self.project = project
        self.isSigned = isSigned
    }

    /// Returns one of the profile's secrets as a string; nil when the secret is missing or empty.
    package func text(_ name: SecretName) -> String? {
        secrets[name].flatMap { $0.isEmpty ? nil : $0.exposed }
    }
}

/// The traits of a backend under test that decide which services it calls.
package struct BackendTraits: Sendable {
    /// Whether the backend receives the ID tokens of its users.
    package var receivesIDTokens: Bool

    package init(receivesIDTokens: Bool) {
        self.receivesIDTokens = receivesIDTokens
    }
}

/// The webhook URL to which a provider sends its events, and the secrets that prove the sender.
package struct WebhookTarget: Sendable {
    package var url: String
    /// The complete value of the `Authorization` header that each webhook request carries.
    package var authorization: Secret?
    package var signingSecret: Secret?

    package init(url: String, authorization: Secret? = nil, signingSecret: Secret? = nil) {
        self.url = url
        self.authorization = authorization.flatMap { $0.isEmpty ? nil : $0 }
        self.signingSecret = signingSecret.flatMap { $0.isEmpty ? nil : $0 }
    }
}

extension Exchange.Party {
    /// Returns the name that a profile gives to a secret of this provider.
    ///
    /// The role is `key`, `signing` or `authorization`; the result is nil when a profile has no such
    /// secret.
    package func secret(_ role: String) -> SecretName? {
        let name = SecretName(rawValue: "\(self)-\(role)")
        let secrets = ProviderTable.all[self]?.profileSecrets ?? []
        return secrets.contains { $0.name == name } ? name : nil
    }
}
