internal import Foundation
internal import NIOConcurrencyHelpers

/// What time it is for this backend: the machine's, or as far ahead of it as a test has set it.
///
/// A process has one clock, as under a library that fakes it.
enum WallClock {
    private static let ahead = NIOLockedValueBox(TimeInterval(0))

    static var date: Date { Date() + ahead.withLockedValue { $0 } }

    /// Milliseconds since 1970.
    static func now() -> Int64 { Int64(date.timeIntervalSince1970 * 1000) }

    /// Shows so many seconds more than the machine's clock from here on.
    static func set(ahead seconds: TimeInterval) { ahead.withLockedValue { $0 = seconds } }
}
