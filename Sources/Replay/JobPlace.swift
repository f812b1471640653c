internal import FakeServers

/// The slot of a case in a queue that runs a limited number of cases concurrently.
///
/// A case that only waits for time to pass releases its slot during the wait, so that another case
/// can run.
final class JobPlace: Sendable {
    /// A change in the use of the slots of a queue.
    enum Event: Sendable {
        /// A case has ended and its slot is free; the values are the index of the case and its
        /// outcome.
        case left(Int, SuiteRunner.Outcome)
        /// A case has begun to wait, so another case may use its slot.
        case given
        /// A case has finished waiting, and continues as soon as a slot is free.
        case wanted(CheckedContinuation<Void, Never>)
    }

    /// The slot of the case that runs in this task; nil if the case runs exclusively.
    @TaskLocal static var current: JobPlace?

    /// The number of cases that have released their slots and wait, including the case of this
    /// task.
    static var waitingCount: Int { current?.waiting.number ?? 1 }

    private let isGiven = Locked(false)
    /// Reports a change to the queue; returns false when the queue has ended.
    private let tell: @Sendable (Event) -> Bool
    /// The counter of waiting cases, which all cases of a queue share.
    ///
    /// Each waiting case polls for its condition, so the number of waiting cases has to be limited.
    private let waiting: Waiting

    init(among waiting: Waiting, tell: @escaping @Sendable (Event) -> Bool) {
        self.waiting = waiting
        self.tell = tell
    }

    /// Releases the slot of the current case while `wait` runs, and takes a slot again afterwards.
    ///
    /// The slot is kept if the task has none to release or too many cases are already waiting.
    static func givenAway(during wait: () async -> Void) async {
        guard let place = current,
            place.isGiven.withLock({ isGiven in
                guard !isGiven, place.waiting.enter() else { return false }
                isGiven = true
                return true
            })
        else { return await wait() }
        _ = place.tell(.given)
        await wait()
        await withCheckedContinuation { continuation in
            // After a cancellation, each case may continue without waiting for a slot.
            if !place.tell(.wanted(continuation)) { continuation.resume() }
        }
        place.isGiven.withLock { $0 = false }
        place.waiting.leave()
    }

    /// Counts the cases that wait without a slot, up to a limit.
    final class Waiting: Sendable {
        private let most: Int
        private let count = Locked(0)

        init(most: Int) { self.most = most }

        func enter() -> Bool {
            count.withLock { count in
                guard count < most else { return false }
                count += 1
                return true
            }
        }

        var number: Int { count.withLock { $0 } }

        func leave() { count.withLock { $0 -= 1 } }
    }
}
