package import Values

/// Complete examples of the keys of a grammar, each as a whole file.
///
/// The examples come from the shapes of the keys. An example of a key contains the example of the
/// key above it, with the value of the key in its place.
extension GrammarReference {
    /// Returns a whole file that shows how to write a key; nil when the grammar has no examples.
    ///
    /// - Parameter location: The key and its path.
    /// - Returns: The top-level members of the file.
    package func example(of location: KeyLocation) -> JSONObject? {
        guard let exampleHeader, let top = location.path.first,
            let value = value(of: location, below: root, location.path[...])
        else { return nil }
        var file = exampleHeader
        file[top] = value
        for member in root[top]?.exampleContext.members ?? [] where file[member.key] == nil {
            file[member.key] = member.value
        }
        return file
    }

    /// Returns the lines of a whole file that shows how to write a key.
    package func exampleLines(of location: KeyLocation) -> [String] {
        guard let example = example(of: location) else { return [] }
        let text = YAMLNode.file(YAMLNode.exampleEntries(example))
        return text.split(separator: "\n").map(String.init)
    }

    /// Returns the example value of the first key of a path, which contains the last key.
    private func value(
        of location: KeyLocation,
        below construct: ConstructShape,
        _ path: ArraySlice<String>,
        exampleAbove: JSONValue? = nil
    ) -> JSONValue? {
        guard let name = path.first, let key = construct[name] else { return nil }
        let values = [
            exampleAbove?[name], construct.alternative(to: name, in: exampleAbove), key.example,
            key.shape.exampleValue,
        ].compactMap(\.self)
        let rest = path.dropFirst()
        guard let next = rest.first else { return values.first }
        // The example of the key above may lack a key that the key's own example has.
        for value in values.map(JSONValue?.some) + [nil] {
            let parts = Self.container(of: key.shape, value)
            for part in key.shape.directConstructs where part[next] != nil {
                let child = self.value(of: location, below: part, rest, exampleAbove: parts.object)
                guard let child else { continue }
                return parts.wrap(
                    part.exampleObject(of: next, child, keeping: parts.object?.object)
                )
            }
        }
        return nil
    }

    /// The object in an example that has the keys of a construct, and the way to put another object
    /// in its place.
    private static func container(
        of shape: Shape,
        _ value: JSONValue?
    ) -> (object: JSONValue?, wrap: (JSONValue) -> JSONValue) {
        guard shape.isMapOfConstructs, let first = value?.object?.members.first else {
            return (value, { $0 })
        }
        // The file's author chooses this name, so it is the one of the example.
        return (
            first.value, { .object(JSONObject(members: [.init(key: first.key, value: $0)])) }
        )
    }
}

extension ConstructShape {
    /// Returns an example of the mapping with one key, and all keys that this key requires.
    ///
    /// - Parameters:
    ///   - name: The key that the example shows.
    ///   - value: The value of the key.
    ///   - example: An example of the whole mapping; its other keys stay, unless they exclude the
    ///     key.
    /// - Returns: The mapping.
    fileprivate func exampleObject(
        of name: String,
        _ value: JSONValue,
        keeping example: JSONObject?
    ) -> JSONValue {
        // Keys that do not depend on each other have examples of their own.
        let keepsOtherKeys = !alternativeKeys.isEmpty || keys.contains(where: \.isRequired)
        var excluded = Set(mutuallyExclusiveKeys.filter { $0.contains(name) }.flatMap(\.self))
        if alternativeKeys.contains(name) { excluded.formUnion(alternativeKeys) }
        excluded.remove(name)
        var object = JSONObject(
            members: (example?.members ?? []).filter {
                keepsOtherKeys && self[$0.key] != nil && !excluded.contains($0.key)
            }
        )
        if alternativeKeys.contains(name), object[name] == nil {
            object = JSONObject(members: [.init(key: name, value: value)] + object.members)
        }
        object[name] = value
        var required = keys.filter(\.isRequired).map(\.key)
        if !alternativeKeys.contains(where: { object[$0] != nil }) {
            required += alternativeKeys.prefix(1)
        }
        if let companions = companionKeys[name], !companions.contains(where: { object[$0] != nil })
        {
            required += companions.prefix(1)
        }
        for key in required where object[key] == nil {
            object[key] = self[key].flatMap { $0.example ?? $0.shape.exampleValue }
        }
        return .object(object)
    }
}

extension ConstructShape {
    /// Returns the value of another key in an example, in whose place a key may be written.
    fileprivate func alternative(to name: String, in example: JSONValue?) -> JSONValue? {
        guard alternativeKeys.contains(name) else { return nil }
        return alternativeKeys.lazy.filter { self[$0]?.shape == self[name]?.shape }
            .compactMap { example?[$0] }.first
    }
}

extension Shape {
    /// A typical value of a shape that allows only a few kinds of values; nil for strings, whose
    /// meaning the shape does not know.
    fileprivate var exampleValue: JSONValue? {
        switch self {
        case .flag: true
        case .count(let range): .integer(Int64(range.lowerBound))
        case .duration: "30s"
        case .words(let words), .openWords(let words, _): words.first.map(JSONValue.string)
        case .pointer: "/id"
        case .null: .null
        case .list(let element, _): element.exampleValue.map { .array([$0]) }
        case .either(let shapes): shapes.lazy.compactMap(\.exampleValue).first
        case .templated(let shape, _): shape.exampleValue
        case .construct(let construct): construct.exampleValue
        case .text, .scalar, .verbatim, .secret, .pattern, .name, .nameAlternatives, .json, .map:
            nil
        }
    }

    /// Whether the author of the file chooses the names of several mappings at this place.
    fileprivate var isMapOfConstructs: Bool {
        switch self {
        case .map(_, let value, _): !value.directConstructs.isEmpty
        case .templated(let shape, _): shape.isMapOfConstructs
        case .text, .scalar, .verbatim, .secret, .pattern, .name, .nameAlternatives, .flag, .count,
            .duration, .words, .openWords, .json, .null, .pointer, .list, .construct, .either:
            false
        }
    }
}

extension ConstructShape {
    /// A mapping with the keys that it requires; nil when one of them has no example.
    fileprivate var exampleValue: JSONValue? {
        let names = keys.filter(\.isRequired).map(\.key) + alternativeKeys.prefix(1)
        var object = JSONObject()
        for name in names {
            guard let value = self[name].flatMap({ $0.example ?? $0.shape.exampleValue }) else {
                return nil
            }
            object[name] = value
        }
        return names.isEmpty ? nil : .object(object)
    }
}

extension YAMLNode {
    /// The width of a line in an example, in characters, so that it fits a narrow terminal.
    private static let exampleWidth = 66

    /// Returns the entries of an example, one line each as far as they fit.
    ///
    /// The first two levels of mappings have one line for each key.
    package static func exampleEntries(_ object: JSONObject, depth: Int = 0) -> [Entry] {
        object.members.map { Entry($0.key, exampleNode($0.value, $0.key, depth: depth + 1)) }
    }

    private static func exampleNode(_ value: JSONValue, _ key: String, depth: Int) -> YAMLNode {
        switch value {
        case .string(let text): return .text(text)
        case .null, .bool, .number: return .plain(value.text)
        case .array(let elements):
            return .row(elements.map { exampleNode($0, "", depth: depth + 1) })
        case .object(let object):
            let entries = exampleEntries(object, depth: depth)
            let line = YAMLNode.flow(entries)
            let isNarrow = 2 * depth + key.count + line.line.count <= exampleWidth
            return depth > 2 && isNarrow ? line : .block(entries)
        }
    }
}
