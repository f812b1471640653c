internal import Grammar
internal import Values

extension Profile.EffectSource {
    /// The values of an effect source except its name, collected while the file is parsed.
    private struct Draft: Sendable {
        var path = ""
        var listPointer = JSONPointer()
        var keyPointer = JSONPointer()
        var textPointer: JSONPointer?
        var titlePointer: JSONPointer?
        var credentials: Profile.Credentials?
    }

    private static let grammar = Construct<Draft>(
        "effect source",
        "an effect source",
        "A read-only query that lists the messages which the backend has for one user.",
        makeEmptyOwner: { _ in Draft() }
    ) {
        Field.required(
            "get",
            \.path,
            .text("a path or a URL, with `{{id}}`").templated(.probe),
            "The path of a GET request, or the URL of another server, such as a test server for "
                + "email. Status 404 means that there is no message."
        )
        Field.required(
            "list",
            \.listPointer,
            .pointer,
            "The location of the list of messages in the response."
        )
        Field.required(
            "key",
            \.keyPointer,
            .pointer,
            "The location of a message's key, in the message. Every message counts, also one "
                + "with the key of another."
        )
        Field.optional(
            "text",
            \.textPointer,
            .pointer,
            "The location of the text, in the message.",
            fallback: "texts are not compared"
        )
        Field.optional(
            "title",
            \.titlePointer,
            .pointer,
            "The location of the title or the type, in the message.",
            fallback: "titles are not compared"
        )
        Profile.Credentials.fields(.probe, \.credentials)
    }.checking { draft, keys, reader in
        if !draft.path.hasPrefix("/"), !draft.path.isAddress {
            reader.fail(
                .wrongValueKind(
                    expected: "a path such as '/test/outbox?user={{id}}', or an http URL",
                    found: "'\(draft.path)'"
                ),
                at: keys.location(of: "get")
            )
        }
    }

    /// The syntax of the key `effects`: a mapping from names to effect sources, in the order of the
    /// file.
    static let list = Syntax<[Profile.EffectSource]>(
        .map(
            key: .text("a name"),
            value: .construct(grammar.shape),
            countRange: 0...20
        ),
        read: { node, reader in
            (reader.entries(node) ?? []).compactMap { entry in
                guard let draft = grammar.read(entry.value, &reader) else { return nil }
                var probe = Profile.Probe(
                    name: namePrefix + entry.key,
                    source: .get(draft.path),
                    readings: [:],
                    ignoredPointers: []
                )
                probe.credentials = draft.credentials
                var source = Profile.EffectSource(
                    probe: probe,
                    listPointer: draft.listPointer,
                    keyPointer: draft.keyPointer
                )
                source.textPointer = draft.textPointer
                source.titlePointer = draft.titlePointer
                return source
            }
        },
        write: { sources in .block(sources.map { .init($0.name, .flow([])) }) }
    )
}
