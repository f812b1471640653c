import Contracts
import FakeServers
import Grammar
import Providers
import Redaction
import TestBackend
import Testing
import Values

@testable import Replay

/// How events reach the backend: once, repeatedly, or along a sender's ladder.
@Suite("Deliveries")
struct DeliveriesTests {
    private static func purchase(
        _ name: String = "a",
        _ change: (inout Delivery) -> Void = { _ in }
    ) -> Delivery {
        let spec = EventSpec(type: .documented(.initialPurchase), user: "ada")
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

    private static func retrySchedule(_ change: (inout Delivery) -> Void = { _ in }) -> Delivery {
        purchase { delivery in
            delivery.followsRetrySchedule = true
            change(&delivery)
        }
    }

    /// What is left when the deliveries are made.
    private struct DeliveryRun: Sendable {
        let play: CaseExecution
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
        _ bench: SimulationBench = SimulationBench(),
        within: Duration = SimulationBench.within
    ) throws -> DeliveryRun {
        try bench.run { bench in
            var play = bench.executor.open(
                SimulationBench.plan(deliveries.map(Step.deliver)),
                "n-1",
                within: within
            )
            for delivery in deliveries {
                await play.deliver(delivery)
            }
            return DeliveryRun(play: play, exchanges: bench.journal("n-1"))
        }
    }

    // MARK: Once and repeatedly

    @Test func `an event is delivered once and its response is recorded`() throws {
        let bench = SimulationBench()
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
        #expect(arrival.fault == AttemptFault.none)
        #expect(made.play.deliveries.bodies["a"] == attempt.request.body)
    }

    @Test("copies have the same bytes and separate connections", arguments: [2, 3, 7])
    func copies(times: Int) throws {
        let bench = SimulationBench { $0.secrets[.revenueCatSigning] = Secret("whsec") }
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

    @Test func `a repeat has the bytes of the first delivery and its own name`() throws {
        let again = Delivery(name: "aAgain", subject: .repeats("a"))
        let made = try Self.make([Self.purchase(), again])
        #expect(made.attempts("aAgain").map(\.request.body) == made.attempts().map(\.request.body))
        #expect(made.attempts("aAgain").map(\.purpose) == [.delivery(name: "aAgain", attempt: 1)])
        #expect(
            made.play.deliveries.bodies["aAgain"] == nil,
            "a repeat of a repeat names the first"
        )
    }

    @Test func `a repeat is changed only where its contract edits it`() throws {
        let deeper = Self.again("deeper", "a") { $0.addedNestingDepth = 3 }
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
        #expect(made.play.runProblem == nil)
    }

    @Test func `editing a body that is not JSON does not pass`() throws {
        let raw = Delivery(name: "raw", subject: .raw(.text("{")))
        let again = Self.again("again", "raw") { $0.paddingKilobytes = 1 }
        let made = try Self.make([raw, again])
        guard case .faultNotApplied(let text) = made.play.runProblem else {
            Issue.record("\(String(describing: made.play.runProblem))")
            return
        }
        #expect(text.contains("'again'"))
    }

    @Test func `edits work at the maximum nesting depth`() throws {
        let deep = 100_000
        let made = try Self.make([Self.purchase { $0.addedNestingDepth = deep }])
        let body = try #require(made.attempts().first).request.body
        #expect(body.count { $0 == UInt8(ascii: "[") } >= deep)
        #expect(body.count { $0 == UInt8(ascii: "[") } == body.count { $0 == UInt8(ascii: "]") })
        #expect(made.play.runProblem == nil)
    }

    @Test func `a delivery that is made twice keeps counting attempts`() throws {
        let made = try Self.make([Self.purchase { $0.times = 2 }, Self.purchase()])
        #expect(made.numbers == [1, 2, 3])
    }

    @Test func `a delay advances the contract's clock without real waiting`() throws {
        let bench = SimulationBench()
        let made = try Self.make(
            [Self.purchase(), Self.purchase("b") { $0.delay = .seconds(3600) }],
            bench
        )
        let base = bench.executor.base
        #expect(made.attempts("a").map(\.at) == [base])
        #expect(made.attempts("b").map(\.at) == [base + .seconds(3600)])
        #expect(bench.clock.now < .seconds(1))
        #expect(made.play.now == base + .seconds(3600))
        #expect(bench.fakes.clock(of: "n-1") == base + .seconds(3600))
    }

    @Test func `a dropped event is not sent but did happen`() throws {
        let bench = SimulationBench()
        let made = try Self.make(
            [Self.purchase { $0.isNeverDelivered = true }, Self.purchase("b") { $0.times = 2 }],
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
        let reply = FakeServer.reply(to: request, .revenueCat, bench.fakes)
        let answer = try JSONValue(parsing: reply.response.body)
        let bought = answer["subscriber"]?["subscriptions"]?.object
        #expect(bought?.members.isEmpty == false)
    }

    @Test func `an event that the store never produced cannot be delivered`() throws {
        let bench = SimulationBench()
        let told = Delivery(name: "told", subject: .storeEvent("RENEWAL"))
        let made = try Self.make([told], bench)
        #expect(
            made.play.runProblem == .faultNotApplied("the simulated store sent no RENEWAL event")
        )
        #expect(bench.backend.webhooks.isEmpty)
    }

    @Test func `no attempt is dated in the future, and each is later than the previous one`() throws
    {
        let bench = SimulationBench { $0.secrets[.revenueCatSigning] = Secret("whsec") }
        bench.backend.respond = { _, _ in .status(500) }
        let made = try Self.make([Self.retrySchedule()], bench)
        let name = WebhookSignature.fieldName.lowercased()
        let times = made.attempts().compactMap { exchange -> Int64? in
            let parts = exchange.request[field: name]?.split(separator: ",") ?? []
            return parts.first { $0.hasPrefix("t=") }.flatMap { Int64($0.dropFirst(2)) }
        }
        #expect(times.count == 6)
        #expect(times == times.sorted())
        #expect(Set(times).count == 6)
        let now = bench.clock.wallTime.milliseconds / 1000
        #expect(times.allSatisfy { $0 <= now && $0 >= now - 10 })
    }

    // MARK: The ladder

    /// Minutes at which RevenueCat tries: at once, then after 5, 10, 20, 40 and 80 more.
    private static let minutes: [Int64] = [0, 5, 15, 35, 75, 155]

    @Test("RevenueCat tries up to six times, minutes apart", arguments: 0...8)
    func retrySchedule(failing: Int) throws {
        let bench = SimulationBench()
        let count = Log()
        bench.backend.respond = { _, arrival in
            guard arrival.event != nil else { return nil }
            count.write("")
            return .status(count.lines.count <= failing ? 500 : 200)
        }
        let made = try Self.make([Self.retrySchedule()], bench)
        let wanted = min(failing + 1, 6)
        #expect(made.numbers == Array(1...wanted))
        #expect(
            made.attempts().map(\.at)
                == Self.minutes.prefix(wanted).map { bench.executor.base + .seconds($0 * 60) }
        )
        #expect(bench.clock.now < .seconds(1), "the minutes are the contract's")
    }

    @Test(
        "only a 200 ends the retry schedule",
        arguments: [
            (200, 1), (201, 6), (202, 6), (204, 6), (301, 6), (400, 6), (401, 6), (404, 6),
            (409, 6), (429, 6), (500, 6), (503, 6),
        ]
    )
    func success(status: Int, attempts: Int) throws {
        let bench = SimulationBench()
        bench.backend.respondToWebhooks(.status(status))
        #expect(try Self.make([Self.retrySchedule()], bench).numbers.count == attempts)
    }

    @Test func `a TEST event and its repeat are sent once`() throws {
        let bench = SimulationBench()
        bench.backend.respondToWebhooks(.status(500))
        let spec = EventSpec(type: .documented(.test), user: "ada")
        var test = Delivery(name: "a", subject: .event(spec))
        test.followsRetrySchedule = true
        let again = Self.again("b", "a") { $0.followsRetrySchedule = true }
        let made = try Self.make([test, again], bench)
        #expect(made.attempts("a").count == 1)
        #expect(made.attempts("b").count == 1)
    }

    @Test("a failed probe is read again once", arguments: [(0, 1), (1, 2), (2, 2), (9, 2)])
    func probe(failing: Int, reads: Int) throws {
        let bench = SimulationBench()
        let count = Log()
        bench.backend.respond = { _, arrival in
            guard arrival.request.method == "GET" else { return nil }
            count.write("")
            return .response(
                HTTPMessage.Response(count.lines.count <= failing ? 500 : 200, json: ["a": 1])
            )
        }
        let statuses = try bench.run { bench in
            let play = bench.open()
            await play.requests.probe(["ada"])
            return bench.journal("n-1").compactMap { $0.response?.status }
        }
        #expect(statuses.count == reads)
        #expect(statuses.last == (failing < 2 ? 200 : 500))
    }

    @Test func `Purchasely has its own retry schedule`() throws {
        let bench = SimulationBench {
            $0.endpoints["purchasely-webhook"] = Profile.Endpoint(method: "PUT", path: "/hooks/py")
            $0.secrets[.purchaselySigning] = Secret("key")
        }
        bench.backend.respond = { _, _ in .status(404) }
        let spec = PurchaselySpec(name: "ACTIVATE", user: "ada")
        var delivery = Delivery(name: "a", subject: .event(spec))
        delivery.provider = .purchasely
        delivery.followsRetrySchedule = true
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

    @Test func `a response after the timeout counts as no response`() throws {
        let bench = SimulationBench()
        bench.backend.respond = { backend, arrival in
            guard arrival.event != nil else { return nil }
            if backend.webhooks.count == 1 { await backend.clock.pause(.seconds(3600)) }
            return nil
        }
        let made = try Self.make([Self.retrySchedule()], bench)
        try #require(made.numbers == [1, 2])
        let text = "no complete response within 60000 ms"
        #expect(made.attempts()[0].outcome == .failed(.timedOut, text))
        #expect(made.attempts()[1].response?.status == 200)
    }

    @Test("after two timeouts in a run a tenth of the timeout is enough", arguments: [60, 20, 2])
    func silences(seconds: Int64) throws {
        let bench = SimulationBench()
        bench.backend.respond = { backend, arrival in
            if arrival.event != nil { await backend.clock.pause(.seconds(3600)) }
            return nil
        }
        let made = try Self.make([Self.retrySchedule()], bench, within: .seconds(seconds))
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
        "attempts are truncated, disconnected and lost in that order",
        arguments: [
            (0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (2, 1, 0), (1, 1, 1), (0, 2, 2),
        ] as [(Int, Int, Int)]
    )
    func disturbed(cut: Int, hungUp: Int, unheard: Int) throws {
        let bench = SimulationBench()
        let made = try Self.make(
            [
                Self.retrySchedule {
                    $0.truncatedRequests = cut
                    $0.disconnects = hungUp
                    $0.lostResponses = unheard
                }
            ],
            bench
        )
        let ways: [AttemptFault] =
            [AttemptFault](repeating: .truncatedRequest, count: cut)
            + [AttemptFault](repeating: .disconnect, count: hungUp)
            + [AttemptFault](repeating: .none, count: unheard + 1)
        #expect(bench.backend.webhooks.map(\.fault) == ways)
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
        if cut > 0 { #expect(bench.model.owned.count == 1, "what is cut takes no effect") }
    }

    @Test func `a delivery with a lost response succeeded and is kept`() throws {
        let made = try Self.make([Self.retrySchedule { $0.lostResponses = 1 }])
        guard case .answerLost(let response?)? = made.attempts().first?.outcome else {
            Issue.record("the first answer was not lost")
            return
        }
        #expect(response.status == 200)
    }

    /// Minutes lie between two attempts, so whatever the first has begun is over by the second.
    @Test("the next attempt comes when the backend is idle", arguments: [0, 3, 99, 140])
    func quiet(pushDelay: Int) throws {
        let bench = SimulationBench()
        bench.model.pushDelay = .milliseconds(pushDelay)
        bench.model.pushCount = 1
        _ = try Self.make([Self.retrySchedule { $0.lostResponses = 1 }], bench)
        let times = bench.backend.webhooks.map(\.time)
        try #require(times.count == 2)
        let answered = times[0] + .milliseconds(2)
        // The window is 100 ms; a push within it begins a new one.
        let last = pushDelay <= 100 ? answered + .milliseconds(pushDelay) : answered
        #expect(times[1] == last + .milliseconds(100))
    }

    // MARK: Nobody there

    @Test func `copies stop if the backend is unreachable`() throws {
        let bench = SimulationBench()
        bench.backend.process.isListening = false
        let made = try Self.make([Self.purchase { $0.times = 5 }], bench)
        #expect(made.numbers == [1])
        #expect(made.play.runProblem == .backendGone("the connection was refused"))
    }

    @Test func `the retry schedule stops if the backend is unreachable`() throws {
        let bench = SimulationBench()
        bench.backend.process.isListening = false
        let made = try Self.make([Self.retrySchedule()], bench)
        #expect(made.numbers == [1])
        #expect(made.play.runProblem == .backendGone("the connection was refused"))
    }

    @Test func `one refused connection is not the end while others get responses`() throws {
        let bench = SimulationBench()
        bench.backend.respond = { backend, arrival in
            guard arrival.event != nil, backend.webhooks.count == 1 else { return nil }
            return .failure(.refused, "the queue was full")
        }
        let copies = try Self.make([Self.purchase { $0.times = 3 }], bench)
        #expect(copies.play.runProblem == nil)
        #expect(copies.numbers == [1, 2, 3])
        let retrySchedule = SimulationBench()
        retrySchedule.backend.respond = bench.backend.respond
        let made = try Self.make([Self.retrySchedule()], retrySchedule)
        #expect(made.play.runProblem == nil)
        #expect(made.numbers == [1, 2])
    }

    @Test func `a broken connection is retried and gives no verdict`() throws {
        let bench = SimulationBench()
        bench.backend.respond = { backend, arrival in
            guard arrival.event != nil, backend.webhooks.count < 3 else { return nil }
            return .hangUp
        }
        let made = try Self.make([Self.retrySchedule()], bench)
        #expect(made.numbers == [1, 2, 3])
        #expect(made.play.runProblem == nil)
    }

    @Test func `a cancellation ends the retry schedule after the current attempt`() throws {
        let bench = SimulationBench()
        bench.backend.respond = { _, _ in .status(500) }
        let count = try bench.run { bench in
            let work = bench.clock.task {
                var play = bench.open()
                withUnsafeCurrentTask { $0?.cancel() }
                await play.deliver(Self.retrySchedule())
                return play.deliveries.attemptCounts["a"]
            }
            return await work.value
        }
        #expect(count == 1)
    }
}
