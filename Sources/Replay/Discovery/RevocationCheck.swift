internal import Contracts
internal import Providers
internal import Values

/// Finds out whether a backend can learn that a session was revoked.
///
/// A signature and a time do not show it: the backend has to ask the token issuer, with an API key
/// or through the variable of the issuer's emulator.
struct RevocationCheck {
    let profile: Profile

    /// The reason why cases about revoked sessions may prove nothing; nil if there is none.
    var doubt: String? {
        guard profile.endpoints["protected"] != nil,
            !profile.unsupportedFeatures.contains(.revocation),
            let start = profile.start, let issuer
        else { return nil }
        let emulator = issuer.hints.emulatorVariables.first ?? ""
        let usesEmulator =
            profile.unsupportedFeatures.contains(.signedTokens)
            || start.environment[emulator] != nil
        let hasKey = start.environment.keys.contains { name in
            issuer.hints.values.keys.contains { name.contains($0) }
                && issuer.hints.environmentVariableNameParts.contains { name.contains($0) }
        }
        guard !usesEmulator, !hasKey else { return nil }
        return "a revoked session can be tested only if the backend asks \(issuer.title), with an "
            + "API key or through \(emulator)"
    }

    /// The remedy for the doubt.
    var remedy: String {
        let name = issuer.map { "\($0.party)" } ?? ""
        let emulator = issuer?.hints.emulatorVariables.first ?? ""
        return
            "Give the variable of the API key any value under 'start: env'. For unsigned tokens, "
            + "write '\(emulator): \"{{fake.\(name).host}}\"' there and 'features: {except: "
            + "[signed-tokens]}'. If the backend never asks, write 'features: {except: "
            + "[revocation]}'."
    }

    private var issuer: ProviderEntry? { Services.providers.first { $0.tokenIssuer != nil } }
}
