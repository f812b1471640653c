package import Values

/// The locations of a contract's steps in the contract file: first the `given` steps, then the
/// `steps`.
///
/// These locations do not affect equality: contracts that differ only in them are equal.
package struct StepLocations: Hashable, Codable, Sendable {
    private var locations: [SourceLocation]

    package init(_ locations: [SourceLocation] = []) {
        self.locations = locations
    }

    package subscript(index: Int) -> SourceLocation? {
        locations.indices.contains(index) ? locations[index] : nil
    }

    package static func == (left: StepLocations, right: StepLocations) -> Bool { true }

    package func hash(into hasher: inout Hasher) {}
}

extension KeyedDecodingContainer {
    /// Decodes the locations of the steps; contracts that were saved by earlier versions of Assay
    /// have none.
    func decode(_ type: StepLocations.Type, forKey key: Key) throws -> StepLocations {
        try decodeIfPresent(type, forKey: key) ?? StepLocations()
    }
}
