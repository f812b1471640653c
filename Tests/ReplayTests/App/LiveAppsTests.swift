import Contracts
import FakeServers
import Providers
import TestBackend
import Testing
import Values

@testable import Replay

/// Apps on phones before a backend: what they say reaches it, what the store tells of is delivered,
/// and nothing of it is a browser's or a clock's.
@Suite("Mobile apps exchange calls and events with the backend")
struct LiveAppsTests {
    private static func act(
        _ name: AppAction.Name,
        _ app: AppAction.App = .accounts,
        _ change: (inout AppAction) -> Void = { _ in }
    ) -> Step {
        var action = AppAction(name)
        action.app = app
        change(&action)
        return .phone(.app(action))
    }

    private static func told(_ type: String, _ name: String = "told") -> Step {
        .deliver(Delivery(name: name, subject: .storeEvent(type)))
    }

    private static func complete() -> Step {
        var change = PhoneChange()
        change.ownerAction = .complete
        return .phone(.phone(change))
    }

    private static func run(
        _ steps: [Step],
        users: [String] = ["guest"],
        _ bench: SimulationBench = SimulationBench(),
        observability: RunRecord.Observability = SimulationBench.observability
    ) throws -> RunRecord {
        try bench.run { bench in
            await bench.executor.run(
                RunPlan(steps: steps, users: users, observesFinalState: false),
                in: "n-1",
                observability: observability,
                within: SimulationBench.within
            ) { _ in .settled }
        }
    }

    private static func userActions(_ record: RunRecord) -> [String] {
        record.exchanges.compactMap {
            if case .userAction(let name) = $0.purpose { name } else { nil }
        }
    }

    // MARK: The app with accounts

    private static let guest = act(.launch) { $0.anonymousUser = "guest" }

    @Test func `a guest purchase is sent to the backend under the guest's ID`() throws {
        let bench = SimulationBench()
        let record = try Self.run(
            [Self.guest, Self.act(.purchase), Self.told("INITIAL_PURCHASE")],
            bench
        )
        #expect(record.runProblem == nil)
        #expect(Self.userActions(record) == ["launch", "purchase"])
        let event = try #require(bench.backend.webhooks.first?.event)
        #expect(event["type"] == "INITIAL_PURCHASE")
        #expect(event["app_user_id"]?.string == record.namespace.id(of: "guest"))
        #expect(record.namespace.assignedIDs["guest"] != nil, "the app chose it")
        #expect(record.exchanges.contains { $0.to == .revenueCat && $0.from == .app })
    }

    @Test func `a renewal by the store is sent like any event`() throws {
        let bench = SimulationBench()
        let record = try Self.run(
            [
                Self.guest, Self.act(.purchase), Self.told("INITIAL_PURCHASE", "bought"),
                .phone(.store(FakeStoreAction(name: "renew", user: "guest"))),
                Self.told("RENEWAL", "renewed"),
            ],
            bench
        )
        #expect(record.runProblem == nil)
        #expect(
            bench.backend.webhooks.compactMap { $0.event?["type"]?.string }
                == ["INITIAL_PURCHASE", "RENEWAL"]
        )
        let users = Set(bench.backend.webhooks.compactMap { $0.event?["app_user_id"]?.string })
        #expect(users == [record.namespace.id(of: "guest")])
    }

    @Test func `each event is sent once, and further events are reported`() throws {
        let bench = SimulationBench()
        let record = try Self.run(
            [
                Self.guest, Self.act(.purchase), Self.told("INITIAL_PURCHASE", "one"),
                Self.told("INITIAL_PURCHASE", "two"),
            ],
            bench
        )
        #expect(
            record.runProblem
                == .faultNotApplied("the simulated store sent no INITIAL_PURCHASE event")
        )
        #expect(bench.backend.webhooks.count == 1)
        let other = try Self.run([Self.guest, Self.act(.purchase), Self.told("REFUND")])
        let text = "the simulated store sent no REFUND event; it sent INITIAL_PURCHASE"
        #expect(other.runProblem == .faultNotApplied(text))
    }

    @Test("an app polls a backend that processes events later", arguments: [true, false])
    func asksLater(appliesEventsLater: Bool) throws {
        let bench = SimulationBench()
        var observability = SimulationBench.observability
        observability.appliesEventsLater = appliesEventsLater
        let steps = [
            Self.guest, Self.act(.purchase), Self.told("INITIAL_PURCHASE"), Self.act(.refresh),
        ]
        let record = try Self.run(steps, bench, observability: observability)
        #expect(record.runProblem == nil)
        // Another purchase shows that this one had its turn; then the app asks.
        #expect(bench.backend.webhooks.count == (appliesEventsLater ? 2 : 1))
        let paths = bench.backend.arrivals.map(\.request.path)
        #expect(paths.last == "/api/user/register")
        let lastWebhook = try #require(paths.lastIndex(of: "/api/webhooks/revenuecat"))
        #expect(paths.lastIndex(of: "/api/user/register").map { $0 > lastWebhook } == true)
    }

    @Test func `a refusal of the store is a run problem that names the action`() throws {
        let record = try Self.run([
            Self.guest, .phone(.store(FakeStoreAction(name: "renew", user: "guest"))),
        ])
        guard case .actionFailed? = record.runProblem else {
            Issue.record("a renewal of nothing was taken: \(String(describing: record.runProblem))")
            return
        }
        let unknown = try Self.run([
            Self.guest, .phone(.store(FakeStoreAction(name: "frobnicate", user: "guest"))),
        ])
        #expect(unknown.runProblem == .actionFailed("the store does not support 'frobnicate'"))
    }

    // MARK: The app on Despia

    private static let launch = act(.launch, .despia)

    @Test func `a launch registers the phone at the backend`() throws {
        let bench = SimulationBench()
        let record = try Self.run([Self.launch], users: [], bench)
        #expect(record.runProblem == nil)
        let registrations = bench.backend.arrivals.filter {
            $0.request.path == "/api/user/register"
        }
        #expect(registrations.count == 1)
        let body = try JSONValue(parsing: try #require(registrations.first).request.body)
        let id = try #require(body["appUserId"]?.string)
        #expect(!id.isEmpty)
        let call = try #require(
            record.exchanges.first { $0.purpose == .appCall("register") }
        )
        #expect(call.phone?.name == "phone")
        #expect(call.response?.status == 200)
        #expect(record.exchanges.contains { $0.purpose == .screen }, "what it shows is kept")
        #expect(Self.userActions(record).first == "launch")
    }

    @Test func `a phone purchase is sent under the registered ID`() throws {
        let bench = SimulationBench()
        let record = try Self.run(
            [
                Self.launch, Self.act(.upgrade, .despia), Self.complete(),
                Self.told("INITIAL_PURCHASE"),
            ],
            users: [],
            bench
        )
        #expect(record.runProblem == nil)
        let registered = bench.backend.arrivals.compactMap { arrival -> String? in
            guard arrival.request.path == "/api/user/register" else { return nil }
            return (try? JSONValue(parsing: arrival.request.body))?["appUserId"]?.string
        }
        let buyer = bench.backend.webhooks.first?.event?["app_user_id"]?.string
        #expect(buyer != nil)
        #expect(registered.contains { $0 == buyer })
    }

    @Test func `app requests carry no Assay headers`() throws {
        let bench = SimulationBench()
        _ = try Self.run(
            [Self.launch, Self.act(.upgrade, .despia), Self.complete()],
            users: [],
            bench
        )
        #expect(!bench.backend.arrivals.isEmpty)
        for arrival in bench.backend.arrivals {
            let names = arrival.request.fields.map { $0.name.lowercased() }
            #expect(!names.contains { $0.hasPrefix("x-assay") })
        }
    }

    /// The way to the backend, by plan: what the app hears, and whether the backend took the call.
    @Test(
        "a planned response decides what the app receives",
        arguments: [
            (AppBackendPlan.PlannedResponse.status(503), true), (.reset, false), (.never, false),
            (.slow(.seconds(3)), true), (.ok, true),
        ]
    )
    func planned(answer: AppBackendPlan.PlannedResponse, reaches: Bool) throws {
        var plan = AppBackendPlan()
        plan.responses["register"] = [answer]
        let bench = SimulationBench()
        let record = try Self.run([.phone(.backend(plan)), Self.launch], users: [], bench)
        let calls = record.exchanges.filter { $0.purpose == .appCall("register") }
        if case .status = answer {
            // The backend did it, and the app does not know.
            guard case .answerLost(let response?) = calls.first?.outcome else {
                Issue.record("the answer was not lost: \(calls.map(\.outcome))")
                return
            }
            #expect(response.status == 200)
        } else if reaches {
            #expect(calls.first?.response?.status == 200)
        }
        let first = bench.backend.arrivals.first { $0.request.path == "/api/user/register" }
        #expect(reaches ? first != nil : calls.count == bench.backend.arrivals.count)
    }

    @Test func `a kill closes the page, and the next launch restores its ID`() throws {
        let bench = SimulationBench()
        let record = try Self.run(
            [Self.launch, Self.act(.kill, .despia), Self.launch],
            users: [],
            bench
        )
        #expect(record.runProblem == nil)
        #expect(Self.userActions(record) == ["launch", "kill", "launch"])
        let ids = bench.backend.arrivals.compactMap { arrival -> String? in
            guard arrival.request.path == "/api/user/register" else { return nil }
            return (try? JSONValue(parsing: arrival.request.body))?["appUserId"]?.string
        }
        #expect(Set(ids).count == 1, "\(ids)")
        let loads = Set(record.exchanges.compactMap { $0.phone?.load })
        #expect(loads.isSuperset(of: ["1", "2"]))
    }

    @Test func `thirty virtual seconds take no real time`() throws {
        let bench = SimulationBench()
        let record = try Self.run(
            [Self.launch, Self.act(.wait, .despia) { $0.time = .seconds(30) }],
            users: [],
            bench
        )
        #expect(record.runProblem == nil)
        #expect(bench.clock.now < .seconds(1))
    }

    @Test func `the same seed produces identical phone runs`() throws {
        func played(_ seed: UInt64) throws -> [Exchange] {
            try Self.run(
                [
                    Self.launch, Self.act(.upgrade, .despia), Self.complete(),
                    Self.told("INITIAL_PURCHASE"),
                ],
                users: [],
                SimulationBench(seed: seed)
            ).exchanges
        }
        #expect(try played(3) == played(3))
    }
}
