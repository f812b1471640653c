package import Conformance

/// Time as the fakes of one namespace see it: the real one, moved, or standing still.
package struct VirtualClock: Hashable, Codable, Sendable {
    /// How far ahead of real time.
    package private(set) var offset: Duration = .zero
    package private(set) var frozen: Instant?

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
}
