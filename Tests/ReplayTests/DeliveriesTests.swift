import Conformance
import FakeServers
import Providers
import Testing

@testable import Replay

/// How events reach the backend: once, repeatedly, or along a sender's ladder.
@Suite("Deliveries")
struct DeliveriesTests {
    private static func purchase(
        _ name: String = "a",
        _ change: (inout Delivery) -> Void = { _ in }
    ) -> Delivery {
        let spec = EventSpec(type: "INITIAL_PURCHASE", user: "ada")
        var delivery = Delivery(name: name, subject: .event(spec))
        change(&delivery)
        return delivery
    }

    private static func again(
        _ name: String,
        _ first: String,
        _ change: (inout Delivery) -> Void
    ) -> Delivery {
        var delivery = Delivery(name: name, subject: .repeats(first))
        change(&delivery)
        return delivery
    }

    private static func ladder(_ change: (inout Delivery) -> Void = { _ in }) -> Delivery {
        purchase { delivery in
            delivery.isAlongLadder = true
            change(&delivery)
        }
    }

    /// What is left when the deliveries are made.
    private struct Made: Sendable {
        let play: Play
        let exchanges: [Exchange]

        /// The attempts of one delivery.
        func attempts(_ name: String = "a") -> [Exchange] {
            exchanges.filter {
                if case .delivery(name, _) = $0.purpose { true } else { false }
            }
        }

        var numbers: [Int] {
            exchanges.compactMap {
                if case .delivery(_, let number) = $0.purpose { number } else { nil }
            }
        }
    }

    private static func make(
        _ deliveries: [Delivery],
        _ bench: Bench = Bench(),
        within: Duration = Bench.within
    ) throws -> Made {
        try bench.run { bench in
            var play = bench.executor.open(
                Bench.plan(deliveries.map(Step.deliver)),
                "n-1",
                within: within
            )
            for delivery in deliveries {
                await play.deliver(delivery)
            }
            return Made(play: play, exchanges: bench.journal("n-1"))
        }
    }

    // MARK: Once and repeatedly

    @Test func `an event is delivered once, and its answer is written down`() throws {
        let bench = Bench()
        let made = try Self.make([Self.purchase()], bench)
        let attempt = try #require(made.attempts().first)
        #expect(made.attempts().count == 1)
        #expect(attempt.purpose == .delivery(name: "a", attempt: 1))
        #expect(attempt.from == .revenueCat)
        #expect(attempt.to == .backend)
        #expect(attempt.namespace == "n-1")
        #expect(attempt.response?.status == 200)
        #expect(attempt.completed != nil)
        let arrival = try #require(bench.backend.webhooks.first)
        #expect(arrival.request.body == attempt.request.body)
        #expect(arrival.disturbance == Disturbance.none)
        #expect(made.play.bodies["a"] == attempt.request.body)
    }

    @Test("copies carry the same bytes, each over a way of its own", arguments: [2, 3, 7])
    func copies(times: Int) throws {
        let bench = Bench { $0.secrets[.revenueCatSigning] = Secret("whsec") }
        let made = try Self.make([Self.purchase { $0.times = times }], bench)
        #expect(made.numbers == Array(1...times))
        #expect(Set(made.attempts().map(\.request.body)).count == 1)
        let lanes = bench.backend.webhooks.map(\.lane)
        #expect(Set(lanes).count == times)
        // A sender signs each attempt anew.
        let name = WebhookSignature.fieldName.lowercased()
        let signatures = made.attempts().compactMap { $0.request[field: name] }
        #expect(signatures.count == times)
        #expect(Set(signatures).count == times)
        // One after the other: none begins before the last one is answered.
        for (one, next) in zip(made.attempts(), made.attempts().dropFirst()) {
            #expect(try #require(one.completed) <= next.invoked)
        }
    }

    @Test func `a repeat has the bytes of the first, under a name of its own`() throws {
        let again = Delivery(name: "aAgain", subject: .repeats("a"))
        let made = try Self.make([Self.purchase(), again])
        #expect(made.attempts("aAgain").map(\.request.body) == made.attempts().map(\.request.body))
        #expect(made.attempts("aAgain").map(\.purpose) == [.delivery(name: "aAgain", attempt: 1)])
        #expect(made.play.bodies["aAgain"] == nil, "a repeat of a repeat names the first")
    }

    @Test func `a repeat is changed where its contract says so, and stays the same beside`() throws
    {
        let deeper = Self.again("deeper", "a") { $0.nesting = 3 }
        let longer = Self.again("longer", "a") { $0.paddingKilobytes = 40 }
        let made = try Self.make([Self.purchase(), deeper, longer])
        func event(_ name: String) throws -> JSONObject {
            let body = try #require(made.attempts(name).first).request.body
            return try #require(try JSONValue(parsing: body)["event"]?.object)
        }
        let first = try event("a")
        var changed = try event("deeper")
        #expect(changed["assay_nesting"] == [[[.null]]])
        changed["assay_nesting"] = nil
        #expect(changed == first)
        #expect(try #require(made.attempts("longer").first).request.body.count > 40 * 1024)
        #expect(try event("longer")["id"] == first["id"])
        #expect(made.play.trouble == nil)
    }

    @Test func `a body that is no JSON cannot be changed, and that is no pass`() throws {
        let raw = Delivery(name: "raw", subject: .raw(.text("{")))
        let again = Self.again("again", "raw") { $0.paddingKilobytes = 1 }
        let made = try Self.make([raw, again])
        guard case .disturbanceMissed(let text) = made.play.trouble else {
            Issue.record("\(String(describing: made.play.trouble))")
            return
        }
        #expect(text.contains("'again'"))
    }

    @Test func `as deep as any contract may ask`() throws {
        let deep = 100_000
        let made = try Self.make([Self.purchase { $0.nesting = deep }])
        let body = try #require(made.attempts().first).request.body
        #expect(body.count { $0 == UInt8(ascii: "[") } >= deep)
        #expect(body.count { $0 == UInt8(ascii: "[") } == body.count { $0 == UInt8(ascii: "]") })
        #expect(made.play.trouble == nil)
    }

    @Test func `a delivery that is made twice counts on`() throws {
        let made = try Self.make([Self.purchase { $0.times = 2 }, Self.purchase()])
        #expect(made.numbers == [1, 2, 3])
    }

    @Test func `a delay passes for the contract and costs nothing`() throws {
        let bench = Bench()
        let made = try Self.make(
            [Self.purchase(), Self.purchase("b") { $0.delay = .seconds(3600) }],
            bench
        )
        let base = bench.executor.base
        #expect(made.attempts("a").map(\.at) == [base])
        #expect(made.attempts("b").map(\.at) == [base + .seconds(3600)])
        #expect(bench.clock.now < .seconds(1))
        #expect(made.play.now == base + .seconds(3600))
        #expect(bench.world.clock(of: "n-1") == base + .seconds(3600))
    }

    @Test func `what is dropped is told to nobody, and took place all the same`() throws {
        let bench = Bench()
        let made = try Self.make(
            [Self.purchase { $0.isDropped = true }, Self.purchase("b") { $0.times = 2 }],
            bench
        )
        #expect(made.attempts("a").isEmpty)
        #expect(made.numbers == [1, 2])
        let id = made.play.namespace.id(of: "ada")
        let request = HTTPMessage.Request(
            "GET",
            "/v1/subscribers/\(id)",
            fields: [HTTPMessage.Field("authorization", "Bearer sk_assay")]
        )
        let reply = FakeServer.reply(to: request, .revenueCat, bench.world)
        let answer = try JSONValue(parsing: reply.response.body)
        let bought = answer["subscriber"]?["subscriptions"]?.object
        #expect(bought?.members.isEmpty == false)
    }

    @Test func `what the store never told of cannot be delivered`() throws {
        let bench = Bench()
        let told = Delivery(name: "told", subject: .told("RENEWAL"))
        let made = try Self.make([told], bench)
        #expect(
            made.play.trouble == .disturbanceMissed("the simulated store sent no RENEWAL event")
        )
        #expect(bench.backend.webhooks.isEmpty)
    }

    @Test func `no attempt is dated in the future, and each is later than the last`() throws {
        let bench = Bench { $0.secrets[.revenueCatSigning] = Secret("whsec") }
        bench.backend.answer = { _, _ in .answered(HTTPMessage.Response(500)) }
        let made = try Self.make([Self.ladder()], bench)
        let name = WebhookSignature.fieldName.lowercased()
        let times = made.attempts().compactMap { exchange -> Int64? in
            let parts = exchange.request[field: name]?.split(separator: ",") ?? []
            return parts.first { $0.hasPrefix("t=") }.flatMap { Int64($0.dropFirst(2)) }
        }
        #expect(times.count == 6)
        #expect(times == times.sorted())
        #expect(Set(times).count == 6)
        let now = bench.clock.wall.milliseconds / 1000
        #expect(times.allSatisfy { $0 <= now && $0 >= now - 10 })
    }

    // MARK: The ladder

    /// Minutes at which RevenueCat tries: at once, then after 5, 10, 20, 40 and 80 more.
    private static let minutes: [Int64] = [0, 5, 15, 35, 75, 155]

    @Test("RevenueCat tries up to six times, minutes apart", arguments: 0...8)
    func ladder(failing: Int) throws {
        let bench = Bench()
        let count = Log()
        bench.backend.answer = { _, arrival in
            guard arrival.event != nil else { return nil }
            count.write("")
            return .answered(HTTPMessage.Response(count.lines.count <= failing ? 500 : 200))
        }
        let made = try Self.make([Self.ladder()], bench)
        let wanted = min(failing + 1, 6)
        #expect(made.numbers == Array(1...wanted))
        #expect(
            made.attempts().map(\.at)
                == Self.minutes.prefix(wanted).map { bench.executor.base + .seconds($0 * 60) }
        )
        #expect(bench.clock.now < .seconds(1), "the minutes are the contract's")
    }

    @Test(
        "only a 200 ends the ladder",
        arguments: [
            (200, 1), (201, 6), (202, 6), (204, 6), (301, 6), (400, 6), (401, 6), (404, 6),
            (409, 6), (429, 6), (500, 6), (503, 6),
        ]
    )
    func success(status: Int, attempts: Int) throws {
        let bench = Bench()
        bench.backend.answer = { _, arrival in
            arrival.event == nil ? nil : .answered(HTTPMessage.Response(status))
        }
        #expect(try Self.make([Self.ladder()], bench).numbers.count == attempts)
    }

    @Test func `a TEST event is sent once, as its sender does, and so is its repetition`() throws {
        let bench = Bench()
        bench.backend.answer = { _, arrival in
            arrival.event == nil ? nil : .answered(HTTPMessage.Response(500))
        }
        let spec = EventSpec(type: "TEST", user: "ada")
        var test = Delivery(name: "a", subject: .event(spec))
        test.isAlongLadder = true
        let again = Self.again("b", "a") { $0.isAlongLadder = true }
        let made = try Self.make([test, again], bench)
        #expect(made.attempts("a").count == 1)
        #expect(made.attempts("b").count == 1)
    }

    @Test("a probe that fails is read again, once", arguments: [(0, 1), (1, 2), (2, 2), (9, 2)])
    func probe(failing: Int, reads: Int) throws {
        let bench = Bench()
        let count = Log()
        bench.backend.answer = { _, arrival in
            guard arrival.request.method == "GET" else { return nil }
            count.write("")
            return .answered(
                HTTPMessage.Response(count.lines.count <= failing ? 500 : 200, json: ["a": 1])
            )
        }
        let statuses = try bench.run { bench in
            let play = bench.executor.open(Bench.plan([]), "n-1", within: Bench.within)
            await play.probe(["ada"])
            return bench.journal("n-1").compactMap { $0.response?.status }
        }
        #expect(statuses.count == reads)
        #expect(statuses.last == (failing < 2 ? 200 : 500))
    }

    @Test func `Purchasely has a ladder of its own`() throws {
        let bench = Bench {
            $0.endpoints["purchasely-webhook"] = Profile.Endpoint(method: "PUT", path: "/hooks/py")
            $0.secrets[.purchaselySigning] = Secret("key")
        }
        bench.backend.answer = { _, _ in .answered(HTTPMessage.Response(404)) }
        let spec = PurchaselySpec(name: "ACTIVATE", user: "ada")
        var delivery = Delivery(name: "a", subject: .purchasely(spec))
        delivery.provider = .purchasely
        delivery.isAlongLadder = true
        let made = try Self.make([delivery], bench)
        #expect(made.numbers.count == 26)
        #expect(made.attempts().allSatisfy { $0.from == .purchasely })
        #expect(bench.backend.arrivals.first?.request.method == "PUT")
        #expect(bench.backend.arrivals.first?.request.path == "/hooks/py")
        let seconds = made.attempts().prefix(5).map {
            ($0.at.milliseconds - bench.executor.base.milliseconds) / 1000
        }
        // 15, 15 + 1, 15 + 16, 15 + 81: added up.
        #expect(seconds == [0, 15, 31, 62, 158])
    }

    @Test func `no answer in time is no answer`() throws {
        let bench = Bench()
        bench.backend.answer = { backend, arrival in
            guard arrival.event != nil else { return nil }
            if backend.webhooks.count == 1 { await backend.clock.pause(.seconds(3600)) }
            return nil
        }
        let made = try Self.make([Self.ladder()], bench)
        try #require(made.numbers == [1, 2])
        let text = "no complete response within 60000 ms"
        #expect(made.attempts()[0].outcome == .failed(.timedOut, text))
        #expect(made.attempts()[1].response?.status == 200)
    }

    @Test("after two silences in a run a tenth is enough", arguments: [60, 20, 2])
    func silences(seconds: Int64) throws {
        let bench = Bench()
        bench.backend.answer = { backend, arrival in
            if arrival.event != nil { await backend.clock.pause(.seconds(3600)) }
            return nil
        }
        let made = try Self.make([Self.ladder()], bench, within: .seconds(seconds))
        let waits = made.attempts().map { attempt in
            ((attempt.completed ?? 0) - attempt.invoked) / 1000
        }
        let later = min(seconds * 1000, max(1000, seconds * 100))
        #expect(waits == [seconds * 1000, seconds * 1000] + [Int64](repeating: later, count: 4))
        let text = "no complete response within \(later) ms"
        #expect(made.attempts().last?.outcome == .failed(.timedOut, text))
    }

    // MARK: Disturbed on the way

    /// In which way each attempt reaches the backend, and how it is written down.
    @Test(
        "attempts are cut, hung up on and unheard, in that order",
        arguments: [
            (0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (2, 1, 0), (1, 1, 1), (0, 2, 2),
        ] as [(Int, Int, Int)]
    )
    func disturbed(cut: Int, hungUp: Int, unheard: Int) throws {
        let bench = Bench()
        let made = try Self.make(
            [
                Self.ladder {
                    $0.requestsCut = cut
                    $0.hangUps = hungUp
                    $0.answersLost = unheard
                }
            ],
            bench
        )
        let ways: [Disturbance] =
            [Disturbance](repeating: .cutRequest, count: cut)
            + [Disturbance](repeating: .hangUp, count: hungUp)
            + [Disturbance](repeating: .none, count: unheard + 1)
        #expect(bench.backend.webhooks.map(\.disturbance) == ways)
        let kinds = made.attempts().map { exchange in
            switch exchange.outcome {
            case .requestCut: "cut"
            case .answerLost(nil): "hung up"
            case .answerLost: "unheard"
            case .answered(let response): "\(response.status)"
            case .failed, .pending: "\(exchange.outcome)"
            }
        }
        let wanted =
            [String](repeating: "cut", count: cut) + [String](repeating: "hung up", count: hungUp)
            + [String](repeating: "unheard", count: unheard) + ["200"]
        #expect(kinds == wanted)
        if cut > 0 { #expect(bench.backend.owned.count == 1, "what is cut takes no effect") }
    }

    @Test func `what nobody heard was a success all the same, and is kept`() throws {
        let made = try Self.make([Self.ladder { $0.answersLost = 1 }])
        guard case .answerLost(let response?)? = made.attempts().first?.outcome else {
            Issue.record("the first answer was not lost")
            return
        }
        #expect(response.status == 200)
    }

    /// Minutes lie between two attempts, so whatever the first has begun is over by the second.
    @Test("the next attempt comes when all is quiet", arguments: [0, 3, 99, 140])
    func quiet(pushDelay: Int) throws {
        let bench = Bench()
        bench.backend.pushDelay = .milliseconds(pushDelay)
        bench.backend.pushCount = 1
        _ = try Self.make([Self.ladder { $0.answersLost = 1 }], bench)
        let times = bench.backend.webhooks.map(\.time)
        try #require(times.count == 2)
        let answered = times[0] + .milliseconds(2)
        // The window is 100 ms; a push within it begins a new one.
        let last = pushDelay <= 100 ? answered + .milliseconds(pushDelay) : answered
        #expect(times[1] == last + .milliseconds(100))
    }

    // MARK: Nobody there

    @Test func `copies stop when the backend is gone`() throws {
        let bench = Bench()
        bench.backend.isGone = true
        let made = try Self.make([Self.purchase { $0.times = 5 }], bench)
        #expect(made.numbers == [1])
        #expect(made.play.trouble == .backendGone("the connection was refused"))
    }

    @Test func `the ladder stops when the backend is gone`() throws {
        let bench = Bench()
        bench.backend.isGone = true
        let made = try Self.make([Self.ladder()], bench)
        #expect(made.numbers == [1])
        #expect(made.play.trouble == .backendGone("the connection was refused"))
    }

    @Test func `one refused connection is not the end while it still answers others`() throws {
        let bench = Bench()
        bench.backend.answer = { backend, arrival in
            guard arrival.event != nil, backend.webhooks.count == 1 else { return nil }
            return .failed(.refused, "the queue was full")
        }
        let copies = try Self.make([Self.purchase { $0.times = 3 }], bench)
        #expect(copies.play.trouble == nil)
        #expect(copies.numbers == [1, 2, 3])
        let ladder = Bench()
        ladder.backend.answer = bench.backend.answer
        let made = try Self.make([Self.ladder()], ladder)
        #expect(made.play.trouble == nil)
        #expect(made.numbers == [1, 2])
    }

    @Test func `a connection that breaks is answered by the next attempt, not by a verdict`() throws
    {
        let bench = Bench()
        bench.backend.answer = { backend, arrival in
            guard arrival.event != nil, backend.webhooks.count < 3 else { return nil }
            return .failed(.closed, "the connection was reset")
        }
        let made = try Self.make([Self.ladder()], bench)
        #expect(made.numbers == [1, 2, 3])
        #expect(made.play.trouble == nil)
    }

    @Test func `a cancellation ends the ladder after the attempt that goes on`() throws {
        let bench = Bench()
        bench.backend.answer = { _, _ in .answered(HTTPMessage.Response(500)) }
        let count = try bench.run { bench in
            let work = bench.clock.task {
                var play = bench.executor.open(Bench.plan([]), "n-1", within: Bench.within)
                withUnsafeCurrentTask { $0?.cancel() }
                await play.deliver(Self.ladder())
                return play.attemptCounts["a"]
            }
            return await work.value
        }
        #expect(count == 1)
    }
}
