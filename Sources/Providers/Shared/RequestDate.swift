internal import Values

/// A date in a request to a fake, limited to the range from 1970-01-01 to 2100-01-01.
///
/// A date outside this range is a mistake of units: seconds or microseconds in place of
/// milliseconds. Each fake refuses such a date with the error of the service that it imitates.
/// Later calculations therefore never see such a date.
struct RequestDate: Hashable, Sendable {
    static let acceptedRange = Instant(milliseconds: 0)...Instant.acceptedRange.upperBound
    /// The range of allowed dates as a string for error messages.
    static let acceptedRangeText = "1970-01-01 to 2100-01-01"

    let instant: Instant

    /// Creates the date of an instant; nil when the instant is outside the accepted range.
    init?(_ instant: Instant) {
        guard Self.acceptedRange.contains(instant) else { return nil }
        self.instant = instant
    }

    /// Creates a date from milliseconds since 1970; nil when the date is outside the accepted
    /// range.
    init?(milliseconds: Int64) {
        self.init(Instant(milliseconds: milliseconds))
    }

    /// Creates a date from seconds since 1970; nil when the date is outside the accepted range.
    init?(seconds: Int64) {
        self.init(Instant(milliseconds: seconds.multiplyingSaturated(1000)))
    }
}
