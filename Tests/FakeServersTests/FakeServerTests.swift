import Contracts
import FakeServers
import Grammar
import Providers
import Replay
import TestBackend
import Testing
import TestSupport
import Values

@Suite("Fakes listening on their ports")
struct FakeServerTests {
    private static func fakes() -> FakeRegistry {
        let fakes = FakeRegistry(
            journalBytesMax: 1 << 20,
            wallClock: { Instant(milliseconds: 1_790_000_000_000) }
        )
        fakes.open("run", ids: ["ada-id"], at: Instant(milliseconds: 1_790_000_000_000))
        return fakes
    }

    private static let push = HTTPMessage.Request(
        "POST",
        "/notifications",
        fields: [HTTPMessage.Field("content-type", "application/json")],
        body: JSONValue.object([
            "app_id": "a55a4000-0000-4000-8000-000000000000",
            "include_aliases": ["external_id": ["ada-id"]], "target_channel": "push",
            "contents": ["en": "Hello"],
        ]).bytes
    )

    private func with(
        _ party: Exchange.Party,
        _ body: (FakeRegistry, BackendClient) async throws -> Void
    ) async throws {
        let fakes = Self.fakes()
        let server = try await FakeServer(party, fakes: fakes)
        let client = BackendClient(base: server.baseURL, laneCount: 2)
        try await body(fakes, client)
        await client.close()
        await server.stop()
    }

    private func plan(_ answer: ProviderPlan.PlannedResponse) -> ProviderPlan {
        ProviderPlan(provider: .oneSignal, responses: [answer])
    }

    @Test func `a call gets a response and is recorded in the journal with its effect`()
        async throws
    {
        try await with(.oneSignal) { fakes, client in
            let response = try await client.response(to: Self.push)
            #expect(response.status == 200)
            let exchanges = fakes.journal.read { $0.exchanges(in: "run") }
            #expect(exchanges.count == 1)
            #expect(exchanges.first?.request.body == Self.push.body)
            #expect(exchanges.first?.effects.count == 1)
            #expect(exchanges.first?.response?.body == response.body)
        }
    }

    @Test func `a plan affects only its own run`() async throws {
        try await with(.oneSignal) { fakes, client in
            fakes.open("other", ids: ["bob-id"], at: fakes.now)
            fakes.schedule(
                ProviderPlan(
                    provider: .oneSignal,
                    responses: [.status(500)],
                    repeatsLastResponse: true
                ),
                namespace: "run"
            )
            func status(_ user: String) async throws -> Int {
                var body = try JSONValue(parsing: Self.push.body)
                body.set(
                    JSONPointer(tokens: ["include_aliases"]),
                    to: ["external_id": [.string(user)]]
                )
                var request = Self.push
                request.body = body.bytes
                let outcome = await client.send(request, within: SettleTimeout.hang)
                guard case .answered(let response) = outcome else { return 0 }
                return response.status
            }
            var seen: [Int] = []
            for user in ["bob-id", "ada-id", "ada-id", "stranger"] {
                seen.append(try await status(user))
            }
            #expect(seen == [200, 500, 500, 200])
            fakes.endFaults(namespace: "run")
            let healed = try await status("ada-id")
            #expect(healed == 200)
        }
    }

    /// Clause O-04: a few more attempts after a refusal are nobody's fault, when their run is over too.
    @Test(arguments: [(403, 403), (400, 400), (429, 200), (500, 200)])
    func `a permanently refused call stays refused after the run`(
        _ planned: Int,
        _ expected: Int
    ) async throws {
        try await with(.oneSignal) { fakes, client in
            fakes.schedule(
                ProviderPlan(
                    provider: .oneSignal,
                    responses: [.status(planned)],
                    repeatsLastResponse: true
                ),
                namespace: "run"
            )
            fakes.settle(namespace: "run")
            let response = try await client.response(to: Self.push)
            #expect(response.status == expected)
        }
    }

    @Test func `a reset shows no byte and has no effect`() async throws {
        try await with(.oneSignal) { fakes, client in
            fakes.schedule(self.plan(.reset), namespace: "run")
            let outcome = await client.send(Self.push, within: SettleTimeout.hang)
            guard case .failed(.closed, _) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(fakes.journal.read { $0.exchanges(in: "run") }.first?.effects == [])
        }
    }

    @Test func `a call with a lost response still has its effect`() async throws {
        try await with(.oneSignal) { fakes, client in
            fakes.schedule(self.plan(.lostResponse), namespace: "run")
            let outcome = await client.send(Self.push, within: SettleTimeout.hang)
            guard case .failed(.closed, _) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            let exchange = fakes.journal.read { $0.exchanges(in: "run") }.first
            #expect(exchange?.effects.count == 1)
            guard case .answerLost = exchange?.outcome else {
                Issue.record("\(String(describing: exchange?.outcome))")
                return
            }
        }
    }

    @Test func `a call without a response ends with the caller's timeout`() async throws {
        try await with(.oneSignal) { fakes, client in
            fakes.schedule(
                ProviderPlan(provider: .oneSignal, responses: [.never], repeatsLastResponse: true),
                namespace: "run"
            )
            // On a busy machine a short patience may end before the call is out: then a longer one.
            for settleTimeout in [Duration.milliseconds(100), .seconds(5), .seconds(60)] {
                let outcome = await client.send(Self.push, within: settleTimeout)
                guard case .failed(.timedOut, _) = outcome else {
                    Issue.record("\(outcome)")
                    return
                }
                if !fakes.journal.read({ $0.exchanges(in: "run").isEmpty }) { break }
            }
            let exchange = fakes.journal.read { $0.exchanges(in: "run") }.first
            #expect(exchange?.effects == [])
        }
    }

    @Test func `a held call is closed at the end of its run`() async throws {
        try await with(.oneSignal) { fakes, client in
            fakes.schedule(
                ProviderPlan(provider: .oneSignal, responses: [.never], repeatsLastResponse: true),
                namespace: "run"
            )
            let numbers = fakes.journal.follow()
            let held = Task { await client.send(Self.push, within: SettleTimeout.hang) }
            for await _ in numbers { break }
            // The call waits for its release a moment after it is in the journal.
            while !fakes.hasHeldCalls("run") { await Task.yield() }
            func endOfCall() -> Int64? {
                fakes.journal.read { $0.exchanges(in: "run") }.first?.completed
            }
            #expect(endOfCall() == nil)
            fakes.settle(namespace: "run")
            let outcome = await held.value
            while endOfCall() == nil { await Task.yield() }
            guard case .failed(.closed, _) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(!fakes.hasHeldCalls("run"))
            guard case .answered = await client.send(Self.push, within: SettleTimeout.hang) else {
                Issue.record("the provider does not work again")
                return
            }
        }
    }

    @Test func `a late call for a user of a retired run belongs to no other run`() async throws {
        try await with(.oneSignal) { fakes, client in
            fakes.retire("run")
            let response = try await client.response(to: Self.push)
            #expect(response.status == 200)
            let late = fakes.journal.read { $0.exchanges(in: FakeRegistry.retiredNamespace) }
            #expect(late.count == 1)
            #expect(fakes.journal.read { $0.exchanges(in: "", by: .backend) }.isEmpty)
        }
    }

    @Test func `other calls continue while one is held`() async throws {
        try await with(.oneSignal) { fakes, client in
            fakes.schedule(
                ProviderPlan(provider: .oneSignal, responses: [.never], repeatsLastResponse: true),
                namespace: "run"
            )
            let numbers = fakes.journal.follow()
            let held = Task { await client.send(Self.push, within: SettleTimeout.hang) }
            // It is held from the moment at which it stands in the journal.
            for await _ in numbers { break }
            var unknownUser = Self.push
            unknownUser.body =
                JSONValue.object([
                    "app_id": "a55a4000-0000-4000-8000-000000000000",
                    "include_aliases": ["external_id": ["stranger"]], "target_channel": "push",
                    "contents": ["en": "Hello"],
                ]).bytes
            let next = await client.send(unknownUser, lane: 1, within: SettleTimeout.hang)
            guard case .answered = next else {
                Issue.record("\(next)")
                return
            }
            held.cancel()
            _ = await held.value
        }
    }

    @Test func `the RevenueCat REST API returns a customer`() async throws {
        try await with(.revenueCat) { _, client in
            let request = HTTPMessage.Request("GET", "/v1/subscribers/%24RCAnonymousID%3Aabc")
            let response = try await client.response(to: request)
            let body = try JSONValue(parsing: response.body)
            #expect(body["subscriber"]?["original_app_user_id"] == "$RCAnonymousID:abc")
            #expect(response[field: "x-assay-fake"]?.hasPrefix("revenuecat") == true)
        }
    }

    /// Closing ends when the port is closed, not when a time is over: opening finds it free.
    @Test func `a port is refused and taken again, over and over`() async throws {
        let fakes = Self.fakes()
        let server = try await FakeServer(.oneSignal, fakes: fakes)
        let port = server.port
        for _ in 0..<20 {
            try await server.setRefusing(true)
            #expect(server.isRefusing)
            let refused = BackendClient(base: server.baseURL, laneCount: 1)
            let outcome = await refused.send(Self.push, within: SettleTimeout.hang)
            await refused.close()
            // Another test's server may have got the free port.
            if case .answered = outcome, fakes.journal.read({ $0.exchanges.isEmpty }) { return }
            // Other tests start programs, and one that has not become itself yet still has a copy of
            // the port: then a connection is made, and reset without a byte.
            guard case .failed(let failure, _) = outcome, [.refused, .closed].contains(failure)
            else {
                Issue.record("\(outcome)")
                return
            }
            try await server.setRefusing(false)
            #expect(!server.isRefusing)
        }
        #expect(server.port == port)
        let client = BackendClient(base: server.baseURL, laneCount: 1)
        guard case .answered = await client.send(Self.push, within: SettleTimeout.hang) else {
            Issue.record("nobody answers")
            return
        }
        await client.close()
        await server.stop()
    }

    @Test func `a caller that is held does not keep a port from being refused`() async throws {
        try await with(.oneSignal) { fakes, client in
            let server = try await FakeServer(.oneSignal, fakes: fakes)
            fakes.schedule(
                ProviderPlan(provider: .oneSignal, responses: [.never], repeatsLastResponse: true),
                namespace: "run"
            )
            let numbers = fakes.journal.follow()
            let caller = BackendClient(base: server.baseURL, laneCount: 1)
            let held = Task { await caller.send(Self.push, within: SettleTimeout.hang) }
            for await _ in numbers { break }
            try await server.setRefusing(true)
            try await server.setRefusing(false)
            fakes.endFaults(namespace: "run")
            let other = BackendClient(base: server.baseURL, laneCount: 1)
            guard case .answered = await other.send(Self.push, within: SettleTimeout.hang) else {
                Issue.record("nobody answers")
                return
            }
            held.cancel()
            _ = await held.value
            await other.close()
            await caller.close()
            await server.stop()
        }
    }

    @Test func `a port in use is a clear error`() async throws {
        let fakes = Self.fakes()
        let first = try await FakeServer(.oneSignal, fakes: fakes)
        await #expect(throws: StartError.self) {
            _ = try await FakeServer(.oneSignal, fakes: fakes, port: first.port)
        }
        do {
            _ = try await FakeServer(.oneSignal, fakes: fakes, port: first.port)
        } catch {
            #expect("\(error)".contains("the port is in use"))
        }
        await first.stop()
    }
}

@Suite("Requests on their way to the backend")
struct BackendClientTests {
    @Test func `a refused connection is distinguished from a missing response`() async throws {
        let client = BackendClient(base: "http://127.0.0.1:1", laneCount: 1)
        let outcome = await client.send(
            HTTPMessage.Request("GET", "/"),
            within: SettleTimeout.hang
        )
        guard case .failed(.refused, _) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        await client.close()
    }

    @Test(
        "a faulty request ends as planned",
        arguments: [
            (BackendClient.AttemptFault.truncatedRequest, Exchange.Outcome.requestCut),
            (.disconnect, .answerLost(nil)),
        ]
    )
    func disturbs(fault: BackendClient.AttemptFault, outcome: Exchange.Outcome) async throws {
        let fakes = FakeRegistry(
            journalBytesMax: 1 << 20,
            wallClock: { Instant(milliseconds: 0) }
        )
        // An answer could be there before the caller has hung up.
        fakes.edit("") { services, _ in
            services.plans[.oneSignal] = ProviderPlan(provider: .oneSignal, responses: [.never])
        }
        let server = try await FakeServer(.oneSignal, fakes: fakes)
        let client = BackendClient(base: server.baseURL, laneCount: 1)
        let request = HTTPMessage.Request(
            "POST",
            "/notifications",
            body: .init(repeating: 0x20, count: 4000)
        )
        let actual = await client.send(request, within: SettleTimeout.hang, fault: fault)
        #expect(actual == outcome)
        await client.close()
        await server.stop()
    }
}
