internal import Providers
import Testing
import Values

@Suite("Journal")
struct JournalTests {
    private func exchange(_ namespace: String, body: [UInt8] = [1, 2, 3]) -> Exchange {
        Exchange(
            from: .backend,
            to: .oneSignal,
            namespace: namespace,
            purpose: .delivery(name: "purchase", attempt: 3),
            at: Instant(milliseconds: 1000),
            request: HTTPMessage.Request(
                "POST",
                "/notifications?c=push",
                fields: [HTTPMessage.Field("content-type", "application/json")],
                body: body
            ),
            invoked: 7
        )
    }

    @Test(
        "overlapping open requests are counted once",
        arguments: [
            ([(0, 10)], 10), ([(0, 10), (5, 12)], 12), ([(0, 10), (20, 30)], 20),
            ([(0, 100), (5, 10), (90, 120)], 120), ([(0, -1)], 0), ([], 0),
        ] as [([(Int64, Int64)], Int64)]
    )
    func totalResponseWaitTime(requests: [(Int64, Int64)], microseconds: Int64) {
        var journal = Journal()
        for (invoked, completed) in requests {
            var request = exchange("n")
            (request.from, request.to, request.invoked) = (.revenueCat, .backend, invoked)
            request.completed = completed < 0 ? nil : completed
            _ = journal.append(request)
            var restart = request
            (restart.purpose, restart.completed) = (.restart("SIGKILL"), 10_000)
            _ = journal.append(restart)
            _ = journal.append(exchange("to somebody else"))
        }
        #expect(journal.totalResponseWaitTime(of: .backend) == .microseconds(microseconds))
    }

    @Test func `the open time is unknown after entries were forgotten`() {
        var journal = Journal(bytesMax: 1)
        for _ in 0..<3 { _ = journal.append(exchange("n")) }
        #expect(journal.totalResponseWaitTime(of: .backend) == nil)
    }

    @Test(
        "an exchange is read back unchanged",
        arguments: [
            Exchange.Purpose.call, .sentinel, .registration(user: "ada"),
            .probe(name: "user", user: "ada"), .restart("SIGKILL"),
            .delivery(name: "x", attempt: 6),
        ]
    )
    func keepsPurpose(purpose: Exchange.Purpose) {
        var journal = Journal()
        var original = exchange("n")
        original.purpose = purpose
        let number = journal.append(original)
        #expect(number == 0)
        #expect(journal.exchanges == [original])
    }

    @Test(
        "an outcome is read back unchanged",
        arguments: [
            Exchange.Outcome.answered(
                HTTPMessage.Response(200, json: ["id": "x"], fields: [.init("retry-after", "1")])
            ),
            .answerLost(nil), .answerLost(HTTPMessage.Response(200)), .requestCut,
            .failed(.timedOut, "no answer within 60 s"),
        ]
    )
    func keepsOutcome(outcome: Exchange.Outcome) {
        var journal = Journal()
        let number = journal.append(exchange("n"))
        let effect = Effect(
            kind: "onesignal.notification",
            recipients: ["a", "b"],
            content: ["contents": ["en": "Hello"]],
            idempotencyKey: "k"
        )
        journal.complete(number, outcome, effects: [effect], at: 99)
        #expect(journal.exchanges.first?.outcome == outcome)
        #expect(journal.exchanges.first?.effects == [effect])
        #expect(journal.exchanges.first?.completed == 99)
    }

    @Test func `invocations are ordered and found by namespace`() {
        var journal = Journal()
        for namespace in ["a", "b", "a"] { _ = journal.append(exchange(namespace)) }
        #expect(journal.exchanges(in: "a").map(\.sequence) == [0, 2])
        #expect(journal.exchanges(in: "a", from: 1).map(\.sequence) == [2])
        #expect(journal.lastActivityTime(in: "a") == 7)
        #expect(journal.lastActivityTime(in: "c") == nil)
    }

    @Test func `a full journal drops the oldest entries and reports it`() {
        var journal = Journal(bytesMax: 20_000)
        for _ in 0..<5000 {
            _ = journal.append(exchange("a", body: .init(repeating: 0, count: 100)))
        }
        #expect(journal.byteCount <= 20_000)
        #expect(journal.droppedEntryCount > 4800)
        #expect(!journal.isComplete(since: 0))
        #expect(journal.isComplete(since: journal.nextSequence - 1))
        #expect(journal.exchanges.last?.sequence == 4999)
        // A completion of something forgotten is dropped with it.
        journal.complete(0, .requestCut, at: 1)
        #expect(journal.exchanges.first?.outcome == .pending)
    }

    @Test func `an entry costs at most its body and 512 bytes`() {
        var journal = Journal()
        let body = [UInt8](repeating: 0x20, count: 650)
        var original = exchange("20eisnuvkso-1234", body: body)
        original.request.fields += [
            HTTPMessage.Field("host", "127.0.0.1:40001"), HTTPMessage.Field("accept", "*/*"),
            HTTPMessage.Field("authorization", "Key os_v2_app_assay"),
            HTTPMessage.Field("content-length", "650"),
        ]
        let number = journal.append(original)
        journal.complete(number, .answered(HTTPMessage.Response(200, json: ["id": "x"])), at: 1)
        #expect(journal.byteCount <= body.count + 512)
    }
}
