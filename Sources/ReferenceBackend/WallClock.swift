internal import Foundation
internal import NIOConcurrencyHelpers

/// The clock of the backend: the clock of the machine, moved ahead by a time that a test sets.
///
/// All parts of the process share this clock, as with a library that fakes the system clock.
enum WallClock {
    private static let ahead = NIOLockedValueBox(TimeInterval(0))

    static var date: Date { Date() + ahead.withLockedValue { $0 } }

    /// Returns the current time of this clock, in milliseconds since 1970.
    static func now() -> Int64 { Int64(date.timeIntervalSince1970 * 1000) }

    /// Sets the number of seconds by which this clock is ahead of the machine's clock.
    static func set(ahead seconds: TimeInterval) { ahead.withLockedValue { $0 = seconds } }
}
