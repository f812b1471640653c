package import Conformance

/// What a backend under test has to know so that it calls the fakes and takes their events.
package struct BackendSetup: Sendable {
    /// Where a provider's fake is; none: it is not running.
    package var addresses: [Exchange.Party: String]
    package var secrets: [Profile.SecretName: Secret]
    /// The project whose tokens the backend trusts.
    package var project: String
    /// Whether tokens are signed, as in production.
    package var isSigned: Bool

    package init(
        addresses: [Exchange.Party: String],
        secrets: [Profile.SecretName: Secret],
        project: String,
        isSigned: Bool
    ) {
        self.addresses = addresses
        self.secrets = secrets
        self.project = project
        self.isSigned = isSigned
    }

    /// A secret's text; nil when it is not given.
    package func text(_ name: Profile.SecretName) -> String? {
        secrets[name].flatMap { $0.isEmpty ? nil : $0.exposed }
    }
}

/// Where a provider sends its events, and what proves that they are its own.
package struct WebhookTarget: Sendable {
    package var url: String
    /// The whole `Authorization` value.
    package var authorization: Secret?
    package var signing: Secret?

    package init(url: String, authorization: Secret? = nil, signing: Secret? = nil) {
        self.url = url
        self.authorization = authorization.flatMap { $0.isEmpty ? nil : $0 }
        self.signing = signing.flatMap { $0.isEmpty ? nil : $0 }
    }
}

extension Exchange.Party {
    /// The secret of a profile that plays that role for this provider: `key`, `signing` or
    /// `authorization`; nil when no profile can give it.
    package func secret(_ role: String) -> Profile.SecretName? {
        Profile.SecretName(rawValue: "\(self)-\(role)")
    }
}
