package import Grammar
internal import Providers
package import Values

/// A literal HTTP request of the app, with the expected response.
///
/// Golden contracts, which are generated (distilled) from a recorded session, consist of such
/// requests.
///
/// The strings of the request may contain the templates of `TemplateValues`, such as
/// `{{user.ada}}`.
package struct AppRequest: Hashable, Codable, Sendable {
    package enum Body: Hashable, Codable, Sendable {
        case json(JSONValue)
        case text(String)
    }

    package var name: String
    package var method: String
    /// The path and query of the request.
    package var target: String
    package var fields: [HTTPMessage.Field] = []
    package var body: Body?
    package var answer: ResponsePattern?

    package init(name: String, method: String, target: String) {
        self.name = name
        self.method = method
        self.target = target
    }

    /// The names of the users whose IDs the request contains, in order of appearance.
    package var users: [String] {
        let texts: [String] =
            switch body {
            case .json(let value): [value.text]
            case .text(let text): [text]
            case nil: []
            }
        return Template.users(in: [target] + fields.map(\.value) + texts)
    }
}

extension AppRequest {
    package static let grammar = Construct<AppRequest>(
        "request",
        "a request",
        "A literal request of the app, with its expected response.",
        makeEmptyOwner: { _ in AppRequest(name: "", method: "", target: "") }
    ) {
        Field.required(
            "request",
            \.name,
            Call.newCallName,
            "A name for this request."
        )
        Field<AppRequest>.methodAndTarget
        Field.value(
            "headers",
            \.fields,
            HTTPMessage.Field.list(.header),
            default: [],
            "Header fields, with templates.",
            fallback: "none"
        )
        Field<AppRequest>.body(\.body, .request)
        Field<AppRequest>.text(\.body, .request)
        Field.optional(
            "response",
            \.answer,
            ResponsePattern.syntax,
            "The expected response: a status, or a mapping with more details.",
            fallback: "any status from 200 to 299"
        )
    }.mutuallyExclusiveKeys(["body", "text"])
}

extension Field {
    /// Creates the field for the key `body`: the JSON body of a request or of an expected response.
    static func body(_ path: any FieldKeyPath<AppRequest.Body?>, _ slot: TemplateScope.ContractSlot)
        -> Field
    {
        Field.choice(
            "body",
            path,
            .json.templated(slot),
            embed: { AppRequest.Body.json($0) },
            extract: { if case .json(let value) = $0 { value } else { nil } },
            slot == .request
                ? "The body, as JSON."
                : "The expected JSON body. The response may contain additional members."
        )
    }

    /// Creates the field for the key `text`: the body of a request or of an expected response, as a
    /// string.
    static func text(_ path: any FieldKeyPath<AppRequest.Body?>, _ slot: TemplateScope.ContractSlot)
        -> Field
    {
        Field.choice(
            "text",
            path,
            .verbatim("a string").templated(slot),
            embed: { AppRequest.Body.text($0) },
            extract: { if case .text(let text) = $0 { text } else { nil } },
            slot == .request
                ? "The body, as a string."
                : "The exact body of the response, as a string."
        )
    }
}

extension Field where Owner == AppRequest {
    /// The field for the key `send`: the method, path and query of a request on one line.
    fileprivate static var methodAndTarget: Field {
        var shape = KeyShape(
            "send",
            .templated(
                .pattern(
                    "^[A-Z]+ /\\S*$",
                    "a method and a path, such as `POST /api/user/register`"
                ),
                .contract(.request)
            ),
            "The method, path and query of the request, with templates."
        )
        shape.isRequired = true
        return Field(
            shape,
            read: { node, request, reader in
                guard let line = reader.text(node) else { return }
                let lineParts = line.split(separator: " ", maxSplits: 1).map(String.init)
                guard lineParts.count == 2,
                    lineParts[0].allSatisfy({ $0.isASCII && $0.isUppercase }),
                    lineParts[1].hasPrefix("/"), !lineParts[1].contains(where: \.isWhitespace)
                else {
                    reader.fail(
                        .wrongValueKind(
                            expected: "a method and a path, such as POST /api/user/register",
                            found: node.kind
                        ),
                        at: node.location
                    )
                    return
                }
                (request.method, request.target) = (lineParts[0], lineParts[1])
            },
            write: { .text($0.method + " " + $0.target) }
        )
    }
}

extension HTTPMessage.Field {
    /// Returns the syntax of header fields: a mapping from names to values, or a list of such
    /// mappings when a name occurs twice.
    static func list(_ slot: TemplateScope.ContractSlot) -> Syntax<[HTTPMessage.Field]> {
        let (name, value) = (Shape.text("a name"), Shape.verbatim("a string"))
        return Syntax(
            .templated(
                .either([
                    .map(key: name, value: value, countRange: 0...1000),
                    .list(.map(key: name, value: value, countRange: 1...1), countMin: 0),
                ]),
                .contract(slot)
            ),
            read: { node, reader in
                if case .sequence(let nodes) = node.content {
                    return nodes.flatMap { fields($0, &reader) }
                }
                return fields(node, &reader)
            },
            write: { fields in
                let entries = fields.map { YAMLNode.Entry($0.name, .quoted($0.value)) }
                return Set(fields.map(\.name)).count == fields.count
                    ? .flow(entries) : .row(entries.map { .flow([$0]) })
            }
        )
    }

    private static func fields(
        _ node: LocatedNode,
        _ reader: inout NodeReader
    ) -> [HTTPMessage.Field] {
        (reader.entries(node) ?? []).compactMap { entry in
            reader.possiblyEmptyText(entry.value).map { HTTPMessage.Field(entry.key, $0) }
        }
    }
}

extension StepForm {
    static let request = StepForm(
        AppRequest.grammar,
        embed: { .request($0) },
        extract: { if case .request(let request) = $0 { request } else { nil } }
    )
}

extension AppRequest {
    var traits: StepTraits {
        var traits = StepTraits(.request)
        traits.users = users
        let names = fields.flatMap { Template($0.value).names }
        let hasToken = names.contains {
            TemplateWord.member(of: $0, after: TemplateWord.idToken.word) != nil
        }
        if hasToken { traits.needs = [.firebase] }
        traits.faultFreeForm = .request(self)
        traits.definesExpectedResponse = answer != nil
        return traits
    }
}
