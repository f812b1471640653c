package import Providers
internal import Redaction
package import Values

extension WebhookTarget {
    /// Creates the webhook target of a provider, with the secrets that the profile has for this
    /// provider.
    package init(of party: Exchange.Party, at url: String, _ profile: Profile) {
        func secret(_ role: String) -> Secret? {
            party.secret(role).flatMap { profile.secrets[$0] }
        }
        self.init(
            url: url,
            authorization: secret("authorization"),
            signingSecret: secret("signing")
        )
    }
}
