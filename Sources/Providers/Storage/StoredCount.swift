/// A counter that is saved with the state, from -2^53 to 2^53.
///
/// A saved state that has another number is refused when it is read. Within the bound no counter
/// overflows: 2^53 more steps do not fit into the life of a process.
@propertyWrapper
package struct StoredCount<Number: FixedWidthInteger & Codable & Hashable & Sendable>:
    Hashable, Codable, Sendable
{
    package var wrappedValue: Number

    package init(wrappedValue: Number) {
        self.wrappedValue = wrappedValue
    }

    /// - Throws: A decoding error that names the bound.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        wrappedValue = try container.decode(Number.self)
        guard wrappedValue.magnitude <= 1 << 53 else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "\(wrappedValue) is not within -2^53 to 2^53"
            )
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(wrappedValue)
    }
}
