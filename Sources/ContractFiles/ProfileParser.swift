package import Conformance

/// Reads `assay.yaml`; the environment fills `${NAME}` and `${NAME:-default}` in secrets.
package enum ProfileParser {
    /// The keys at the top of a profile; the schema lists the same.
    package static let keys = [
        "assay", "target", "start", "endpoints", "secrets", "users", "probes", "accounts",
        "products", "entitlement", "features", "known-failing", "patience",
    ]

    package static func parse(
        _ text: String,
        path: String,
        environment: [String: String]
    ) -> Result<Profile, ContractErrors> {
        let root: LocatedNode
        do throws(ContractError) {
            root = try LocatedNode(parsing: text, path: path)
        } catch {
            return .failure(ContractErrors([error]))
        }
        var reader = Reader(reader: NodeReader(), environment: environment)
        let profile = reader.profile(root)
        let errors = reader.reader.errors
        return errors.isEmpty ? .success(profile) : .failure(ContractErrors(errors))
    }

    private struct Reader {
        var reader: NodeReader
        let environment: [String: String]

        mutating func profile(_ root: LocatedNode) -> Profile {
            var profile = Profile()
            let fields = reader.mapping(root, allowed: ProfileParser.keys)
            if let version = fields["assay"] {
                if version.json.int64 != 1 {
                    reader.fail(
                        .unknownValue(version.json.text, what: "profile version", allowed: ["1"]),
                        at: version.location
                    )
                }
            } else {
                reader.fail(.missingKey("assay", of: "a profile"), at: root.location)
            }
            profile.target = fields["target"].flatMap { reader.text($0) }
            if let node = fields["start"] { profile.start = start(node) }
            if let node = fields["endpoints"] { endpoints(node, &profile) }
            if let node = fields["secrets"] { secrets(node, &profile) }
            if let node = fields["users"] { users(node, &profile) }
            if let node = fields["probes"] { profile.probes = probes(node) }
            if let node = fields["products"] {
                for entry in reader.entries(node) ?? [] {
                    profile.products[entry.key] = reader.text(entry.value)
                }
            }
            if let text = fields["entitlement"].flatMap({ reader.text($0) }) {
                profile.entitlement = text
            }
            if let node = fields["features"] { features(node, &profile) }
            profile.knownFailingPath = fields["known-failing"].flatMap { reader.text($0) }
            if let patience = fields["patience"].flatMap({ reader.duration($0) }) {
                profile.patience = patience
            }
            return profile
        }

        private mutating func start(_ node: LocatedNode) -> Profile.Start? {
            let fields = reader.mapping(node, allowed: ["command", "ready", "env"])
            guard let commandNode = fields["command"], let command = reader.text(commandNode) else {
                reader.fail(.missingKey("command", of: "'start'"), at: node.location)
                return nil
            }
            var environment: [String: String] = [:]
            if let env = fields["env"] {
                for entry in reader.entries(env) ?? [] {
                    guard case .scalar(let text, _) = entry.value.content else {
                        reader.fail(
                            .wrongKind(expected: "a text", found: entry.value.kind),
                            at: entry.value.location
                        )
                        continue
                    }
                    check(text, known: Self.startTemplates, at: entry.value.location)
                    environment[entry.key] = text
                }
            }
            check(command, known: Self.startTemplates, at: commandNode.location)
            return Profile.Start(
                command: command,
                ready: fields["ready"].flatMap { endpoint($0, method: "GET") }
                    ?? Profile.Endpoint(method: "GET", path: "/"),
                environment: environment
            )
        }

        private static let startTemplates =
            ["port", "data"]
            + ["revenuecat", "onesignal", "firebase", "purchasely"].map { "fake.\($0)" }
            + Profile.SecretName.allCases.map { "secret.\($0.rawValue)" }

        /// Reports templates that stand for nothing here.
        private mutating func check(_ text: String, known: [String], at location: SourceLocation) {
            let values = Dictionary(uniqueKeysWithValues: known.map { ($0, "") })
            do throws(TextTemplate.UnknownName) {
                _ = try TextTemplate.fill(text, values)
            } catch {
                reader.fail(.template(error.name, known: known), at: location)
            }
        }

        private mutating func endpoint(
            _ node: LocatedNode,
            method defaultMethod: String
        ) -> Profile.Endpoint? {
            guard let text = reader.text(node) else { return nil }
            let words = text.split(separator: " ").map(String.init)
            let methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]
            if words.count == 1, text.hasPrefix("/") {
                return Profile.Endpoint(method: defaultMethod, path: text)
            }
            guard words.count == 2, methods.contains(words[0]), words[1].hasPrefix("/") else {
                reader.fail(
                    .wrongKind(
                        expected: "a method and a path such as '\(defaultMethod) /healthz'",
                        found: node.kind
                    ),
                    at: node.location
                )
                return nil
            }
            return Profile.Endpoint(method: words[0], path: words[1])
        }

        private mutating func endpoints(_ node: LocatedNode, _ profile: inout Profile) {
            let allowed = ["revenuecat-webhook", "purchasely-webhook", "register", "login"]
            for (name, value) in reader.mapping(node, allowed: allowed) {
                if let endpoint = endpoint(value, method: "POST") {
                    profile.endpoints[name] = endpoint
                }
            }
        }

        private mutating func secrets(_ node: LocatedNode, _ profile: inout Profile) {
            let allowed = Profile.SecretName.allCases.map(\.rawValue)
            for (name, value) in reader.mapping(node, allowed: allowed) {
                guard let secret = Profile.SecretName(rawValue: name) else { continue }
                guard case .scalar(let text, _) = value.content else {
                    reader.fail(
                        .wrongKind(expected: "a text", found: value.kind),
                        at: value.location
                    )
                    continue
                }
                profile.secrets[secret] = Secret(expanded(text, at: value.location))
            }
        }

        /// `${NAME}` and `${NAME:-default}`, as a shell would read them.
        private mutating func expanded(_ text: String, at location: SourceLocation) -> String {
            var output = ""
            var rest = text[...]
            while let open = rest.firstRange(of: "${"),
                let close = rest[open.upperBound...].firstIndex(of: "}")
            {
                output += rest[..<open.lowerBound]
                let inner = rest[open.upperBound..<close]
                let separator = inner.firstRange(of: ":-")
                let name = String(separator.map { inner[..<$0.lowerBound] } ?? inner)
                let fallback = separator.map { String(inner[$0.upperBound...]) }
                if let value = environment[name], !value.isEmpty {
                    output += value
                } else if let fallback {
                    output += fallback
                } else {
                    reader.fail(.environment(name), at: location)
                }
                rest = rest[rest.index(after: close)...]
            }
            return output + rest
        }

        private mutating func users(_ node: LocatedNode, _ profile: inout Profile) {
            let fields = reader.mapping(node, allowed: ["ids", "create"])
            if let ids = fields["ids"] {
                profile.idForm = reader.choice(ids, "form of ids") ?? .string
            }
            guard let create = fields["create"] else { return }
            if case .scalar = create.content {
                _ = reader.word(create, "way to create users", among: ["register"])
                return
            }
            let methods = ["post", "put"]
            let parts = reader.mapping(create, allowed: methods + ["body", "id", "command"])
            if let command = parts["command"] {
                profile.creation = .command(words(command, known: ["id", "device"]))
                return
            }
            guard let method = methods.first(where: { parts[$0] != nil }),
                let pathNode = parts[method], let path = reader.text(pathNode)
            else {
                reader.fail(.missingKey("post", of: "'create'"), at: create.location)
                return
            }
            check(path, known: ["id", "device"], at: pathNode.location)
            profile.creation = .request(
                Profile.Endpoint(method: method.uppercased(), path: path),
                body: parts["body"]?.json,
                id: parts["id"].flatMap { reader.pointer($0) }
            )
        }

        private mutating func words(_ node: LocatedNode, known: [String]) -> [String] {
            reader.sequence(node).compactMap { element in
                guard let text = reader.text(element) else { return nil }
                check(text, known: known, at: element.location)
                return text
            }
        }

        private mutating func probes(_ node: LocatedNode) -> [Profile.Probe] {
            (reader.entries(node) ?? []).compactMap { entry in
                let fields = reader.mapping(
                    entry.value,
                    allowed: ["get", "command", "read", "ignore"]
                )
                let source: Profile.Probe.Source
                if let get = fields["get"], let path = reader.text(get) {
                    check(path, known: ["id"], at: get.location)
                    source = .get(path)
                } else if let command = fields["command"] {
                    source = .command(words(command, known: ["id"]))
                } else {
                    reader.fail(.missingKey("get", of: "a probe"), at: entry.keyLocation)
                    return nil
                }
                return Profile.Probe(
                    name: entry.key,
                    source: source,
                    readings: fields["read"].map { readings($0) } ?? [:],
                    ignored: (fields["ignore"].map { reader.sequence($0) } ?? [])
                        .compactMap { reader.pointer($0) }
                )
            }
        }

        private mutating func readings(_ node: LocatedNode) -> [String: Profile.Reading] {
            reader.mapping(node, allowed: Profile.Reading.names).compactMapValues { value in
                guard case .mapping = value.content else {
                    return reader.pointer(value).map {
                        Profile.Reading(pointer: $0, meaning: .value)
                    }
                }
                let fields = reader.mapping(value, allowed: ["at", "is", "not", "after"])
                guard let at = fields["at"], let pointer = reader.pointer(at) else {
                    reader.fail(.missingKey("at", of: "a reading"), at: value.location)
                    return nil
                }
                func list(_ node: LocatedNode) -> [JSONValue] {
                    if case .array(let values) = node.json { values } else { [node.json] }
                }
                if let values = fields["is"] {
                    return Profile.Reading(pointer: pointer, meaning: .isAny(list(values)))
                }
                if let values = fields["not"] {
                    return Profile.Reading(pointer: pointer, meaning: .isNone(list(values)))
                }
                if let after = fields["after"] {
                    _ = reader.word(after, "moment", among: ["now"])
                    return Profile.Reading(pointer: pointer, meaning: .isFuture)
                }
                return Profile.Reading(pointer: pointer, meaning: .value)
            }
        }

        private mutating func features(_ node: LocatedNode, _ profile: inout Profile) {
            let fields = reader.mapping(node, allowed: ["except"])
            for element in fields["except"].map({ reader.sequence($0) }) ?? [] {
                let feature: Feature? = reader.choice(element, "feature")
                if let feature { profile.unsupported.insert(feature) }
            }
        }
    }
}
