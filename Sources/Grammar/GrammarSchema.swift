internal import Values

/// The JSON Schema of a grammar, for completion and validation in editors.
package struct GrammarSchema {
    /// Whether a template for a value of `variants`, such as `{{copies}}`, is allowed in place of
    /// any value.
    private let hasAxes: Bool
    private let title: String
    private let root: ConstructShape

    /// - Parameters:
    ///   - root: The grammar of the mapping at the top of the file.
    ///   - title: The title of the schema.
    ///   - hasAxes: Whether templates for values of `variants` are allowed in place of any value.
    package init(_ root: ConstructShape, title: String, hasAxes: Bool) {
        self.root = root
        self.title = title
        self.hasAxes = hasAxes
    }

    /// The contents of the schema file.
    package var text: String { value.prettyText + "\n" }

    private var value: JSONValue {
        var members: [JSONObject.Member] = [
            .init(key: "$schema", value: "https://json-schema.org/draft/2020-12/schema"),
            .init(key: "title", value: .string(title)),
        ]
        members += object(root).members
        var definitions: [JSONObject.Member] = []
        for construct in root.keys.flatMap(\.shape.constructs)
        where !definitions.contains(where: { $0.key == construct.name }) {
            definitions.append(.init(key: construct.name, value: .object(object(construct))))
        }
        if !definitions.isEmpty {
            members.append(.init(key: "$defs", value: .object(JSONObject(members: definitions))))
        }
        return .object(JSONObject(members: members))
    }

    private func object(_ construct: ConstructShape) -> JSONObject {
        var members: [JSONObject.Member] = [
            .init(key: "type", value: "object"),
            .init(key: "description", value: .string(construct.doc)),
            .init(key: "additionalProperties", value: false),
        ]
        let required = construct.keys.filter(\.isRequired).map(\.key)
        if !required.isEmpty { members.append(.init(key: "required", value: .strings(required))) }
        members.append(
            .init(
                key: "properties",
                value: .object(
                    JSONObject(
                        members: construct.keys.map {
                            .init(key: $0.key, value: propertySchema($0))
                        }
                    )
                )
            )
        )
        if !construct.companionKeys.isEmpty {
            members.append(.init(key: "allOf", value: .array(companionKeys(construct))))
        }
        return JSONObject(members: members)
    }

    /// Returns a JSON Schema condition for each key that requires another key.
    private func companionKeys(_ construct: ConstructShape) -> [JSONValue] {
        construct.companionKeys.sorted { $0.key < $1.key }.map { key, others in
            [
                "if": ["required": [.string(key)]],
                "then": ["anyOf": .array(others.map { ["required": [.string($0)]] })],
            ]
        }
    }

    private func propertySchema(_ key: KeyShape) -> JSONValue {
        var doc = key.doc
        if let fallback = key.fallback { doc += " Default: \(fallback)." }
        var members = [JSONObject.Member(key: "description", value: .string(doc))]
        members += (schema(key.shape).object ?? JSONObject()).members
        if let example = key.example {
            members.append(.init(key: "examples", value: .array([example])))
        }
        return .object(JSONObject(members: members))
    }

    // MARK: Shapes

    private func schema(_ shape: Shape) -> JSONValue {
        switch shape {
        case .scalar: ["type": ["string", "number", "boolean"]]
        case .text, .verbatim, .secret: ["type": "string"]
        case .json: [:]
        case .templated(let shape, _): schema(shape)
        case .pattern(let pattern, _):
            allowingVariantTemplate(["type": "string", "pattern": .string(pattern)])
        case .name(let kind, _):
            kind == .delivery || kind == .call
                ? ["type": "string"]
                : ["type": "string", "pattern": "^([A-Za-z0-9]|\\{\\{|\\}\\})+$"]
        case .nameAlternatives: ["type": "string", "pattern": "^[A-Za-z0-9|]+$"]
        case .flag: allowingVariantTemplate(["type": "boolean"])
        case .count(let range):
            allowingVariantTemplate([
                "type": "integer", "minimum": .integer(Int64(range.lowerBound)),
                "maximum": .integer(Int64(range.upperBound)),
            ])
        case .duration:
            allowingVariantTemplate(["type": "string", "pattern": "^[+-]?[0-9]+(ms|s|m|h|d)$"])
        case .words(let words):
            allowingVariantTemplate(["enum": .array(words.flatMap(yamlSpellings))])
        case .openWords(let words, let prefix):
            allowingVariantTemplate([
                "anyOf": [
                    ["enum": .strings(words)],
                    [
                        "type": "string",
                        "pattern": .string("^" + Self.caseInsensitivePattern(prefix)),
                    ],
                ]
            ])
        case .null: ["type": "null"]
        case .pointer: ["type": "string", "pattern": "^(/.*)?$"]
        case .list(let element, let countMin):
            countMin == 0
                ? ["type": "array", "items": schema(element)]
                : [
                    "type": "array", "items": schema(element),
                    "minItems": .integer(Int64(countMin)),
                ]
        case .map(let key, let value, let range): map(key, value, range)
        case .construct(let construct): ["$ref": .string("#/$defs/" + construct.name)]
        case .either(let shapes): ["anyOf": .array(shapes.map(schema))]
        }
    }

    private func map(_ key: Shape, _ value: Shape, _ range: ClosedRange<Int>) -> JSONValue {
        var members: [JSONObject.Member] = [.init(key: "type", value: "object")]
        switch key {
        case .text, .scalar, .verbatim, .secret, .json, .templated: break
        case .words, .pattern, .name, .nameAlternatives, .flag, .count, .duration, .openWords,
            .null,
            .pointer, .list, .map, .construct, .either:
            members.append(.init(key: "propertyNames", value: schema(key)))
        }
        members.append(.init(key: "additionalProperties", value: schema(value)))
        if range.lowerBound > 0 {
            members.append(
                .init(key: "minProperties", value: .integer(Int64(range.lowerBound)))
            )
        }
        if range.upperBound == 1 { members.append(.init(key: "maxProperties", value: 1)) }
        return .object(JSONObject(members: members))
    }

    /// Returns all JSON values that YAML may produce for a word: the string, and for an unquoted
    /// word such as `500` or `true` also the number or Boolean.
    private func yamlSpellings(_ word: String) -> [JSONValue] {
        guard let value = JSONValue(ifValid: word), value.string == nil else {
            return [.string(word)]
        }
        return [.string(word), value]
    }

    private func allowingVariantTemplate(_ schema: JSONValue) -> JSONValue {
        guard hasAxes else { return schema }
        return ["anyOf": [schema, ["type": "string", "pattern": "\\{\\{.+\\}\\}"]]]
    }

    private static func caseInsensitivePattern(_ text: String) -> String {
        text.map { $0.isLetter ? "[\($0.uppercased())\($0.lowercased())]" : String($0) }.joined()
    }
}
