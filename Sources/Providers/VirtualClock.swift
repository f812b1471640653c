package import Conformance

/// Time as the fakes of one namespace see it: the real one, moved, or standing still.
package struct VirtualClock: Hashable, Codable, Sendable {
    /// How far ahead of real time.
    package private(set) var offset: Duration = .zero
    package private(set) var frozen: Instant?

    /// The distance to real time that a saved state may have: the length of the given instants.
    private static let offsetMax = Instant.given.upperBound - Instant.given.lowerBound

    package init() {}

    package func now(at wall: Instant) -> Instant { frozen ?? wall + offset }

    package mutating func set(to now: Instant, at wall: Instant) {
        if frozen != nil { frozen = now }
        offset = now - wall
    }

    /// Stands still from now on, or runs again from where it stood.
    package mutating func freeze(_ isFrozen: Bool, at wall: Instant) {
        let current = now(at: wall)
        frozen = isFrozen ? current : nil
        offset = current - wall
    }

    private enum CodingKeys: String, CodingKey { case offset, frozen }

    /// - Throws: A decoding error for a time that no control route would set.
    package init(from decoder: any Decoder) throws {
        let saved = try decoder.container(keyedBy: CodingKeys.self)
        offset = try saved.decode(Duration.self, forKey: .offset)
        frozen = try saved.decodeIfPresent(Instant.self, forKey: .frozen)
        guard frozen.map(Instant.given.contains) ?? true else {
            throw DecodingError.dataCorruptedError(
                forKey: .frozen,
                in: saved,
                debugDescription: "the clock is not within \(Instant.givenText)"
            )
        }
        guard offset.milliseconds.magnitude <= Self.offsetMax.milliseconds else {
            throw DecodingError.dataCorruptedError(
                forKey: .offset,
                in: saved,
                debugDescription: "the clock is more than 100 years from the real time"
            )
        }
    }
}
