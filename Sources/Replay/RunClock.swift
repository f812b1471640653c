package import Conformance
internal import Foundation

/// Time as the runner knows it: real outside, virtual in a simulation.
///
/// Nothing else in this module asks what time it is, waits, or starts a task of its own, so that a
/// seed can decide what happens when.
package protocol RunClock: Sendable {
    /// Time since a moment that all who ask this clock share; it never goes back.
    var now: Duration { get }
    /// What a clock on the wall shows, for tokens, signatures and dates.
    var wall: Instant { get }
    /// Where tasks run that outlive their maker's scope; nil is wherever tasks run.
    var executor: (any TaskExecutor)? { get }

    /// Returns at that moment or later; how much later says how busy the machine is.
    ///
    /// - Throws: When the task is cancelled.
    func sleep(until deadline: Duration) async throws(CancellationError)
}

extension RunClock {
    /// - Throws: When the task is cancelled.
    package func sleep(for time: Duration) async throws(CancellationError) {
        try await sleep(until: now + time)
    }

    /// Lets time pass; a cancellation ends it early, and whoever loops looks for that.
    package func pause(_ time: Duration) async {
        try? await sleep(for: time)
    }

    /// Starts a task that outlives the scope of its maker.
    package func task<Value: Sendable>(
        _ work: @escaping @Sendable () async -> Value
    ) -> Task<Value, Never> {
        Task(executorPreference: executor) { await work() }
    }
}

extension Task where Failure == Never {
    /// Its value; a cancellation of whoever waits for it reaches it too.
    func joined() async -> Success {
        await withTaskCancellationHandler {
            await value
        } onCancel: {
            cancel()
        }
    }
}

/// The time of this machine, which passes while the machine sleeps too.
package struct RealClock: RunClock {
    private static let origin = ContinuousClock.now

    package init() {}

    package var now: Duration { ContinuousClock.now - Self.origin }
    package var wall: Instant {
        Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
    }
    package var executor: (any TaskExecutor)? { nil }

    package func sleep(until deadline: Duration) async throws(CancellationError) {
        do {
            try await ContinuousClock().sleep(until: Self.origin + deadline)
        } catch {
            throw CancellationError()
        }
    }
}
