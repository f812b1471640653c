internal import Synchronization

/// How many stored elements a call looks at or writes: what its cost grows with.
///
/// Counted in debug builds alone, for tests: a law about cost that no clock decides. What a program
/// that is built for use does is the same without it.
package final class StoredWork: Sendable {
    @TaskLocal private static var current: StoredWork?

    private let steps = Atomic<Int>(0)

    private init() {}

    /// The steps that a body takes in what is stored.
    package static func count(_ body: () throws -> Void) rethrows -> Int {
        let work = StoredWork()
        try $current.withValue(work) { try body() }
        return work.steps.load(ordering: .relaxed)
    }

    /// Whether this build counts.
    package static var isCounted: Bool {
        #if DEBUG
        true
        #else
        false
        #endif
    }

    /// Notes steps; nothing where nobody counts.
    @inline(__always)
    static func note(_ count: Int = 1) {
        #if DEBUG
        current?.steps.add(count, ordering: .relaxed)
        #endif
    }
}
