/// Goes through a file beside its grammar: what the grammar has at each key and at each value.
///
/// It works on what a person wrote, whole or not, before axes are filled in: what fits nothing
/// stands at a place without templates and names nobody.
package struct GrammarWalk {
    /// One text of the file.
    package struct Stop {
        /// A scalar; a key stands here like any other text.
        package let node: LocatedNode
        package let shape: Shape
        package let place: TemplatePlace?
    }

    package private(set) var stops: [Stop] = []

    /// - Parameters:
    ///   - node: The value to go through.
    ///   - shape: What the grammar has there.
    package init(_ node: LocatedNode, _ shape: Shape) {
        visit(node, shape, nil)
    }

    /// A text that the grammar has nothing to say about.
    private static let unknown = Shape.text("a text")

    private mutating func visit(_ node: LocatedNode, _ shape: Shape, _ place: TemplatePlace?) {
        switch shape {
        case .templated(let shape, let place): return visit(node, shape, place)
        case .either(let shapes): return visit(node, Self.choice(of: shapes, for: node), place)
        case .secret: return
        case .text, .scalar, .verbatim, .pattern, .name, .anyOf, .flag, .count, .duration, .words,
            .openWords, .json, .null, .pointer, .list, .map, .construct:
            break
        }
        switch node.content {
        case .scalar: stops.append(Stop(node: node, shape: shape, place: place))
        case .sequence(let elements):
            for element in elements { visit(element, Self.element(of: shape), place) }
        case .mapping(let entries): visit(entries, shape, place)
        }
    }

    private mutating func visit(
        _ entries: [LocatedNode.Entry],
        _ shape: Shape,
        _ place: TemplatePlace?
    ) {
        for entry in entries {
            switch shape {
            case .json:
                visit(entry.keyNode, .json, place)
                visit(entry.value, .json, place)
            case .map(let key, let value, _):
                visit(entry.keyNode, key, nil)
                visit(entry.value, value, place)
            case .construct(let construct):
                visit(entry.keyNode, Self.unknown, nil)
                visit(entry.value, construct[entry.key]?.shape ?? Self.unknown, place)
            case .text, .scalar, .verbatim, .secret, .pattern, .name, .anyOf, .flag, .count,
                .duration,
                .words, .openWords, .null, .pointer, .list, .either, .templated:
                visit(entry.keyNode, Self.unknown, nil)
                visit(entry.value, Self.unknown, nil)
            }
        }
    }

    /// What the elements of a list are; the value itself where the grammar has no list there.
    private static func element(of shape: Shape) -> Shape {
        switch shape {
        case .list(let element, _): element
        case .json: .json
        case .text, .scalar, .verbatim, .secret, .pattern, .name, .anyOf, .flag, .count, .duration,
            .words,
            .openWords, .null, .pointer, .map, .construct, .either, .templated:
            unknown
        }
    }

    /// The one of several forms that the value has.
    private static func choice(of shapes: [Shape], for node: LocatedNode) -> Shape {
        let fitting = shapes.filter { $0.takes(node) }
        let keys = Set(node.entries.map(\.key))
        let led = fitting.first { shape in
            guard case .construct(let construct) = shape else { return false }
            return construct.keys.first.map { keys.contains($0.key) } ?? false
        }
        return led ?? fitting.first ?? unknown
    }
}

extension Shape {
    /// Whether it has the kind of the value: text, list or mapping.
    fileprivate func takes(_ node: LocatedNode) -> Bool {
        switch self {
        case .templated(let shape, _): shape.takes(node)
        case .either(let shapes): shapes.contains { $0.takes(node) }
        case .json: true
        case .list: if case .sequence = node.content { true } else { false }
        case .map: if case .mapping = node.content { true } else { false }
        case .construct(let construct):
            if case .mapping(let entries) = node.content {
                entries.isEmpty || entries.contains { construct[$0.key] != nil }
            } else {
                false
            }
        case .text, .scalar, .verbatim, .secret, .pattern, .name, .anyOf, .flag, .count, .duration,
            .words,
            .openWords, .null, .pointer:
            node.scalar != nil
        }
    }
}
