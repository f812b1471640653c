internal import ContractFiles
internal import Grammar
internal import Values

/// Reads the examples of an OpenAPI 3 document: one exchange for each operation with examples of
/// its request and its response.
extension ImportReader {
    private static let methodNames = ["get", "put", "post", "delete", "patch", "head", "options"]

    mutating func readOpenAPI(_ file: JSONValue) throws(RecordingError) {
        guard let paths = file["paths"]?.object else {
            throw makeError(1, "the file has no /paths", "Pass an OpenAPI document of version 3.")
        }
        var skippedOperations: [String] = []
        var number = -1
        for path in paths.members {
            for method in Self.methodNames {
                guard let operation = path.value[method] else { continue }
                number += 1
                let name = "\(method.uppercased()) \(path.key)"
                let pathParameters = path.value["parameters"]?.array ?? []
                var openAPIOperation = OpenAPIOperation(
                    document: file,
                    operation: operation,
                    parameters: pathParameters + (operation["parameters"]?.array ?? [])
                )
                guard let exchange = openAPIOperation.exchange(method.uppercased(), path.key) else {
                    skippedOperations.append(name)
                    continue
                }
                entry(number) { reader throws(RecordingError) in
                    try reader.add(exchange.request, exchange.response, at: nil)
                }
            }
        }
        if !skippedOperations.isEmpty {
            let names = skippedOperations.prefix(8).joined(separator: ", ")
            let moreOperationsNote =
                skippedOperations.count > 8 ? ", … and \(skippedOperations.count - 8) more" : ""
            notes.append("left out because examples are missing: \(names)\(moreOperationsNote)")
        }
        guard number + 1 > skippedOperations.count else {
            throw makeError(
                1,
                "no operation has examples of all its parameters, its body and its response",
                "Add 'example' to the parameters, the body and the response, or record a session."
            )
        }
    }

    /// Parses an OpenAPI document, which may be JSON or YAML.
    static func document(_ bytes: [UInt8]) throws(RecordingError) -> JSONValue {
        if let value = JSONValue(ifValid: bytes, options: Importer.options) { return value }
        do throws(ContractError) {
            let text = String(decoding: bytes, as: UTF8.self)
            return try LocatedNode(parsing: text, path: "").json
        } catch {
            throw RecordingError(
                line: error.location.line,
                problem: "this is not YAML: \(error.problem)",
                remedy: "Pass an OpenAPI document of version 3."
            )
        }
    }
}

/// An operation of an OpenAPI document with its examples, including those behind references and in
/// schemas.
private struct OpenAPIOperation {
    private static let depthMax = 24
    /// The maximum number of schemas that are read for one operation.
    ///
    /// A schema can refer to several other schemas. Without this limit, the number of schemas could
    /// multiply at each level.
    private static let schemaCountMax = 10_000

    let document: JSONValue
    let operation: JSONValue
    let parameters: [JSONValue]
    private var remainingSchemaCount = OpenAPIOperation.schemaCountMax

    init(document: JSONValue, operation: JSONValue, parameters: [JSONValue]) {
        self.document = document
        self.operation = operation
        self.parameters = parameters
    }

    /// Builds a request and a response from the operation's examples.
    ///
    /// Returns nil when a required part of the request or response has no example.
    mutating func exchange(
        _ method: String,
        _ path: String
    ) -> (request: HTTPMessage.Request, response: RecordedResponse)? {
        guard let exampleResponse = exampleResponse() else { return nil }
        var target = path
        var query: [String] = []
        var fields: [HTTPMessage.Field] = []
        for parameter in parameters.map({ resolvedReference($0) }) {
            guard let name = parameter["name"]?.string else { continue }
            guard let value = example(of: parameter).map(Self.plainText) else {
                if parameter["required"]?.bool == true { return nil }
                continue
            }
            switch parameter["in"]?.string {
            case "path": target = target.replacing("{\(name)}", with: value.percentEncoded)
            case "query": query.append("\(name.percentEncoded)=\(value.percentEncoded)")
            case "header": fields.append(HTTPMessage.Field(name, value))
            // A cookie is left out, because it is a credential and its example is never a real
            // credential.
            default: continue
            }
        }
        guard !target.contains("{") else { return nil }
        var body: [UInt8] = []
        let requestBodyObject = operation["requestBody"].map { resolvedReference($0) }
        if let content = requestBodyObject?["content"]?.object?.members.first {
            if let example = example(of: content.value) {
                body = example.string.map { Array($0.utf8) } ?? example.bytes
                fields.append(HTTPMessage.Field("content-type", content.key))
            } else if requestBodyObject?["required"]?.bool == true {
                return nil
            }
        }
        if !query.isEmpty { target += "?" + query.joined(separator: "&") }
        return (HTTPMessage.Request(method, target, fields: fields, body: body), exampleResponse)
    }

    /// Returns the operation's first response with a 2xx status that has an example or no body.
    private mutating func exampleResponse() -> RecordedResponse? {
        let documentedResponses = operation["responses"]?.object?.members ?? []
        for member in documentedResponses {
            guard let number = Int64(member.key), (200..<300).contains(number),
                let status = RecordedStatus(number)
            else { continue }
            let exampleResponse = resolvedReference(member.value)
            guard let content = exampleResponse["content"]?.object?.members.first else {
                return RecordedResponse(status)
            }
            guard let example = example(of: content.value) else { continue }
            return RecordedResponse(
                status,
                fields: [HTTPMessage.Field("content-type", content.key)],
                body: example.string.map { Array($0.utf8) } ?? example.bytes
            )
        }
        return nil
    }

    /// Resolves a `$ref` within the OpenAPI document; other values stay unchanged.
    private func resolvedReference(_ value: JSONValue, depth: Int = 0) -> JSONValue {
        guard depth < Self.depthMax, let reference = value["$ref"]?.string,
            reference.hasPrefix("#"), let pointer = JSONPointer(String(reference.dropFirst())),
            let referencedValue = document[pointer]
        else { return value }
        return resolvedReference(referencedValue, depth: depth + 1)
    }

    /// Returns the example of a parameter or body: `example`, the first of `examples`, or one that
    /// is derived from the schema.
    private mutating func example(of value: JSONValue) -> JSONValue? {
        if let example = value["example"] { return example }
        if let first = value["examples"]?.object?.members.first {
            let exampleObject = resolvedReference(first.value)
            if let value = exampleObject["value"] { return value }
        }
        return value["schema"].flatMap { example(ofSchema: $0, depth: 0) }
    }

    private mutating func example(ofSchema schema: JSONValue, depth: Int) -> JSONValue? {
        guard depth < Self.depthMax, remainingSchemaCount > 0 else { return nil }
        remainingSchemaCount -= 1
        let schema = resolvedReference(schema)
        if let example = schema["example"] ?? schema["examples"]?.array?.first ?? schema["const"]
            ?? schema["default"] ?? schema["enum"]?.array?.first
        {
            return example
        }
        if let allOfSchemas = schema["allOf"]?.array {
            var members: [JSONObject.Member] = []
            for part in allOfSchemas {
                guard let object = example(ofSchema: part, depth: depth + 1)?.object else {
                    return nil
                }
                members += object.members
            }
            return .object(JSONObject(members: members))
        }
        if let choice = (schema["oneOf"] ?? schema["anyOf"])?.array?.first {
            return example(ofSchema: choice, depth: depth + 1)
        }
        if let items = schema["items"] {
            return example(ofSchema: items, depth: depth + 1).map { .array([$0]) }
        }
        guard let properties = schema["properties"]?.object?.members else { return nil }
        let requiredNames = Set(schema["required"]?.strings ?? [])
        var members: [JSONObject.Member] = []
        for property in properties {
            if let value = example(ofSchema: property.value, depth: depth + 1) {
                members.append(.init(key: property.key, value: value))
            } else if requiredNames.contains(property.key) {
                return nil
            }
        }
        return members.isEmpty ? nil : .object(JSONObject(members: members))
    }

    private static func plainText(_ value: JSONValue) -> String { value.string ?? value.text }
}
