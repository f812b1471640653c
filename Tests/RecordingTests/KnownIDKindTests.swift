import Contracts
import Providers
import Recording
import Testing
import Values

/// What becomes of each kind of value when a session is made into a contract.
@Suite("Names for a session's values")
struct NamingTests {
    private static let base: Int64 = 1_790_000_000_000
    private static let uuid = "1b4e28ba-2fa1-41d2-883f-0016d3cca427"

    private func contract(_ exchanges: [Exchange]) throws -> Contract {
        try #require(
            Distiller.contracts(
                Recording(header: RecordingFileTests.header, exchanges: exchanges),
                Distiller.Options(id: "session/golden", source: "recordings/session")
            ).contracts.first
        )
    }

    /// The pattern of the last answer.
    private func answer(_ exchanges: [Exchange]) throws -> JSONValue {
        guard case .request(let request)? = try contract(exchanges).steps.last,
            case .json(let value)? = request.answer?.body
        else { throw NoAnswer() }
        return value
    }

    private struct NoAnswer: Error {}

    private static func register(_ extra: JSONObject = [:]) -> Exchange {
        var body: JSONObject = ["appUserId": "user-17"]
        for member in extra.members { body[member.key] = member.value }
        return RecordingFileTests.exchange(0, body: .object(body), answer: [:])
    }

    private static func read(
        _ answer: JSONValue,
        _ target: String = "/subscriptions/user-17",
        number: Int = 1
    ) -> Exchange {
        RecordingFileTests.exchange(number, "GET", target, body: nil, answer: answer)
    }

    // MARK: Shapes

    @Test func `a key keeps what its service puts in front, unless the backend makes it`() throws {
        let mark = "‹key:0a1b2c3d4e5f.rk_live_›"
        let sent = try contract([Self.register(["apiKey": .string(mark)])])
        #expect(sent.values == ["key1": "rk_live_{{some.key1-rest}}"])
        guard case .request(let request)? = sent.steps.first else { throw NoAnswer() }
        #expect(request.body == .json(["appUserId": "{{user.ada}}", "apiKey": "{{some.key1}}"]))
        let given = try contract([
            Self.register(), Self.read(["apiKey": .string(mark)]),
            Self.register(["apiKey": .string(mark)]),
        ])
        #expect(given.values.isEmpty, "the first answer gives it")
    }

    @Test(
        "the longest matching id in a string is replaced, even if another id is its prefix",
        arguments: [
            ("for user-17", "for {{user.ada}}"), ("for user-171!", "for {{user.bob}}!"),
            ("user-17 and user-171 and user-1", "{{user.ada}} and {{user.bob}} and user-1"),
            ("user-1717", "{{user.bob}}7"), ("xuser-17user-171", "x{{user.ada}}{{user.bob}}"),
            ("", ""), ("user-", "user-"),
        ]
    )
    func idsInTexts(text: String, expected: String) throws {
        let other = RecordingFileTests.exchange(1, body: ["appUserId": "user-171"], answer: [:])
        let both = RecordingFileTests.exchange(
            2,
            body: ["appUserId": "user-17", "userId": "user-171"],
            answer: ["text": .string(text)]
        )
        #expect(try answer([Self.register(), other, both])["text"] == .string(expected))
    }

    // MARK: Answers

    private static let leaves: [(String, JSONValue, JSONValue)] = [
        ("plan", "premium", "premium"), ("count", 3, 3), ("on", true, true), ("none", .null, .null),
        ("owner", "user-17", "{{user.ada}}"), ("text", "for user-17!", "for {{user.ada}}!"),
        ("id", 4711, "{{any.number}}"), ("orderId", 4711, "{{any.number}}"),
        ("idea", 4711, 4711), ("ids", 4711, 4711),
        ("id", .number(JSONNumber(4.5)), .number(JSONNumber(4.5))),
        ("id", .string(uuid), "{{any.uuid}}"), ("x", .string(uuid.uppercased()), "{{any.uuid}}"),
        ("x", .string(uuid + "0"), "{{any.text}}"),
        ("seen", "2026-09-21T14:13:21.500Z", "{{any.timestamp}}"),
        ("seen", .integer(base + 500), "{{any.timestamp}}"),
        ("iat", .integer(base / 1000), "{{any.timestamp}}"),
        ("createdAt", .integer(base / 1000), "{{any.timestamp}}"),
        ("rows", .integer(base / 1000), .integer(base / 1000)),
        ("old", 999_999_999_999, 999_999_999_999),
        ("token", "a1b2c3d4e5f6a7b8", "{{any.text}}"),
        ("word", "a1b2c3d4e5f6a7b", "a1b2c3d4e5f6a7b"),
        ("word", "premium-monthly-plan", "premium-monthly-plan"),
        ("word", "a1 b2 c3 d4 e5 f6 a7", "a1 b2 c3 d4 e5 f6 a7"),
        ("braces", "{{user.ada}}", "{{{{user.ada}}"),
        ("token", "‹token:0123456789ab›", "{{some.token1}}"),
        ("a", "Bearer ‹authorization:0123456789ab›", "Bearer {{some.token1}}"),
    ]

    @Test(
        "ids, times and tokens in a response become placeholders, and other values stay",
        arguments: leaves
    )
    func leaf(key: String, value: JSONValue, expected: JSONValue) throws {
        let found = try answer([Self.register(), Self.read(.object([key: value]))])
        #expect(found == .object([key: expected]))
    }

    @Test func `a response value from an earlier request gets its name`() throws {
        let found = try answer([
            Self.register([
                "transactionId": "2000000123", "device": .string(Self.uuid), "amount": 799,
            ]),
            Self.read(["t": "2000000123", "d": .string(Self.uuid), "a": 799, "b": 7990]),
        ])
        #expect(found["t"] == "{{some.transaction1}}")
        #expect(found["d"] == "{{some.uuid1}}")
        #expect(found["a"] == "{{some.amount1}}")
        #expect(found["b"] == 7990)
    }

    @Test func `an amount keeps its value, for the backend may reckon with it`() throws {
        let found = try contract([Self.register(["price": .number(JSONNumber(7.99)), "amount": 0])])
        #expect(found.values == ["amount1": .number(JSONNumber(7.99))])
    }

    @Test func `a value used by a later request is captured by name instead of matched by pattern`()
        throws
    {
        let first = Self.read(
            ["id": 4711, "key": .string(Self.uuid), "code": "a1b2c3d4e5f6a7b8c9"],
            "/me/user-17"
        )
        let uses = [
            Self.read([:], "/orders/4711?of=user-17", number: 2),
            Self.read([:], "/keys/\(Self.uuid)?of=user-17", number: 3),
            Self.read([:], "/codes?code=a1b2c3d4e5f6a7b8c9&of=user-17", number: 4),
        ]
        let found = try contract([Self.register(), first] + uses)
        let targets = found.steps.compactMap { step -> String? in
            if case .request(let request) = step { request.target } else { nil }
        }
        #expect(
            targets == [
                "/api/user/register", "/me/{{user.ada}}",
                "/orders/{{some.number1}}?of={{user.ada}}",
                "/keys/{{some.uuid1}}?of={{user.ada}}",
                "/codes?code={{some.token1}}&of={{user.ada}}",
            ]
        )
    }

    @Test func `a percent-encoded id in a path is recognized`() throws {
        let user = "zoë/7 of the shop"
        let body: JSONValue = ["appUserId": .string(user)]
        let first = RecordingFileTests.exchange(0, body: body, answer: [:])
        let second = Self.read([:], "/s/\(user.percentEncoded)?u=\(user.percentEncoded)")
        let found = try contract([first, second])
        guard case .request(let request)? = found.steps.last else { return #expect(Bool(false)) }
        #expect(request.target == "/s/{{user.ada}}?u={{user.ada}}")
    }

    @Test func `a short id is not replaced inside other words`() throws {
        let first = RecordingFileTests.exchange(0, body: ["appUserId": "7"], answer: [:])
        let found = try answer([first, Self.read(["a": "17 of 7", "b": "7"], "/s/7")])
        #expect(found == ["a": "17 of 7", "b": "{{user.ada}}"])
    }

    // MARK: Times

    private static let times: [(Int64, String)] = [
        (0, "{{now}}"), (1000, "{{now+1s}}"), (-60_000, "{{now-1m}}"), (24, "{{now+1s}}"),
        (1500, "{{now+2s}}"),
        (30 * 86_400_000, "{{now+30d}}"), (86_400_000 + 1, "{{now+1d}}"),
        (1_000_000_499, "{{now+1000000s}}"), (1_000_000_500, "{{now+1000001s}}"),
    ]

    @Test("a time in an event is written relative to the first event", arguments: times)
    func moment(offset: Int64, text: String) throws {
        var event = RecordingFileTests.exchange(
            0,
            from: .revenueCat,
            "POST",
            "/hooks/rc",
            body: [
                "event": [
                    "type": "RENEWAL", "id": "E1", "app_user_id": "user-17",
                    "event_timestamp_ms": .integer(Self.base),
                    "other_ms": .integer(Self.base + offset),
                ]
            ],
            answer: [:]
        )
        event.sequence = 0
        guard case .deliver(let delivery)? = try contract([event]).steps.first,
            case .body(let body) = delivery.subject
        else { return #expect(Bool(false)) }
        #expect(body["event"]?["other_ms"]?.string == text)
        #expect(body["event"]?["id"] == "{{event-id.renewal}}")
    }

    // MARK: People

    @Test func `an anonymous ID belongs to the user next to it`() throws {
        let first = RecordingFileTests.exchange(
            0,
            body: ["appUserId": "user-17", "aliases": ["$RCAnonymousID:0123456789abcdef"]],
            answer: [:]
        )
        guard case .request(let request)? = try contract([first]).steps.first,
            case .json(let body)? = request.body
        else { return #expect(Bool(false)) }
        #expect(body["appUserId"] == "{{user.ada}}")
        #expect(body["aliases"] == ["{{anonymous.ada}}"])
    }

    @Test func `users are named in order of appearance`() throws {
        let both = RecordingFileTests.exchange(
            0,
            body: ["transferredFrom": ["user-zz"], "transferredTo": ["user-aa"]],
            answer: [:]
        )
        guard case .request(let request)? = try contract([both]).steps.first,
            case .json(let body)? = request.body
        else { return #expect(Bool(false)) }
        #expect(body == ["transferredFrom": ["{{user.ada}}"], "transferredTo": ["{{user.bob}}"]])
    }

    @Test func `the eleventh user gets a numbered name`() throws {
        let ids = (0..<11).map { JSONValue.string("user-of-the-shop-\($0)") }
        let all = RecordingFileTests.exchange(0, body: ["aliases": .array(ids)], answer: [:])
        guard case .request(let request)? = try contract([all]).steps.first,
            case .json(let body)? = request.body
        else { return #expect(Bool(false)) }
        #expect(body["aliases"]?.array?.first == "{{user.ada}}")
        #expect(body["aliases"]?.array?.last == "{{user.user11}}")
    }

    @Test
    func `users with a common secret belong together, users with a common signature header do not`()
    {
        func groups(_ header: String) -> Int {
            let exchanges = ["user-17", "user-23"].enumerated().map { index, user in
                var exchange = RecordingFileTests.exchange(
                    index,
                    body: ["appUserId": .string(user)],
                    answer: [:]
                )
                exchange.request.fields = [.init("X-Proof", header)]
                return exchange
            }
            return Distiller.contracts(
                Recording(header: RecordingFileTests.header, exchanges: exchanges),
                Distiller.Options(id: "s", source: "r")
            ).contracts.count
        }
        #expect(groups("‹token:0123456789ab›") == 1)
        #expect(groups("‹signature:0123456789ab›") == 2)
        #expect(groups("‹key:0123456789ab›") == 2)
        #expect(groups("plain") == 2)
    }

    @Test
    func `an exchange without a user joins a single group, or is separate from two`() {
        let ping = RecordingFileTests.exchange(9, "GET", "/ping", body: nil, answer: [:])
        let people = ["user-17", "user-23"].enumerated().map { index, user in
            RecordingFileTests.exchange(index, body: ["appUserId": .string(user)], answer: [:])
        }
        func ids(_ exchanges: [Exchange]) -> [String] {
            Distiller.contracts(
                Recording(header: RecordingFileTests.header, exchanges: exchanges),
                Distiller.Options(id: "s", source: "r")
            ).contracts.map { "\($0.id):\($0.steps.count)" }
        }
        #expect(ids([people[0], ping]) == ["s:2"])
        #expect(ids(people + [ping]) == ["s-ada:1", "s-bob:1", "s-general:1"])
        #expect(ids([ping]) == ["s:1"])
    }

    // MARK: What is left out

    @Test func `headers that say nothing about the backend are left out`() throws {
        var one = Self.register()
        one.request.fields = [
            .init("Host", "x"), .init("User-Agent", "y"), .init("Sec-Fetch-Mode", "cors"),
            .init("X-Assay-Phone", "z"), .init("X-Shop", "7"),
            .init("Content-Type", "application/json"),
            .init("Traceparent", "00-1"),
        ]
        guard case .request(let request)? = try contract([one]).steps.first else {
            return #expect(Bool(false))
        }
        #expect(request.fields == [.init("x-shop", "7")])
    }

    @Test func `Location is kept from the response headers, and Date and ETag are dropped`() throws
    {
        var one = Self.register()
        one.outcome = .answered(
            HTTPMessage.Response(
                200,
                json: [:],
                fields: [.init("Location", "/u/user-17"), .init("Date", "now"), .init("ETag", "x")]
            )
        )
        guard case .request(let request)? = try contract([one]).steps.first else {
            return #expect(Bool(false))
        }
        #expect(request.answer?.fields == [.init("location", "/u/{{user.ada}}")])
    }

    @Test func `an exchange without a response is left out and noted`() {
        var lost = Self.register()
        lost.outcome = .failed(.closed, "closed")
        let (contracts, notes) = Distiller.contracts(
            Recording(header: RecordingFileTests.header, exchanges: [lost]),
            Distiller.Options(id: "s", source: "r")
        )
        #expect(contracts.isEmpty)
        #expect(notes == ["POST /api/user/register had no response and is left out"])
    }

    @Test func `places that differ between two equal reads are patterns`() throws {
        let found = try answer([
            Self.register(), Self.read(["a": 1, "n": 5], number: 1),
            Self.read(["a": 1, "n": 6], number: 2),
        ])
        #expect(found == ["a": 1, "n": "{{any}}"])
    }

    // MARK: Providers that fail

    private static func push(_ outcome: Exchange.Outcome, _ method: String = "POST") -> Exchange {
        var push = RecordingFileTests.exchange(
            5,
            from: .backend,
            method,
            "/notifications",
            body: [:]
        )
        push.to = .oneSignal
        push.outcome = outcome
        return push
    }

    private static let ok = push(.answered(HTTPMessage.Response(200)))
    private static let plans: [([Exchange], [ProviderPlan.PlannedResponse]?)] = [
        ([], nil), ([ok], nil), ([ok, ok], nil),
        ([push(.answered(HTTPMessage.Response(500)))], [.status(500)]),
        ([ok, push(.failed(.closed, "")), ok], [.asUsual, .reset]),
        ([push(.answerLost(nil)), ok], [.lostResponse]),
        ([push(.answered(HTTPMessage.Response(500)), "GET"), ok], nil),
    ]

    @Test("OneSignal replays its recorded failures", arguments: plans)
    func trouble(calls: [Exchange], responses: [ProviderPlan.PlannedResponse]?) throws {
        let found = try contract([Self.register()] + calls)
        let plan = found.given.compactMap { step -> ProviderPlan? in
            if case .provider(let plan) = step { plan } else { nil }
        }.first
        #expect(plan?.responses == responses)
    }
}
