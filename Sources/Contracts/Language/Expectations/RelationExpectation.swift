internal import Grammar

/// The keys `like` and `compare`, by which a run is compared with a baseline run of the same
/// backend.
extension Field where Owner == Expectation {
    static var baselineRelation: Field {
        let relation = Syntax<Expectation.BaselineRelation>.choice("relation")
        return Field(
            KeyShape(
                "like",
                relation.shape,
                "The form of the baseline run, whose outcome the tested run must match. `once`: "
                    + "every event is delivered once; `in-order`: events arrive in order; "
                    + "`fault-free`: no faults; `before`: only the `given` steps run; `direct`: "
                    + "events name their users by the registered ID; `plain`: events are not "
                    + "edited. An effect with `unlike`, `added` or `added-like` implies `before` "
                    + "and `compare: []`."
            ),
            read: { node, expectation, reader in
                expectation.relation = relation.read(node, &reader)
                expectation.relationLocation = node.location
            },
            write: { $0.relation.map(relation.write) }
        )
    }

    /// The field for the key `compare`: `state`, `fields`, `kept`, `effects`, or names of mapped
    /// state fields.
    static var comparedStateParts: Field {
        let aspects = Expectation.Aspect.allCases.map(\.rawValue)
        let aspectsSyntax = Syntax.list(
            Syntax<String>.word("aspect", among: aspects + Profile.FieldReading.names)
        )
        var shape = KeyShape(
            "compare",
            aspectsSyntax.shape,
            "The aspects in which the tested run is compared with the baseline run. `state`: "
                + "complete probe responses; `fields`, or names of fields: the fields that the "
                + "profile maps; `kept`: every string in the probe responses of the baseline run "
                + "is still present; `effects`: effects on providers; `[]`: none, so that the "
                + "baseline run is used only for `added`."
        )
        shape.fallback = "state and effects"
        return Field(
            shape,
            read: { node, expectation, reader in
                expectation.compared = []
                for word in aspectsSyntax.read(node, &reader) ?? [] {
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
                return aspectsSyntax.write(names + aspects.map(\.rawValue))
            }
        )
    }
}
