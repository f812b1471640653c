/// What an answer must look like: its status, and the parts of its body that mean something.
///
/// Objects are open, members that the pattern does not name are allowed; arrays are closed.
package struct AnswerPattern: Hashable, Codable, Sendable {
    package var status: Int
    package var fields: [HTTPMessage.Field] = []
    package var body: AppRequest.Body?
    package var location: SourceLocation
    /// Where each place of a JSON body stands in the file, by pointer.
    package var places: [String: SourceLocation] = [:]

    package init(status: Int, location: SourceLocation) {
        self.status = status
        self.location = location
    }
}

extension AnswerPattern {
    package static let grammar = Construct<AnswerPattern>(
        "answer",
        "an answer",
        "What an answer must look like; more may be in it.",
        blank: { AnswerPattern(status: 0, location: $0.location) }
    ) {
        Field<AnswerPattern>.status
        Field.value(
            "headers",
            \.fields,
            HTTPMessage.Field.list(.answer),
            default: [],
            "Header fields that it must have.",
            fallback: "any"
        )
        Field<AnswerPattern>.json
        Field<AnswerPattern>.text(\.body, .answer)
    }.exclusive(["body", "text"])

    /// A status, or a mapping that says more.
    package static let syntax = Syntax<AnswerPattern>.either(
        Syntax(
            .count(100...599),
            read: { node, reader in
                AnswerPattern(
                    status: reader.count(node, in: 100...599),
                    location: node.location
                )
            },
            write: { .number($0.status) }
        ),
        orMapping: grammar.block,
        takesMapping: { !$0.fields.isEmpty || $0.body != nil }
    )
}

extension Field where Owner == AnswerPattern {
    fileprivate static var status: Field {
        var shape = KeyShape("status", .count(100...599), "Its status.")
        shape.isRequired = true
        return Field(
            shape,
            read: { node, pattern, reader in
                pattern.status = reader.count(node, in: 100...599)
                pattern.location = node.location
            },
            write: { .number($0.status) }
        )
    }

    /// Findings point at the place of the file that a place of the body comes from.
    fileprivate static var json: Field {
        let body = Field.body(\.body, .answer)
        return Field(
            body.shape,
            read: { node, pattern, reader in
                body.read(node, &pattern, &reader)
                pattern.places = node.places()
            },
            write: body.write
        )
    }
}
