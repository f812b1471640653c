import ContractFiles
import Contracts
internal import Providers
import Recording
import Testing
import Values

@Suite("Distiller")
struct DistillerTests {
    private static let base: Int64 = 1_790_000_000_000
    private static let uuid = "1B4E28BA-2FA1-41D2-883F-0016D3CCA427"

    private func event(
        _ sequence: Int,
        _ type: String = "INITIAL_PURCHASE",
        id: String = Self.uuid,
        user: String = "user-17"
    ) -> Exchange {
        RecordingFileTests.exchange(
            sequence,
            from: .revenueCat,
            "POST",
            "/hooks/rc",
            body: [
                "event": [
                    "type": .string(type), "id": .string(id), "app_user_id": .string(user),
                    "event_timestamp_ms": .integer(Self.base),
                    "expiration_at_ms": .integer(Self.base + 30 * 86_400_000),
                    "transaction_id": "2000000123456789", "price": .number(JSONNumber(9.99)),
                ]
            ],
            answer: ["received": true]
        )
    }

    private func distill(_ exchanges: [Exchange]) -> [Contract] {
        Distiller.contracts(
            Recording(header: RecordingFileTests.header, exchanges: exchanges),
            Distiller.Options(id: "session/golden", source: "recordings/session")
        ).contracts
    }

    private func text(_ exchanges: [Exchange]) throws -> String {
        let contract = try #require(distill(exchanges).first)
        return ContractWriter.text(contract, id: contract.id)
    }

    private static let edges: [JSONValue] =
        [.min, .min + 1, -1, 0, 1, 999_999_999_999, base, 4_102_444_800_000, .max - 1, .max]
        .map { JSONValue.integer($0) }
        + [
            .number(JSONNumber(1e308)), .number(JSONNumber(-1e308)), .number(JSONNumber(1e-300)),
            "", "-9223372036854775808", "0000-01-01T00:00:00Z", "0000-00-00T00:00:00Z",
            "9999-12-31T23:59:59.999999999999999999999Z", "2026-09-21T14:13:21+9999",
            "2026-09-21 14:13:21-", "----------T--:--:--Z", .null, .bool(true), [], [:],
        ]

    /// What stands in a date, an id or an amount is others' affair: a session is distilled, and its
    /// contract can be read.
    @Test("any value in any location is distilled", arguments: edges)
    func whatever(value: JSONValue) throws {
        for key in ["created_at", "time", "iat", "exp", "id", "user_id", "price", "amount", "n"] {
            let sent: JSONValue = [key: value, "app_user_id": "user-17", "list": [[key: value]]]
            let call = RecordingFileTests.exchange(2, "POST", "/x", body: sent, answer: sent)
            let event = RecordingFileTests.exchange(
                3,
                from: .revenueCat,
                "POST",
                "/hooks/rc",
                body: [
                    "event": [
                        "type": "RENEWAL", "id": .string(Self.uuid), "app_user_id": "user-17",
                        "event_timestamp_ms": value, "expiration_at_ms": value,
                        "purchased_at_ms": value, "transaction_id": value, "price": value,
                    ]
                ],
                answer: [key: value]
            )
            let contracts = distill([self.event(1), call, event])
            for contract in contracts {
                let text = ContractWriter.text(contract, id: contract.id)
                let read = ContractParser.parse(text, path: "golden.yaml", id: contract.id)
                guard case .success = read else {
                    Issue.record("\(key) \(value): \(read)\n\(text)")
                    continue
                }
            }
            #expect(!contracts.isEmpty)
        }
    }

    @Test(
        "a date that means never stays one",
        arguments: ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"]
    )
    func never(date: String) throws {
        let call = RecordingFileTests.exchange(
            2,
            "GET",
            "/x",
            body: nil,
            answer: ["until": .string(date)]
        )
        #expect(try text([call]).contains(date))
    }

    @Test func `ids, times and amounts get names, and the rest stays literal`() throws {
        let read = RecordingFileTests.exchange(
            2,
            "GET",
            "/subscriptions/user-17",
            body: nil,
            answer: [
                "access": true, "until": .integer(Self.base + 30 * 86_400_000),
                "price": .number(JSONNumber(9.99)),
                "id": 4711, "seen": "2026-09-21T14:13:21.500Z",
                "trace": .string(Self.uuid.lowercased()),
                "plan": "premium",
            ]
        )
        let text = try text([event(1), read])
        for part in [
            #""id": "{{event-id.initial-purchase}}""#, #""app_user_id": "{{user.ada}}""#,
            #""event_timestamp_ms": "{{now}}""#, #""expiration_at_ms": "{{now+30d}}""#,
            #""transaction_id": "{{some.transaction1}}""#, #""price": "{{some.amount1}}""#,
            "amount1: 9.99", #"send: "GET /subscriptions/{{user.ada}}""#,
            #""until": "{{now+30d}}""#,
            #""id": "{{any.number}}""#, #""seen": "{{any.timestamp}}""#, #""plan": "premium""#,
            #""trace": "{{any.uuid}}""#, #""access": true"#,
        ] {
            #expect(text.contains(part), "\(part) is missing in\n\(text)")
        }
        #expect(!text.contains("user-17") && !text.contains("1790000000000"))
    }

    @Test func `polling until ready becomes one step with its last response`() {
        func read(_ sequence: Int, _ status: Int, _ token: String? = nil) -> Exchange {
            var exchange = RecordingFileTests.exchange(
                sequence,
                "GET",
                "/subscriptions/user-17",
                body: nil,
                status: status
            )
            exchange.request.fields = token.map { [.init("Authorization", "Bearer " + $0)] } ?? []
            return exchange
        }
        func statuses(_ exchanges: [Exchange]) -> [Int?] {
            distill([event(1)] + exchanges).first?.steps.compactMap { step in
                if case .request(let request) = step { request.answer?.status } else { nil }
            } ?? []
        }
        #expect(statuses([read(2, 404), read(3, 404), read(4, 200)]) == [200])
        // Somebody else asking the same is no poll.
        let token = "‹token:0123456789ab›"
        #expect(statuses([read(2, 200, token), read(3, 401)]) == [200, 401])
    }

    /// The event is as old as the session, and the backend's clock says the same second.
    @Test func `a clock that was cut to its second is not taken for an event's time`() throws {
        let read = RecordingFileTests.exchange(
            2,
            "GET",
            "/subscriptions/user-17",
            body: nil,
            answer: ["checked": "2026-09-21T14:13:20Z", "until": "2026-10-21T14:13:20Z"]
        )
        let text = try text([event(1), read])
        #expect(text.contains(#""checked":"{{any.timestamp}}""#), "\(text)")
        #expect(text.contains(#""until":"{{date+30d}}""#), "\(text)")
    }

    @Test func `a value captured from a response and used later has one name`() throws {
        let first = RecordingFileTests.exchange(1, answer: ["token": "‹token:0123456789ab›"])
        var second = RecordingFileTests.exchange(2, "GET", "/me", body: nil)
        second.request.fields = [.init("Authorization", "Bearer ‹token:0123456789ab›")]
        let text = try text([first, second])
        #expect(text.contains(#""token":"{{some.token1}}""#), "\(text)")
        #expect(text.contains(#"authorization: "Bearer {{some.token1}}""#), "\(text)")
    }

    @Test func `unrelated users get separate contracts`() {
        let contracts = distill([
            event(1), event(2, id: Self.uuid.replacing("1B", with: "2C"), user: "other-9"),
        ])
        #expect(contracts.map(\.id) == ["session/golden-ada", "session/golden-bob"])
    }

    @Test func `a repeated event is a repeat`() {
        let contract = distill([event(1), event(2)]).first
        let subjects = contract?.steps.compactMap { step -> Delivery.Subject? in
            if case .deliver(let delivery) = step { delivery.subject } else { nil }
        }
        #expect(subjects?.last == .repeats("initial-purchase"))
    }

    @Test func `twice distilled is the same bytes, and is read again as the same contract`() throws
    {
        let exchanges = [RecordingFileTests.exchange(0), event(1), event(2, "RENEWAL")]
        let first = try text(exchanges)
        #expect(try text(exchanges) == first)
        let contract = try #require(distill(exchanges).first)
        let read = try ContractParser.parse(first, path: "x.yaml", id: "session/golden").get()
        let again = try #require(read.first)
        #expect(ContractChange.changes(from: contract, to: again).isEmpty, "\(first)")
        #expect(again.values == contract.values)
        #expect(again.provenance?.recorded == contract.provenance?.recorded)
    }

    @Test func `a difference is described in contract terms`() throws {
        let old = try #require(distill([event(1)]).first)
        var changed = event(1)
        changed.outcome = .answered(
            HTTPMessage.Response(202, json: ["received": true, "grace_period": 3])
        )
        let new = try #require(distill([changed, event(2, "RENEWAL", id: "E-2")]).first)
        let changes = ContractChange.changes(from: old, to: new)
        func change(_ place: [String], _ pointer: String? = nil) -> [ContractChange] {
            changes.filter { $0.place == place && $0.pointer?.description == pointer }
        }
        let answer = ["steps", "deliver initial-purchase", "response"]
        #expect(change(["steps", "deliver renewal"]).map(\.old) == [nil])
        #expect(change(answer + ["status"]).map(\.old) == ["200"])
        #expect(change(answer + ["status"]).map(\.new) == ["202"])
        #expect(change(answer + ["body"], "/grace_period").map(\.new) == ["3"])
        #expect(ContractChange.changes(from: old, to: old).isEmpty)
    }

    /// Of a backend that may send none by design nobody could see that one is missing.
    @Test func `without messages in the session none is expected`() {
        let (contracts, notes) = Distiller.contracts(
            Recording(header: RecordingFileTests.header, exchanges: [event(1)]),
            Distiller.Options(id: "session/golden", source: "recordings/session")
        )
        #expect(contracts.map(\.expectation.effects) == [[]])
        #expect(notes == ["the backend sent no push in this session, so pushes are not checked"])
    }

    @Test func `messages to users are counted and quoted`() throws {
        var push = RecordingFileTests.exchange(
            2,
            from: .backend,
            "POST",
            "/notifications",
            body: [:]
        )
        push.to = .oneSignal
        push.effects = [
            Effect(
                kind: "onesignal.notification",
                recipients: ["user-17"],
                content: ["contents": ["en": "Welcome"]]
            )
        ]
        let contract = try #require(distill([event(1), push, push]).first)
        let effects = contract.expectation.effects
        #expect(effects.map(\.countMin) == [2, 2])
        #expect(effects.first?.audience == Audience(users: ["ada"]))
        #expect(effects.first?.expectedContent == ["contents": ["en": "Welcome"]])
        #expect(contract.needs == [.push])
        // Whoever bought nothing beside somebody who was told is to be told nothing.
        var greeting = RecordingFileTests.exchange(3, body: ["appUserId": "user-18"])
        greeting.outcome = .answered(HTTPMessage.Response(200, json: ["id": "user-18"]))
        let both = distill([event(1), push, greeting])
        #expect(both.map { $0.expectation.effects.map(\.countMax) } == [[1, 1], [0]])
    }
}
