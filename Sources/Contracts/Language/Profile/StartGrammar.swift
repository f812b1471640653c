internal import Grammar
internal import Providers
internal import Redaction
internal import Values

extension Profile.StartSettings {
    static var grammar: Construct<Profile.StartSettings> { grammarOfTable.value }

    /// An example of the key `start`, which passes the address of a fake and a secret.
    static var example: JSONValue {
        var environment: JSONObject = [
            "PORT": "{{port}}", "DATABASE": "{{data}}/app.db",
        ]
        for provider in ProviderTable.all.backendProviders.prefix(1) {
            environment["PROVIDER_URL"] = .string("{{fake.\(provider.party)}}")
        }
        for secret in ProviderTable.all.profileSecrets.prefix(1) {
            environment["WEBHOOK_SECRET"] = .string("{{secret.\(secret.name.rawValue)}}")
        }
        return [
            "command": "node server.js", "ready": "GET /healthz", "env": .object(environment),
        ]
    }

    private static let grammarOfTable = TableDerived { _ in makeGrammar() }

    private static func makeGrammar() -> Construct<Profile.StartSettings> {
        Construct<Profile.StartSettings>(
            "start",
            "'start'",
            "The command with which Assay starts the backend, and its settings.",
            makeEmptyOwner: { _ in Profile.StartSettings(command: "") }
        ) {
            Field.required(
                "command",
                \.command,
                .text("a shell command").templated(.start),
                "The shell command. Its templates are `{{port}}`, `{{data}}`, `{{fake.NAME}}`, "
                    + "`{{fake.NAME.host}}` and `{{secret.NAME}}`."
            )
            Field.optional(
                "build",
                \.build,
                .text("a shell command"),
                "The shell command that builds the backend. It runs once, before the first start, "
                    + "without templates and without the variables of `env`.",
                fallback: "nothing is built"
            ).example("go build -o server .")
            Field.optional(
                "ready",
                \.ready,
                .either(
                    Profile.ReadinessCheck.requestLine,
                    orMapping: Profile.ReadinessCheck.grammar.flow
                ) {
                    $0.status != nil
                },
                "The request that shows that the backend is ready. Any status below 400 counts, or "
                    + "only `status` in a mapping.",
                fallback: "any response to `GET /` except 502, 503 and 504, which gateways send"
            )
            Field.optional(
                "timeout",
                \.timeout,
                .unsignedDuration,
                "The maximum time until the backend is ready.",
                fallback: Profile.StartSettings.defaultTimeout.unsignedText
            )
            Field.optional(
                "cwd",
                \.folder,
                .text("a path"),
                "The working directory of the command, relative to the profile's folder.",
                fallback: "Assay's working directory"
            ).example("backend")
            processFields
        }
    }

    /// The fields for the environment and the end of the process.
    @FieldBuilder<Profile.StartSettings> private static var processFields:
        [Field<Profile.StartSettings>]
    {
        environmentField
        Field.optional(
            "env-file",
            \.environmentFile,
            .text("a path"),
            "A file with environment variables of the backend, relative to the profile's folder. "
                + "Variables of Assay's own environment and those under `env` come first.",
            fallback: "none"
        ).example(".env")
        Field.optional(
            "stop",
            \.stop,
            Profile.StopSettings.grammar.flow,
            "The signal that stops the backend. Processes that do not exit in time are killed.",
            fallback: "SIGTERM and 10s"
        ).example(["signal": "SIGTERM", "within": "5s"])
        Field.optional(
            "intercept",
            \.intercept,
            .either(
                Syntax<Bool>.flag.mapped(
                    to: { Profile.InterceptionSettings(isOn: $0) },
                    from: \.isOn
                ),
                orMapping: Profile.InterceptionSettings.grammar.flow
            ) { !$0.allowed.isEmpty },
            "Redirects calls to a provider's real host to its fake, through a proxy with its own "
                + "certificate authority. Calls to other hosts are refused and reported.",
            fallback: "false"
        )
    }
}

extension Profile.StartSettings {
    private static var environmentTexts: Syntax<[String: String]> {
        .map(
            .anyKey("a variable"),
            .verbatim("a string; `${NAME}` and `${NAME:-default}` insert environment variables")
                .templated(.start)
        )
    }

    /// The field for the key `env`.
    ///
    /// Every environment variable in `${NAME}` must be set, unless the string gives a default.
    private static var environmentField: Field<Profile.StartSettings> {
        var key = KeyShape(
            "env",
            environmentTexts.shape,
            "Environment variables of the backend, with the same templates as the command."
        )
        key.fallback = "the fakes' addresses under their usual names"
        return Field(
            key,
            read: { node, start, reader in
                guard let texts = environmentTexts.read(node, &reader) else { return }
                start.environment = texts
                for (_, text) in texts.sorted(by: { $0.key < $1.key }) {
                    _ = reader.expanded(text, at: node.location)
                    for case .variable(let name, _) in VariableText.parts(of: text) {
                        start.variables[name] = reader.environment[name].map { Secret($0) }
                    }
                }
            },
            write: { $0.environment.isEmpty ? nil : environmentTexts.write($0.environment) }
        )
    }
}

extension Profile.InterceptionSettings {
    static let grammar = Construct<Profile.InterceptionSettings>(
        "intercept",
        "'intercept'",
        "Redirects calls to a provider's real host to its fake, and refuses other hosts.",
        makeEmptyOwner: { _ in Profile.InterceptionSettings(isOn: true) }
    ) {
        Field.list(
            "allow",
            \.allowed,
            .text("a host without a port"),
            "Hosts that may still be called, such as a database service or a sidecar."
        ).example(["db.example.com"])
    }
}

extension Profile.ReadinessCheck {
    private static let methods = ["GET", "HEAD", "POST", "PUT"]

    /// The short form of the readiness request: a path, or a method and a path.
    static var requestLine: Syntax<Profile.ReadinessCheck> {
        let requestLine = Profile.Endpoint.requestLine(method: "GET")
        return Syntax(
            requestLine.shape,
            read: { node, reader in
                requestLine.read(node, &reader).map {
                    Profile.ReadinessCheck(method: $0.method, path: $0.path)
                }
            },
            write: { .text($0.method + " " + $0.path) }
        )
    }

    static let grammar = Construct<Profile.ReadinessCheck>(
        "ready",
        "'ready'",
        "The request that shows that the backend is ready, and the required status.",
        makeEmptyOwner: { _ in Profile.ReadinessCheck(method: "", path: "") }
    ) {
        methods.map { method in
            Field<Profile.ReadinessCheck>(
                KeyShape(method.lowercased(), .text("a path"), "The path of a \(method) request.")
                    .example("/healthz"),
                read: { node, ready, reader in
                    guard let path = reader.text(node) else { return }
                    guard path.hasPrefix("/") else {
                        let expected = "a path such as '/healthz'"
                        return reader.fail(
                            .wrongValueKind(expected: expected, found: "'\(path)'"),
                            at: node.location
                        )
                    }
                    ready.method = method
                    ready.path = path
                },
                write: { $0.method == method ? .text($0.path) : nil }
            )
        }
        Field.optional(
            "status",
            \.status,
            .count(200...599),
            "The required status of the response.",
            fallback: "any below 400"
        )
    }.alternativeKeys(methods.map { $0.lowercased() }, example: "get: /healthz")
}

extension Profile.StopSettings {
    static let grammar = Construct<Profile.StopSettings>(
        "stop",
        "'stop'",
        "The signal that stops a backend, and the time that it has to exit.",
        makeEmptyOwner: { _ in Profile.StopSettings() }
    ) {
        Field.value(
            "signal",
            \.signal,
            .choice("signal"),
            default: .terminate,
            "The signal that is sent to the backend's process group."
        )
        Field.value(
            "within",
            \.within,
            .unsignedDuration,
            default: Profile.StopSettings.defaultTimeoutUntilKilled,
            "The time that the backend has to exit, after which it is killed."
        )
    }
}
