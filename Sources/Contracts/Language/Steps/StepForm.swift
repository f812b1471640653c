package import Grammar
internal import Providers
internal import Values

/// One YAML form of a step: its first key, its grammar, and the code that reads and writes the
/// step.
package struct StepForm: Sendable {
    package let key: String
    package let shape: ConstructShape
    /// Reads a step; returns nil after an error, or when the node only modifies another step, as
    /// `restart: {during: …}` does.
    let read: @Sendable (LocatedNode, inout NodeReader) -> Step?
    /// Converts a step to YAML; returns nil for a step that has another form.
    let write: @Sendable (Step) -> YAMLNode?

    /// Creates the form of a step with several keys, the first of which identifies the kind of
    /// step.
    init<Value: Sendable>(
        _ construct: Construct<Value>,
        embed: @escaping @Sendable (Value) -> Step,
        extract: @escaping @Sendable (Step) -> Value?
    ) {
        key = construct.shape.keys.first?.key ?? ""
        shape = construct.shape
        read = { node, reader in construct.read(node, &reader).map(embed) }
        write = { extract($0).map(construct.block.write) }
    }

    /// Creates the form of a step with one key, whose value custom code converts to and from a
    /// step.
    init<Value: Sendable>(
        _ key: String,
        _ syntax: Syntax<Value>,
        _ doc: String,
        read: @escaping @Sendable (LocatedNode, inout NodeReader) -> Step?,
        write: @escaping @Sendable (Step) -> Value?
    ) {
        self.key = key
        var onlyKey = KeyShape(key, syntax.shape, doc)
        onlyKey.isRequired = true
        let shape = ConstructShape(name: "step-\(key)", owner: "a step", doc: doc, keys: [onlyKey])
        self.shape = shape
        self.read = { node, reader in
            reader.mapping(node, allowed: [key])[key].flatMap { read($0, &reader) }
        }
        self.write = { step in write(step).map { .block([.init(key, syntax.write($0))]) } }
    }

    /// Creates the form of a step with one key, whose value contains everything about the step.
    init<Value: Sendable>(
        _ key: String,
        _ syntax: Syntax<Value>,
        _ doc: String,
        embed: @escaping @Sendable (Value) -> Step,
        extract: @escaping @Sendable (Step) -> Value?
    ) {
        self.init(
            key,
            syntax,
            doc,
            read: { node, reader in syntax.read(node, &reader).map(embed) },
            write: extract
        )
    }
}

extension Step {
    /// The YAML forms of all steps, in the order in which help texts list them.
    package static var yamlForms: [StepForm] { yamlFormsOfTable.value }

    private static let yamlFormsOfTable = TableDerived { table in
        let plans = table.sortedEntries.compactMap { StepForm.plan($0) }
        return [
            .register, .deliver, .probe, .waitForEnd, .call, .request, .concurrentCalls, .restart,
        ] + plans + [
            .account(.revoke), .account(.disable), .createAccount, .name, .app, .phone, .bridge,
            .backend, .store,
        ]
    }

    /// The syntax of a list of steps.
    static var list: Syntax<[Step]> { listOfTable.value }

    private static let listOfTable = TableDerived { _ in makeList() }

    private static func makeList() -> Syntax<[Step]> {
        Syntax<[Step]>(
            .list(.either(yamlForms.map { .construct($0.shape) }), countMin: 0),
            read: { node, reader in
                reader.sequence(node).compactMap { node in
                    reader.names.recordTemplateUses(in: node)
                    let step = read(node, &reader)
                    if step != nil { reader.sourceLocations.append(node.location) }
                    return step
                }
            },
            write: { steps in
                .list(steps.flatMap { step in yamlForms.compactMap { $0.write(step) } })
            }
        )
    }

    private static func read(_ node: LocatedNode, _ reader: inout NodeReader) -> Step? {
        guard let entries = reader.entries(node) else { return nil }
        let keys = yamlForms.map(\.key)
        for entry in entries {
            if let form = yamlForms.first(where: { $0.key == entry.key }) {
                return form.read(node, &reader)
            }
        }
        if let entry = entries.first {
            reader.fail(.unknownKey(entry.key, allowed: keys), at: entry.keyLocation)
        } else {
            reader.fail(.missingKey("deliver", of: "a step"), at: node.location)
        }
        return nil
    }
}
