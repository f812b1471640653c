extension Profile.Start {
    static let grammar = Construct<Profile.Start>(
        "start",
        "'start'",
        "How Assay starts the backend.",
        blank: { _ in Profile.Start(command: "") }
    ) {
        Field.required(
            "command",
            \.command,
            .text("a line for the shell").templated(.start),
            "The command, with `{{port}}`, `{{data}}`, `{{fake.NAME}}` and `{{secret.NAME}}`."
        )
        Field.optional(
            "ready",
            \.ready,
            .either(Profile.Ready.line, orMapping: Profile.Ready.grammar.flow) { $0.status != nil },
            "The request whose answer says that the backend is ready: any below 400, or the `status` "
                + "that a mapping names.",
            fallback: "any answer of `GET /` but 502, 503 and 504, which others give in its place"
        )
        Field.optional(
            "timeout",
            \.timeout,
            .span,
            "How long it may take until it is ready.",
            fallback: Profile.Start.usualTimeout.unsignedText
        )
        Field.optional(
            "cwd",
            \.folder,
            .text("a path"),
            "The folder in which the command runs, from that of the profile.",
            fallback: "where Assay runs"
        )
        environmentField
        Field.optional(
            "stop",
            \.stop,
            Profile.Stop.grammar.flow,
            "How it is asked to end; what is left of it after that is killed.",
            fallback: "SIGTERM, and ten seconds"
        )
        Field.optional(
            "intercept",
            \.intercept,
            .either(
                Syntax<Bool>.flag.mapped(to: { Profile.Intercept(isOn: $0) }, from: \.isOn),
                orMapping: Profile.Intercept.grammar.flow
            ) { !$0.allowed.isEmpty },
            "Calls that name a service's own host reach its fake, through a proxy with an authority "
                + "of its own; every other host is refused and told.",
            fallback: "false"
        )
    }
}

extension Profile.Start {
    private static let environmentTexts = Syntax<[String: String]>.map(
        .anyKey("a variable"),
        .verbatim("a text; `${NAME}` and `${NAME:-default}` come from the environment")
            .templated(.start)
    )

    /// `env`, whose `${NAME}` have to be set.
    private static var environmentField: Field<Profile.Start> {
        var key = KeyShape(
            "env",
            environmentTexts.shape,
            "Variables of its environment, with the same templates."
        )
        key.fallback = "the usual names of the fakes' addresses"
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

extension Profile.Intercept {
    static let grammar = Construct<Profile.Intercept>(
        "intercept",
        "'intercept'",
        "Calls that name a service's own host reach its fake; every other host is refused.",
        blank: { _ in Profile.Intercept(isOn: true) }
    ) {
        Field.list(
            "allow",
            \.allowed,
            .text("a host without a port"),
            "Hosts that may be called all the same: a database's REST, a side-car by its name."
        )
    }
}

extension Profile.Ready {
    private static let methods = ["GET", "HEAD", "POST", "PUT"]

    /// A path, or a method and a path.
    static var line: Syntax<Profile.Ready> {
        let line = Profile.Endpoint.line(method: "GET")
        return Syntax(
            line.shape,
            read: { node, reader in
                line.read(node, &reader).map { Profile.Ready(method: $0.method, path: $0.path) }
            },
            write: { .text($0.method + " " + $0.path) }
        )
    }

    static let grammar = Construct<Profile.Ready>(
        "ready",
        "'ready'",
        "The request whose answer says that the backend is ready, and what it answers then.",
        blank: { _ in Profile.Ready(method: "", path: "") }
    ) {
        methods.map { method in
            Field<Profile.Ready>(
                KeyShape(method.lowercased(), .text("a path"), "The path of a \(method)."),
                read: { node, ready, reader in
                    guard let path = reader.text(node) else { return }
                    guard path.hasPrefix("/") else {
                        let expected = "a path such as '/healthz'"
                        return reader.fail(
                            .wrongKind(expected: expected, found: "'\(path)'"),
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
            "The status of its answer.",
            fallback: "any below 400"
        )
    }.oneOf(methods.map { $0.lowercased() }, example: "get: /healthz")
}

extension Profile.Stop {
    static let grammar = Construct<Profile.Stop>(
        "stop",
        "'stop'",
        "How a backend is asked to end.",
        blank: { _ in Profile.Stop() }
    ) {
        Field.value(
            "signal",
            \.signal,
            .choice("signal"),
            default: .terminate,
            "What its process group is sent."
        )
        Field.value(
            "within",
            \.within,
            .span,
            default: Profile.Stop.usualWithin,
            "How long it may take until it is killed."
        )
    }
}
