internal import Providers

/// Finds the environment variable with the secret that the backend and the sender of webhooks
/// share.
struct WebhookSecretSearch: Sendable {
    /// A variable that may hold the secret.
    struct Match: Sendable {
        let name: String
        /// Whether the secret seems to be a key for signatures, and not the value of a header.
        let isSigned: Bool
    }

    private let usesHMAC: Bool
    /// The file with the most likely webhook route.
    private let webhookFile: String?

    init(_ survey: SourceSurvey) {
        usesHMAC = survey.usesHMAC
        webhookFile = WebhookRoutes(survey.routes).routes.first?.location.split(separator: ":")
            .first.map(String.init)
    }

    /// Returns the most likely variable; nil if none may hold the secret.
    func best(in variables: [SourceSurvey.Variable]) -> Match? {
        let scored = variables.compactMap { variable in
            score(variable).map { (variable: variable, score: $0) }
        }
        guard
            let best = scored.enumerated().max(by: {
                ($0.element.score, -$0.offset) < ($1.element.score, -$1.offset)
            })?.element.variable
        else { return nil }
        let parts = EnvironmentGuess.parts(of: best.name)
        let isNamedForHeader = !parts.isDisjoint(with: ["AUTH", "AUTHORIZATION", "TOKEN", "BEARER"])
        return Match(
            name: best.name,
            isSigned: !parts.isDisjoint(with: EnvironmentGuess.signingWords)
                || usesHMAC && parts.contains("SECRET") && !isNamedForHeader
        )
    }

    /// Returns how likely it is that a variable holds the secret; nil if it does not.
    private func score(_ variable: SourceSurvey.Variable) -> Int? {
        let parts = EnvironmentGuess.parts(of: variable.name)
        let isHook = !parts.isDisjoint(with: EnvironmentGuess.webhookWords)
        guard
            !parts.isDisjoint(with: EnvironmentGuess.secretWords)
                || isHook && parts.contains("HEADER")
        else { return nil }
        let isInWebhookFile = webhookFile.map { variable.location.hasPrefix($0 + ":") } ?? false
        guard let provider = EnvironmentGuess.provider(of: variable) else {
            let names = WebhookRoutes.otherSenders.map { $0.uppercased() }
            return isHook && !names.contains(where: parts.contains)
                ? 5 + (isInWebhookFile ? 2 : 0) : nil
        }
        guard provider.party.secret("authorization") != nil else { return nil }
        if isHook { return 10 + (isInWebhookFile ? 2 : 0) }
        // A secret key for the API of the sender is another secret, unless the webhook reads it.
        let isKey = !parts.isDisjoint(with: ["KEY", "API", "APIKEY", "PUBLIC", "REST", "V1", "V2"])
        if isKey { return isInWebhookFile ? 3 : nil }
        return isInWebhookFile ? 6 : 4
    }
}
