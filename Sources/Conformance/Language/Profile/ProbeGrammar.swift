extension Profile.Probe {
    /// A probe without its name, while it is read.
    private struct Draft: Sendable {
        var path: String?
        var command: [String]?
        var readings: [String: Profile.Reading] = [:]
        var ignored: [JSONPointer] = []
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
            .text("a path with `{{id}}`").templated(.probe),
            "The path of a GET; 404 means that the user does not exist."
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
    }.oneOf(["get", "command"], example: "get: /users/{{id}}")

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
                return Profile.Probe(
                    name: entry.key,
                    source: source,
                    readings: draft.readings,
                    ignored: draft.ignored
                )
            }
        },
        write: { probes in .block(probes.map { .init($0.name, .flow([])) }) }
    )
}

extension Profile.Reading {
    /// A pointer, or a mapping that says what the value means.
    private struct Draft: Sendable {
        var pointer = JSONPointer()
        var isAny: JSONValue?
        var isNone: JSONValue?
        var isFuture = false
        var absent: JSONValue?

        var meaning: Meaning {
            func list(_ value: JSONValue) -> [JSONValue] { value.array ?? [value] }
            if let isAny { return .isAny(list(isAny)) }
            if let isNone { return .isNone(list(isNone)) }
            return isFuture ? .isFuture : .value
        }
    }

    private static let grammar = Construct<Draft>(
        "reading",
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
        Field.wish("after", \.isFuture, "now", "moment", "True where the value is in the future.")
        Field.optional(
            "absent",
            \.absent,
            .json,
            "What it means, in the contract's terms, when an answer has no such place.",
            fallback: "an answer without it is inconclusive"
        )
    }.exclusive(["is", "not", "after"])

    private static let syntax = Syntax<Profile.Reading>(
        .either([.pointer, .construct(grammar.shape)]),
        read: { node, reader in
            guard case .mapping = node.content else {
                return reader.pointer(node).map { Profile.Reading(pointer: $0, meaning: .value) }
            }
            return grammar.read(node, &reader)
                .map {
                    Profile.Reading(pointer: $0.pointer, meaning: $0.meaning, absent: $0.absent)
                }
        },
        write: { .text($0.pointer.description) }
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
        read: Syntax.map(.key(among: names), syntax).read,
        write: Syntax.map(.key(among: names), syntax).write
    )
}
