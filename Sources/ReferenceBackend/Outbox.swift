internal import AsyncHTTPClient
internal import Crypto
internal import Foundation
internal import GRDB
internal import NIOCore
internal import NIOHTTP1
internal import NIOConcurrencyHelpers

/// Messages that wait for OneSignal: written with the state, sent after the commit, retried until
/// OneSignal has accepted them, always under one key (S-05, S-30, O-03).
final class Outbox: Sendable {
    struct Message: Codable, FetchableRecord, Sendable {
        var id: Int64
        var key: String
        var recipient: String
        var text: String
        var attemptCount: Int
    }

    struct Service: Sendable {
        let baseURL: String
        let appID: String
        let apiKey: String
    }

    private let store: Store
    private let service: Service
    private let client: HTTPClient
    private let wakeUps: AsyncStream<Void>
    private let wakeUp: AsyncStream<Void>.Continuation
    private let inFlight = NIOLockedValueBox<Set<Int64>>([])

    private static let attemptCountMax = 12

    init(store: Store, service: Service, client: HTTPClient) {
        self.store = store
        self.service = service
        self.client = client
        (wakeUps, wakeUp) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        wakeUp.yield()
    }

    /// Puts a message into the transaction that changes the state.
    static func enqueue(
        _ db: Database,
        _ eventID: String,
        recipient: String,
        text: String,
        defects: Set<Defect>
    ) throws {
        // Defect: no-dedupe and its relatives
        let isOwn = !defects.isDisjoint(with: Defect.withOwnKeys)
        let key = isOwn ? UUID().uuidString.lowercased() : key(for: eventID)
        // Defect: outbox-in-memory, which also collects for a moment, as such queues do
        let batchWait: Int64 = defects.contains(.outboxInMemory) ? 400 : 0
        try db.execute(
            sql: "INSERT INTO outbox (key, recipient, text, dueAt) VALUES (?, ?, ?, ?)",
            arguments: [key, recipient, text, Store.now() + batchWait]
        )
    }

    /// A UUID made from the event id (version 5), so that every attempt carries the same one.
    static func key(for eventID: String) -> String {
        var bytes = Array(Insecure.SHA1.hash(data: Data("assay-outbox/\(eventID)".utf8)).prefix(16))
        bytes[6] = bytes[6] & 0x0f | 0x50
        bytes[8] = bytes[8] & 0x3f | 0x80
        let hex = bytes.map { String(format: "%02x", $0) }.joined()
        let cuts = [0, 8, 12, 16, 20, 32]
        return zip(cuts, cuts.dropFirst()).map { from, to in
            String(hex.dropFirst(from).prefix(to - from))
        }.joined(separator: "-")
    }

    func wake() { wakeUp.yield() }

    /// Sends everything that waits and comes back when it is sent; only a defect does.
    func sendAll() async {
        for (message, _) in (try? await waiting()) ?? [] {
            if case .accepted = await attempt(message, timeout: .seconds(12)) {
                await finish(message, "sent")
            }
        }
    }

    /// Sends what is due, for ever.
    func run() async {
        // Defect: outbox-in-memory
        if store.defects.contains(.outboxInMemory) {
            try? await store.pool.write { db in
                try db.execute(sql: "UPDATE outbox SET state = 'lost' WHERE state = 'waiting'")
            }
        }
        await withDiscardingTaskGroup { group in
            for await _ in wakeUps {
                guard let messages = try? await waiting() else { continue }
                for (message, dueAt) in messages {
                    guard inFlight.withLockedValue({ $0.insert(message.id).inserted }) else {
                        continue
                    }
                    group.addTask { await self.send(message, dueAt: dueAt) }
                }
            }
        }
    }

    private func waiting() async throws -> [(Message, Int64)] {
        try await store.pool.read { db in
            try Row.fetchAll(db, sql: "SELECT * FROM outbox WHERE state = 'waiting' ORDER BY id")
                .map { row in (try Message(row: row), row["dueAt"]) }
        }
    }

    private func send(_ message: Message, dueAt: Int64) async {
        defer { _ = inFlight.withLockedValue { $0.remove(message.id) } }
        // The list may be older than the end of an earlier attempt: look again, now that it is ours.
        guard await isWaiting(message.id) else { return }
        var message = message
        var wait = dueAt - Store.now()
        while !Task.isCancelled {
            if wait > 0 { try? await Task.sleep(for: .milliseconds(wait)) }
            let result = await attempt(message)
            message.attemptCount += 1
            switch result {
            case .accepted:
                await finish(message, "sent")
                return
            case .refused:
                // Defect: push-retries-for-ever
                if store.defects.contains(.pushRetriesForEver) {
                    wait = 100
                    continue
                }
                await finish(message, "refused")
                return
            case .failed(let retryAfter):
                // Defect: push-result-ignored
                if store.defects.contains(.pushResultIgnored) {
                    await finish(message, "ignored")
                    return
                }
                guard message.attemptCount < Self.attemptCountMax else {
                    await finish(message, "given up")
                    return
                }
                // Defect: push-ignores-retry-after
                let named = store.defects.contains(.pushIgnoresRetryAfter) ? nil : retryAfter
                wait = named ?? Int64(100) << min(message.attemptCount, 10)
                await postpone(message, by: wait)
            }
        }
    }

    private func isWaiting(_ id: Int64) async -> Bool {
        let state = try? await store.pool.read { db in
            try String.fetchOne(db, sql: "SELECT state FROM outbox WHERE id = ?", arguments: [id])
        }
        return state == "waiting"
    }

    private func finish(_ message: Message, _ state: String) async {
        try? await store.pool.write { db in
            try db.execute(
                sql: "UPDATE outbox SET state = ?, attemptCount = ? WHERE id = ?",
                arguments: [state, message.attemptCount, message.id]
            )
        }
    }

    private func postpone(_ message: Message, by wait: Int64) async {
        try? await store.pool.write { db in
            try db.execute(
                sql: "UPDATE outbox SET attemptCount = ?, dueAt = ? WHERE id = ?",
                arguments: [message.attemptCount, Store.now() + wait, message.id]
            )
        }
    }

    enum Result: Sendable {
        case accepted
        /// The request is wrong; sending it again would not help.
        case refused
        /// Milliseconds to wait, when the provider named them.
        case failed(retryAfter: Int64?)
    }

    /// One call of `POST /notifications`; it counts only when the answer carries an id.
    func attempt(_ message: Message, timeout: TimeAmount = .seconds(2)) async -> Result {
        var request = HTTPClientRequest(url: service.baseURL + "/notifications")
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/json")
        // Defect: push-unauthorised
        let isUnauthorised = store.defects.contains(.pushUnauthorised)
        request.headers.add(
            name: "authorization",
            value: isUnauthorised ? "Key of-another-app" : "Key " + service.apiKey
        )
        var body: [String: Any] = [
            "app_id": service.appID,
            "target_channel": "push",
            "include_aliases": ["external_id": [message.recipient]],
            "contents": ["en": message.text],
            "idempotency_key": message.key,
        ]
        // Defect: push-without-key, push-new-key
        if store.defects.contains(.pushWithoutKey) { body["idempotency_key"] = nil }
        if store.defects.contains(.pushNewKey) { body["idempotency_key"] = UUID().uuidString }
        // Defect: push-to-everyone, push-without-channel
        if store.defects.contains(.pushToEveryone) { body["included_segments"] = ["All"] }
        if store.defects.contains(.pushWithoutChannel) { body["target_channel"] = nil }
        guard let data = try? JSONSerialization.data(withJSONObject: body) else { return .refused }
        request.body = .bytes(ByteBuffer(bytes: data))
        guard let response = try? await client.execute(request, timeout: timeout),
            let answer = try? await response.body.collect(upTo: 1 << 20)
        else { return .failed(retryAfter: nil) }
        switch response.status.code {
        case 200..<300:
            let json =
                try? JSONSerialization.jsonObject(with: Data(answer.readableBytesView))
                as? [String: Any]
            // Defect: push-empty-id-accepted, push-errors-taken-for-failure
            if store.defects.contains(.pushEmptyIDAccepted) { return .accepted }
            if store.defects.contains(.pushErrorsTakenForFailure), json?["errors"] != nil {
                var again = message
                again.key = UUID().uuidString.lowercased()
                return await attempt(again)
            }
            let id = json?["id"] as? String ?? ""
            // Defect: overwrites-tags
            if store.defects.contains(.overwritesTags) { await writeTags(message) }
            return id.isEmpty ? .failed(retryAfter: nil) : .accepted
        case 408, 409, 425, 429, 500...:
            let seconds = response.headers.first(name: "retry-after").flatMap { Int64($0) }
            return .failed(retryAfter: seconds.map { $0 * 1000 })
        default:
            return .refused
        }
    }

    /// Writes tags that RevenueCat keeps itself; only a defect does.
    private func writeTags(_ message: Message) async {
        let allowed = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "-._~"))
        let id = message.recipient.addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
        var request = HTTPClientRequest(
            url: "\(service.baseURL)/apps/\(service.appID)/users/by/external_id/\(id)"
        )
        request.method = .PATCH
        request.headers.add(name: "content-type", value: "application/json")
        request.headers.add(name: "authorization", value: "Key " + service.apiKey)
        let tags: [String: Any] = ["properties": ["tags": ["subscription_status": "active"]]]
        let data = (try? JSONSerialization.data(withJSONObject: tags)) ?? Data()
        request.body = .bytes(ByteBuffer(bytes: data))
        _ = try? await client.execute(request, timeout: .seconds(2))
    }
}
