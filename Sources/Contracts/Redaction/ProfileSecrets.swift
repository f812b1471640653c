internal import Providers
package import Redaction
internal import Values

extension SecretDeclaration {
    /// Collects the secrets that a profile declares, and the secrets that it passes to the backend.
    ///
    /// A value counts as passed to the backend when a command, a variable, a body or a URL of the
    /// profile contains it under the name of a secret.
    package init(_ profile: Profile) {
        self.init(names: profile.allSecretNames)
        for (name, secret) in profile.secrets { values[name.rawValue] = secret }
        for (name, secret) in profile.requests.credentials.flatMap(\.headers)
        where !secret.exposed.contains("{{") {
            // Two requests may send different values under the same name, and both values are
            // secret.
            var key = name.lowercased()
            while let other = values[key], other != secret { key += "-" }
            values[key] = secret
        }
        let redaction = Redaction.forReports(SecretDeclaration(names: names))
        if let start = profile.start { addEnvironment(of: start, redaction) }
        for command in profile.allCommands { addCommand(command, redaction) }
        for url in profile.allURLs { addURL(url, redaction) }
        for case let body? in profile.allEndpoints.map(\.body) { addBody(body, redaction) }
    }

    private mutating func addEnvironment(of start: Profile.StartSettings, _ redaction: Redaction) {
        for (name, text) in start.environment.sorted(by: { $0.key < $1.key }) {
            let value = start.expanded(text)
            if redaction.kind(ofVariable: name) != nil {
                addFoundSecret(name, text)
                addFoundSecret(name, value)
            }
            addURL(value, redaction)
        }
        let variables = Array(start.variables) + Array(start.fileVariables)
        for (name, secret) in variables.sorted(by: { $0.key < $1.key })
        where redaction.kind(ofVariable: name) != nil {
            addFoundSecret(name, secret.exposed)
        }
    }
}

extension Profile {
    private var allSetupActions: [SetupAction] {
        [creation, accountCreation, fault?.breakAction, fault?.repairAction, clock].compactMap(
            \.self
        )
    }

    /// All commands of the profile (start command, probes, user creation), each as a shell command
    /// line.
    fileprivate var allCommands: [String] {
        let probes: [[String]] = probes.compactMap {
            if case .command(let words) = $0.source { words } else { nil }
        }
        let creations: [[String]] = allSetupActions.compactMap {
            if case .command(let words, _) = $0 { words } else { nil }
        }
        return [start?.command].compactMap(\.self) + (probes + creations).map(Self.shellCommandLine)
    }

    /// Joins the words of a command into one shell command line with quoted words.
    private static func shellCommandLine(_ words: [String]) -> String {
        words.map { "'" + $0.parts(between: "'").joined(separator: "'\\''") + "'" }
            .joined(separator: " ")
    }

    /// All requests that the profile defines.
    fileprivate var allEndpoints: [Endpoint] {
        let creations: [Endpoint] = allSetupActions.compactMap {
            if case .request(let endpoint) = $0 { endpoint } else { nil }
        }
        return endpoints.values.sorted { $0.path < $1.path } + creations
            + [session?.endpoint, userSession?.login?.endpoint, app.access].compactMap(\.self)
    }

    /// All URLs and paths in the profile.
    fileprivate var allURLs: [String] {
        let probes: [String] = probes.compactMap {
            if case .get(let path) = $0.source { path } else { nil }
        }
        return [target, app.url].compactMap(\.self) + allEndpoints.map(\.path) + probes
            + [start?.ready?.path].compactMap(\.self)
    }
}
