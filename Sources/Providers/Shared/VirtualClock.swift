package import Values

/// The clock of the fakes in one namespace.
///
/// It shows real time plus an offset, or it is frozen.
package struct VirtualClock: Hashable, Codable, Sendable {
    /// The offset of this clock from real time.
    ///
    /// A positive offset means that the clock is ahead.
    package private(set) var offset: Duration = .zero
    package private(set) var frozen: Instant?

    /// The largest offset from real time that a saved state may contain: the length of the range of
    /// allowed instants.
    private static let offsetMax =
        Instant.acceptedRange.upperBound - Instant.acceptedRange.lowerBound

    package init() {}

    package func now(at realTime: Instant) -> Instant { frozen ?? realTime + offset }

    package mutating func set(to now: Instant, at realTime: Instant) {
        if frozen != nil { frozen = now }
        offset = now - realTime
    }

    /// Freezes the clock at its current time, or lets a frozen clock continue from that time.
    package mutating func setFrozen(_ isFrozen: Bool, at realTime: Instant) {
        let currentVirtualTime = now(at: realTime)
        frozen = isFrozen ? currentVirtualTime : nil
        offset = currentVirtualTime - realTime
    }

    private enum CodingKeys: String, CodingKey { case offset, frozen }

    /// - Throws: A decoding error for a time that the control API would not accept.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        offset = try container.decode(Duration.self, forKey: .offset)
        frozen = try container.decodeIfPresent(Instant.self, forKey: .frozen)
        guard frozen.map(Instant.acceptedRange.contains) ?? true else {
            throw DecodingError.dataCorruptedError(
                forKey: .frozen,
                in: container,
                debugDescription: "the clock's time is not within \(Instant.acceptedRangeText)"
            )
        }
        guard offset.milliseconds.magnitude <= Self.offsetMax.milliseconds else {
            throw DecodingError.dataCorruptedError(
                forKey: .offset,
                in: container,
                debugDescription: "the clock's offset is more than 100 years from real time"
            )
        }
    }
}
