/// One key of a construct whose value is an `Owner`: a line of the grammar's table.
package struct Field<Owner: Sendable>: Sendable {
    package typealias Path<Value> = WritableKeyPath<Owner, Value> & Sendable

    package var shape: KeyShape
    /// An empty line stands before it.
    package var isSpaced = false
    let read: @Sendable (LocatedNode, inout Owner, inout NodeReader) -> Void
    /// What is done where the key is left out.
    var absent: (@Sendable (inout Owner) -> Void)?
    /// Nil where the key is left out.
    let write: @Sendable (Owner) -> Written?

    package init(
        _ shape: KeyShape,
        read: @escaping @Sendable (LocatedNode, inout Owner, inout NodeReader) -> Void,
        write: @escaping @Sendable (Owner) -> Written?
    ) {
        self.shape = shape
        self.read = read
        self.write = write
    }

    /// A key that has to be there.
    package static func required<Value>(
        _ key: String,
        _ path: any Path<Value>,
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

    /// A key that may be left out, and what holds then.
    package static func value<Value: Equatable & Sendable>(
        _ key: String,
        _ path: any Path<Value>,
        _ syntax: Syntax<Value>,
        default usual: Value,
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
                return value == usual ? nil : syntax.write(value)
            }
        )
        field.shape.fallback = fallback ?? syntax.write(usual).line
        return field
    }

    /// A key that may be left out; then nothing is said.
    package static func optional<Value: Sendable>(
        _ key: String,
        _ path: any Path<Value?>,
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

    /// `true` or `false`, by default `false`.
    package static func flag(_ key: String, _ path: any Path<Bool>, _ doc: String) -> Field {
        value(key, path, .flag, default: false, doc)
    }

    /// One word that says that something is wished.
    package static func wish(
        _ key: String,
        _ path: any Path<Bool>,
        _ word: String,
        _ what: String,
        _ doc: String
    ) -> Field {
        value(key, path, .wish(word, what), default: false, doc, fallback: "it is not asked for")
    }

    /// A list, by default empty.
    package static func list<Element: Equatable & Sendable>(
        _ key: String,
        _ path: any Path<[Element]>,
        _ element: Syntax<Element>,
        countMin: Int = 0,
        _ doc: String
    ) -> Field {
        value(key, path, .list(element, countMin: countMin), default: [], doc, fallback: "none")
    }

    /// One case of an enumeration, whose cases have a key each.
    package static func choice<Whole: Sendable, Part: Sendable>(
        _ key: String,
        _ path: any Path<Whole>,
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

    /// With an empty line before it.
    package var spaced: Field {
        var field = self
        field.isSpaced = true
        return field
    }

    /// Whoever is judged, it can be asked for.
    package var forEverybody: Field {
        var field = self
        field.shape.isForEverybody = true
        return field
    }

    /// It says something alone.
    package var sufficient: Field {
        var field = self
        field.shape.isSufficient = true
        return field
    }

    /// Known since that version.
    package func since(_ version: String) -> Field {
        var field = self
        field.shape.since = version
        return field
    }
}
