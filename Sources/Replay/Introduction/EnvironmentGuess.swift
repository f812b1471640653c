internal import Conformance
internal import Providers

/// What the variables that a backend reads should be set to, by their names and by what holds
/// without them.
struct EnvironmentGuess: Sendable {
    /// Values with the templates of `start: env`, by name; what every started backend is given under its
    /// usual name is not repeated.
    private(set) var values: [String: String] = [:]
    /// The variable that the webhook's Authorization is compared with.
    private(set) var authorization: String?
    /// What the backend calls the entitlement.
    private(set) var entitlement: String?
    /// Variables that seem to matter, and that nothing is known of.
    private(set) var open: [SourceSurvey.Variable] = []

    /// - Parameters:
    ///   - survey: What the files say.
    ///   - standard: Names that every started backend is given.
    ///   - variables: Those that are looked at; nil: all that the files read.
    init(
        _ survey: SourceSurvey,
        standard: Set<String>,
        variables: [SourceSurvey.Variable]? = nil
    ) {
        for variable in variables ?? survey.variables {
            let parts = Set(variable.name.split(separator: "_").map(String.init))
            if parts.contains("ENTITLEMENT") || parts.contains("ENTITLEMENTS") {
                entitlement = entitlement ?? variable.fallback
                continue
            }
            if let provider = Self.provider(of: variable) {
                take(
                    variable,
                    parts,
                    provider,
                    survey,
                    isStandard: standard.contains(variable.name)
                )
            } else if !standard.contains(variable.name) {
                take(variable, parts)
            }
        }
    }

    private static let addressWords: Set<String> = [
        "URL", "BASE", "HOST", "ENDPOINT", "ORIGIN", "SERVER", "URI", "API",
    ]
    private static let secretWords: Set<String> = [
        "KEY", "TOKEN", "SECRET", "AUTH", "AUTHORIZATION", "PASSWORD", "APIKEY",
    ]
    private static let hookWords: Set<String> = ["WEBHOOK", "WEBHOOKS", "HOOK", "AUTHORIZATION"]
    private static let signingWords: Set<String> = ["SIGNING", "SIGNATURE", "HMAC"]

    private static func provider(of variable: SourceSurvey.Variable) -> ProviderEntry? {
        let name = "_\(variable.name)_"
        let host = variable.fallback.map(Origins.origin(of:))?.lowercased() ?? ""
        return Services.providers.first { provider in
            provider.ownHosts.contains { host.hasSuffix("/" + $0) }
                || provider.hints.words.contains {
                    name.contains("_\($0)_")
                        || name.contains($0 + "_")
                            && $0.count > 4
                }
        }
    }

    private mutating func take(
        _ variable: SourceSurvey.Variable,
        _ parts: Set<String>,
        _ provider: ProviderEntry,
        _ survey: SourceSurvey,
        isStandard: Bool
    ) {
        let name = variable.name
        let party = provider.party.description
        if let value = provider.hints.values.first(where: { name.contains($0.key) })?.value {
            if !isStandard { values[name] = value }
        } else if !parts.isDisjoint(with: Self.secretWords) {
            let isHook = !parts.isDisjoint(with: Self.hookWords)
            let signs =
                !parts.isDisjoint(with: Self.signingWords)
                || survey.usesHMAC && parts.contains("SECRET")
            if isHook, signs, provider.party.secret("signing") != nil {
                values[name] = "{{secret.\(party)-signing}}"
            } else if isHook, provider.party.secret("authorization") != nil {
                authorization = authorization ?? name
            } else if provider.party.secret("key") != nil, !isStandard {
                values[name] = "{{secret.\(party)-key}}"
            }
        } else if variable.fallback?.isAddress == true
            || !parts.isDisjoint(with: Self.addressWords)
        {
            guard !isStandard else { return }
            let path = (variable.fallback ?? "").dropFirst(
                Origins.origin(of: variable.fallback ?? "").count
            )
            values[name] = "{{fake.\(party)}}" + (path.hasSuffix("/") ? path.dropLast() : path)
        }
    }

    /// A variable that belongs to no provider.
    private mutating func take(_ variable: SourceSurvey.Variable, _ parts: Set<String>) {
        let name = variable.name
        let isSecret = !parts.isDisjoint(with: Self.secretWords)
        if isSecret, !parts.isDisjoint(with: Self.hookWords) {
            authorization = authorization ?? name
        } else if !parts.isDisjoint(with: ["DATA", "DB", "DATABASE", "STORE", "SQLITE", "STORAGE"])
        {
            take(store: variable, parts)
        } else if isSecret, variable.fallback == nil {
            // It may not start without; nobody checks it against a service here.
            values[name] = "assay-test"
        }
    }

    /// Where it keeps its data: in a run's own folder, not in what a developer has there.
    private mutating func take(store variable: SourceSurvey.Variable, _ parts: Set<String>) {
        let name = variable.name
        let usual = variable.fallback?.split(separator: "/").last.map(String.init)
        if parts.contains("DIR") || parts.contains("FOLDER") {
            values[name] = "{{data}}"
        } else if !parts.isDisjoint(with: ["PATH", "FILE", "FILENAME", "LOCATION"]) {
            values[name] = "{{data}}/" + (usual ?? name.lowercased())
        } else if variable.fallback?.hasPrefix("sqlite:") == true {
            values[name] = "sqlite:///{{data}}/" + (usual ?? "data.db")
        } else {
            open.append(variable)
        }
    }
}
