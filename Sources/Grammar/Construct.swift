package import Values

/// The grammar of a YAML mapping with a fixed set of keys, and the rules between the keys.
package struct Construct<Owner: Sendable>: Sendable {
    package private(set) var shape: ConstructShape
    package let fields: [Field<Owner>]
    private let makeEmptyOwner: @Sendable (LocatedNode) -> Owner
    private var example = ""
    private var check: @Sendable (Owner, ParsedMapping, inout NodeReader) -> Void = { _, _, _ in }

    /// Creates the grammar of a mapping.
    ///
    /// - Parameters:
    ///   - name: The name of the mapping in the JSON Schema and on the reference page.
    ///   - owner: The name of the mapping in error messages, with an article: `a delivery`.
    ///   - doc: The purpose of the mapping, in one sentence.
    ///   - makeEmptyOwner: Returns the value of a mapping without keys.
    ///   - fields: The keys of the mapping, in the order in which they are read and written.
    package init(
        _ name: String,
        _ owner: String,
        _ doc: String,
        makeEmptyOwner: @escaping @Sendable (LocatedNode) -> Owner,
        @FieldBuilder<Owner> fields: () -> [Field<Owner>]
    ) {
        let fields = fields()
        shape = ConstructShape(name: name, owner: owner, doc: doc, keys: fields.map(\.shape))
        self.makeEmptyOwner = makeEmptyOwner
        self.fields = fields
    }

    /// Requires that a mapping has exactly one of these keys; error messages show the example.
    package func alternativeKeys(_ keys: [String], example: String) -> Construct {
        var construct = self
        construct.shape.alternativeKeys = keys
        construct.example = example
        return construct
    }

    /// Allows a key only in a mapping that also has at least one of the other keys.
    package func companionKeys(_ key: String, _ otherKeys: [String]) -> Construct {
        var construct = self
        construct.shape.companionKeys[key] = otherKeys
        return construct
    }

    /// Requires that a mapping has at most one of these keys.
    package func mutuallyExclusiveKeys(_ keys: [String]) -> Construct {
        var construct = self
        construct.shape.mutuallyExclusiveKeys.append(keys)
        return construct
    }

    /// Adds a custom check of the whole mapping, which runs after all keys have been read.
    package func checking(
        _ check: @escaping @Sendable (Owner, ParsedMapping, inout NodeReader) -> Void
    ) -> Construct {
        var construct = self
        construct.check = check
        return construct
    }

    // MARK: Reading

    /// Reads a mapping; returns nil when a required key is missing or the node is not a mapping.
    package func read(_ node: LocatedNode, _ reader: inout NodeReader) -> Owner? {
        guard case .mapping = node.content else {
            _ = reader.entries(node)
            return nil
        }
        let keys = ParsedMapping(
            node: node,
            nodes: reader.mapping(node, allowed: shape.keys.map(\.key))
        )
        var owner = makeEmptyOwner(node)
        var isComplete = true
        for field in fields {
            if let value = keys[field.shape.key] {
                field.read(value, &owner, &reader)
            } else if field.shape.isRequired {
                reader.fail(.missingKey(field.shape.key, of: shape.owner), at: node.location)
                isComplete = false
            } else {
                field.applyDefault?(&owner)
            }
        }
        checkKeys(keys, &reader)
        check(owner, keys, &reader)
        return isComplete ? owner : nil
    }

    private func checkKeys(_ keys: ParsedMapping, _ reader: inout NodeReader) {
        let presentKeys = shape.alternativeKeys.filter { keys[$0] != nil }
        // A misspelled key has already been reported as an unknown key, so the missing key is not
        // reported too.
        let isMisspelled =
            presentKeys.isEmpty && reader.errors.contains { $0.isUnknownKey(in: keys.node) }
        if !shape.alternativeKeys.isEmpty, presentKeys.count != 1, !isMisspelled {
            let joinedList = Self.joinedList(shape.alternativeKeys, "or")
            reader.fail(
                presentKeys.isEmpty
                    ? .conflict(
                        "\(shape.owner) needs one of \(Self.joinedList(shape.alternativeKeys, "or"))",
                        remedy: "Add one of them, for example '\(example)'."
                    )
                    : .conflict(
                        "\(shape.owner) allows only one of \(joinedList)",
                        remedy:
                            "Keep only one: \(Self.joinedList(presentKeys.map { "'\($0)'" }, "or"))."
                    ),
                at: keys.node.location
            )
        }
        for (key, otherKeys) in shape.companionKeys.sorted(by: { $0.key < $1.key }) {
            guard keys[key] != nil, !otherKeys.contains(where: { keys[$0] != nil }) else {
                continue
            }
            let joinedList = Self.joinedList(otherKeys.map { "'\($0)'" }, "or")
            reader.fail(
                .conflict(
                    "'\(key)' requires \(joinedList)",
                    remedy: "Add \(joinedList), or remove '\(key)'."
                ),
                at: keys.location(of: key)
            )
        }
        for presentKeys in shape.mutuallyExclusiveKeys.map({ $0.filter { keys[$0] != nil } })
        where presentKeys.count > 1 {
            let joinedList = Self.joinedList(presentKeys.map { "'\($0)'" }, "and")
            reader.fail(
                .conflict("\(joinedList) cannot be combined", remedy: "Keep only one of them."),
                at: keys.location(of: presentKeys[1])
            )
        }
    }

    private static func joinedList(_ words: [String], _ last: String) -> String {
        guard words.count > 1, let end = words.last else { return words.first ?? "" }
        return words.dropLast().joined(separator: ", ") + " \(last) " + end
    }

    // MARK: Writing

    /// Returns the YAML entries to write for a value: the keys whose values differ from their
    /// defaults.
    package func entries(_ owner: Owner) -> [YAMLNode.Entry] {
        fields.compactMap { field in
            field.write(owner).map {
                YAMLNode.Entry(
                    field.shape.key,
                    $0,
                    isPrecededByBlankLine: field.isPrecededByBlankLine
                )
            }
        }
    }

    /// The syntax that writes the mapping on one line.
    package var flow: Syntax<Owner> {
        Syntax(.construct(shape), read: read, write: { .flow(entries($0)) })
    }

    /// The syntax that writes one key per line.
    package var block: Syntax<Owner> {
        Syntax(.construct(shape), read: read, write: { .block(entries($0)) })
    }
}

/// The keys and values that a mapping in a file contains.
package struct ParsedMapping: Sendable {
    package let node: LocatedNode
    let nodes: [String: LocatedNode]

    package subscript(key: String) -> LocatedNode? { nodes[key] }

    /// Returns the location of a key, not of its value.
    package func location(of key: String) -> SourceLocation {
        guard case .mapping(let entries) = node.content else { return node.location }
        return entries.first { $0.key == key }?.keyLocation ?? node.location
    }
}

/// Collects the fields of a `Construct`, one per statement, so that the compiler checks the type of
/// each field separately.
@resultBuilder
package enum FieldBuilder<Owner: Sendable> {
    package static func buildExpression(_ field: Field<Owner>) -> [Field<Owner>] { [field] }
    package static func buildExpression(_ fields: [Field<Owner>]) -> [Field<Owner>] { fields }
    package static func buildBlock(_ fields: [Field<Owner>]...) -> [Field<Owner>] {
        fields.flatMap(\.self)
    }
}
