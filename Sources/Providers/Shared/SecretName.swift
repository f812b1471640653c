package import Redaction

/// The name of a provider's secret in a profile, such as `revenuecat-signing`.
package struct SecretName: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }
}

/// A secret of a provider that a profile may define.
package struct ProfileSecret: Sendable {
    package let name: SecretName
    /// The documentation of the key in the profile.
    package let doc: String
    /// The value in profiles that do not define the secret; nil: such profiles have no value.
    package let defaultValue: Secret?

    package init(_ name: SecretName, _ doc: String, defaultValue: Secret? = nil) {
        (self.name, self.doc, self.defaultValue) = (name, doc, defaultValue)
    }
}
