extension Profile.Probe {
    /// A probe without its name, while it is read.
    private struct Draft: Sendable {
        var path: String?
        var command: [String]?
        var readings: [String: Profile.Reading] = [:]
        var ignored: [JSONPointer] = []
        var credentials: Profile.Credentials?
    }

    private static let grammar = Construct<Draft>(
        "probe",
        "a probe",
        "A read-only look at one user's state.",
        blank: { _ in Draft() }
    ) {
        Field.optional(
            "get",
            \.path,
            .text("a path or an address, with `{{id}}`").templated(.probe),
            "The path of a GET, or the whole address of another server that shows the backend's "
                + "state; 404 means that the user does not exist."
        )
        Field.optional(
            "command",
            \.command,
            Profile.words(.probe),
            "A program of your own that prints JSON."
        )
        Field.value(
            "read",
            \.readings,
            Profile.Reading.table,
            default: [:],
            "Where the answer holds what contracts ask for.",
            fallback: "whole answers are compared"
        )
        Field.value(
            "ignore",
            \.ignored,
            .list(.pointer),
            default: [],
            "Places that no comparison looks at.",
            fallback: "none"
        )
        Profile.Credentials.fields(.probe, \.credentials)
    }.oneOf(["get", "command"], example: "get: /users/{{id}}")
        .checking { draft, keys, reader in
            if let path = draft.path, !path.hasPrefix("/"), !path.isAddress {
                reader.fail(
                    .wrongKind(
                        expected: "a path such as '/users/{{id}}', or an address of http",
                        found: "'\(path)'"
                    ),
                    at: keys.location(of: "get")
                )
            }
            if draft.command != nil, draft.credentials != nil {
                reader.fail(
                    .conflict(
                        "a command sends no request",
                        remedy: "Give it what it needs as words or in its environment."
                    ),
                    at: keys.location(of: "command")
                )
            }
        }

    /// By name, in the order of the file.
    static let list = Syntax<[Profile.Probe]>(
        .map(
            key: .text("a name"),
            value: .construct(grammar.shape),
            countRange: 0...100
        ),
        read: { node, reader in
            (reader.entries(node) ?? []).compactMap { entry in
                guard let draft = grammar.read(entry.value, &reader) else { return nil }
                let source: Profile.Probe.Source =
                    draft.path.map { .get($0) } ?? .command(draft.command ?? [])
                var probe = Profile.Probe(
                    name: entry.key,
                    source: source,
                    readings: draft.readings,
                    ignored: draft.ignored
                )
                probe.credentials = draft.credentials
                return probe
            }
        },
        write: { probes in .block(probes.map { .init($0.name, .flow([])) }) }
    )
}

extension String {
    /// Whether it names a server of its own.
    package var isAddress: Bool { hasPrefix("http://") || hasPrefix("https://") }
}

extension Profile.Reading {
    /// A pointer, or a mapping that says what the value means.
    private struct Draft: Sendable {
        var pointer = JSONPointer()
        var isAny: JSONValue?
        var isNone: JSONValue?
        var isFuture = false
        var absent: JSONValue?
        var and: [Profile.Reading]?
        var or: [Profile.Reading]?

        var reading: Profile.Reading {
            var reading = Profile.Reading(pointer: pointer, meaning: meaning, absent: absent)
            reading.and = and
            reading.or = or
            return reading
        }

        private var meaning: Meaning {
            func list(_ value: JSONValue) -> [JSONValue] { value.array ?? [value] }
            if let isAny { return .isAny(list(isAny)) }
            if let isNone { return .isNone(list(isNone)) }
            return isFuture ? .isFuture : .value
        }
    }

    /// - Parameters:
    ///   - name: What the reference calls it.
    ///   - others: How the conditions beside it are written; nil: there are none.
    /// - Returns: The mapping that says more than a place.
    private static func grammar(
        _ name: String,
        _ others: Syntax<Profile.Reading>?
    ) -> Construct<Draft> {
        Construct(
            name,
            "a reading",
            "Where a field stands, and what its value means there.",
            blank: { _ in Draft() }
        ) {
            Field.required("at", \.pointer, .pointer, "Where it stands.")
            Field.optional("is", \.isAny, .json, "True where the value is this, or one of these.")
            Field.optional(
                "not",
                \.isNone,
                .json,
                "True where the value is not this, or none of these."
            )
            Field.wish(
                "after",
                \.isFuture,
                "now",
                "moment",
                "True where the value is in the future."
            )
            Field.optional(
                "absent",
                \.absent,
                .json,
                "What it means, in the contract's terms, when an answer has no such place.",
                fallback: "an answer without it is inconclusive"
            )
            others.map(combinations) ?? []
        }.exclusive(["is", "not", "after"]).exclusive(["and", "or"])
    }

    @FieldBuilder<Draft> private static func combinations(
        _ others: Syntax<Profile.Reading>
    ) -> [Field<Draft>] {
        Field.optional(
            "and",
            \.and,
            .oneOrMore(others),
            "What has to hold as well: true where all of it does."
        )
        Field.optional(
            "or",
            \.or,
            .oneOrMore(others),
            "What is enough instead: true where any of it holds."
        )
    }

    /// A pointer, or a mapping that says more.
    private static func syntax(_ grammar: Construct<Draft>) -> Syntax<Profile.Reading> {
        Syntax(
            .either([.pointer, .construct(grammar.shape)]),
            read: { node, reader in
                guard case .mapping = node.content else {
                    return reader.pointer(node).map {
                        Profile.Reading(pointer: $0, meaning: .value)
                    }
                }
                return grammar.read(node, &reader).map(\.reading)
            },
            write: { .text($0.pointer.description) }
        )
    }

    /// Three deep: `until > now, or status is active and trial is not over`.
    private static let syntax = syntax(
        grammar("reading", syntax(grammar("condition", syntax(grammar("last-condition", nil)))))
    )

    /// By the names that contracts use.
    static let table = Syntax<[String: Profile.Reading]>(
        .construct(
            ConstructShape(
                name: "read",
                owner: "readings",
                doc: "Where the answer of a probe holds each field.",
                keys: names.map { KeyShape($0, syntax.shape, StateExpectation.doc($0)) }
            )
        ),
        read: { node, reader in
            let readings = Syntax.map(.key(among: names), syntax).read(node, &reader)
            for (name, reading) in readings ?? [:] where reading.isCombined && !flags.contains(name)
            {
                reader.fail(
                    .conflict(
                        "'\(name)' is a value, and conditions make what is true or false",
                        remedy: "Name one place, or combine under one of "
                            + flags.joined(separator: ", ") + "."
                    ),
                    at: node.location
                )
            }
            return readings
        },
        write: Syntax.map(.key(among: names), syntax).write
    )
}
