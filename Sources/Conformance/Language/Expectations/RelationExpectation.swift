/// The keys by which a run is compared with another run of the same backend.
extension Field where Owner == Expectation {
    static var like: Field {
        let relation = Syntax<Expectation.Relation>.choice("relation")
        return Field(
            KeyShape(
                "like",
                relation.shape,
                "The twin that this run must not differ from: every event delivered `once`, events "
                    + "`in-order`, an `undisturbed` run, the state `before` the steps, events that "
                    + "name their users `direct`ly, or `plain` events without edits."
            ),
            read: { node, expectation, reader in
                expectation.relation = relation.read(node, &reader)
                expectation.relationLocation = node.location
            },
            write: { $0.relation.map(relation.write) }
        )
    }

    /// `state`, `fields`, `kept`, `effects`, or the names of mapped fields.
    static var compare: Field {
        let aspects = Expectation.Aspect.allCases.map(\.rawValue)
        let words = Syntax.list(
            Syntax<String>.word("aspect", among: aspects + Profile.Reading.names)
        )
        var shape = KeyShape(
            "compare",
            words.shape,
            "What of the two runs is compared: whole answers of the probes (`state`), what the "
                + "profile maps of them (`fields`, or some by name), only that every text of the "
                + "twin's "
                + "still stands in them (`kept`), and `effects`; `[]` has the twin for `added` "
                + "alone."
        )
        shape.fallback = "state and effects"
        return Field(
            shape,
            read: { node, expectation, reader in
                expectation.compared = []
                for word in words.read(node, &reader) ?? [] {
                    if let aspect = Expectation.Aspect(rawValue: word) {
                        expectation.compared.insert(aspect)
                    } else {
                        expectation.compared.insert(.fields)
                        expectation.comparedFields.append(word)
                    }
                }
            },
            write: { expectation in
                let names = expectation.comparedFields
                guard expectation.compared != [.state, .effects] || !names.isEmpty else {
                    return nil
                }
                let aspects = Expectation.Aspect.allCases.filter {
                    expectation.compared.contains($0) && ($0 != .fields || names.isEmpty)
                }
                return words.write(names + aspects.map(\.rawValue))
            }
        )
    }
}
