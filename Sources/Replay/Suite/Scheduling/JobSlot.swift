internal import Values

/// The job of a case that runs concurrently with other cases.
///
/// A case that only waits for time to pass releases its job during the wait, so that another case
/// can run.
final class JobSlot: Sendable {
    /// The job of the case that runs in this task; nil if the case runs exclusively.
    @TaskLocal static var current: JobSlot?

    /// The number of cases that have released their jobs and wait, including the case of this task.
    static var waitingCount: Int {
        current?.schedule.withLock { $0.jobs.waitingCaseCount } ?? 1
    }

    private let schedule: Locked<CaseSchedule>
    private let events: AsyncStream<CaseScheduler.Event>.Continuation
    private let isReleased = Locked(false)

    init(
        in schedule: Locked<CaseSchedule>,
        events: AsyncStream<CaseScheduler.Event>.Continuation
    ) {
        self.schedule = schedule
        self.events = events
    }

    /// Releases the job of the current case while `wait` runs, and takes a job again afterwards.
    ///
    /// The job is kept if the task has none to release or too many cases are already waiting.
    static func releaseSlot(during wait: () async -> Void) async {
        guard let slot = current, slot.release() else { return await wait() }
        await wait()
        await withCheckedContinuation { continuation in
            // After a cancellation, each case may continue without waiting for a job.
            if case .terminated = slot.events.yield(.jobWanted(continuation)) {
                continuation.resume()
            }
        }
        slot.isReleased.withLock { $0 = false }
    }

    private func release() -> Bool {
        let isReleasedNow = isReleased.withLock { isReleased in
            guard !isReleased, schedule.withLock({ $0.jobs.release() }) else { return false }
            isReleased = true
            return true
        }
        if isReleasedNow { events.yield(.jobReleased) }
        return isReleasedNow
    }
}
