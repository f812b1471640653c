internal import Conformance

/// A date in a call to a fake, from 1970-01-01 to 2100-01-01.
///
/// A date outside of the range is a mistake of units: seconds or microseconds for milliseconds. Each
/// fake refuses it in the error form of its service, so that no arithmetic meets it later.
struct CallDate: Hashable, Sendable {
    static let range = Instant(milliseconds: 0)...Instant.given.upperBound
    /// The same range as errors print it.
    static let rangeText = "1970-01-01 to 2100-01-01"

    let instant: Instant

    /// - Returns: Nil for an instant outside of the range.
    init?(_ instant: Instant) {
        guard Self.range.contains(instant) else { return nil }
        self.instant = instant
    }

    /// - Returns: Nil for an instant outside of the range.
    init?(milliseconds: Int64) {
        self.init(Instant(milliseconds: milliseconds))
    }

    /// - Returns: Nil for an instant outside of the range.
    init?(seconds: Int64) {
        self.init(Instant(milliseconds: seconds.multiplyingSaturated(1000)))
    }
}
