package import Values

/// The notation of one kind of value in a contract or profile.
///
/// A syntax defines which values are allowed, how they are read and how they are written. A value
/// that is written and read again is the same value.
package struct Syntax<Value: Sendable>: Sendable {
    package let shape: Shape
    /// Reads a value from a YAML node; returns nil after reporting an error.
    package let read: @Sendable (LocatedNode, inout NodeReader) -> Value?
    package let write: @Sendable (Value) -> YAMLNode

    package init(
        _ shape: Shape,
        read: @escaping @Sendable (LocatedNode, inout NodeReader) -> Value?,
        write: @escaping @Sendable (Value) -> YAMLNode
    ) {
        self.shape = shape
        self.read = read
        self.write = write
    }

    /// Returns a copy of the syntax whose strings may contain the templates of a place.
    package func templated(_ slot: TemplateSlot) -> Syntax {
        Syntax(.templated(shape, slot), read: read, write: write)
    }

    /// Returns a syntax with the same notation for another Swift type, which two functions convert
    /// to and from the type of this syntax.
    package func mapped<Other: Sendable>(
        to embed: @escaping @Sendable (Value) -> Other,
        from extract: @escaping @Sendable (Other) -> Value
    ) -> Syntax<Other> {
        Syntax<Other>(
            shape,
            read: { node, reader in read(node, &reader).map(embed) },
            write: { write(extract($0)) }
        )
    }
}

extension Syntax where Value == String {
    /// Returns the syntax of a string that is not empty.
    package static func text(_ valueKind: String) -> Syntax {
        Syntax(.text(valueKind), read: { $1.text($0) }, write: { .text($0) })
    }

    /// Returns the syntax of a string that may be empty and is written in quotes.
    package static func verbatim(_ valueKind: String) -> Syntax {
        Syntax(.verbatim(valueKind), read: { $1.possiblyEmptyText($0) }, write: { .quoted($0) })
    }

    package static func name(_ kind: NameUses.Kind, _ role: NameUses.Role) -> Syntax {
        Syntax(
            .name(kind, role),
            read: { $1.name($0, kind, role) },
            write: { .plain($0) }
        )
    }

    /// Returns the syntax of one word from a closed set.
    package static func word(_ valueKind: String, among words: [String]) -> Syntax {
        Syntax(.words(words), read: { $1.word($0, valueKind, among: words) }, write: { .text($0) })
    }

    /// Returns the syntax of a mapping's key from a fixed set.
    package static func key(among keys: [String]) -> Syntax {
        Syntax(
            .words(keys),
            read: { node, reader in
                guard case .scalar(let text, _) = node.content else { return nil }
                if keys.contains(text) { return text }
                reader.fail(.unknownKey(text, allowed: keys), at: node.location)
                return nil
            },
            write: { .text($0) }
        )
    }

    /// Returns the syntax of a mapping's key that may be any string.
    package static func anyKey(_ valueKind: String) -> Syntax {
        Syntax(.text(valueKind), read: { $1.possiblyEmptyText($0) }, write: { .text($0) })
    }

    /// Returns the syntax of one word from a set that the provider may extend.
    ///
    /// An unknown word must start with the prefix.
    package static func openWord(
        _ valueKind: String,
        among words: [String],
        prefix: String = "FUTURE_"
    ) -> Syntax {
        Syntax(
            .openWords(words, prefix: prefix),
            read: { node, reader in
                guard let text = reader.text(node) else { return nil }
                if words.contains(text) || text.uppercased().hasPrefix(prefix) { return text }
                reader.fail(
                    .unknownValue(text, valueKind: valueKind, allowed: words),
                    at: node.location
                )
                return nil
            },
            write: { .text($0) }
        )
    }
}

extension Syntax where Value == Bool {
    package static var flag: Syntax {
        Syntax(.flag, read: { $1.flag($0) }, write: { .plain($0 ? "true" : "false") })
    }

    /// Returns the syntax of an option that a single word turns on.
    ///
    /// An option that is off is not written.
    package static func switchWord(_ word: String, _ valueKind: String) -> Syntax {
        Syntax(
            .words([word]),
            read: { $1.word($0, valueKind, among: [word]) != nil },
            write: { _ in .plain(word) }
        )
    }
}

extension Syntax where Value == Int {
    package static func count(_ range: ClosedRange<Int>) -> Syntax {
        Syntax(.count(range), read: { $1.count($0, in: range) }, write: { .number($0) })
    }
}

extension Syntax where Value == Duration {
    /// The syntax of a point in time relative to another one, written with a sign: `+5m`.
    package static var signedDuration: Syntax {
        Syntax(.duration, read: { $1.duration($0) }, write: { .plain($0.contractText) })
    }

    /// The syntax of a length of time, written without a sign: `5m`.
    package static var unsignedDuration: Syntax {
        Syntax(.duration, read: { $1.duration($0) }, write: { .plain($0.unsignedText) })
    }
}

extension Syntax where Value == JSONValue {
    /// The syntax of any JSON value.
    package static var json: Syntax<JSONValue> {
        Syntax(.json, read: { node, _ in node.json }, write: { .json($0) })
    }
}

extension Syntax where Value == JSONPointer {
    package static var pointer: Syntax<JSONPointer> {
        Syntax(.pointer, read: { $1.pointer($0) }, write: { .text($0.description) })
    }
}

extension Syntax where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    /// Returns the syntax of an enumeration's case, written as the raw value of the case.
    package static func choice(_ valueKind: String) -> Syntax {
        Syntax(
            .words(Value.allCases.map(\.rawValue)),
            read: { $1.choice($0, valueKind) },
            write: { .text($0.rawValue) }
        )
    }
}

// MARK: Combining

extension Syntax {
    /// Returns the syntax of a list on one line: `[a, b]`.
    package static func list<Element>(
        _ element: Syntax<Element>,
        countMin: Int = 0
    ) -> Syntax where Value == [Element] {
        Syntax(
            .list(element.shape, countMin: countMin),
            read: { node, reader in
                guard case .sequence(let nodes) = node.content else {
                    _ = reader.sequence(node)
                    return nil
                }
                if nodes.count < countMin {
                    reader.fail(
                        .wrongValueKind(
                            expected: "a list with \(countMin) or more values",
                            found: nodes.isEmpty ? "an empty list" : "a list with \(nodes.count)"
                        ),
                        at: node.location
                    )
                }
                return nodes.compactMap { element.read($0, &reader) }
            },
            write: { .row($0.map(element.write)) }
        )
    }

    /// Returns the syntax of one value or a list of several values: `a` or `[a, b]`.
    package static func oneOrMore<Element>(
        _ element: Syntax<Element>
    ) -> Syntax where Value == [Element] {
        Syntax(
            .either([element.shape, .list(element.shape, countMin: 0)]),
            read: { node, reader in
                guard case .sequence(let nodes) = node.content else {
                    return element.read(node, &reader).map { [$0] }
                }
                return nodes.compactMap { element.read($0, &reader) }
            },
            write: { values in
                values.count == 1 ? element.write(values[0]) : .row(values.map(element.write))
            }
        )
    }

    /// Returns the syntax of a list whose elements are written on separate lines.
    package static func lines<Element>(
        _ element: Syntax<Element>,
        countMin: Int = 0
    ) -> Syntax where Value == [Element] {
        let list = Syntax.list(element, countMin: countMin)
        return Syntax(list.shape, read: list.read, write: { .list($0.map(element.write)) })
    }

    /// Returns the syntax of a mapping whose keys the author of the file chooses.
    ///
    /// An error in one entry does not affect the other entries.
    package static func map<Key: Hashable & Sendable, Element>(
        _ key: Syntax<Key>,
        _ value: Syntax<Element>,
        isBlock: Bool = false
    ) -> Syntax where Value == [Key: Element] {
        Syntax(
            .map(key: key.shape, value: value.shape, countRange: 0...100),
            read: { node, reader in
                guard let entries = reader.entries(node) else { return nil }
                var values: [Key: Element] = [:]
                for entry in entries {
                    guard let name = key.read(entry.keyNode, &reader),
                        let element = value.read(entry.value, &reader)
                    else { continue }
                    values[name] = element
                }
                return values
            },
            write: { values in
                let entries = values.map { pair in
                    YAMLNode.Entry(key.write(pair.key).content, value.write(pair.value))
                }.sorted { $0.key < $1.key }
                return isBlock ? .block(entries) : .flow(entries)
            }
        )
    }

    /// Returns a syntax with one notation for mappings and another notation for all other YAML
    /// nodes.
    ///
    /// - Parameters:
    ///   - plain: The syntax of all other YAML nodes.
    ///   - mapping: The syntax of YAML mappings.
    ///   - takesMapping: Returns whether a value is written as a mapping.
    /// - Returns: The syntax that reads and writes both notations.
    package static func either(
        _ plain: Syntax,
        orMapping mapping: Syntax,
        takesMapping: @escaping @Sendable (Value) -> Bool
    ) -> Syntax {
        Syntax(
            .either([plain.shape, mapping.shape]),
            read: { node, reader in
                if case .mapping = node.content { return mapping.read(node, &reader) }
                return plain.read(node, &reader)
            },
            write: { takesMapping($0) ? mapping.write($0) : plain.write($0) }
        )
    }
}

extension LocatedNode.Entry {
    /// The key of the entry as a scalar node.
    package var keyNode: LocatedNode { LocatedNode(.scalar(key, isPlain: false), keyLocation) }
}
