/// The progress lines about a backend that takes long to start.
///
/// A backend that needs a few seconds needs them at each of its starts, for the same reason. So the
/// first wait is reported at once, a later one only after twice the time, and a reason only once.
package struct SlowStarts: Sendable {
    /// The shortest wait that is reported after the first report, in seconds.
    private static let repeatedWaitSecondsMin: Int64 = 10

    /// The wait from which the next line is due, in seconds.
    private var nextSeconds: Int64 = 0
    private var lastSeconds: Int64 = 0
    private var lastReason = ""

    package init() {}

    /// Returns the line about a wait; nil if no line is due.
    ///
    /// - Parameters:
    ///   - seconds: The time since the start of the backend.
    ///   - reason: Why the backend is not ready; empty if it is not known.
    /// - Returns: The line, without its end.
    package mutating func line(after seconds: Int64, reason: String) -> String? {
        // A shorter wait belongs to the next start.
        if seconds < lastSeconds { nextSeconds = Self.repeatedWaitSecondsMin }
        lastSeconds = seconds
        guard seconds >= nextSeconds else { return nil }
        nextSeconds = max(Self.repeatedWaitSecondsMin, seconds * 2)
        let isNew = reason != lastReason
        lastReason = reason
        return "waiting until the backend has started, \(seconds) s"
            + (isNew && !reason.isEmpty ? ": " + reason : "")
    }
}
