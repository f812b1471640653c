/// Where the steps of a contract stand in its file: those given first, then those it takes.
///
/// It is no part of what a contract says: contracts that differ in it alone are equal.
package struct StepPlaces: Hashable, Codable, Sendable {
    private var locations: [SourceLocation]

    package init(_ locations: [SourceLocation] = []) {
        self.locations = locations
    }

    package subscript(index: Int) -> SourceLocation? {
        locations.indices.contains(index) ? locations[index] : nil
    }

    package static func == (left: StepPlaces, right: StepPlaces) -> Bool { true }

    package func hash(into hasher: inout Hasher) {}
}

extension KeyedDecodingContainer {
    /// Contracts that were saved before have no places.
    func decode(_ type: StepPlaces.Type, forKey key: Key) throws -> StepPlaces {
        try decodeIfPresent(type, forKey: key) ?? StepPlaces()
    }
}
