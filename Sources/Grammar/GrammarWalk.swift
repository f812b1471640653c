/// Walks through a parsed file along its grammar, and finds the shape (the allowed values) of each
/// key and scalar value.
///
/// The file may contain errors, and templates for the values of `variants` are not replaced yet. A
/// node that fits no shape counts as a string without templates and names.
package struct GrammarWalk {
    /// One key or scalar value of the file, with its shape in the grammar.
    package struct ShapedNode {
        /// The key or scalar value in the file, as a scalar node.
        package let node: LocatedNode
        package let shape: Shape
        package let place: TemplateSlot?
    }

    package private(set) var shapedNodes: [ShapedNode] = []

    /// - Parameters:
    ///   - node: The YAML value to walk through.
    ///   - shape: The shape of the value in the grammar.
    package init(_ node: LocatedNode, _ shape: Shape) {
        visit(node, shape, nil)
    }

    /// The shape of a string that the grammar does not describe.
    private static let shapeOfUnknownKey = Shape.text("a string")

    private mutating func visit(_ node: LocatedNode, _ shape: Shape, _ place: TemplateSlot?) {
        switch shape {
        case .templated(let shape, let place): return visit(node, shape, place)
        case .either(let shapes): return visit(node, Self.choice(of: shapes, for: node), place)
        case .secret: return
        case .text, .scalar, .verbatim, .pattern, .name, .nameAlternatives, .flag, .count,
            .duration, .words,
            .openWords, .json, .null, .pointer, .list, .map, .construct:
            break
        }
        switch node.content {
        case .scalar: shapedNodes.append(ShapedNode(node: node, shape: shape, place: place))
        case .sequence(let elements):
            for element in elements { visit(element, Self.element(of: shape), place) }
        case .mapping(let entries): visit(entries, shape, place)
        }
    }

    private mutating func visit(
        _ entries: [LocatedNode.Entry],
        _ shape: Shape,
        _ place: TemplateSlot?
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
                visit(entry.keyNode, Self.shapeOfUnknownKey, nil)
                visit(entry.value, construct[entry.key]?.shape ?? Self.shapeOfUnknownKey, place)
            case .text, .scalar, .verbatim, .secret, .pattern, .name, .nameAlternatives, .flag,
                .count,
                .duration,
                .words, .openWords, .null, .pointer, .list, .either, .templated:
                visit(entry.keyNode, Self.shapeOfUnknownKey, nil)
                visit(entry.value, Self.shapeOfUnknownKey, nil)
            }
        }
    }

    /// Returns the shape of a list's elements; `shapeOfUnknownKey` when the shape is not a list.
    private static func element(of shape: Shape) -> Shape {
        switch shape {
        case .list(let element, _): element
        case .json: .json
        case .text, .scalar, .verbatim, .secret, .pattern, .name, .nameAlternatives, .flag, .count,
            .duration,
            .words,
            .openWords, .null, .pointer, .map, .construct, .either, .templated:
            shapeOfUnknownKey
        }
    }

    /// Returns the one of several alternative shapes that fits a YAML value, or `shapeOfUnknownKey` when none
    /// fits.
    private static func choice(of shapes: [Shape], for node: LocatedNode) -> Shape {
        let acceptingShapes = shapes.filter { $0.acceptsKind(node) }
        let keys = Set(node.entries.map(\.key))
        let shapeIdentifiedByFirstKey = acceptingShapes.first { shape in
            guard case .construct(let construct) = shape else { return false }
            return construct.keys.first.map { keys.contains($0.key) } ?? false
        }
        return shapeIdentifiedByFirstKey ?? acceptingShapes.first ?? shapeOfUnknownKey
    }
}

extension Shape {
    /// Whether the shape accepts a YAML node of this kind: scalar, list or mapping.
    fileprivate func acceptsKind(_ node: LocatedNode) -> Bool {
        switch self {
        case .templated(let shape, _): shape.acceptsKind(node)
        case .either(let shapes): shapes.contains { $0.acceptsKind(node) }
        case .json: true
        case .list: if case .sequence = node.content { true } else { false }
        case .map: if case .mapping = node.content { true } else { false }
        case .construct(let construct):
            if case .mapping(let entries) = node.content {
                entries.isEmpty || entries.contains { construct[$0.key] != nil }
            } else {
                false
            }
        case .text, .scalar, .verbatim, .secret, .pattern, .name, .nameAlternatives, .flag, .count,
            .duration,
            .words,
            .openWords, .null, .pointer:
            node.scalar != nil
        }
    }
}
