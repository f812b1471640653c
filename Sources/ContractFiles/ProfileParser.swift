package import Conformance

/// Reads `assay.yaml`; the environment fills `${NAME}` and `${NAME:-default}` in secrets.
package enum ProfileParser {
    /// The keys at the top of a profile; the schema lists the same.
    package static let keys = [
        "assay", "target", "start", "endpoints", "secrets", "users", "probes", "accounts",
        "products", "entitlement", "features", "known-failing", "patience", "firebase-project",
        "redact", "app",
    ]

    /// The keys below `app`; the schema lists the same.
    package static let appKeys = [
        "url", "vault", "other-keys", "startup", "taps", "inputs", "shows", "status-words",
        "agree", "access", "backend", "product-names",
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
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        var reader = Reader(reader: NodeReader(lines: lines), environment: environment)
        let profile = reader.profile(root)
        let errors = reader.reader.errors
        return errors.isEmpty ? .success(profile) : .failure(ContractErrors(errors))
    }

    private struct Reader {
        var reader: NodeReader
        let environment: [String: String]
        /// The profile names the route by which an app announces its user.
        private var hasRegister = false

        init(reader: NodeReader, environment: [String: String]) {
            self.reader = reader
            self.environment = environment
        }

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
            if let target = fields["target"] {
                reader.checkTemplates(target, TemplateScope(.start))
            }
            if let node = fields["start"] { profile.start = start(node) }
            if let node = fields["endpoints"] {
                endpoints(node, &profile)
                if case .mapping(let entries) = node.content {
                    hasRegister = entries.contains { $0.key == "register" }
                }
            }
            if let node = fields["secrets"] { secrets(node, &profile) }
            if let node = fields["users"] { users(node, &profile) }
            if let node = fields["accounts"] { accounts(node, &profile) }
            if let text = fields["firebase-project"].flatMap({ reader.text($0) }) {
                profile.firebaseProject = text
            }
            if let node = fields["probes"] { profile.probes = probes(node) }
            if let node = fields["app"] { profile.app = app(node) }
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
            profile.secretNames = (fields["redact"].map { reader.sequence($0) } ?? []).compactMap {
                reader.text($0)
            }
            if let patience = fields["patience"].flatMap({ reader.duration($0) }) {
                profile.patience = patience
            }
            return profile
        }

        /// The web app: where it is tapped and read, and what it keeps under which name.
        private mutating func app(_ node: LocatedNode) -> Profile.App {
            var app = Profile.App()
            let fields = reader.mapping(node, allowed: ProfileParser.appKeys)
            app.url = fields["url"].flatMap { reader.text($0) }
            let roles = PhoneChange.VaultRole.allCases.map(\.rawValue)
            for (name, value) in parts(fields["vault"], allowed: roles) {
                guard let role = PhoneChange.VaultRole(rawValue: name) else { continue }
                app.vaultKeys[role] = reader.text(value)
            }
            app.otherKeys = (fields["other-keys"].map { reader.sequence($0) } ?? []).compactMap {
                reader.text($0)
            }
            if let startup = fields["startup"].flatMap({ reader.duration($0) }) {
                app.startup = startup
            }
            let taps = ["upgrade", "restore", "login", "logout", "status"]
            for (name, value) in parts(fields["taps"], allowed: taps) {
                app.taps[name] = reader.text(value)
            }
            let inputs = ["account", "password"]
            for (name, value) in parts(fields["inputs"], allowed: inputs) {
                app.inputs[name] = reader.text(value)
            }
            let elements = AppExpectation.Screen.Element.allCases.map(\.rawValue)
            for (name, value) in parts(fields["shows"], allowed: elements) {
                guard let element = AppExpectation.Screen.Element(rawValue: name) else { continue }
                app.shows[element] = reader.text(value)
            }
            let states = ["active", "none"]
            for (name, value) in parts(fields["status-words"], allowed: states) {
                app.statusWords[name] = reader.sequence(value).compactMap { reader.text($0) }
            }
            for entry in fields["product-names"].flatMap({ reader.entries($0) }) ?? [] {
                app.productNames[entry.key] = reader.text(entry.value)
            }
            app.agree = fields["agree"].flatMap { reader.text($0) }
            if let access = fields["access"] {
                let methods = ["get", "post"]
                let parts = reader.mapping(access, allowed: methods + ["answer"])
                guard let method = methods.first(where: { parts[$0] != nil }),
                    let path = parts[method].flatMap({ reader.text($0) })
                else {
                    reader.fail(.missingKey("get", of: "'access'"), at: access.location)
                    return app
                }
                parts[method].map { reader.checkTemplates($0, TemplateScope(.accessPath)) }
                parts["answer"].map { reader.checkTemplates($0, TemplateScope(.accessAnswer)) }
                app.declaresAccess = true
                app.access = Profile.Endpoint(
                    method: method.uppercased(),
                    path: path,
                    body: parts["answer"]?.json ?? app.access?.body
                )
            }
            if let backend = fields["backend"] {
                app.usesOwnBackend =
                    reader.word(backend, "backend", among: ["model", "own"]) == "own"
            }
            return app
        }

        private mutating func parts(
            _ node: LocatedNode?,
            allowed: [String]
        ) -> [String: LocatedNode] {
            guard let node else { return [:] }
            return reader.mapping(node, allowed: allowed)
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
                    reader.checkTemplates(entry.value, TemplateScope(.start))
                    environment[entry.key] = text
                }
            }
            reader.checkTemplates(commandNode, TemplateScope(.start))
            return Profile.Start(
                command: command,
                ready: fields["ready"].flatMap { endpoint($0, method: "GET") }
                    ?? Profile.Endpoint(method: "GET", path: "/"),
                environment: environment
            )
        }

        private mutating func endpoint(
            _ node: LocatedNode,
            method defaultMethod: String,
            _ place: TemplateScope.ProfilePlace = .none
        ) -> Profile.Endpoint? {
            guard let text = reader.text(node) else { return nil }
            reader.checkTemplates(node, TemplateScope(place))
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

        /// The endpoints a profile may name.
        private static let endpointNames =
            ["revenuecat-webhook", "purchasely-webhook", "delete-account"]
            + Call.Route.allCases.map(\.rawValue)

        private mutating func endpoints(_ node: LocatedNode, _ profile: inout Profile) {
            for (name, value) in reader.mapping(node, allowed: Self.endpointNames) {
                let usual = profile.endpoints[name]
                if case .mapping = value.content {
                    if let endpoint = request(value, .endpoint) {
                        profile.endpoints[name] = endpoint
                    }
                } else if let endpoint = endpoint(
                    value,
                    method: name == "protected" ? "GET" : "POST",
                    name.hasSuffix("-webhook") ? .none : .endpoint
                ) {
                    profile.endpoints[name] = endpoint
                    // A path alone keeps the guide's body and answer.
                    profile.endpoints[name]?.body = usual?.body
                    profile.endpoints[name]?.answerID = usual?.answerID
                    profile.endpoints[name]?.answerProof = usual?.answerProof
                }
            }
        }

        /// `{post: /path, body: {…}, id: /pointer, proof: /pointer}`.
        private mutating func request(
            _ node: LocatedNode,
            _ place: TemplateScope.ProfilePlace
        ) -> Profile.Endpoint? {
            let methods = ["get", "post", "put", "patch", "delete"]
            let parts = reader.mapping(node, allowed: methods + ["body", "id", "proof"])
            guard let method = methods.first(where: { parts[$0] != nil }),
                let pathNode = parts[method], let path = reader.text(pathNode)
            else {
                reader.fail(.missingKey("post", of: "a request"), at: node.location)
                return nil
            }
            for node in [pathNode, parts["body"]].compactMap(\.self) {
                reader.checkTemplates(node, TemplateScope(place))
            }
            var endpoint = Profile.Endpoint(
                method: method.uppercased(),
                path: path,
                body: parts["body"]?.json
            )
            endpoint.answerID = parts["id"].flatMap { reader.pointer($0) }
            endpoint.answerProof = parts["proof"].flatMap { reader.pointer($0) }
            return endpoint
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
            guard let creation = self.creation(create, .creation) else {
                return
            }
            profile.creation = creation
            // Its users come another way, so the guide's route is not assumed to exist.
            if !hasRegister { profile.endpoints["register"] = nil }
        }

        private mutating func accounts(_ node: LocatedNode, _ profile: inout Profile) {
            let fields = reader.mapping(node, allowed: ["create"])
            guard let create = fields["create"] else {
                reader.fail(.missingKey("create", of: "'accounts'"), at: node.location)
                return
            }
            profile.accountCreation = creation(create, .account)
        }

        /// A request, or `command: [...]`.
        private mutating func creation(
            _ node: LocatedNode,
            _ place: TemplateScope.ProfilePlace
        ) -> Profile.UserCreation? {
            if case .mapping(let entries) = node.content,
                let command = entries.first(where: { $0.key == "command" })
            {
                _ = reader.mapping(node, allowed: ["command"])
                return .command(words(command.value, place))
            }
            return request(node, place).map(Profile.UserCreation.request)
        }

        private mutating func words(
            _ node: LocatedNode,
            _ place: TemplateScope.ProfilePlace
        ) -> [String] {
            reader.sequence(node).compactMap { element in
                guard let text = reader.text(element) else { return nil }
                reader.checkTemplates(element, TemplateScope(place))
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
                    reader.checkTemplates(get, TemplateScope(.probe))
                    source = .get(path)
                } else if let command = fields["command"] {
                    source = .command(words(command, .probe))
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
                let fields = reader.mapping(value, allowed: ["at", "is", "not", "after", "absent"])
                let absent = fields["absent"]?.json
                guard let at = fields["at"], let pointer = reader.pointer(at) else {
                    reader.fail(.missingKey("at", of: "a reading"), at: value.location)
                    return nil
                }
                func list(_ node: LocatedNode) -> [JSONValue] {
                    if case .array(let values) = node.json { values } else { [node.json] }
                }
                if let values = fields["is"] {
                    return Profile.Reading(
                        pointer: pointer,
                        meaning: .isAny(list(values)),
                        absent: absent
                    )
                }
                if let values = fields["not"] {
                    return Profile.Reading(
                        pointer: pointer,
                        meaning: .isNone(list(values)),
                        absent: absent
                    )
                }
                if let after = fields["after"] {
                    _ = reader.word(after, "moment", among: ["now"])
                    return Profile.Reading(pointer: pointer, meaning: .isFuture, absent: absent)
                }
                return Profile.Reading(pointer: pointer, meaning: .value, absent: absent)
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
