internal import Contracts
internal import Providers
internal import Redaction
internal import Values

extension BackendDiscovery {
    /// Returns the profile as the text of a YAML file, with unresolved questions as comments.
    ///
    /// - Parameters:
    ///   - schema: The location of the JSON schema of profiles, for editors.
    ///   - date: The date of the discovery.
    ///   - authority: The PEM file with additional CA certificates for an HTTPS target; nil for
    ///     none.
    /// - Returns: YAML that parses to the profile.
    package func text(schema: String, date: String, authority: String? = nil) -> String {
        var lines = [
            "# yaml-language-server: $schema=\(schema)",
            "# Discovered by Assay on \(date).",
            "# 'assay explain profile' lists every key.",
            "assay: 1",
        ]
        lines +=
            place + (authority.map { ["ca: \(Self.yamlScalar($0))"] } ?? []) + endpoints + userLines
            + names
            + probes + unsupportedFeatureLines
        for note in notes where note.isUnresolved {
            // A line break in the note would end the YAML comment.
            let text = String(note.text.map { $0.isNewline ? " " : $0 })
            lines.append("# Unresolved, \(note.key): \(text)")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private var place: [String] {
        guard let start = profile.start else {
            return ["target: \(Self.yamlScalar(profile.target ?? "http://127.0.0.1:8080"))"]
        }
        var lines = ["start:", "  command: \(Self.yamlScalar(start.command))"]
        if let build = start.build { lines.insert("  build: \(Self.yamlScalar(build))", at: 1) }
        if let ready = start.ready { lines.append("  ready: \(ready.method) \(ready.path)") }
        if let folder = start.folder { lines.append("  cwd: \(Self.yamlScalar(folder))") }
        if start.isIntercepted { lines.append("  intercept: true") }
        if let file = start.environmentFile {
            lines.append("  env-file: \(Self.yamlScalar(file))")
        }
        if !start.environment.isEmpty { lines.append("  env:") }
        for (name, value) in start.environment.sorted(by: { $0.key < $1.key }) {
            lines.append("    \(name): \(Self.yamlScalar(value))")
        }
        if let target = profile.target { lines.append("target: \(Self.yamlScalar(target))") }
        return lines
    }

    private var endpoints: [String] {
        var lines: [String] = []
        for (name, endpoint) in profile.endpoints.sorted(by: { $0.key < $1.key })
        where !profile.namesOfDefaultEndpoints.contains(name) {
            let parts = endpoint.lineParts
            let line =
                parts.count == 1
                ? "\(endpoint.method) \(endpoint.path)" : "{\(parts.joined(separator: ", "))}"
            lines.append("  \(name): \(line)")
        }
        if !lines.isEmpty { lines.insert("endpoints:", at: 0) }
        if let sharedSecretName, let secret = profile.secrets[sharedSecretName], !secret.isEmpty {
            let header =
                Self.token == secret.exposed || secret.exposed == "Bearer " + Self.token
                ? secret.exposed : "${\(sharedSecretVariable)}"
            lines += ["secrets:", "  \(sharedSecretName.rawValue): \(header)"]
            if let signingSecretName, profile.secrets[signingSecretName] != nil {
                lines.append("  \(signingSecretName.rawValue): \(Self.signingKey)")
            }
        }
        return lines
    }

    private var userLines: [String] {
        var lines: [String] = []
        if profile.idForm != .string { lines.append("  ids: \(profile.idForm.rawValue)") }
        switch profile.creation {
        case .register: break
        case .request(let endpoint):
            lines.append("  create: {\(endpoint.lineParts.joined(separator: ", "))}")
        case .command(let words, _):
            lines.append(
                "  create: {command: [\(words.map(Self.yamlScalar).joined(separator: ", "))]}"
            )
        }
        if let login = profile.userSession?.login {
            lines.append("  login: {\(login.endpoint.lineParts.joined(separator: ", "))}")
        }
        if let token = profile.userSession?.token {
            lines.append("  token: \(Self.yamlScalar(token.description))")
        }
        return lines.isEmpty ? [] : ["users:"] + lines
    }

    private var names: [String] {
        let usual = Profile()
        let products = profile.products.sorted { $0.key < $1.key }.map {
            "  \(Self.yamlScalar($0.key)): \(Self.yamlScalar($0.value))"
        }
        return (products.isEmpty ? [] : ["products:"] + products)
            + [
                ("entitlement", profile.entitlement, usual.entitlement),
                (TokenProject.profileKey, profile.tokenProject, usual.tokenProject),
            ].filter { $0.1 != $0.2 }.map { "\($0.0): \(Self.yamlScalar($0.1))" }
    }

    private var probes: [String] {
        var lines = profile.probes.isEmpty ? [] : ["probes:"]
        for probe in profile.probes {
            lines.append("  \(probe.name):")
            switch probe.source {
            case .get(let path): lines.append("    get: \(Self.yamlScalar(path))")
            case .command(let words):
                lines.append("    command: [\(words.map(Self.yamlScalar).joined(separator: ", "))]")
            }
            if let actor = probe.credentials?.actor {
                lines.append("    as: \(Self.yamlScalar(actor))")
            }
            // The header contains only the template, and no secret.
            if let credentials = probe.credentials, credentials.usesUserSession {
                let headers = credentials.headers.sorted { $0.key < $1.key }.map {
                    "\($0.key): \(Self.yamlScalar($0.value.exposed))"
                }
                lines.append("    headers: {\(headers.joined(separator: ", "))}")
            }
            guard !probe.readings.isEmpty else { continue }
            lines.append("    read:")
            for (field, reading) in probe.readings.sorted(by: { $0.key < $1.key }) {
                lines.append("      \(field): \(Self.text(reading))")
            }
        }
        return lines
    }

    private static func text(_ reading: Profile.FieldReading) -> String {
        var parts = ["at: \(yamlScalar(reading.pointer.description))"]
        switch reading.meaning {
        case .value: break
        case .isOneOf(let values): parts.append("is: \(JSONValue.array(values).text)")
        case .isNoneOf(let values): parts.append("not: \(JSONValue.array(values).text)")
        case .isFuture: parts.append("after: now")
        }
        if let valueIfPathAbsent = reading.valueIfPathAbsent {
            parts.append("absent: \(valueIfPathAbsent.text)")
        }
        if let conditions = reading.additionalConditions {
            parts.append("and: [\(conditions.map(text).joined(separator: ", "))]")
        }
        return parts.count == 1
            ? yamlScalar(reading.pointer.description) : "{\(parts.joined(separator: ", "))}"
    }

    private var unsupportedFeatureLines: [String] {
        guard !profile.unsupportedFeatures.isEmpty else { return [] }
        let names = profile.unsupportedFeatures.map(\.rawValue).sorted()
        return ["features: {except: [\(names.joined(separator: ", "))]}"]
    }

    /// Returns a string as a YAML scalar, in quotation marks if YAML would otherwise read another
    /// value.
    static func yamlScalar(_ text: String) -> String {
        let isPlain =
            text.first.map { $0.isASCII && ($0.isLetter || $0 == "/" || $0 == ".") } == true
            && text.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte)
                    || (0x61...0x7a).contains(byte) || "/._- ".utf8.contains(byte)
            } && text.last != " "
            && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"].contains(
                text.lowercased()
            )
        return isPlain ? text : JSONValue.string(text).text
    }
}

extension Profile.Endpoint {
    /// The keys of the request on one line.
    fileprivate var lineParts: [String] {
        var parts = ["\(self.method.lowercased()): \(BackendDiscovery.yamlScalar(path))"]
        if let actor = self.credentials?.actor {
            parts.append("as: \(BackendDiscovery.yamlScalar(actor))")
        }
        if let body = self.body { parts.append("body: \(body.text)") }
        if let id = self.responseIDPointer { parts.append("id: \(id)") }
        if let proof = self.responseProofPointer { parts.append("proof: \(proof)") }
        return parts
    }
}
