internal import Foundation
package import Values

/// A clock that measures time for all runs: a real one in production, a virtual one in simulations.
///
/// Nothing else in this module reads the time, waits, or starts an unstructured task. The seed of a
/// simulation can therefore decide the order of all events.
package protocol RunClock: Sendable {
    /// The time since a fixed start.
    ///
    /// The start is the same for all users of this clock, and the time never goes back.
    var now: Duration { get }
    /// The current date and time, for example for tokens and signatures.
    var wallTime: Instant { get }
    /// The executor for tasks that outlive the scope that starts them; nil for the default
    /// executor.
    var executor: (any TaskExecutor)? { get }

    /// Waits until the clock has reached the deadline.
    ///
    /// The wait may take longer than planned. A large delay shows that the machine is busy.
    ///
    /// - Throws: `CancellationError` when the task is canceled.
    func sleep(until deadline: Duration) async throws(CancellationError)
}

extension RunClock {
    /// Waits for the given time, and throws when the task is canceled.
    ///
    /// - Throws: `CancellationError` when the task is canceled.
    package func sleep(for time: Duration) async throws(CancellationError) {
        try await sleep(until: now + time)
    }

    /// Waits for the given time, or until the task is canceled.
    ///
    /// A cancellation throws no error here, so a loop has to check for it.
    package func pause(_ time: Duration) async {
        // The only error is the cancellation.
        try? await sleep(for: time)
    }

    /// Starts a task that outlives the scope that starts it.
    package func task<Value: Sendable>(
        _ work: @escaping @Sendable () async -> Value
    ) -> Task<Value, Never> {
        Task(executorPreference: executor) { await work() }
    }
}

extension Task where Failure == Never {
    /// Returns the value of this task.
    ///
    /// If the task that waits for the value is canceled, this task is canceled too.
    func joined() async -> Success {
        await withTaskCancellationHandler {
            await value
        } onCancel: {
            cancel()
        }
    }
}

/// The clock of this machine.
///
/// Its time also passes while the machine sleeps.
package struct RealClock: RunClock {
    private static let origin = ContinuousClock.now

    package init() {}

    package var now: Duration { ContinuousClock.now - Self.origin }
    package var wallTime: Instant {
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
