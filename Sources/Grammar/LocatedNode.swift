package import Values

/// A YAML value of a contract or profile, with its location in the file.
package struct LocatedNode: Sendable {
    package enum Content: Sendable {
        /// The text of a scalar.
        ///
        /// `isPlain`: it is written without quotes, so YAML's core schema determines its type.
        case scalar(String, isPlain: Bool)
        case mapping([Entry])
        case sequence([LocatedNode])
    }

    package struct Entry: Sendable {
        package let key: String
        package let keyLocation: SourceLocation
        package var value: LocatedNode

        package init(key: String, keyLocation: SourceLocation, value: LocatedNode) {
            self.key = key
            self.keyLocation = keyLocation
            self.value = value
        }
    }

    package var content: Content
    package let location: SourceLocation

    /// The maximum nesting depth of a file.
    ///
    /// A contract that was generated as a variation of an event may contain 200 levels of JSON.
    package static let depthMax = 300
    /// The maximum number of values in a file.
    ///
    /// Without a maximum, YAML aliases could multiply the values of a short file.
    package static let nodeCountMax = 100_000

    package init(_ content: Content, _ location: SourceLocation) {
        self.content = content
        self.location = location
    }

    /// A short description of the value for error messages, such as `a list`.
    package var kind: String {
        switch content {
        case .scalar(let text, _): text.isEmpty ? "nothing" : "'\(text)'"
        case .mapping: "a mapping"
        case .sequence: "a list"
        }
    }

    /// The JSON value by the YAML 1.2 core schema.
    ///
    /// Unquoted `true`, `false`, `null` and numbers are not strings. Every other scalar, such as
    /// `NO`, is a string.
    package var json: JSONValue {
        switch content {
        case .scalar(let text, isPlain: false): return .string(text)
        case .scalar(let text, isPlain: true):
            switch text {
            case "", "~", "null", "Null", "NULL": return .null
            case "true", "True", "TRUE": return .bool(true)
            case "false", "False", "FALSE": return .bool(false)
            default:
                if let number = JSONValue(ifValid: text), case .number = number {
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

    /// Returns the location of each value in the node's tree, by JSON pointer.
    package func sourceLocations(at pointer: JSONPointer = JSONPointer()) -> [String:
        SourceLocation]
    {
        var sourceLocations = [pointer.description: location]
        let children: [(token: String, node: LocatedNode)] =
            switch content {
            case .scalar: []
            case .mapping(let entries): entries.map { ($0.key, $0.value) }
            case .sequence(let elements): elements.enumerated().map { ("\($0)", $1) }
            }
        for (token, node) in children {
            sourceLocations.merge(node.sourceLocations(at: pointer.appending(token))) { $1 }
        }
        return sourceLocations
    }

    /// Returns a copy of the node's tree in which the templates of each axis are replaced by its
    /// value.
    ///
    /// For an axis `n`, these are `{{n}}`, `{{n+1}}` and `{{n-1}}`.
    ///
    /// Other templates remain.
    ///
    /// - Parameter axes: One value for each axis that the contract defines under `variants`.
    /// - Returns: The copy, whose nodes keep their source locations.
    package func replacingAxes(_ axes: [AxisValue]) -> LocatedNode {
        switch content {
        case .scalar(let text, let isPlain):
            let filled = Self.fill(text, axes)
            guard let name = Template(text).wholeName,
                let axis = axes.first(where: { $0.replacement(of: name) != nil })
            else { return LocatedNode(.scalar(filled, isPlain: isPlain), location) }
            // A string that consists of one template takes the type of its value.
            return LocatedNode(.scalar(filled, isPlain: axis.isPlain), location)
        case .sequence(let elements):
            return LocatedNode(.sequence(elements.map { $0.replacingAxes(axes) }), location)
        case .mapping(let entries):
            return LocatedNode(
                .mapping(
                    entries.map {
                        Entry(
                            key: Self.fill($0.key, axes),
                            keyLocation: $0.keyLocation,
                            value: $0.value.replacingAxes(axes)
                        )
                    }
                ),
                location
            )
        }
    }

    private static func fill(_ text: String, _ axes: [AxisValue]) -> String {
        func value(of name: String) -> Template? {
            axes.lazy.compactMap { $0.replacement(of: name) }.first.map { Template($0) }
        }
        let template = Template(text)
        guard template.names.contains(where: { value(of: $0) != nil }) else { return text }
        return template.replacing(value).description
    }
}

/// The value that one variant of a contract has for an axis of `variants`.
package struct AxisValue: Sendable {
    package let axisName: String
    package let text: String
    /// Whether the value is written without quotes, so that YAML's core schema determines its type.
    package let isPlain: Bool

    package init(axisName: String, text: String, isPlain: Bool = true) {
        self.axisName = axisName
        self.text = text
        self.isPlain = isPlain
    }

    /// Returns the text for a template with a name; nil if the template is not one of the axis.
    fileprivate func replacement(of templateName: String) -> String? {
        TemplateNames.Axis.value(of: templateName, axisName, text)
    }
}

extension LocatedNode {
    /// The entries of a mapping; empty for any other node.
    package var entries: [Entry] {
        if case .mapping(let entries) = content { entries } else { [] }
    }

    /// The elements of a list; empty for any other node.
    package var elements: [LocatedNode] {
        if case .sequence(let elements) = content { elements } else { [] }
    }

    /// The text of a scalar; nil for any other node.
    package var scalar: String? { if case .scalar(let text, _) = content { text } else { nil } }

    /// Whether the value is a scalar without quotes.
    package var isPlain: Bool {
        if case .scalar(_, isPlain: true) = content { true } else { false }
    }

    package subscript(key: String) -> LocatedNode? { entries.first { $0.key == key }?.value }
}
