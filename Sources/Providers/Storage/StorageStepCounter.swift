internal import Synchronization

/// A counter of the stored elements that a call reads or writes.
///
/// This number determines the cost of the call.
///
/// Only debug builds count, so that tests can check the cost without a clock. A release build
/// behaves in the same way, but has no counter.
package final class StorageStepCounter: Sendable {
    @TaskLocal private static var activeCounter: StorageStepCounter?

    private let stepCount = Atomic<Int>(0)

    private init() {}

    /// Returns the number of stored elements that the closure reads or writes.
    package static func count(_ body: () throws -> Void) rethrows -> Int {
        let counter = StorageStepCounter()
        try $activeCounter.withValue(counter) { try body() }
        return counter.stepCount.load(ordering: .relaxed)
    }

    /// Whether this build counts the stored elements that a call reads or writes: true in debug
    /// builds.
    package static var isCounting: Bool {
        #if DEBUG
        true
        #else
        false
        #endif
    }

    /// Adds to the number of stored elements that were read or written.
    ///
    /// Does nothing outside of `count(_:)`.
    @inline(__always)
    static func countSteps(_ count: Int = 1) {
        #if DEBUG
        activeCounter?.stepCount.add(count, ordering: .relaxed)
        #endif
    }
}
