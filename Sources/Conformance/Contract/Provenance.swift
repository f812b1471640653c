/// Where a golden contract comes from, and how long it may be trusted.
package struct Provenance: Hashable, Codable, Sendable {
    /// The moment of the recording.
    package var recorded: Instant
    /// After this long the services may have changed, and the session should be recorded again.
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
