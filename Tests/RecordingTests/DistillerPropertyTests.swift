import ContractFiles
import Contracts
import Judging
import Providers
import Testing
import Values

@testable import Recording

/// A session of one person with a backend that answers anything at all, made up from a seed.
struct MadeUpSession {
    static let base: Int64 = 1_790_000_000_000
    static let user = "user-17-of-the-session"

    var random: SeededGenerator
    var exchanges: [Exchange] = []

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        for index in 0..<int(2...6) {
            // Two equal reads in a row are a poll, of which the last one counts.
            switch int(0...3) {
            case 0: add(event(index), from: .revenueCat, "POST", "/hooks/rc")
            case 1: add(nil, from: .app, "GET", "/items/\(Self.user)/\(index)?page=\(int(1...9))")
            case 2:
                add(
                    ["appUserId": .string(Self.user), "extra": json()],
                    from: .app,
                    "POST",
                    "/register/\(index)"
                )
            default: add(nil, from: .app, "GET", "/me?id=\(Self.user)&n=\(index)")
            }
        }
    }

    mutating func int(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

    mutating func text() -> String {
        let pieces = [
            "a", "B", " ", "\"", "\\", "/", "~", "\n", "é", "e\u{301}", "日", "🦊", "{", "}", "{{",
            "}}", "{{now}}", "any", ":", "&", "=", "%", "+", "-", "'", "\u{301}", "null",
        ]
        return (0..<int(0...5)).map { _ in pieces[int(0...(pieces.count - 1))] }.joined()
    }

    /// Anything that a backend may answer: literal values, ids, clocks, numbers of rows.
    mutating func json(_ depth: Int = 0) -> JSONValue {
        switch int(0...(depth < 3 ? 11 : 8)) {
        case 0: .null
        case 1: .bool(int(0...1) == 1)
        case 2: .integer(Int64(int(-9...99)))
        case 3: .string(Self.user)
        case 4: .string("for \(Self.user)!")
        case 5: .integer(Self.base + Int64(int(0...9)))
        case 6: .string("2026-09-21T14:13:2\(int(0...9)).500Z")
        case 7, 8: .string(text())
        case 9: .array((0..<int(0...3)).map { _ in json(depth + 1) })
        default: object(depth)
        }
    }

    mutating func object(_ depth: Int = 0) -> JSONValue {
        var object = JSONObject()
        for _ in 0..<int(0...4) { object[int(0...2) == 0 ? "id" : text()] = json(depth + 1) }
        return .object(object)
    }

    private mutating func event(_ index: Int) -> JSONValue {
        [
            "event": [
                "type": "RENEWAL", "id": .string("EVENT-\(index)"),
                "app_user_id": .string(Self.user),
                "event_timestamp_ms": .integer(Self.base + Int64(index) * 60_000),
                "expiration_at_ms": .integer(Self.base + Int64(int(1...400)) * 86_400_000),
                "price": .number(JSONNumber(Double(int(0...999)) / 100)),
            ]
        ]
    }

    private mutating func add(
        _ body: JSONValue?,
        from: Exchange.Party,
        _ method: String,
        _ target: String
    ) {
        exchanges.append(
            RecordingFileTests.exchange(
                exchanges.count,
                from: from,
                method,
                target,
                body: body,
                status: from == .app ? [200, 201, 404][int(0...2)] : 200,
                answer: object(),
                at: Self.base + Int64(exchanges.count) * 1000
            )
        )
        guard from != .app, int(0...1) == 1 else { return }
        var push = RecordingFileTests.exchange(
            exchanges.count,
            from: .backend,
            "POST",
            "/notifications",
            body: [:]
        )
        push.to = .oneSignal
        push.effects = [
            Effect(
                kind: "onesignal.notification",
                recipients: [Self.user],
                content: ["contents": ["en": .string(text())]]
            )
        ]
        exchanges.append(push)
    }

    var contract: Contract? {
        Distiller.contracts(
            Recording(header: RecordingFileTests.header, exchanges: exchanges),
            Distiller.Options(id: "session/golden", source: "recordings/session")
        ).contracts.first
    }

    /// The answer of a backend that gives back the moments it was told, which a golden rounds.
    private static func echoed(
        _ outcome: Exchange.Outcome,
        _ moments: SessionTimeline
    ) -> Exchange.Outcome {
        guard case .answered(var response) = outcome,
            let body = try? JSONValue(parsing: response.body)
        else { return outcome }
        func moment(_ told: Instant) -> Instant {
            moments.base + moments.offset(of: told, isTruncated: false)
        }
        response.body =
            body.mapLeaves { leaf in
                switch leaf {
                case .number:
                    TemplateNamer.milliseconds(leaf).map { .integer(moment($0).milliseconds) }
                        ?? leaf
                case .string(let text):
                    TemplateNamer.date(text).map { .string(moment($0).preciseText) } ?? leaf
                case .null, .bool, .array, .object: leaf
                }
            }.bytes
        return .answered(response)
    }

    /// What the rules say of that very session, or of another one that went through the same steps.
    static func verdict(
        _ contract: Contract,
        on exchanges: [Exchange]
    ) -> (verdict: Verdict, findings: [Finding]) {
        let inbound = exchanges.filter { $0.to == .backend }
        let moments = SessionTimeline(inbound, began: RecordingFileTests.header.began)
        let began = moments.base
        let plan = CasePlan(contract)
        var namespace = Namespace(name: "run-of-the-session", idForm: .string)
        for user in plan.subject.users { namespace.assign(Self.user, to: user) }
        var steps = contract.steps[...]
        let named = exchanges.map { exchange -> Exchange in
            guard exchange.to == .backend, let step = steps.popFirst() else { return exchange }
            var copy = exchange
            copy.outcome = echoed(exchange.outcome, moments)
            switch step {
            case .request(let request): copy.purpose = .appCall(request.name)
            case .deliver(let delivery):
                copy.purpose = .delivery(name: delivery.name, attempt: 1)
            default: break
            }
            return copy
        }
        let record = RunRecord(
            plan: plan.subject,
            namespace: namespace,
            base: began,
            began: began,
            ended: began + .seconds(60),
            exchanges: named,
            settleEvidence: .notNeeded
        )
        return Judge.judge(
            CaseEvidence(
                plan: plan,
                subject: record,
                baselines: [],
                profile: Profile(),
                observability: RunRecord.Observability(
                    arePushesObservable: true,
                    areProbeChangesObservable: true,
                    latency: .zero
                )
            )
        )
    }
}

@Suite("Distilled contracts")
struct DistillerPropertyTests {
    @Test("a session passes the contract distilled from it", arguments: 0..<UInt64(150))
    func keepsItself(seed: UInt64) throws {
        let session = MadeUpSession(seed: seed)
        let contract = try #require(session.contract)
        let (verdict, findings) = MadeUpSession.verdict(contract, on: session.exchanges)
        #expect(verdict == .passed, "\(findings.map { "\($0.expected) — \($0.actual)" })")
    }

    @Test("the contract still passes after it was written and read", arguments: 0..<UInt64(60))
    func keepsWritten(seed: UInt64) throws {
        let session = MadeUpSession(seed: seed)
        let contract = try #require(session.contract)
        let text = ContractWriter.text(contract, id: contract.id)
        let read = try #require(
            try ContractParser.parse(text, path: "x.yaml", id: contract.id).get().first
        )
        #expect(ContractChange.changes(from: contract, to: read).isEmpty)
        let (verdict, findings) = MadeUpSession.verdict(read, on: session.exchanges)
        #expect(verdict == .passed, "\(findings.map { "\($0.expected) — \($0.actual)" })")
    }

    @Test("the same session gives the same contract", arguments: 0..<UInt64(20))
    func isPure(seed: UInt64) {
        #expect(MadeUpSession(seed: seed).contract == MadeUpSession(seed: seed).contract)
    }

    /// What the session says must not stand in the contract, whose runs have people of their own.
    @Test("no id of the session is left", arguments: 0..<UInt64(60))
    func holdsNoID(seed: UInt64) throws {
        let session = MadeUpSession(seed: seed)
        // Where nothing says whose id it is, it is a word like any other.
        guard session.exchanges.contains(where: { $0.request.method == "POST" }) else { return }
        let contract = try #require(session.contract)
        #expect(!ContractWriter.text(contract, id: contract.id).contains(MadeUpSession.user))
    }

    /// One answer changed; nil where the change would be none.
    private static let changes: [(String, @Sendable (inout Exchange) -> Bool)] = [
        (
            "another status",
            { exchange in
                guard case .answered(var response) = exchange.outcome else { return false }
                response.status = response.status == 500 ? 501 : 500
                exchange.outcome = .answered(response)
                return true
            }
        ),
        (
            "no answer",
            { exchange in
                exchange.outcome = .failed(.closed, "closed")
                return true
            }
        ),
        (
            "a body that is no JSON",
            { exchange in
                guard case .answered(var response) = exchange.outcome else { return false }
                response.body = Array("oops".utf8)
                exchange.outcome = .answered(response)
                return true
            }
        ),
        (
            "a member is missing",
            { exchange in
                guard case .answered(var response) = exchange.outcome,
                    let value = try? JSONValue(parsing: response.body),
                    case .object(let object) = value,
                    let key = object.keys.first
                else { return false }
                var rest = object
                rest[key] = nil
                response.body = JSONValue.object(rest).bytes
                exchange.outcome = .answered(response)
                return true
            }
        ),
        (
            "an array in place of the object",
            { exchange in
                guard case .answered(var response) = exchange.outcome else { return false }
                response.body = JSONValue.array([]).bytes
                exchange.outcome = .answered(response)
                return true
            }
        ),
    ]

    @Test("any changed response is detected", arguments: 0..<UInt64(40))
    func findsChange(seed: UInt64) throws {
        let session = MadeUpSession(seed: seed)
        let contract = try #require(session.contract)
        let places = session.exchanges.indices.filter { session.exchanges[$0].to == .backend }
        for place in places {
            for (name, change) in Self.changes {
                var exchanges = session.exchanges
                guard change(&exchanges[place]) else { continue }
                let (verdict, _) = MadeUpSession.verdict(contract, on: exchanges)
                #expect(verdict == .failed, "\(name) in exchange \(place)")
            }
        }
    }

    @Test("an added or missing message is detected", arguments: 0..<UInt64(40))
    func findsMessages(seed: UInt64) throws {
        let session = MadeUpSession(seed: seed)
        let contract = try #require(session.contract)
        let pushes = session.exchanges.filter { $0.from == .backend }
        guard let push = pushes.first else { return }
        let (more, _) = MadeUpSession.verdict(contract, on: session.exchanges + [push])
        #expect(more == .failed)
        let fewer = session.exchanges.filter { $0 != push }
        #expect(MadeUpSession.verdict(contract, on: fewer).verdict == .failed)
    }
}
