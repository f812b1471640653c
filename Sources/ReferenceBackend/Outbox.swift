internal import AsyncHTTPClient
internal import Crypto
internal import Foundation
internal import GRDB
internal import NIOConcurrencyHelpers
internal import NIOCore
internal import NIOHTTP1

/// The queue of push messages for OneSignal.
///
/// A message is stored together with the state, sent after the commit, and retried with the same
/// key until OneSignal accepts it (S-05, S-30, O-03).
final class Outbox: Sendable {
    struct Message: Codable, FetchableRecord, Sendable {
        var id: Int64
        var key: String
        var recipient: String
        var text: String
        var attemptCount: Int
    }

    /// A push message that is not stored in the database yet.
    struct Draft: Sendable {
        var key: String
        var recipient: String
        var text: String
        /// The time of the first attempt, in milliseconds since 1970.
        var dueAt: Int64
    }

    struct PushServiceSettings: Sendable {
        let baseURL: String
        let appID: String
        let apiKey: String
    }

    struct Policy: Sendable {
        var key = Outbox.key
        var persist = Outbox.persist
        var waitingMessages = Outbox.waitingMessages
        var sendOnce = Outbox.sendOnce
        var authorization = Outbox.authorization
        var body = Outbox.body
        var result = Outbox.result
        var nextAction = Outbox.nextAction
    }

    let store: Store
    let pushService: PushServiceSettings
    let client: HTTPClient
    private let wakeUpSignals: AsyncStream<Void>
    private let wakeUpContinuation: AsyncStream<Void>.Continuation
    private let messageIDsInFlight = NIOLockedValueBox<Set<Int64>>([])

    private static let attemptCountMax = 12
    /// The delay after a failed read of the database, before the next read.
    private static let readRetryDelay: Duration = .milliseconds(100)
    private var policy: Policy { store.policies.outbox }

    init(store: Store, pushService: PushServiceSettings, client: HTTPClient) {
        self.store = store
        self.pushService = pushService
        self.client = client
        (wakeUpSignals, wakeUpContinuation) = AsyncStream.makeStream(
            bufferingPolicy: .bufferingNewest(1)
        )
        wakeUpContinuation.yield()
    }

    /// Adds a push message to the database transaction that changes the state.
    ///
    /// The idempotency key is derived from the event.
    static func enqueue(
        _ store: Store,
        _ db: Database,
        _ eventID: String,
        recipient: String,
        text: String
    ) throws {
        let policy = store.policies.outbox
        let draft = Draft(
            key: policy.key(eventID),
            recipient: recipient,
            text: text,
            dueAt: WallClock.now()
        )
        try policy.persist(db, draft)
    }

    /// Stores a push message in the database, because a message in memory is lost when the process
    /// ends (S-05).
    static func persist(_ db: Database, _ draft: Draft) throws {
        try db.execute(
            sql: "INSERT INTO outbox (key, recipient, text, dueAt) VALUES (?, ?, ?, ?)",
            arguments: [draft.key, draft.recipient, draft.text, draft.dueAt]
        )
    }

    /// Returns the idempotency key for an event: a version 5 UUID that is derived from the event
    /// ID, so that every attempt has the same key.
    static func key(for eventID: String) -> String {
        var bytes = Array(Insecure.SHA1.hash(data: Data("assay-outbox/\(eventID)".utf8)).prefix(16))
        bytes[6] = bytes[6] & 0x0f | 0x50
        bytes[8] = bytes[8] & 0x3f | 0x80
        let hex = bytes.hex
        let groupBoundaries = [0, 8, 12, 16, 20, 32]
        return zip(groupBoundaries, groupBoundaries.dropFirst()).map { from, to in
            String(hex.dropFirst(from).prefix(to - from))
        }.joined(separator: "-")
    }

    func wake() { wakeUpContinuation.yield() }

    /// Sends the messages that are due, until the task is canceled.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await _ in wakeUpSignals {
                let messages: [(Message, Int64)]
                do {
                    messages = try await waitingMessages()
                } catch {
                    await wakeLater()
                    continue
                }
                for (message, dueAt) in messages {
                    guard messageIDsInFlight.withLockedValue({ $0.insert(message.id).inserted })
                    else {
                        continue
                    }
                    group.addTask {
                        do {
                            // The message is released before the next read of the queue, which
                            // would otherwise skip the message.
                            defer { self.releaseInFlight(message) }
                            try await self.send(message, dueAt: dueAt)
                        } catch {
                            await self.wakeLater()
                        }
                    }
                }
            }
        }
    }

    /// Requests another read of the queue after a delay, because messages may still wait after a
    /// failed read.
    private func wakeLater() async {
        // Cancellation of the task ends the delay early. It also ends `run()`, so its error is
        // ignored here.
        try? await Task.sleep(for: Self.readRetryDelay)
        wake()
    }

    private func releaseInFlight(_ message: Message) {
        _ = messageIDsInFlight.withLockedValue { $0.remove(message.id) }
    }

    private func waitingMessages() async throws -> [(Message, Int64)] {
        let policy = policy
        return try await store.pool.read { db in try policy.waitingMessages(db) }
    }

    /// Returns all waiting messages, including those of an earlier process, with the times at which
    /// they are due.
    static func waitingMessages(_ db: Database) throws -> [(Message, Int64)] {
        try Row.fetchAll(db, sql: "SELECT * FROM outbox WHERE state = 'waiting' ORDER BY id")
            .map { row in (try Message(row: row), row["dueAt"]) }
    }

    private func send(_ message: Message, dueAt: Int64) async throws {
        // An earlier attempt may have ended after the list was read, so the state of the message is
        // read again.
        guard try await isWaiting(message.id) else { return }
        var message = message
        var waitInMilliseconds = dueAt - WallClock.now()
        while !Task.isCancelled {
            // Cancellation ends the wait early. It also ends the loop, after one last attempt.
            if waitInMilliseconds > 0 {
                try? await Task.sleep(for: .milliseconds(waitInMilliseconds))
            }
            let result = await policy.sendOnce(self, message, .seconds(2))
            message.attemptCount += 1
            switch policy.nextAction(result, message.attemptCount) {
            case .finish(let state):
                await finish(message, state)
                return
            case .retry(let retryDelayInMilliseconds):
                waitInMilliseconds = retryDelayInMilliseconds
                await postponeRetry(message, by: waitInMilliseconds)
            }
        }
    }

    /// The next action after an attempt to send a message.
    enum NextAction: Sendable {
        /// The message gets no further attempt.
        ///
        /// The string is its final state in the database.
        case finish(String)
        /// The message is sent again after this many milliseconds.
        case retry(after: Int64)
    }

    /// Returns the next action after an attempt.
    ///
    /// A message is retried until it is accepted or refused, or until all attempts are used up, and
    /// never before the time that OneSignal asked for (S-30, O-04).
    static func nextAction(_ result: Result, attemptCount: Int) -> NextAction {
        switch result {
        case .accepted: .finish("sent")
        case .refused: .finish("refused")
        case .failed where attemptCount >= attemptCountMax: .finish("given up")
        case .failed(let retryAfter): .retry(after: retryAfter ?? 100 << min(attemptCount, 10))
        }
    }

    private func isWaiting(_ id: Int64) async throws -> Bool {
        let state = try await store.pool.read { db in
            try String.fetchOne(db, sql: "SELECT state FROM outbox WHERE id = ?", arguments: [id])
        }
        return state == "waiting"
    }

    func finish(_ message: Message, _ state: String) async {
        // If the write fails, the message stays in the queue. The next read sends it again, with
        // the same idempotency key.
        try? await store.pool.write { db in
            try db.execute(
                sql: "UPDATE outbox SET state = ?, attemptCount = ? WHERE id = ?",
                arguments: [state, message.attemptCount, message.id]
            )
        }
    }

    private func postponeRetry(_ message: Message, by waitInMilliseconds: Int64) async {
        // The running task keeps the delay itself. If the write fails, a restarted backend only
        // sends the message earlier.
        try? await store.pool.write { db in
            try db.execute(
                sql: "UPDATE outbox SET attemptCount = ?, dueAt = ? WHERE id = ?",
                arguments: [message.attemptCount, WallClock.now() + waitInMilliseconds, message.id]
            )
        }
    }

    enum Result: Sendable {
        case accepted
        /// OneSignal refused the message permanently, so another attempt would not help.
        case refused
        /// The attempt failed.
        ///
        /// The value is the delay in milliseconds that OneSignal asked for; nil without a delay.
        case failed(retryAfter: Int64?)
    }

    /// Sends a message to OneSignal once, with `POST /notifications`.
    static func sendOnce(
        _ outbox: Outbox,
        _ message: Message,
        timeout: TimeAmount
    ) async -> Result {
        let policy = outbox.policy
        var request = HTTPClientRequest(url: outbox.pushService.baseURL + "/notifications")
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/json")
        request.headers.add(name: "authorization", value: policy.authorization(outbox.pushService))
        let body = policy.body(message, outbox.pushService)
        // A body that cannot be encoded would fail in each further attempt.
        guard let data = try? JSONSerialization.data(withJSONObject: body) else { return .refused }
        request.body = .bytes(ByteBuffer(bytes: data))
        // A call that fails is retried.
        guard let response = try? await outbox.client.execute(request, timeout: timeout),
            let reply = try? await response.body.collect(upTo: 1 << 20)
        else { return .failed(retryAfter: nil) }
        let waitInMilliseconds = response.headers.first(name: "retry-after").flatMap(milliseconds)
        return policy.result(
            message,
            PushServiceResponse(
                status: response.status.code,
                retryAfter: waitInMilliseconds,
                body: Data(reply.readableBytesView)
            )
        )
    }

    /// Converts a `Retry-After` value in seconds to milliseconds, limited to between zero and one
    /// day.
    static func milliseconds(_ retryAfter: String) -> Int64? {
        Int64(retryAfter).map { min(max($0, 0), 86_400) * 1000 }
    }

    static func authorization(_ pushService: PushServiceSettings) -> String {
        "Key " + pushService.apiKey
    }

    /// Returns the body of the request to OneSignal.
    ///
    /// It addresses one user by the ID with which the app logs in, and has one idempotency key for
    /// all attempts.
    static func body(_ message: Message, _ pushService: PushServiceSettings) -> [String: Any] {
        [
            "app_id": pushService.appID,
            "target_channel": "push",
            "include_aliases": ["external_id": [message.recipient]],
            "contents": ["en": message.text],
            "idempotency_key": message.key,
        ]
    }

    /// The parts of a OneSignal response that the outbox uses.
    struct PushServiceResponse: Sendable {
        let status: UInt
        /// The delay in milliseconds that OneSignal asked for; nil without a delay.
        let retryAfter: Int64?
        let body: Data

        var json: [String: Any] {
            // A body that is not a JSON object has no ID and no errors; the status decides.
            (try? JSONSerialization.jsonObject(with: body)) as? [String: Any] ?? [:]
        }
    }

    /// Returns the result of an attempt.
    ///
    /// A 200 response counts as accepted only if it has an ID, because without an ID the message
    /// reached no device (S-30).
    static func result(_ message: Message, _ reply: PushServiceResponse) -> Result {
        switch reply.status {
        case 200..<300:
            let id = reply.json["id"] as? String ?? ""
            return id.isEmpty ? .failed(retryAfter: nil) : .accepted
        case 408, 409, 425, 429, 500...: return .failed(retryAfter: reply.retryAfter)
        default: return .refused
        }
    }
}
