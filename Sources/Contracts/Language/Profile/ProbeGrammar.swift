internal import Grammar
internal import Values

extension Profile.Probe {
    /// The values of a probe except its name, collected while the file is parsed.
    private struct Draft: Sendable {
        var path: String?
        var command: [String]?
        var readings: [String: Profile.FieldReading] = [:]
        var ignoredPointers: [JSONPointer] = []
        var credentials: Profile.Credentials?
    }

    private static let grammar = Construct<Draft>(
        "probe",
        "a probe",
        "A read-only query that shows one user's state in the backend.",
        makeEmptyOwner: { _ in Draft() }
    ) {
        Field.optional(
            "get",
            \.path,
            .text("a path or a URL, with `{{id}}`").templated(.probe),
            "The path of a GET request, or the URL of another server that shows the backend's "
                + "state. Status 404 means that the user does not exist."
        )
        Field.optional(
            "command",
            \.command,
            .command(.probe),
            "A program that prints JSON, with its arguments."
        ).example(["./probe.sh", "{{id}}"])
        Field.value(
            "read",
            \.readings,
            Profile.FieldReading.table,
            default: [:],
            "The locations of state fields in the response, by the names that contracts use.",
            fallback: "complete responses are compared"
        )
        Field.value(
            "ignore",
            \.ignoredPointers,
            .list(.pointer),
            default: [],
            "Locations in the response that comparisons between runs skip.",
            fallback: "none"
        ).example(["/updated_at"])
        Profile.Credentials.fields(.probe, \.credentials)
    }.alternativeKeys(["get", "command"], example: "get: /users/{{id}}")
        .checking { draft, keys, reader in
            if let path = draft.path, !path.hasPrefix("/"), !path.isAddress {
                reader.fail(
                    .wrongValueKind(
                        expected: "a path such as '/users/{{id}}', or an http URL",
                        found: "'\(path)'"
                    ),
                    at: keys.location(of: "get")
                )
            }
            if draft.command != nil, draft.credentials != nil {
                reader.fail(
                    .conflict(
                        "'headers' and 'as' cannot be combined with 'command', which sends no "
                            + "request",
                        remedy: "Pass credentials as arguments or in the environment."
                    ),
                    at: keys.location(of: "command")
                )
            }
        }

    /// The syntax of the key `probes`: a mapping from names to probes, in the order of the file.
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
                    ignoredPointers: draft.ignoredPointers
                )
                probe.credentials = draft.credentials
                return probe
            }
        },
        write: { probes in .block(probes.map { .init($0.name, .flow([])) }) }
    )
}

extension String {
    /// Whether the string is an http or https URL.
    package var isAddress: Bool { hasPrefix("http://") || hasPrefix("https://") }
}

extension Profile.FieldReading {
    /// The values that define one state field in a mapping, collected while the file is parsed.
    private struct Draft: Sendable {
        var pointer = JSONPointer()
        var isOneOf: JSONValue?
        var isNoneOf: JSONValue?
        var isFuture = false
        var valueIfPathAbsent: JSONValue?
        var additionalConditions: [Profile.FieldReading]?
        var alternativeConditions: [Profile.FieldReading]?

        var reading: Profile.FieldReading {
            var reading = Profile.FieldReading(
                pointer: pointer,
                meaning: meaning,
                valueIfPathAbsent: valueIfPathAbsent
            )
            reading.additionalConditions = additionalConditions
            reading.alternativeConditions = alternativeConditions
            return reading
        }

        private var meaning: Meaning {
            func list(_ value: JSONValue) -> [JSONValue] { value.array ?? [value] }
            if let isOneOf { return .isOneOf(list(isOneOf)) }
            if let isNoneOf { return .isNoneOf(list(isNoneOf)) }
            return isFuture ? .isFuture : .value
        }
    }

    /// - Parameters:
    ///   - name: The name of the grammar in the JSON Schema and on the reference page.
    ///   - others: The syntax of the conditions under `and` and `or`; nil: the two keys are not
    ///     allowed.
    /// - Returns: The grammar of the location and interpretation of a state field, written as a
    ///   mapping.
    private static func grammar(
        _ name: String,
        _ others: Syntax<Profile.FieldReading>?
    ) -> Construct<Draft> {
        Construct(
            name,
            "a reading",
            "The location of a state field in the response, and the interpretation of its value.",
            makeEmptyOwner: { _ in Draft() }
        ) {
            Field.required(
                "at",
                \.pointer,
                .pointer,
                "The location of the value. In a list, `id=premium` instead of an index selects "
                    + "the first element whose `id` is `premium`, as in "
                    + "`/entitlements/id=premium/active`; `=premium` selects the element `premium`."
            ).example("/status")
            Field.optional(
                "is",
                \.isOneOf,
                .json,
                "The field is true when the value at the location "
                    + "is this value, or one of this list."
            ).example("active")
            Field.optional(
                "not",
                \.isNoneOf,
                .json,
                "The field is true when the value at the location is not this value, or none of "
                    + "this list."
            ).example(["free", "expired"])
            Field.switchWord(
                "after",
                \.isFuture,
                "now",
                "value of 'after'",
                "The field is true when the value at the location is a time in the future."
            )
            Field.optional(
                "absent",
                \.valueIfPathAbsent,
                .json,
                "The field's value when the response does not contain the location.",
                fallback: "inconclusive"
            ).example(false)
            others.map(combinations) ?? []
        }.mutuallyExclusiveKeys(["is", "not", "after"]).mutuallyExclusiveKeys(["and", "or"])
    }

    @FieldBuilder<Draft> private static func combinations(
        _ others: Syntax<Profile.FieldReading>
    ) -> [Field<Draft>] {
        Field.optional(
            "and",
            \.additionalConditions,
            .oneOrMore(others),
            "Further conditions. The field is true when all conditions hold."
        ).example(["at": "/expires_at", "after": "now"])
        Field.optional(
            "or",
            \.alternativeConditions,
            .oneOrMore(others),
            "Alternative conditions. The field is true when any of the conditions holds."
        ).example(["at": "/expires_at", "after": "now"])
    }

    /// Returns the syntax of the location of a state field: a JSON pointer, or a mapping with more
    /// details.
    private static func syntax(_ grammar: Construct<Draft>) -> Syntax<Profile.FieldReading> {
        Syntax(
            .either([.pointer, .construct(grammar.shape)]),
            read: { node, reader in
                guard case .mapping = node.content else {
                    return reader.pointer(node).map {
                        Profile.FieldReading(pointer: $0, meaning: .value)
                    }
                }
                return grammar.read(node, &reader).map(\.reading)
            },
            write: { .text($0.pointer.description) }
        )
    }

    /// The syntax of the location of a state field, with conditions nested up to three levels.
    ///
    /// Example: `until` is in the future, or `status` is active and `trial` is not over.
    private static let syntax = syntax(
        grammar("reading", syntax(grammar("condition", syntax(grammar("last-condition", nil)))))
    )

    /// The syntax of the location of a state field that is not true or false.
    private static let plainSyntax = syntax(grammar("value", nil))

    /// The syntax of the key `read` of a probe: the location of each state field, by the name that
    /// contracts use.
    static let table = Syntax<[String: Profile.FieldReading]>(
        .construct(
            ConstructShape(
                name: "read",
                owner: "readings",
                doc: "The locations of state fields in the response of a probe.",
                keys: names.map { name in
                    // Only a true-or-false field can combine conditions.
                    let shape = booleanFields.contains(name) ? syntax.shape : plainSyntax.shape
                    return KeyShape(name, shape, StateExpectation.doc(name))
                        .example(.string("/" + name.replacing("-", with: "_")))
                }
            )
        ),
        read: { node, reader in
            let readings = Syntax.map(.key(among: names), syntax).read(node, &reader)
            for (name, reading) in readings ?? [:]
            where reading.hasCombinedConditions && !booleanFields.contains(name) {
                reader.fail(
                    .conflict(
                        "'\(name)' is not a true-or-false field, so it cannot combine conditions",
                        remedy:
                            "Give one location in the response, or combine conditions only in the fields "
                            + booleanFields.joined(separator: ", ") + "."
                    ),
                    at: node.location
                )
            }
            return readings
        },
        write: Syntax.map(.key(among: names), syntax).write
    )
}
