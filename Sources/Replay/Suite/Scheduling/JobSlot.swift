internal import Values

/// The slot of a case in a queue that runs a limited number of cases concurrently.
///
/// A case that only waits for time to pass releases its slot during the wait, so that another case
/// can run.
final class JobSlot: Sendable {
    /// A change in the use of the slots of a queue.
    enum Event: Sendable {
        /// A case has ended and its slot is free; the values are the index of the case and its
        /// outcome.
        case caseEnded(Int, SuiteRunner.Outcome)
        /// A case has begun to wait, so another case may use its slot.
        case slotReturned
        /// A case has finished waiting, and continues as soon as a slot is free.
        case slotWanted(CheckedContinuation<Void, Never>)
    }

    /// The slot of the case that runs in this task; nil if the case runs exclusively.
    @TaskLocal static var current: JobSlot?

    /// The number of cases that have released their slots and wait, including the case of this
    /// task.
    static var waitingCount: Int { current?.waitCounter.waitingCaseCount ?? 1 }

    private let isReleased = Locked(false)
    /// Reports a change to the queue; returns false when the queue has ended.
    private let reportEvent: @Sendable (Event) -> Bool
    /// The counter of waiting cases, which all cases of a queue share.
    ///
    /// Each waiting case polls for its condition, so the number of waiting cases has to be limited.
    private let waitCounter: WaitCounter

    init(among waitCounter: WaitCounter, reportEvent: @escaping @Sendable (Event) -> Bool) {
        self.waitCounter = waitCounter
        self.reportEvent = reportEvent
    }

    /// Releases the slot of the current case while `wait` runs, and takes a slot again afterwards.
    ///
    /// The slot is kept if the task has none to release or too many cases are already waiting.
    static func releaseSlot(during wait: () async -> Void) async {
        guard let slot = current,
            slot.isReleased.withLock({ isReleased in
                guard !isReleased, slot.waitCounter.tryEnter() else { return false }
                isReleased = true
                return true
            })
        else { return await wait() }
        _ = slot.reportEvent(.slotReturned)
        await wait()
        await withCheckedContinuation { continuation in
            // After a cancellation, each case may continue without waiting for a slot.
            if !slot.reportEvent(.slotWanted(continuation)) { continuation.resume() }
        }
        slot.isReleased.withLock { $0 = false }
        slot.waitCounter.endWait()
    }

    /// Counts the cases that wait without a slot, up to a limit.
    final class WaitCounter: Sendable {
        private let waitingMax: Int
        private let count = Locked(0)

        init(waitingMax: Int) { self.waitingMax = waitingMax }

        func tryEnter() -> Bool {
            count.withLock { count in
                guard count < waitingMax else { return false }
                count += 1
                return true
            }
        }

        var waitingCaseCount: Int { count.withLock { $0 } }

        func endWait() { count.withLock { $0 -= 1 } }
    }
}
