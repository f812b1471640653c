package import Conformance
internal import Synchronization

/// The journal while a run is going on: many writers, one order.
///
/// Real times count from the moment the journal is made.
package final class LiveJournal: Sendable {
    private struct Followers {
        var next = 0
        var streams: [Int: AsyncStream<Int>.Continuation] = [:]
    }

    /// How many entries a reader may lag behind before it loses some.
    private static let lagMax = 65_536

    private let storage: Locked<Journal>
    private let followers = Locked(Followers())
    private let followerCount = Atomic<Int>(0)
    private let origin: ContinuousClock.Instant

    package init(bytesMax: Int) {
        storage = Locked(Journal(bytesMax: bytesMax))
        origin = ContinuousClock.now
    }

    /// Microseconds since the journal was made.
    package var elapsed: Int64 {
        let components = (ContinuousClock.now - origin).components
        return components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
    }

    /// Writes an invocation, before the act, and returns its number.
    package func begin(_ exchange: Exchange) -> Int {
        var exchange = exchange
        exchange.invoked = elapsed
        let entry = Journal.Entry(exchange)
        return storage.withLock { $0.append(entry) }
    }

    package func complete(
        _ sequence: Int,
        _ outcome: Exchange.Outcome,
        effects: [Effect] = [],
        namespace: String? = nil
    ) {
        let now = elapsed
        storage.withLock {
            $0.complete(sequence, outcome, effects: effects, namespace: namespace, at: now)
        }
        tell(sequence)
    }

    /// Writes an exchange that is over already: invocation and completion in one stroke.
    package func write(_ exchange: Exchange, invoked: Int64) {
        var exchange = exchange
        exchange.invoked = invoked
        exchange.completed = elapsed
        let entry = Journal.Entry(exchange)
        tell(storage.withLock { $0.append(entry) })
    }

    private func tell(_ sequence: Int) {
        // Almost always nobody follows; that is known without a lock.
        guard followerCount.load(ordering: .relaxed) > 0 else { return }
        followers.withLock { followers in
            for stream in followers.streams.values { stream.yield(sequence) }
        }
    }

    package func read<Result: Sendable>(_ body: (borrowing Journal) -> Result) -> Result {
        storage.withLock { body($0) }
    }

    /// The numbers of entries as they are completed, from now on.
    package func follow() -> AsyncStream<Int> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Int.self,
            bufferingPolicy: .bufferingOldest(Self.lagMax)
        )
        let number = followers.withLock { followers in
            followers.next += 1
            followers.streams[followers.next] = continuation
            return followers.next
        }
        followerCount.add(1, ordering: .relaxed)
        continuation.onTermination = { [weak self] _ in
            self?.followers.withLock { $0.streams[number] = nil }
            self?.followerCount.subtract(1, ordering: .relaxed)
        }
        return stream
    }

    /// Ends every follower's stream, so that a server can stop.
    package func endFollowing() {
        let streams = followers.withLock { $0.streams.values.map { $0 } }
        for stream in streams { stream.finish() }
    }
}
