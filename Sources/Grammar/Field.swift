package import Values

/// One key of a YAML mapping, with the code that reads the key's value into an `Owner` and writes
/// it.
package struct Field<Owner: Sendable>: Sendable {
    package typealias FieldKeyPath<Value> = WritableKeyPath<Owner, Value> & Sendable

    package var shape: KeyShape
    /// Whether a blank line precedes the key in a written file.
    package var isPrecededByBlankLine = false
    package let read: @Sendable (LocatedNode, inout Owner, inout NodeReader) -> Void
    /// The action when the mapping does not contain the key; nil: no action.
    package var applyDefault: (@Sendable (inout Owner) -> Void)?
    /// Converts the owner's value to YAML; returns nil when the key is left out.
    package let write: @Sendable (Owner) -> YAMLNode?

    package init(
        _ shape: KeyShape,
        read: @escaping @Sendable (LocatedNode, inout Owner, inout NodeReader) -> Void,
        write: @escaping @Sendable (Owner) -> YAMLNode?
    ) {
        self.shape = shape
        self.read = read
        self.write = write
    }

    /// Creates the field for a required key.
    package static func required<Value>(
        _ key: String,
        _ path: any FieldKeyPath<Value>,
        _ syntax: Syntax<Value>,
        _ doc: String
    ) -> Field {
        var field = Field(
            KeyShape(key, syntax.shape, doc),
            read: { node, owner, reader in
                if let value = syntax.read(node, &reader) { owner[keyPath: path] = value }
            },
            write: { syntax.write($0[keyPath: path]) }
        )
        field.shape.isRequired = true
        return field
    }

    /// Creates the field for an optional key with a default value.
    package static func value<Value: Equatable & Sendable>(
        _ key: String,
        _ path: any FieldKeyPath<Value>,
        _ syntax: Syntax<Value>,
        default defaultValue: Value,
        _ doc: String,
        fallback: String? = nil
    ) -> Field {
        var field = Field(
            KeyShape(key, syntax.shape, doc),
            read: { node, owner, reader in
                if let value = syntax.read(node, &reader) { owner[keyPath: path] = value }
            },
            write: { owner in
                let value = owner[keyPath: path]
                return value == defaultValue ? nil : syntax.write(value)
            }
        )
        field.shape.fallback = fallback ?? syntax.write(defaultValue).line
        return field
    }

    /// Creates the field for an optional key without a default value.
    package static func optional<Value: Sendable>(
        _ key: String,
        _ path: any FieldKeyPath<Value?>,
        _ syntax: Syntax<Value>,
        _ doc: String,
        fallback: String? = nil
    ) -> Field {
        var field = Field(
            KeyShape(key, syntax.shape, doc),
            read: { node, owner, reader in
                if let value = syntax.read(node, &reader) { owner[keyPath: path] = value }
            },
            write: { $0[keyPath: path].map(syntax.write) }
        )
        field.shape.fallback = fallback
        return field
    }

    /// Creates the field for a key with the value `true` or `false`; the default is `false`.
    package static func flag(_ key: String, _ path: any FieldKeyPath<Bool>, _ doc: String) -> Field
    {
        value(key, path, .flag, default: false, doc)
    }

    /// Creates the field for an option: a key whose only allowed word turns the option on.
    package static func switchWord(
        _ key: String,
        _ path: any FieldKeyPath<Bool>,
        _ word: String,
        _ valueKind: String,
        _ doc: String
    ) -> Field {
        value(key, path, .switchWord(word, valueKind), default: false, doc, fallback: "off")
    }

    /// Creates the field for a key with a list; the default is an empty list.
    package static func list<Element: Equatable & Sendable>(
        _ key: String,
        _ path: any FieldKeyPath<[Element]>,
        _ element: Syntax<Element>,
        countMin: Int = 0,
        _ doc: String
    ) -> Field {
        value(key, path, .list(element, countMin: countMin), default: [], doc, fallback: "none")
    }

    /// Creates the field for one case of an enumeration in which every case has its own key.
    package static func choice<Whole: Sendable, Part: Sendable>(
        _ key: String,
        _ path: any FieldKeyPath<Whole>,
        _ syntax: Syntax<Part>,
        embed: @escaping @Sendable (Part) -> Whole,
        extract: @escaping @Sendable (Whole) -> Part?,
        _ doc: String
    ) -> Field {
        Field(
            KeyShape(key, syntax.shape, doc),
            read: { node, owner, reader in
                if let part = syntax.read(node, &reader) { owner[keyPath: path] = embed(part) }
            },
            write: { extract($0[keyPath: path]).map(syntax.write) }
        )
    }

    /// A copy of the field that is written with a blank line before it.
    package var precededByBlankLine: Field {
        var field = self
        field.isPrecededByBlankLine = true
        return field
    }

    /// A copy of the field, marked as allowed in contracts for backends and in contracts for apps.
    package var supportedByAllTargets: Field {
        var field = self
        field.shape.isSupportedByAllTargets = true
        return field
    }

    /// A copy of the field, marked as a complete expectation: a contract needs no other key under
    /// `expect`.
    package var definingExpectation: Field {
        var field = self
        field.shape.definesExpectation = true
        return field
    }

    /// Returns a copy of the field with a typical value of its key.
    ///
    /// - Parameters:
    ///   - value: The value that examples show.
    ///   - context: Other top-level keys of the file that the example requires, or that show its
    ///     use.
    /// - Returns: The copy.
    package func example(_ value: JSONValue, with context: JSONObject = [:]) -> Field {
        var field = self
        field.shape.example = value
        field.shape.exampleContext = context
        return field
    }

    /// Returns a copy of the field, marked as available since this version of Assay.
    package func sinceVersion(_ version: String) -> Field {
        var field = self
        field.shape.sinceVersion = version
        return field
    }
}
