package import Values

/// The allowed values at one place of a YAML file.
///
/// The JSON Schema, `assay explain` and the reference page are generated from shapes.
package indirect enum Shape: Hashable, Sendable {
    /// Any string that is not empty; the associated value describes it for readers.
    case text(String)
    /// A YAML string, number or Boolean; the associated value describes it for readers.
    case scalar(String)
    /// A string that may be empty; the associated value describes it for readers.
    case verbatim(String)
    /// A string that no check reads, because it may be a secret.
    case secret
    /// A string that matches a regular expression; the second associated value describes it for
    /// readers.
    case pattern(String, String)
    /// A name of letters and digits.
    case name(NameUses.Kind, NameUses.Role)
    /// Names of letters and digits, separated by `|`.
    case nameAlternatives(NameUses.Kind)
    case flag
    case count(ClosedRange<Int>)
    /// A duration, written as a number and a unit, such as `5m`.
    case duration
    /// One of these words.
    case words([String])
    /// One of these words, or another word with this prefix.
    case openWords([String], prefix: String)
    /// Any JSON value.
    case json
    case null
    /// A JSON pointer.
    case pointer
    case list(Shape, countMin: Int)
    /// A mapping whose keys the author of the file chooses.
    case map(key: Shape, value: Shape, countRange: ClosedRange<Int>)
    case construct(ConstructShape)
    case either([Shape])
    /// A value of another shape, whose strings may contain the templates of a place.
    case templated(Shape, TemplateSlot)
}

/// A place in a file where strings may contain templates, such as `{{user.ada}}`.
package struct TemplateSlot: Hashable, Sendable {
    /// A name that no other place of the file format has.
    package let name: String
    /// The template words that are available at this place, such as `user` in `{{user.ada}}`.
    package let words: [TemplateWord]

    package init(name: String, words: [TemplateWord]) {
        (self.name, self.words) = (name, words)
    }
}

/// The allowed keys and values of a mapping with a fixed set of keys.
package struct ConstructShape: Hashable, Sendable {
    /// The name of the mapping in the JSON Schema and on the reference page: `delivery`.
    package let name: String
    /// The name of the mapping in error messages: `a delivery`.
    package let owner: String
    package let doc: String
    package let keys: [KeyShape]
    /// The keys of which exactly one is required; empty: the mapping has no such rule.
    package var alternativeKeys: [String] = []
    /// The keys that are allowed only together with another key, each with the list of possible
    /// other keys.
    package var companionKeys: [String: [String]] = [:]
    /// Groups of keys of which at most one is allowed.
    package var mutuallyExclusiveKeys: [[String]] = []

    package subscript(key: String) -> KeyShape? { keys.first { $0.key == key } }

    package init(name: String, owner: String, doc: String, keys: [KeyShape]) {
        self.name = name
        self.owner = owner
        self.doc = doc
        self.keys = keys
    }

    /// Returns a copy of the shape in which the key is required.
    package func requiringKey(_ key: String) -> ConstructShape {
        let keys = keys.map { shape in
            var shape = shape
            shape.isRequired = shape.isRequired || shape.key == key
            return shape
        }
        return ConstructShape(name: name, owner: owner, doc: doc, keys: keys)
    }
}

/// One key of a mapping: its name, its allowed values and its documentation.
package struct KeyShape: Hashable, Sendable {
    package let key: String
    package let shape: Shape
    package let doc: String
    package var isRequired = false
    /// Whether the key is allowed in contracts for backends and in contracts for apps.
    package var isSupportedByAllTargets = false
    /// Whether the key alone makes its mapping a complete expectation.
    package var definesExpectation = false
    /// The default value as shown to readers; nil: the key has no default value.
    package var fallback: String?
    /// The first version of Assay that accepts the key.
    package var sinceVersion = Self.firstVersion
    /// A typical value of the key; nil when the example of the key above contains one, or when the
    /// shape allows only a few values.
    package var example: JSONValue?
    /// Other top-level keys of the file that the example requires, or that show its use.
    package var exampleContext = JSONObject()

    package static let firstVersion = "0.1"

    package init(_ key: String, _ shape: Shape, _ doc: String) {
        self.key = key
        self.shape = shape
        self.doc = doc
    }

    /// Returns a copy of the key with a typical value.
    package func example(_ value: JSONValue) -> KeyShape {
        var key = self
        key.example = value
        return key
    }
}

extension Shape {
    /// A short description of the allowed values, for the reference page and error messages.
    package var kind: String {
        switch self {
        case .text(let valueKind), .scalar(let valueKind), .verbatim(let valueKind),
            .pattern(_, let valueKind):
            valueKind
        case .secret: "a string; `${NAME}` and `${NAME:-default}` insert environment variables"
        case .name(let kind, _): "the name of a \(kind.rawValue)"
        case .nameAlternatives(let kind):
            "the name of a \(kind.rawValue), or several names: `ada|bob`"
        case .flag: "`true` or `false`"
        case .count(let range): "a number from \(range.lowerBound) to \(range.upperBound)"
        case .duration: "a duration: `200ms`, `2s`, `5m`, `1h`, `30d`"
        case .words(let words):
            words.count == 1 ? "`\(words[0])`" : words.map { "`\($0)`" }.joined(separator: ", ")
        case .openWords(let words, let prefix):
            words.map { "`\($0)`" }.joined(separator: ", ") + ", or `\(prefix)…`"
        case .json: "any value"
        case .null: "`null`"
        case .pointer: "a JSON pointer"
        case .list: isStepList ? "a list of steps" : "a list: \(elementKind)"
        case .map(let key, let value, _): "a mapping from \(key.kind) to \(value.kind)"
        case .construct(let construct): construct.owner
        case .either(let shapes): shapes.map(\.kind).joined(separator: "; or ")
        case .templated(let shape, _): shape.kind
        }
    }

    private var elementKind: String {
        if case .list(let element, _) = self { element.kind } else { kind }
    }

    /// The templates that strings at this place and below it may contain, each once.
    package var templateWords: [TemplateWord] {
        var seenWords: Set<TemplateWord> = []
        return allTemplateWords.filter { seenWords.insert($0).inserted }
    }

    private var allTemplateWords: [TemplateWord] {
        switch self {
        case .templated(let shape, let slot): slot.words + shape.allTemplateWords
        case .construct(let construct): construct.keys.flatMap(\.shape.allTemplateWords)
        case .list(let element, _): element.allTemplateWords
        case .map(let key, let value, _): key.allTemplateWords + value.allTemplateWords
        case .either(let shapes): shapes.flatMap(\.allTemplateWords)
        case .text, .scalar, .verbatim, .secret, .pattern, .name, .nameAlternatives, .flag, .count,
            .duration, .words, .openWords, .json, .null, .pointer:
            []
        }
    }

    /// The shapes of all mappings with fixed keys at this place and below it, each before the
    /// mappings that it contains.
    package var constructs: [ConstructShape] {
        switch self {
        case .construct(let construct):
            [construct] + construct.keys.flatMap(\.shape.constructs)
        case .list(let element, _): element.constructs
        case .map(let key, let value, _): key.constructs + value.constructs
        case .either(let shapes): shapes.flatMap(\.constructs)
        case .templated(let shape, _): shape.constructs
        case .text, .scalar, .verbatim, .secret, .pattern, .name, .nameAlternatives, .flag, .count,
            .duration,
            .words,
            .openWords, .json, .null, .pointer:
            []
        }
    }

    /// The shapes of the mappings with fixed keys at exactly this place, or in the elements of a
    /// list at this place.
    package var directConstructs: [ConstructShape] {
        switch self {
        case .construct(let construct): [construct]
        case .list(let element, _): element.directConstructs
        case .map(_, let value, _): value.directConstructs
        case .either(let shapes): shapes.flatMap(\.directConstructs)
        case .templated(let shape, _): shape.directConstructs
        case .text, .scalar, .verbatim, .secret, .pattern, .name, .nameAlternatives, .flag, .count,
            .duration,
            .words,
            .openWords, .json, .null, .pointer:
            []
        }
    }
}
