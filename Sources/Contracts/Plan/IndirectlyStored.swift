/// Stores a large property behind one reference, so that the struct with the property is cheap to
/// copy, move and keep.
///
/// A run keeps tens of thousands of such structs in memory. Writing the property creates a new box,
/// so the wrapper has value semantics.
@propertyWrapper
package struct IndirectlyStored<Value: Sendable>: Sendable {
    @usableFromInline
    final class Box: Sendable {
        @usableFromInline let value: Value

        @inlinable init(_ value: Value) { self.value = value }
    }

    @usableFromInline var box: Box

    @inlinable package init(wrappedValue: Value) { box = Box(wrappedValue) }

    @inlinable package var wrappedValue: Value {
        get { box.value }
        set { box = Box(newValue) }
    }
}

extension IndirectlyStored: Equatable where Value: Equatable {
    package static func == (left: IndirectlyStored, right: IndirectlyStored) -> Bool {
        left.box === right.box || left.box.value == right.box.value
    }
}

extension IndirectlyStored: Hashable where Value: Hashable {
    package func hash(into hasher: inout Hasher) { hasher.combine(box.value) }
}

extension IndirectlyStored: Encodable where Value: Encodable {
    package func encode(to encoder: any Encoder) throws { try box.value.encode(to: encoder) }
}

extension IndirectlyStored: Decodable where Value: Decodable {
    package init(from decoder: any Decoder) throws {
        self.init(wrappedValue: try Value(from: decoder))
    }
}
