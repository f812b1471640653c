internal import Synchronization
package import Values

/// Receives everything that is written to a journal, synchronously, as part of the write.
package protocol JournalObserver: Sendable {
    /// Called when a request is written to the journal, before the request is forwarded.
    func began(_ exchange: Exchange)
    /// Called when the body of a request is complete, if the request was written to the journal
    /// without it.
    func sent(_ sequence: Int, _ fields: [HTTPMessage.Field], _ body: [UInt8])
    func completed(
        _ sequence: Int,
        _ outcome: Exchange.Outcome,
        _ effects: [Effect],
        namespace: String?,
        at microseconds: Int64
    )
    /// Called for each message on a WebSocket, after the exchange that opened the WebSocket.
    func recordWebSocketMessage(_ message: WebSocketMessage, at microseconds: Int64)
}

/// A complete message on a WebSocket.
package struct WebSocketMessage: Hashable, Sendable {
    /// The number of the exchange that opened the WebSocket.
    package let sequence: Int
    package let from: Exchange.Party
    /// Internal headers that describe the body, for example that it was too long to keep.
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

/// The journal of the current process, which keeps the HTTP exchanges of many threads in one order.
///
/// Real times in the journal are measured from its creation.
package final class LiveJournal: Sendable {
    private struct Followers {
        var nextStreamNumber = 0
        /// Whether the server is stopping.
        ///
        /// If so, the streams of all followers end.
        var isEnding = false
        var streamContinuations: [Int: AsyncStream<Int>.Continuation] = [:]
    }

    /// The number of entries that a follower, a client that streams the journal, may lag behind
    /// before its stream ends.
    private static let followerLagMax = 65_536

    /// The maximum number of notes about errors of Assay.
    private static let notesMax = 100

    /// Errors of Assay itself, which no exchange shows.
    private struct Notes {
        var texts: [String] = []
        var droppedCount = 0
    }

    private let storedJournal: Locked<Journal>
    private let storedNotes = Locked(Notes())
    private let followers = Locked(Followers())
    private let followerCount = Atomic<Int>(0)
    private let time: @Sendable () -> Duration
    private let tap = Locked<(any JournalObserver)?>(nil)
    private let hasObserver = Atomic<Bool>(false)

    /// Creates an empty journal.
    ///
    /// - Parameters:
    ///   - bytesMax: The maximum size of the journal, in bytes.
    ///   - time: Returns the time since any fixed moment; nil uses the clock of this machine.
    package init(bytesMax: Int, time: (@Sendable () -> Duration)? = nil) {
        storedJournal = Locked(Journal(bytesMax: bytesMax))
        let startInstant = ContinuousClock.now
        self.time = time ?? { ContinuousClock.now - startInstant }
    }

    /// The time in microseconds since the journal was created.
    package var elapsedMicroseconds: Int64 {
        let components = time().components
        return components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
    }

    /// Writes a request to the journal before the request is sent, and returns the number of the
    /// exchange.
    package func begin(_ exchange: Exchange) -> Int {
        var exchange = exchange
        exchange.invoked = elapsedMicroseconds
        let entry = Journal.Entry(exchange)
        let sequence = storedJournal.withLock { $0.append(entry) }
        if let tap = currentObserver {
            exchange.sequence = sequence
            tap.began(exchange)
        }
        return sequence
    }

    /// Sets the observer that receives everything that is written to the journal from now on.
    package func tap(_ tap: any JournalObserver) {
        self.tap.withLock { $0 = tap }
        hasObserver.store(true, ordering: .releasing)
    }

    private var currentObserver: (any JournalObserver)? {
        guard hasObserver.load(ordering: .acquiring) else { return nil }
        return tap.withLock { $0 }
    }

    /// Writes the complete body of a request that was written to the journal before its body was
    /// complete.
    package func sent(_ sequence: Int, _ fields: [HTTPMessage.Field], _ body: [UInt8]) {
        storedJournal.withLock { $0.sent(sequence, fields, body) }
        currentObserver?.sent(sequence, fields, body)
    }

    /// Passes a message on a WebSocket to the observer of the journal.
    ///
    /// The journal does not keep the message, because no rule checks messages on WebSockets.
    package func recordWebSocketMessage(_ message: WebSocketMessage) {
        currentObserver?.recordWebSocketMessage(message, at: elapsedMicroseconds)
    }

    package func complete(
        _ sequence: Int,
        _ outcome: Exchange.Outcome,
        effects: [Effect] = [],
        namespace: String? = nil
    ) {
        let now = elapsedMicroseconds
        storedJournal.withLock {
            $0.complete(sequence, outcome, effects: effects, namespace: namespace, at: now)
        }
        currentObserver?.completed(sequence, outcome, effects, namespace: namespace, at: now)
        notifyFollowers(sequence)
    }

    /// Writes the request and the response of an exchange that has already ended.
    ///
    /// `invoked` is the start time of the exchange, in microseconds since the journal was created.
    ///
    /// An exchange that gets no response may stay open until `complete`.
    ///
    /// - Returns: The number of the exchange.
    @discardableResult
    package func write(_ exchange: Exchange, invoked: Int64, staysOpen: Bool = false) -> Int {
        var exchange = exchange
        exchange.invoked = invoked
        exchange.completed = staysOpen ? nil : elapsedMicroseconds
        let entry = Journal.Entry(exchange)
        let sequence = storedJournal.withLock { $0.append(entry) }
        if let tap = currentObserver {
            exchange.sequence = sequence
            tap.began(exchange)
            if let completed = exchange.completed {
                tap.completed(
                    sequence,
                    exchange.outcome,
                    exchange.effects,
                    namespace: exchange.namespace,
                    at: completed
                )
            }
        }
        notifyFollowers(sequence)
        return sequence
    }

    private func notifyFollowers(_ sequence: Int) {
        // There is almost never a follower, and this check needs no lock.
        guard followerCount.load(ordering: .relaxed) > 0 else { return }
        let laggingStreams = followers.withLock { followers in
            var laggingStreams: [AsyncStream<Int>.Continuation] = []
            for stream in followers.streamContinuations.values {
                // A follower that missed an entry would show an incomplete journal, so its stream
                // ends.
                if case .dropped = stream.yield(sequence) { laggingStreams.append(stream) }
            }
            return laggingStreams
        }
        for stream in laggingStreams { stream.finish() }
    }

    /// Records an error of Assay itself, which no exchange shows.
    ///
    /// An identical note is not repeated.
    package func note(_ text: String) {
        storedNotes.withLock { notes in
            guard !notes.texts.contains(text) else { return }
            guard notes.texts.count < Self.notesMax else { return notes.droppedCount += 1 }
            notes.texts.append(text)
        }
    }

    /// The recorded errors of Assay itself, in order.
    package var notes: [String] {
        storedNotes.withLock { notes in
            notes.droppedCount == 0
                ? notes.texts : notes.texts + ["\(notes.droppedCount) more notes were dropped"]
        }
    }

    package func read<Result: Sendable>(_ body: (borrowing Journal) -> Result) -> Result {
        storedJournal.withLock { body($0) }
    }

    /// Whether the streams of all followers of the journal end because the server is stopping.
    package var isEnding: Bool { followers.withLock { $0.isEnding } }

    /// Returns a stream of the numbers of the journal entries that are completed from now on.
    ///
    /// The stream ends when its follower lags more than 65,536 entries behind.
    package func follow() -> AsyncStream<Int> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Int.self,
            bufferingPolicy: .bufferingOldest(Self.followerLagMax)
        )
        let streamNumber = followers.withLock { followers in
            followers.nextStreamNumber += 1
            followers.streamContinuations[followers.nextStreamNumber] = continuation
            return followers.nextStreamNumber
        }
        followerCount.add(1, ordering: .relaxed)
        continuation.onTermination = { [weak self] _ in
            self?.followers.withLock { $0.streamContinuations[streamNumber] = nil }
            self?.followerCount.subtract(1, ordering: .relaxed)
        }
        return stream
    }

    /// Ends the stream of every follower of the journal, so that a server can stop.
    package func endFollowing() {
        let streamContinuations = followers.withLock { followers in
            followers.isEnding = true
            return Array(followers.streamContinuations.values)
        }
        for stream in streamContinuations { stream.finish() }
    }
}
