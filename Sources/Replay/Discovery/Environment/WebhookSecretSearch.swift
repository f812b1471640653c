internal import Providers

/// Finds the environment variables with the secrets that the backend and the sender of webhooks
/// share.
///
/// The use of a secret in the code decides, and without a known use the name of its variable.
struct WebhookSecretSearch: Sendable {
    /// A variable that may hold the secret that proves the sender.
    struct Match: Sendable {
        let name: String
        /// Whether the secret seems to be a key for signatures, and not the value of a header.
        let isSigned: Bool
    }

    private let uses: SecretUses
    private let usesHMAC: Bool
    /// The file with the most likely webhook route.
    private let webhookFile: String?

    init(_ survey: SourceSurvey, _ uses: SecretUses) {
        self.uses = uses
        usesHMAC = survey.usesHMAC
        webhookFile = WebhookRoutes(survey.routes).routes.first?.location.split(separator: ":")
            .first.map(String.init)
    }

    /// Returns the most likely variables.
    ///
    /// - Returns: The variable with the secret that proves the sender, and the variable with the key
    ///   for signatures if it is another one.
    func best(in variables: [SourceSurvey.Variable]) -> (proof: Match?, signing: String?) {
        var signing = mostLikely(variables.filter(isForSignatures), score)
        var header = mostLikely(variables.filter { !isForSignatures($0) }, score)
        // Beside a secret of the sender, one without a relation to the sender belongs to another
        // service, such as a payment provider.
        if let first = signing, let second = header, isOfSender(first) != isOfSender(second) {
            if isOfSender(first) { header = nil } else { signing = nil }
        }
        guard let header = header?.name else {
            return (signing.map { Match(name: $0.name, isSigned: true) }, nil)
        }
        let parts = EnvironmentGuess.parts(of: header)
        let isNamedForHeader = !parts.isDisjoint(with: ["AUTH", "AUTHORIZATION", "TOKEN", "BEARER"])
        let mayBeSigned =
            signing == nil && uses.kinds[header] == nil && usesHMAC && parts.contains("SECRET")
            && !isNamedForHeader
        return (Match(name: header, isSigned: mayBeSigned), signing?.name)
    }

    private func mostLikely(
        _ variables: [SourceSurvey.Variable],
        _ score: (SourceSurvey.Variable) -> Int?
    ) -> SourceSurvey.Variable? {
        let scored = variables.compactMap { variable in
            score(variable).map { (variable: variable, score: $0) }
        }
        return scored.enumerated().max {
            ($0.element.score, -$0.offset) < ($1.element.score, -$1.offset)
        }?.element.variable
    }

    /// Returns whether the name of a variable, its file or its use shows that it belongs to the
    /// sender of the webhooks.
    private func isOfSender(_ variable: SourceSurvey.Variable) -> Bool {
        let parties = [
            EnvironmentGuess.provider(of: variable)?.party, uses.parties[variable.name],
        ]
        return isInWebhookFile(variable)
            || parties.contains { $0?.secret("authorization") != nil }
    }

    private func isInWebhookFile(_ variable: SourceSurvey.Variable) -> Bool {
        webhookFile.map { variable.location.hasPrefix($0 + ":") } ?? false
    }

    /// Returns whether a secret is a key with which the sender signs webhooks.
    private func isForSignatures(_ variable: SourceSurvey.Variable) -> Bool {
        if let kind = uses.kinds[variable.name] { return kind == .signing }
        return !EnvironmentGuess.parts(of: variable.name)
            .isDisjoint(with: EnvironmentGuess.signingWords)
    }

    /// Returns how likely it is that a variable holds a secret that the sender shares; nil if it
    /// does not.
    private func score(_ variable: SourceSurvey.Variable) -> Int? {
        let parts = EnvironmentGuess.parts(of: variable.name)
        let isHook = !parts.isDisjoint(with: EnvironmentGuess.webhookWords)
        guard
            !parts.isDisjoint(with: EnvironmentGuess.secretWords)
                || !parts.isDisjoint(with: EnvironmentGuess.signingWords)
                    && parts.isDisjoint(with: EnvironmentGuess.settingWords)
                || isHook && parts.contains("HEADER")
        else { return nil }
        let use = uses.kinds[variable.name]
        guard use != .key else { return nil }
        let isInWebhookFile = isInWebhookFile(variable)
        guard let provider = EnvironmentGuess.provider(of: variable) else {
            let names = WebhookRoutes.otherSenders.map { $0.uppercased() }
            return isHook && !names.contains(where: parts.contains)
                ? 5 + (isInWebhookFile ? 2 : 0) + (use == nil ? 0 : 1) : nil
        }
        guard provider.party.secret("authorization") != nil else { return nil }
        if use != nil { return 15 + (isInWebhookFile ? 2 : 0) + (isHook ? 1 : 0) }
        if isHook { return 10 + (isInWebhookFile ? 2 : 0) }
        // A secret key for the API of the sender is another secret, unless the webhook reads it.
        let isKey = !parts.isDisjoint(with: ["KEY", "API", "APIKEY", "PUBLIC", "REST", "V1", "V2"])
        let isSignature = !parts.isDisjoint(with: EnvironmentGuess.signingWords)
        if isKey, !isSignature { return isInWebhookFile ? 3 : nil }
        return isInWebhookFile ? 6 : 4
    }
}
