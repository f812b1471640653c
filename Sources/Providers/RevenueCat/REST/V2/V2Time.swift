internal import Values

extension JSONValue {
    /// Returns a time in milliseconds, as REST v2 encodes all times; null for nil.
    static func v2Time(_ instant: Instant?) -> JSONValue {
        instant.map { .integer($0.milliseconds) } ?? .null
    }
}
