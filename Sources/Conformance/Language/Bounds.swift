/// The allowed range of a count: a number, or `{at-least: 1, at-most: 3}`.
struct Bounds: Hashable, Sendable {
    var least: Int?
    var most: Int?

    /// Returns the syntax of the allowed range of a count: a number, or a mapping with one bound or
    /// both.
    static func syntax(_ range: ClosedRange<Int>) -> Syntax<Bounds> {
        .either(
            Syntax<Int>.count(range).mapped(
                to: { Bounds(least: $0, most: $0) },
                from: { $0.least ?? 0 }
            ),
            orMapping: grammar(range).flow,
            takesMapping: { $0.least != $0.most }
        )
    }

    private static func grammar(_ range: ClosedRange<Int>) -> Construct<Bounds> {
        Construct(
            "bounds-\(range.upperBound)",
            "a count",
            "The allowed range of a count.",
            makeEmptyOwner: { _ in Bounds() }
        ) {
            Field.optional("at-least", \.least, .count(range), "The smallest count.")
            Field.optional("at-most", \.most, .count(range), "The largest count.")
        }.checking { bounds, keys, reader in
            let isEmpty = keys["at-least"] == nil && keys["at-most"] == nil
            if isEmpty {
                reader.fail(.missingKey("at-most", of: "a count"), at: keys.node.location)
            }
        }
    }

    /// Returns the syntax of the upper bound of a count: `{at-most: 3}`.
    static func most(_ range: ClosedRange<Int>) -> Syntax<Int> {
        let grammar = Construct<Bounds>(
            "limit-\(range.upperBound)",
            "a limit",
            "The largest allowed count.",
            makeEmptyOwner: { _ in Bounds() }
        ) {
            Field.optional("at-most", \.most, .count(range), "The largest count.")
        }
        return Syntax(
            .construct(grammar.shape.requiring("at-most")),
            read: { node, reader in
                guard let bounds = grammar.read(node, &reader) else { return nil }
                if case .mapping(let entries) = node.content, entries.isEmpty {
                    reader.fail(.missingKey("at-most", of: "a limit"), at: node.location)
                }
                return bounds.most
            },
            write: { grammar.flow.write(Bounds(most: $0)) }
        )
    }
}
