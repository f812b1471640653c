internal import FakeServers

/// A case's place among those that play at once.
///
/// Who only waits for time to pass needs none and gives its place away meanwhile, so that nobody
/// idles behind a case that waits for a real end, or for what does not come.
final class JobPlace: Sendable {
    /// What happens to the places of a queue.
    enum Event: Sendable {
        /// A case is over.
        case left(Int, SuiteRunner.Outcome)
        /// A case waits, and somebody else may play.
        case given
        /// A case has waited, and goes on as soon as there is a place.
        case wanted(CheckedContinuation<Void, Never>)
    }

    /// The place of the case that this task plays; nil where nobody else could use it.
    @TaskLocal static var current: JobPlace?

    /// How many wait beside this task, itself among them.
    static var waitingCount: Int { current?.waiting.number ?? 1 }

    private let isGiven = Locked(false)
    /// Tells whoever shares the places out; false when nobody does any more.
    private let tell: @Sendable (Event) -> Bool
    /// Those who wait; each of them looks for what it waits for now and then, so they may not be
    /// without number.
    private let waiting: Waiting

    init(among waiting: Waiting, tell: @escaping @Sendable (Event) -> Bool) {
        self.waiting = waiting
        self.tell = tell
    }

    /// Waits without a place, where there is one to give away.
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
            // After a cancellation there is a place for everybody.
            if !place.tell(.wanted(continuation)) { continuation.resume() }
        }
        place.isGiven.withLock { $0 = false }
        place.waiting.leave()
    }

    /// How many wait, and may.
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
