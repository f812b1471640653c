package import Conformance

/// How a service can be read without changing anything there, so that its answers can be held against
/// the fake's: where the names of its paths come from, and which of its members people name.
package struct LiveReading: Sendable {
    /// Where a name of a path is found.
    package struct Source: Sendable {
        package let name: String
        /// With the names that have to be known before.
        package let path: String
        /// The places in the answer, the first that holds a text counts.
        package let pointers: [String]

        init(_ name: String, _ path: String, _ pointers: String...) {
            (self.name, self.path, self.pointers) = (name, path, pointers)
        }
    }

    /// The scheme of the `Authorization` that its keys are shown under.
    package let scheme: String
    /// Names that only the user knows.
    package let given: [String]
    /// The same names for the fake.
    package let fakeGiven: [String: String]
    /// In the order in which they can be found.
    package let sources: [Source]
    /// What stands behind the path of an operation that demands it: `?app_id={app_id}`.
    package let queries: [String: String]
    /// Members whose own members are named by people, not by the service.
    package let openMembers: Set<String>
    /// Members that are absent while nothing is set (documented as such).
    package let absentWhenUnset: Set<String>
    /// Puts something into the fake, so that it has something to show.
    package let fill: @Sendable (inout Services, Instant) -> Void
}
