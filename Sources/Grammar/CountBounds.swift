/// The allowed range of a count: a number, or `{at-minimum: 1, at-maximum: 3}`.
package struct CountBounds: Hashable, Sendable {
    package var minimum: Int?
    package var maximum: Int?

    package init(minimum: Int? = nil, maximum: Int? = nil) {
        (self.minimum, self.maximum) = (minimum, maximum)
    }

    /// Returns the syntax of the allowed range of a count: a number, or a mapping with one bound or
    /// both.
    package static func syntax(_ range: ClosedRange<Int>) -> Syntax<CountBounds> {
        .either(
            Syntax<Int>.count(range).mapped(
                to: { CountBounds(minimum: $0, maximum: $0) },
                from: { $0.minimum ?? 0 }
            ),
            orMapping: grammar(range).flow,
            takesMapping: { $0.minimum != $0.maximum }
        )
    }

    private static func grammar(_ range: ClosedRange<Int>) -> Construct<CountBounds> {
        Construct(
            "bounds-\(range.upperBound)",
            "a count",
            "The allowed range of a count.",
            makeEmptyOwner: { _ in CountBounds() }
        ) {
            Field.optional("at-least", \.minimum, .count(range), "The smallest count.")
            Field.optional("at-most", \.maximum, .count(range), "The largest count.")
        }.checking { bounds, keys, reader in
            let isEmpty = keys["at-least"] == nil && keys["at-most"] == nil
            if isEmpty {
                reader.fail(.missingKey("at-most", of: "a count"), at: keys.node.location)
            }
        }
    }

    /// Returns the syntax of the upper bound of a count: `{at-maximum: 3}`.
    package static func maximum(_ range: ClosedRange<Int>) -> Syntax<Int> {
        let grammar = Construct<CountBounds>(
            "limit-\(range.upperBound)",
            "a limit",
            "The largest allowed count.",
            makeEmptyOwner: { _ in CountBounds() }
        ) {
            Field.optional("at-most", \.maximum, .count(range), "The largest count.")
        }
        return Syntax(
            .construct(grammar.shape.requiringKey("at-most")),
            read: { node, reader in
                guard let bounds = grammar.read(node, &reader) else { return nil }
                if case .mapping(let entries) = node.content, entries.isEmpty {
                    reader.fail(.missingKey("at-most", of: "a limit"), at: node.location)
                }
                return bounds.maximum
            },
            write: { grammar.flow.write(CountBounds(maximum: $0)) }
        )
    }
}
