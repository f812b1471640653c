internal import NIOConcurrencyHelpers

/// A value behind a lock that the thread sanitizer understands.
///
/// The standard library's mutex is a bare futex on Linux, and the sanitizer reports races behind it
/// that do not exist. This lock is a pthread mutex.
package final class Locked<Value: Sendable>: Sendable {
    private let box: NIOLockedValueBox<Value>

    package init(_ value: Value) {
        box = NIOLockedValueBox(value)
    }

    package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        try box.withLockedValue(body)
    }
}
