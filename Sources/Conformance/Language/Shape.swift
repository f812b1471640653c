/// What may stand at a place of a contract or a profile: the half of the grammar that schema,
/// `assay explain` and the reference page are made of.
package indirect enum Shape: Hashable, Sendable {
    /// Any text; what it says, for people.
    case text(String)
    /// A text, a number, or true or false, as YAML has them; what it says, for people.
    case scalar(String)
    /// A text that may be empty; what it says, for people.
    case verbatim(String)
    /// A text that nobody looks into: it may be a secret.
    case secret
    /// A text of this form, as a regular expression; what it says, for people.
    case pattern(String, String)
    /// A name of letters and digits.
    case name(Names.Kind, Names.Role)
    /// Names of letters and digits, separated by `|`.
    case anyOf(Names.Kind)
    case flag
    case count(ClosedRange<Int>)
    /// A number and a unit.
    case duration
    /// One of these words.
    case words([String])
    /// One of these words, or another that begins like this.
    case openWords([String], prefix: String)
    /// Any JSON value.
    case json
    case null
    /// A JSON pointer.
    case pointer
    case list(Shape, countMin: Int)
    /// A mapping whose keys are the contract's own.
    case map(key: Shape, value: Shape, countRange: ClosedRange<Int>)
    case construct(ConstructShape)
    case either([Shape])
    /// The same, with templates in its texts.
    case templated(Shape, TemplatePlace)
}

/// A place of a file whose texts may hold templates.
package enum TemplatePlace: Hashable, Sendable {
    case contract(TemplateScope.ContractPlace)
    case profile(TemplateScope.ProfilePlace)

    /// The words that exist there.
    package var words: [TemplateWord] {
        switch self {
        case .contract(let place): place.words
        case .profile(let place): place.words
        }
    }
}

/// A mapping with keys of ours.
package struct ConstructShape: Hashable, Sendable {
    /// What the schema and the reference page call it: `delivery`.
    package let name: String
    /// What error messages call it: `a delivery`.
    package let owner: String
    package let doc: String
    package let keys: [KeyShape]
    /// Exactly one of these stands there.
    package var oneOf: [String] = []
    /// Keys that have a meaning only beside one of others.
    package var beside: [String: [String]] = [:]
    /// Keys that exclude each other.
    package var exclusive: [[String]] = []

    package subscript(key: String) -> KeyShape? { keys.first { $0.key == key } }

    package init(name: String, owner: String, doc: String, keys: [KeyShape]) {
        self.name = name
        self.owner = owner
        self.doc = doc
        self.keys = keys
    }

    /// The same, and the key has to be there.
    func requiring(_ key: String) -> ConstructShape {
        let keys = keys.map { shape in
            var shape = shape
            shape.isRequired = shape.isRequired || shape.key == key
            return shape
        }
        return ConstructShape(name: name, owner: owner, doc: doc, keys: keys)
    }
}

/// One key of a construct.
package struct KeyShape: Hashable, Sendable {
    package let key: String
    package let shape: Shape
    package let doc: String
    package var isRequired = false
    /// Whoever is judged, an app or a backend, it can be asked for.
    package var isForEverybody = false
    /// It says something alone, so that whatever it stands in is not empty.
    package var isSufficient = false
    /// What holds where the key is left out, for people; nil: nothing.
    package var fallback: String?
    /// The version of Assay that knows it first.
    package var since = Self.firstVersion

    package static let firstVersion = "0.1"

    package init(_ key: String, _ shape: Shape, _ doc: String) {
        self.key = key
        self.shape = shape
        self.doc = doc
    }
}

extension Shape {
    /// What stands there, in a few words.
    package var kind: String {
        switch self {
        case .text(let what), .scalar(let what), .verbatim(let what), .pattern(_, let what): what
        case .secret: "a text; `${NAME}` and `${NAME:-default}` come from the environment"
        case .name(let kind, _): "the name of a \(kind.rawValue)"
        case .anyOf(let kind): "a \(kind.rawValue), or several: `ada|bob`"
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
        case .list: isSteps ? "a list of steps" : "a list: \(elementKind)"
        case .map(let key, let value, _): "a mapping, from \(key.kind) to \(value.kind)"
        case .construct(let construct): construct.owner
        case .either(let shapes): shapes.map(\.kind).joined(separator: "; or ")
        case .templated(let shape, _): shape.kind
        }
    }

    private var elementKind: String {
        if case .list(let element, _) = self { element.kind } else { kind }
    }

    /// The constructs that stand there or below, each before those that it holds.
    package var constructs: [ConstructShape] {
        switch self {
        case .construct(let construct):
            [construct] + construct.keys.flatMap(\.shape.constructs)
        case .list(let element, _): element.constructs
        case .map(let key, let value, _): key.constructs + value.constructs
        case .either(let shapes): shapes.flatMap(\.constructs)
        case .templated(let shape, _): shape.constructs
        case .text, .scalar, .verbatim, .secret, .pattern, .name, .anyOf, .flag, .count, .duration,
            .words,
            .openWords, .json, .null, .pointer:
            []
        }
    }

    /// The constructs that stand at this very place, or are elements of the list that does.
    package var direct: [ConstructShape] {
        switch self {
        case .construct(let construct): [construct]
        case .list(let element, _): element.direct
        case .map(_, let value, _): value.direct
        case .either(let shapes): shapes.flatMap(\.direct)
        case .templated(let shape, _): shape.direct
        case .text, .scalar, .verbatim, .secret, .pattern, .name, .anyOf, .flag, .count, .duration,
            .words,
            .openWords, .json, .null, .pointer:
            []
        }
    }
}
