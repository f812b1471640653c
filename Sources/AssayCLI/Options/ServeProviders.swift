internal import Foundation
internal import Grammar
internal import Providers
internal import Redaction
internal import Values

/// The flags of `assay serve` that belong to a provider: API keys, and the URLs and secrets of
/// webhooks.
extension ServeCommand {
    /// Returns the secret that a flag gives, else the value of the environment variable
    /// `PROVIDER_ROLE`, such as `REVENUECAT_API_KEY`.
    private func secret(_ flag: String?, _ party: Exchange.Party, _ role: String) -> Secret? {
        let variable = "\(party)_\(role)".uppercased()
        let text = flag ?? ProcessInfo.processInfo.environment[variable]
        return text.flatMap { $0.isEmpty ? nil : Secret($0) }
    }

    /// The values of the flags for one provider.
    private struct ProviderFlags {
        var key: String?
        var authorization: String?
        var signingSecret: String?
        /// The flag for the URL of the provider's events, and its value.
        var webhook: (flag: String, url: String?)?
    }

    /// The flags that exist only for some providers.
    ///
    /// Environment variables give the same values for every provider, except the URL.
    private var flagsByProvider: [Exchange.Party: ProviderFlags] {
        [
            .revenueCat: ProviderFlags(
                key: revenuecatKey,
                authorization: authorization,
                signingSecret: signingSecret
            ),
            .oneSignal: ProviderFlags(key: onesignalKey),
            .purchasely: ProviderFlags(
                signingSecret: purchaselySecret,
                webhook: ("--purchasely-webhook", purchaselyWebhook)
            ),
        ]
    }

    /// The provider of a `--webhook` without a name.
    private static let unnamedWebhookProvider = Exchange.Party.revenueCat

    /// The API keys that callers of the fakes must send.
    var keys: [Exchange.Party: Secret] {
        let flags = flagsByProvider
        var keys: [Exchange.Party: Secret] = [:]
        for provider in Services.providers {
            keys[provider.party] = secret(flags[provider.party]?.key, provider.party, "API_KEY")
        }
        return keys
    }

    /// Returns the senders of webhooks, each with the URL and the secrets of its webhook.
    func webhooks() throws -> [(WebhookSenderEntry, WebhookTarget)] {
        let webhookProviders = ProviderTable.all.sortedEntries.filter { $0.sender != nil }
        let flags = flagsByProvider
        var webhookURLs = try webhook.map { try Self.providerAndURL($0, webhookProviders) }
        for party in webhookProviders.map(\.party) {
            if let (flag, url) = flags[party]?.webhook, let url {
                webhookURLs.append((flag, party, url))
            }
        }
        return try webhookURLs.compactMap { flag, party, url in
            guard let sender = ProviderTable.all[party]?.sender else { return nil }
            let target = WebhookTarget(
                url: try checkedURL(url, flag),
                authorization: secret(flags[party]?.authorization, party, "WEBHOOK_AUTH"),
                signingSecret: secret(flags[party]?.signingSecret, party, "WEBHOOK_SECRET")
            )
            return (sender, target)
        }
    }

    /// Parses a value of `--webhook`, which is `PROVIDER=URL`.
    ///
    /// A URL alone is for the events of `unnamedWebhookProvider`.
    private static func providerAndURL(
        _ text: String,
        _ webhookProviders: [ProviderEntry]
    ) throws -> (flag: String, party: Exchange.Party, url: String) {
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2, !parts[0].contains(where: { ":/?".contains($0) }) else {
            return ("--webhook", unnamedWebhookProvider, text)
        }
        let names = webhookProviders.map(\.party.description)
        guard let provider = webhookProviders.first(where: { $0.party.description == parts[0] })
        else {
            let nearestName = Suggestion.nearest(to: parts[0], among: names)
            throw CommandFailure(
                .usage,
                "--webhook '\(text)': no provider '\(parts[0])' sends events; "
                    + (nearestName.map { "did you mean '\($0)'? " } ?? "")
                    + "the providers are \(names.joined(separator: ", "))"
            )
        }
        return ("--webhook", provider.party, parts[1])
    }

    private func checkedURL(_ url: String, _ flag: String) throws -> String {
        _ = try TargetURL(url, flag: flag, allowed: allowHost)
        return url
    }
}
