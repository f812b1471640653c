/// An integer in the saved state of a fake, limited to the range from -2^53 to 2^53.
///
/// Decoding a number outside this range fails. A counter within the range cannot overflow, because
/// no process runs long enough for 2^53 more steps.
@propertyWrapper
package struct JSONSafeInteger<Number: FixedWidthInteger & Codable & Hashable & Sendable>:
    Hashable, Codable, Sendable
{
    package var wrappedValue: Number

    package init(wrappedValue: Number) {
        self.wrappedValue = wrappedValue
    }

    /// - Throws: A decoding error that names the allowed range, for a number outside of it.
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
