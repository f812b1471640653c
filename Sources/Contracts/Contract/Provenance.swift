package import Values

/// The origin of a golden contract, which is generated from a recorded session: the date of the
/// recording, and the age at which to record again.
package struct Provenance: Hashable, Codable, Sendable {
    /// The time at which the session was recorded.
    package var recorded: Instant
    /// The age at which the session should be recorded again, because the real services may have
    /// changed; nil: unlimited.
    package var ageMax: Duration?
    package var location: SourceLocation

    package init(recorded: Instant, ageMax: Duration?, location: SourceLocation) {
        self.recorded = recorded
        self.ageMax = ageMax
        self.location = location
    }

    package func isExpired(at now: Instant) -> Bool {
        ageMax.map { recorded + $0 < now } ?? false
    }
}
