package import Conformance
internal import Synchronization

/// Takes part in whatever is written to a journal, in the writer's own time.
package protocol JournalTap: Sendable {
    /// Called before the request goes on its way.
    func began(_ exchange: Exchange)
    /// Called when a request has been sent that was on its way before all of it was known.
    func sent(_ sequence: Int, _ fields: [HTTPMessage.Field], _ body: [UInt8])
    func completed(
        _ sequence: Int,
        _ outcome: Exchange.Outcome,
        _ effects: [Effect],
        namespace: String?,
        at microseconds: Int64
    )
    /// Called for each message on a WebSocket that an exchange became.
    func said(_ message: SocketMessage, at microseconds: Int64)
}

/// A message on a WebSocket, when all of it has passed.
package struct SocketMessage: Hashable, Sendable {
    /// The exchange that became the WebSocket.
    package let sequence: Int
    package let from: Exchange.Party
    /// What is said of the body, such as that it was too long to be kept.
    package let fields: [HTTPMessage.Field]
    package let body: [UInt8]
    package let isText: Bool

    package init(
        sequence: Int,
        from: Exchange.Party,
        fields: [HTTPMessage.Field],
        body: [UInt8],
        isText: Bool
    ) {
        self.sequence = sequence
        self.from = from
        self.fields = fields
        self.body = body
        self.isText = isText
    }
}

/// The journal while a run is going on: many writers, one order.
///
/// Real times count from the moment the journal is made.
package final class LiveJournal: Sendable {
    private struct Followers {
        var next = 0
        /// The server stops; no stream ends for another reason then.
        var isEnding = false
        var streams: [Int: AsyncStream<Int>.Continuation] = [:]
    }

    /// How many entries a follower may lag behind before its stream ends.
    private static let lagMax = 65_536

    /// How many notes are kept.
    private static let notesMax = 100

    /// Faults of Assay itself that no exchange shows.
    private struct Notes {
        var texts: [String] = []
        var droppedCount = 0
    }

    private let storage: Locked<Journal>
    private let kept = Locked(Notes())
    private let followers = Locked(Followers())
    private let followerCount = Atomic<Int>(0)
    private let time: @Sendable () -> Duration
    private let tap = Locked<(any JournalTap)?>(nil)
    private let hasTap = Atomic<Bool>(false)

    /// - Parameters:
    ///   - bytesMax: The bound, in bytes.
    ///   - time: Tells the time since any fixed moment; nil is this machine's.
    package init(bytesMax: Int, time: (@Sendable () -> Duration)? = nil) {
        storage = Locked(Journal(bytesMax: bytesMax))
        let origin = ContinuousClock.now
        self.time = time ?? { ContinuousClock.now - origin }
    }

    /// Microseconds since the journal was made.
    package var elapsed: Int64 {
        let components = time().components
        return components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
    }

    /// Writes an invocation, before the act, and returns its number.
    package func begin(_ exchange: Exchange) -> Int {
        var exchange = exchange
        exchange.invoked = elapsed
        let entry = Journal.Entry(exchange)
        let sequence = storage.withLock { $0.append(entry) }
        if let tap = tapped {
            exchange.sequence = sequence
            tap.began(exchange)
        }
        return sequence
    }

    /// From now on, everything that is written is told to the tap as well, before the act.
    package func tap(_ tap: any JournalTap) {
        self.tap.withLock { $0 = tap }
        hasTap.store(true, ordering: .releasing)
    }

    private var tapped: (any JournalTap)? {
        guard hasTap.load(ordering: .acquiring) else { return nil }
        return tap.withLock { $0 }
    }

    /// Writes what was sent in full, of a request whose invocation was written before.
    package func sent(_ sequence: Int, _ fields: [HTTPMessage.Field], _ body: [UInt8]) {
        storage.withLock { $0.sent(sequence, fields, body) }
        tapped?.sent(sequence, fields, body)
    }

    /// Tells a message on a WebSocket; it is for the tap alone, as nothing is judged by it.
    package func said(_ message: SocketMessage) { tapped?.said(message, at: elapsed) }

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
        tapped?.completed(sequence, outcome, effects, namespace: namespace, at: now)
        tell(sequence)
    }

    /// Writes an exchange that is over already: invocation and completion in one stroke.
    package func write(_ exchange: Exchange, invoked: Int64) {
        var exchange = exchange
        exchange.invoked = invoked
        exchange.completed = elapsed
        let entry = Journal.Entry(exchange)
        let sequence = storage.withLock { $0.append(entry) }
        if let tap = tapped {
            exchange.sequence = sequence
            tap.began(exchange)
            tap.completed(
                sequence,
                exchange.outcome,
                exchange.effects,
                namespace: exchange.namespace,
                at: exchange.completed ?? invoked
            )
        }
        tell(sequence)
    }

    private func tell(_ sequence: Int) {
        // Almost always nobody follows; that is known without a lock.
        guard followerCount.load(ordering: .relaxed) > 0 else { return }
        let late = followers.withLock { followers in
            var late: [AsyncStream<Int>.Continuation] = []
            for stream in followers.streams.values {
                // A follower that missed a number would show an incomplete journal.
                if case .dropped = stream.yield(sequence) { late.append(stream) }
            }
            return late
        }
        for stream in late { stream.finish() }
    }

    /// Notes a fault of Assay itself that no exchange shows; a note that is there already is not
    /// repeated.
    package func note(_ text: String) {
        kept.withLock { notes in
            guard !notes.texts.contains(text) else { return }
            guard notes.texts.count < Self.notesMax else { return notes.droppedCount += 1 }
            notes.texts.append(text)
        }
    }

    /// The faults of Assay itself that were noted, in order.
    package var notes: [String] {
        kept.withLock { notes in
            notes.droppedCount == 0
                ? notes.texts : notes.texts + ["\(notes.droppedCount) more notes were dropped"]
        }
    }

    package func read<Result: Sendable>(_ body: (borrowing Journal) -> Result) -> Result {
        storage.withLock { body($0) }
    }

    /// Whether the streams of followers end because the server stops.
    package var isEnding: Bool { followers.withLock { $0.isEnding } }

    /// The numbers of entries as they are completed, from now on.
    ///
    /// The stream of a follower that lags more than 65,536 entries behind ends.
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
        let streams = followers.withLock { followers in
            followers.isEnding = true
            return Array(followers.streams.values)
        }
        for stream in streams { stream.finish() }
    }
}
