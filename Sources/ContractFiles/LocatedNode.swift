internal import Conformance
internal import Yams

/// A YAML value that knows where it stands; Yams' own types end here.
struct LocatedNode {
    enum Content {
        /// Text, and whether it stood there without quotes, so that the core schema applies.
        case scalar(String, isPlain: Bool)
        case mapping([Entry])
        case sequence([LocatedNode])
    }

    struct Entry {
        let key: String
        let keyLocation: SourceLocation
        var value: LocatedNode
    }

    var content: Content
    let location: SourceLocation

    /// How deep a file may nest; contracts need six levels.
    private static let depthMax = 100
    /// How many values a file may have; aliases could multiply a short text without end.
    static let nodeCountMax = 100_000

    /// Reads one document.
    init(parsing text: String, path: String) throws(ContractError) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        func place(_ line: Int, _ column: Int, _ length: Int = 1) -> SourceLocation {
            SourceLocation(
                path: path,
                line: line,
                column: column,
                text: lines.indices.contains(line - 1) ? lines[line - 1] : "",
                length: length
            )
        }
        let node: Node
        do {
            guard let composed = try Yams.compose(yaml: text, .basic) else {
                throw ContractError(.yaml("the file is empty"), at: place(1, 1))
            }
            node = composed
        } catch let error as ContractError {
            throw error
        } catch let error as YamlError {
            throw Self.translate(error, place)
        } catch {
            throw ContractError(.yaml("\(error)"), at: place(1, 1))
        }
        var count = 0
        try self.init(node, place, depth: 0, count: &count)
    }

    private init(
        _ node: Node,
        _ place: (Int, Int, Int) -> SourceLocation,
        depth: Int,
        count: inout Int
    ) throws(ContractError) {
        let line = node.mark?.line ?? 1
        let column = node.mark?.column ?? 1
        count += 1
        guard count <= Self.nodeCountMax else {
            throw ContractError(.tooLarge, at: place(line, column, 1))
        }
        guard depth < Self.depthMax else {
            throw ContractError(.yaml("nested too deeply"), at: place(line, column, 1))
        }
        switch node {
        case .scalar(let scalar):
            let isPlain = scalar.style == .plain || scalar.style == .any
            content = .scalar(scalar.string, isPlain: isPlain)
            let quotes = isPlain || scalar.string.contains("\n") ? 0 : 2
            location = place(line, column, max(1, scalar.string.count + quotes))
        case .mapping(let mapping):
            var entries: [Entry] = []
            for (key, value) in mapping {
                let keyPlace = place(
                    key.mark?.line ?? line,
                    key.mark?.column ?? column,
                    max(1, key.string?.count ?? 1)
                )
                guard let name = key.string else {
                    throw ContractError(
                        .wrongKind(expected: "a word as key", found: "something nested"),
                        at: keyPlace
                    )
                }
                guard !entries.contains(where: { $0.key == name }) else {
                    throw ContractError(.duplicateKey(name), at: keyPlace)
                }
                let child = try LocatedNode(value, place, depth: depth + 1, count: &count)
                entries.append(Entry(key: name, keyLocation: keyPlace, value: child))
            }
            content = .mapping(entries)
            location = place(line, column, 1)
        case .sequence(let sequence):
            var elements: [LocatedNode] = []
            for element in sequence {
                elements.append(try LocatedNode(element, place, depth: depth + 1, count: &count))
            }
            content = .sequence(elements)
            location = place(line, column, 1)
        case .alias:
            throw ContractError(.yaml("this alias names nothing"), at: place(line, column, 1))
        }
    }

    private init(_ content: Content, _ location: SourceLocation) {
        self.content = content
        self.location = location
    }

    private static func translate(
        _ error: YamlError,
        _ place: (Int, Int, Int) -> SourceLocation
    ) -> ContractError {
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            return ContractError(.yaml(problem), at: place(mark.line, mark.column, 1))
        case .duplicatedKeysInMapping(let keys, let context):
            return ContractError(
                .duplicateKey(keys.first ?? ""),
                at: place(context.mark.line, context.mark.column, keys.first?.count ?? 1)
            )
        case .reader(let problem, _, _, _):
            return ContractError(.yaml(problem), at: place(1, 1, 1))
        default:
            return ContractError(.yaml("\(error)"), at: place(1, 1, 1))
        }
    }

    /// The kind, as error messages say it.
    var kind: String {
        switch content {
        case .scalar(let text, _): text.isEmpty ? "nothing" : "'\(text)'"
        case .mapping: "a mapping"
        case .sequence: "a list"
        }
    }

    /// The value by the YAML 1.2 core schema: only `true`, `false`, `null` and numbers written
    /// plainly are no strings; `NO` is one.
    var json: JSONValue {
        switch content {
        case .scalar(let text, isPlain: false): return .string(text)
        case .scalar(let text, isPlain: true):
            switch text {
            case "", "~", "null", "Null", "NULL": return .null
            case "true", "True", "TRUE": return .bool(true)
            case "false", "False", "FALSE": return .bool(false)
            default:
                if let number = try? JSONValue(parsing: text), case .number = number {
                    return number
                }
                return .string(text)
            }
        case .sequence(let elements): return .array(elements.map(\.json))
        case .mapping(let entries):
            return .object(
                JSONObject(members: entries.map { .init(key: $0.key, value: $0.value.json) })
            )
        }
    }

    /// Where each value of the tree stands, by its JSON pointer.
    func places(at pointer: JSONPointer = JSONPointer()) -> [String: SourceLocation] {
        var places = [pointer.description: location]
        let children: [(token: String, node: LocatedNode)] =
            switch content {
            case .scalar: []
            case .mapping(let entries): entries.map { ($0.key, $0.value) }
            case .sequence(let elements): elements.enumerated().map { ("\($0)", $1) }
            }
        for (token, node) in children {
            places.merge(node.places(at: pointer.appending(token))) { $1 }
        }
        return places
    }

    /// This tree with `{{axis}}`, `{{axis+1}}` and `{{axis-1}}` replaced; other templates stay.
    func filling(_ axes: [(name: String, value: String)]) -> LocatedNode {
        switch content {
        case .scalar(let text, let isPlain):
            let filled = Self.fill(text, axes)
            // A value that is a template and nothing else takes the kind of what it stands for.
            let isWhole = filled != text && Template(text).wholeName != nil
            return LocatedNode(.scalar(filled, isPlain: isPlain || isWhole), location)
        case .sequence(let elements):
            return LocatedNode(.sequence(elements.map { $0.filling(axes) }), location)
        case .mapping(let entries):
            return LocatedNode(
                .mapping(
                    entries.map {
                        Entry(
                            key: Self.fill($0.key, axes),
                            keyLocation: $0.keyLocation,
                            value: $0.value.filling(axes)
                        )
                    }
                ),
                location
            )
        }
    }

    private static func fill(_ text: String, _ axes: [(name: String, value: String)]) -> String {
        func value(of name: String) -> Template? {
            for (axis, value) in axes {
                if let value = TemplateNames.Axis.value(of: name, axis, value) {
                    return Template(value)
                }
            }
            return nil
        }
        let template = Template(text)
        guard template.names.contains(where: { value(of: $0) != nil }) else { return text }
        return template.replacing(value).description
    }
}
