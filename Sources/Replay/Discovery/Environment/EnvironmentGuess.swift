internal import Contracts
internal import Providers
internal import Values

/// Guesses values for the environment variables that a backend reads.
///
/// The guess is based on the names and the default values of the variables.
struct EnvironmentGuess: Sendable {
    /// The guessed values by variable, with templates as under `start: env` in the profile.
    ///
    /// Variables that every started backend gets under their standard names are not included.
    private(set) var values: [String: String] = [:]
    /// The variable whose value the backend compares with the Authorization header of a webhook;
    /// nil if none was found.
    private(set) var authorization: String?
    /// Whether the variable in `authorization` seems to hold a key with which webhooks are signed.
    private(set) var isAuthorizationSigned = false
    /// The variable with the key for signatures, if the backend checks the Authorization header of a
    /// webhook as well; nil if none was found.
    private(set) var signing: String?
    /// The name of the entitlement that the backend uses; nil if it was not found.
    private(set) var entitlement: String?
    /// Variables that seem to be important, but whose values could not be guessed.
    private(set) var open: [SourceSurvey.Variable] = []

    /// Guesses values for environment variables.
    ///
    /// - Parameters:
    ///   - survey: The facts found in the backend's files.
    ///   - own: The environment variables that the owner of the backend has set.
    ///   - standardNames: The names of the variables that every started backend gets.
    ///   - variables: The variables to guess; nil for all variables that the files read.
    init(
        _ survey: SourceSurvey,
        own: OwnVariables = OwnVariables(),
        standardNames: Set<String>,
        variables: [SourceSurvey.Variable]? = nil
    ) {
        let variables = variables ?? survey.variables
        let uses = survey.secretUses()
        let webhook = WebhookSecretSearch(survey, uses).best(in: variables)
        authorization = webhook.proof?.name
        isAuthorizationSigned = webhook.proof?.isSigned ?? false
        signing = webhook.signing
        for variable in variables where ![authorization, signing].contains(variable.name) {
            let nameParts = Self.parts(of: variable.name)
            if nameParts.contains("ENTITLEMENT") || nameParts.contains("ENTITLEMENTS") {
                // A list of names is not a name.
                let fallback = variable.fallback.flatMap { $0.contains(",") ? nil : $0 }
                entitlement = entitlement ?? fallback
                continue
            }
            if let provider = Self.provider(of: variable) ?? Self.user(of: variable, uses) {
                guessValue(
                    variable,
                    nameParts,
                    provider,
                    isStandard: standardNames.contains(variable.name),
                    use: uses.kinds[variable.name]
                )
            } else if !standardNames.contains(variable.name) || nameParts.contains("DATA"),
                !own.names.contains(variable.name)
            {
                // A profile that names the folder of the run's data lets several instances of the
                // backend run at the same time, so it also names the standard variable.
                guessValue(variable, nameParts, survey, own)
            }
        }
    }

    /// Returns the parts of the name of a variable in upper case.
    static func parts(of name: String) -> Set<String> {
        let words = name.replacing(#/([a-z0-9])([A-Z])/#) { "\($0.1)_\($0.2)" }
        return Set(words.uppercased().split(separator: "_").map(String.init))
    }

    private static let addressWords: Set<String> = [
        "URL", "BASE", "HOST", "ENDPOINT", "ORIGIN", "SERVER", "URI", "API",
    ]
    static let secretWords: Set<String> = [
        "KEY", "TOKEN", "SECRET", "AUTH", "AUTHORIZATION", "PASSWORD", "APIKEY",
    ]
    static let webhookWords: Set<String> = ["WEBHOOK", "WEBHOOKS", "HOOK", "AUTHORIZATION"]
    static let signingWords: Set<String> = ["SIGNING", "SIGNATURE", "HMAC"]
    /// Words in the names of variables about a secret that do not hold the secret itself.
    static let settingWords: Set<String> = [
        "TOLERANCE", "ALGORITHM", "ALGO", "HEADER", "ENABLED", "REQUIRED", "SECONDS", "TTL", "AGE",
        "MS", "S", "VERSION", "WINDOW", "URL",
    ]

    static func provider(of variable: SourceSurvey.Variable) -> ProviderEntry? {
        let name = "_\(variable.name.uppercased())_"
        let host = variable.fallback.map(OriginClients.origin(of:))?.lowercased() ?? ""
        return Services.providers.first { provider in
            provider.exclusiveHosts.contains { host.hasSuffix("/" + $0) }
                || provider.hints.environmentVariableNameParts.contains {
                    name.contains("_\($0)_")
                        || name.contains($0 + "_")
                            && $0.count > 4
                }
        }
    }

    /// Returns the service to whose API the code sends the value of a variable; nil if it is not
    /// known.
    private static func user(
        of variable: SourceSurvey.Variable,
        _ uses: SecretUses
    ) -> ProviderEntry? {
        guard uses.kinds[variable.name] == .key, let party = uses.parties[variable.name]
        else { return nil }
        return Services.providers.first { $0.party == party }
    }

    private mutating func guessValue(
        _ variable: SourceSurvey.Variable,
        _ nameParts: Set<String>,
        _ provider: ProviderEntry,
        isStandard: Bool,
        use: SecretUses.Kind?
    ) {
        let name = variable.name
        let party = provider.party.description
        // Every started backend gets the variable of an emulator if it accepts unsigned tokens.
        guard !provider.hints.emulatorVariables.contains(name) else { return }
        let isAddress =
            variable.fallback?.isAddress == true
            || !nameParts.isDisjoint(with: ["URL", "HOST", "ENDPOINT", "URI"])
        // Another secret of the sender is no key for its API.
        let isOtherSecret =
            use.map { $0 != .key }
            ?? (provider.party.secret("authorization") != nil
                && !nameParts.isDisjoint(with: Self.webhookWords.union(Self.signingWords)))
        if let value = provider.hints.values.first(where: { name.contains($0.key) })?.value {
            if !isStandard { values[name] = value }
        } else if !isAddress, !nameParts.isDisjoint(with: Self.secretWords) {
            if provider.party.secret("key") != nil, !isStandard, !isOtherSecret {
                values[name] = "{{secret.\(party)-key}}"
            }
        } else if isAddress || !nameParts.isDisjoint(with: Self.addressWords) {
            let origin = OriginClients.origin(of: variable.fallback ?? "")
            // The fake may serve the paths of a host below a prefix.
            let host = provider.hosts.first { origin.lowercased().hasSuffix("/" + $0.name) }
            let path = (host?.pathPrefix ?? "") + (variable.fallback ?? "").dropFirst(origin.count)
            let trimmedPath = path.hasSuffix("/") ? String(path.dropLast()) : path
            // The standard value has no path.
            guard !isStandard || !trimmedPath.isEmpty else { return }
            values[name] = "{{fake.\(party)}}" + trimmedPath
        }
    }

    /// Guesses the value of a variable that belongs to no provider (no service for which Assay has
    /// a fake).
    private mutating func guessValue(
        _ variable: SourceSurvey.Variable,
        _ nameParts: Set<String>,
        _ survey: SourceSurvey,
        _ own: OwnVariables
    ) {
        if !nameParts.isDisjoint(with: [
            "DATA", "DB", "DATABASE", "STORE", "SQLITE", "STORAGE",
        ]) {
            guessValue(store: variable, nameParts, survey)
        } else if Self.isSecret(variable.name), variable.fallback == nil,
            !own.emptyNames.contains(variable.name)
        {
            // A secret that the owner has left empty may switch a feature off. The backend may not start without this variable, and no fake checks its value.
            values[variable.name] = "assay-test"
        }
    }

    /// Returns whether the last word in the name of a variable says that its value is a secret.
    ///
    /// A variable such as AUTH_MODEL, PASSWORD_HASH or KEY_PREFIX contains no secret.
    private static func isSecret(_ name: String) -> Bool {
        let last = name.uppercased().split(separator: "_").last.map(String.init) ?? ""
        return secretWords.subtracting(["AUTH", "AUTHORIZATION"]).contains(last)
    }

    /// The last words in the names of variables that hold the place or the name of a database.
    private static let placeWords: Set<String> = [
        "URL", "URI", "DSN", "NAME", "DATABASE", "DB", "HOST", "PATH", "DIR", "STORE", "STORAGE",
        "SQLITE", "DATA",
    ]
    /// The packages that change the schema of a database by a command of their own, so that a new
    /// database has no tables.
    private static let packagesWithMigrations = [
        "django", "alembic", "flask-migrate", "dj-database-url", "django-environ",
    ]

    /// The packages that open a database by the URL of an SQLite file as well.
    private static let packagesWithSQLite = [
        "sqlalchemy", "sqlmodel", "dj-database-url", "django-environ", "databases", "tortoise-orm",
        "flask-sqlalchemy",
    ]

    /// Guesses the value of a variable that contains the location of the backend's data.
    ///
    /// The guessed location is in a folder of the run, so that the backend does not change the
    /// developer's own data.
    private mutating func guessValue(
        store variable: SourceSurvey.Variable,
        _ nameParts: Set<String>,
        _ survey: SourceSurvey
    ) {
        let name = variable.name
        let usualFileName = variable.fallback?.split(separator: "/").last.map(String.init)
        if nameParts.contains("DIR") || nameParts.contains("FOLDER") {
            values[name] = "{{data}}"
        } else if !nameParts.isDisjoint(with: ["PATH", "FILE", "FILENAME", "LOCATION"]) {
            values[name] = "{{data}}/" + (usualFileName ?? name.lowercased())
        } else if variable.fallback?.hasPrefix("sqlite:") == true {
            values[name] = "sqlite:///{{data}}/" + (usualFileName ?? "data.db")
        } else if nameParts.contains("URL"),
            !Self.packagesWithMigrations.contains(where: survey.packages.contains),
            Self.packagesWithSQLite.contains(where: survey.packages.contains)
        {
            values[name] = "sqlite:///{{data}}/data.db"
        } else if let last = name.uppercased().split(separator: "_").last,
            Self.placeWords.contains(String(last))
        {
            open.append(variable)
        }
    }
}
