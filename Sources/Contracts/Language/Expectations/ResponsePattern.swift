package import Grammar
package import Values

/// The pattern of an expected response: its status, and the relevant parts of its headers and body.
///
/// A JSON object in the response may have members that the pattern does not contain. A JSON array
/// must have exactly the elements of the pattern.
package struct ResponsePattern: Hashable, Codable, Sendable {
    package var status: Int
    package var fields: [HTTPMessage.Field] = []
    package var body: AppRequest.Body?
    package var location: SourceLocation
    /// The location, in the contract file, of each value in the pattern's JSON body, by JSON
    /// pointer.
    package var sourceLocations: [String: SourceLocation] = [:]

    package init(status: Int, location: SourceLocation) {
        self.status = status
        self.location = location
    }
}

extension ResponsePattern {
    package static let grammar = Construct<ResponsePattern>(
        "response",
        "a response",
        "The expected response. The actual response may contain more than this pattern.",
        makeEmptyOwner: { ResponsePattern(status: 0, location: $0.location) }
    ) {
        Field<ResponsePattern>.status
        Field.value(
            "headers",
            \.fields,
            HTTPMessage.Field.list(.answer),
            default: [],
            "Header fields that the response must have.",
            fallback: "any"
        )
        Field<ResponsePattern>.json
        Field<ResponsePattern>.text(\.body, .answer)
    }.mutuallyExclusiveKeys(["body", "text"])

    /// The syntax of an expected response: a status, or a mapping with more details.
    package static let syntax = Syntax<ResponsePattern>.either(
        Syntax(
            .count(100...599),
            read: { node, reader in
                ResponsePattern(
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

extension Field where Owner == ResponsePattern {
    fileprivate static var status: Field {
        var shape = KeyShape("status", .count(100...599), "The status of the response.")
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

    /// The field for the key `body`, the expected JSON body.
    ///
    /// It also stores the locations of the body's values in the file, so that findings (reported
    /// failures) can point at them.
    fileprivate static var json: Field {
        let body = Field.body(\.body, .answer)
        return Field(
            body.shape,
            read: { node, pattern, reader in
                body.read(node, &pattern, &reader)
                pattern.sourceLocations = node.sourceLocations()
            },
            write: body.write
        )
    }
}
