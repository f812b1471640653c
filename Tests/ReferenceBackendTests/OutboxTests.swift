import AsyncHTTPClient
import Foundation
import GRDB
import NIOConcurrencyHelpers
import Testing

@testable import ReferenceBackend

@Suite("Outgoing messages")
struct OutboxTests {
    @Test func `the key is a version 5 UUID of the event, and another for another`() {
        var seen: Set<String> = []
        for number in 0..<500 {
            let key = Outbox.key(for: "event-\(number)")
            #expect(UUID(uuidString: key) != nil, "\(key)")
            let marks = Array(key)
            #expect(marks[14] == "5", "\(key)")
            #expect("89ab".contains(marks[19]), "\(key)")
            #expect(key == Outbox.key(for: "event-\(number)"), "every attempt has the same one")
            seen.insert(key)
        }
        #expect(seen.count == 500)
    }

    private func answer(_ status: UInt, _ body: String, _ wait: Int64? = nil)
        -> Outbox.PushServiceResponse
    {
        Outbox.PushServiceResponse(status: status, retryAfter: wait, body: Data(body.utf8))
    }

    private static let message = Outbox.Message(
        id: 1,
        key: "k",
        recipient: "ada",
        text: "Hello",
        attemptCount: 0
    )

    @Test(
        "an acceptance counts with an id alone",
        arguments: [
            (200, #"{"id": "n1"}"#, "accepted"), (202, #"{"id": "n1"}"#, "accepted"),
            (200, #"{"id": ""}"#, "again"), (200, #"{"errors": ["x"]}"#, "again"),
            (200, "<html>", "again"), (200, "", "again"), (200, #"{"id": 5}"#, "again"),
            (400, #"{"id": "n1"}"#, "refused"), (401, "", "refused"), (404, "", "refused"),
            (408, "", "again"), (409, "", "again"), (425, "", "again"), (429, "", "again"),
            (500, "", "again"), (502, "", "again"), (599, "", "again"), (302, "", "refused"),
        ] as [(UInt, String, String)]
    )
    func results(status: UInt, body: String, expected: String) {
        let result = Outbox.result(Self.message, answer(status, body))
        let name =
            switch result {
            case .accepted: "accepted"
            case .refused: "refused"
            case .failed: "again"
            }
        #expect(name == expected)
    }

    @Test func `a wait that the provider names is kept`() {
        guard
            case .failed(let wait?) = Outbox.result(Self.message, answer(429, "", 3000)),
            case .retry(let after) = Outbox.nextAction(.failed(retryAfter: wait), attemptCount: 1)
        else {
            Issue.record("it is to be tried again")
            return
        }
        #expect(after == 3000)
    }

    @Test(
        "a wait is read in seconds, and stays within reason",
        arguments: [
            ("0", 0), ("3", 3000), ("86400", 86_400_000), ("-5", 0),
            ("9223372036854775807", 86_400_000), ("-9223372036854775808", 0), ("soon", nil),
            ("", nil), ("3.5", nil), ("99999999999999999999", nil),
        ] as [(String, Int64?)]
    )
    func waits(text: String, milliseconds: Int64?) {
        #expect(Outbox.milliseconds(text) == milliseconds)
    }

    @Test func `the waits double, and after twelve attempts it is given up`() {
        var waits: [Int64] = []
        for count in 1...11 {
            guard
                case .retry(let after) = Outbox.nextAction(
                    .failed(retryAfter: nil),
                    attemptCount: count
                )
            else {
                Issue.record("attempt \(count) is not the last")
                return
            }
            waits.append(after)
        }
        #expect(
            waits == [200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200, 102_400, 102_400]
        )
        for count in [12, 13, 1000] {
            guard
                case .finish("given up") = Outbox.nextAction(
                    .failed(retryAfter: 5),
                    attemptCount: count
                )
            else {
                Issue.record("attempt \(count) is one too many")
                return
            }
        }
    }

    @Test func `accepted and refused messages are final`() {
        guard case .finish("sent") = Outbox.nextAction(.accepted, attemptCount: 1),
            case .finish("refused") = Outbox.nextAction(.refused, attemptCount: 1)
        else {
            Issue.record("nothing follows")
            return
        }
    }

    @Test func `a message is for one person by the id of the app, under its key`() {
        let pushService = Outbox.PushServiceSettings(
            baseURL: "http://x",
            appID: "app",
            apiKey: "secret"
        )
        let body = Outbox.body(Self.message, pushService)
        let aliases = body["include_aliases"] as? [String: [String]]
        #expect(aliases == ["external_id": ["ada"]])
        #expect(body["idempotency_key"] as? String == "k")
        #expect(body["app_id"] as? String == "app")
        #expect(body["target_channel"] as? String == "push")
        #expect((body["contents"] as? [String: String]) == ["en": "Hello"])
        #expect(Outbox.authorization(pushService) == "Key secret")
    }

    @Test func `a message waits in the database, in the order in which it was written`()
        async throws
    {
        let fixture = try StoreFixture()
        let store = fixture.store
        try await store.pool.write { db in
            for number in 0..<3 {
                try Outbox.enqueue(store, db, "e\(number)", recipient: "ada", text: "t\(number)")
            }
        }
        let waitingMessages = try await store.pool.read { db in try Outbox.waitingMessages(db) }
        #expect(waitingMessages.map(\.0.text) == ["t0", "t1", "t2"])
        #expect(waitingMessages.map(\.0.key) == (0..<3).map { Outbox.key(for: "e\($0)") })
        #expect(waitingMessages.allSatisfy { $0.0.attemptCount == 0 && $0.1 <= WallClock.now() })
        try await store.pool.write { db in
            try db.execute(sql: "UPDATE outbox SET state = 'sent' WHERE text = 't1'")
        }
        let rest = try await store.pool.read { db in try Outbox.waitingMessages(db) }
        #expect(rest.map(\.0.text) == ["t0", "t2"])
    }
}

@Suite("Messages behind a database that fails")
struct OutboxReadTests {
    /// Fails as often as it is to, and counts.
    private actor Attempts {
        private var keys: [String] = []
        private var waiters: [CheckedContinuation<String, Never>] = []

        func add(_ key: String) {
            keys.append(key)
            for waiter in waiters { waiter.resume(returning: key) }
            waiters = []
        }

        func first() async -> String {
            if let key = keys.first { return key }
            return await withCheckedContinuation { waiters.append($0) }
        }
    }

    @Test func `a message is sent although the read that looked for it failed`() async throws {
        let attempts = Attempts()
        let failures = NIOLockedValueBox(2)
        var policies = Policies()
        policies.outbox.waitingMessages = { db in
            let isFailing = failures.withLockedValue { left in
                left -= 1
                return left >= 0
            }
            if isFailing { throw DatabaseError(resultCode: .SQLITE_BUSY) }
            return try Outbox.waitingMessages(db)
        }
        policies.outbox.sendOnce = { _, message, _ in
            await attempts.add(message.key)
            return .accepted
        }
        let fixture = try StoreFixture(policies)
        try await fixture.store.pool.write { [store = fixture.store] db in
            try Outbox.enqueue(store, db, "e1", recipient: "ada", text: "Hello")
        }
        let outbox = Outbox(
            store: fixture.store,
            pushService: Outbox.PushServiceSettings(
                baseURL: "http://127.0.0.1:1",
                appID: "a",
                apiKey: "k"
            ),
            client: .shared
        )
        let run = Task { await outbox.run() }
        #expect(await attempts.first() == Outbox.key(for: "e1"))
        run.cancel()
        await run.value
    }
}

@Suite("Concurrent copies meet on a busy machine")
struct RendezvousTests {
    @Test func `two requests with one key continue together`() async {
        let rendezvous = Rendezvous()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<2 { group.addTask { await rendezvous.waitForSecondRequest("k") } }
            await group.waitForAll()
        }
    }

    @Test func `a single request continues after a while`() async {
        await Rendezvous().waitForSecondRequest("alone")
    }

    @Test func `keys do not meet each other, and many pairs do`() async {
        let rendezvous = Rendezvous()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask { await rendezvous.waitForSecondRequest("k\(number / 2)") }
            }
            await group.waitForAll()
        }
    }
}
