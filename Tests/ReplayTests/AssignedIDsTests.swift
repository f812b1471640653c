import Conformance
import FakeServers
import Providers
import Testing

@testable import Replay

/// Backends that choose the ids of their users, and devices that share one.
@Suite("Ids and proofs of the backend's own")
struct AssignedIDsTests {
    private static let purchase = Step.deliver(
        Delivery(name: "a", subject: .event(EventSpec(type: "INITIAL_PURCHASE", user: "ada")))
    )

    /// Whoever signs up is 77; an id registers under `/api/user/register`.
    private static func bench(_ change: @escaping (inout Profile) -> Void = { _ in }) -> Bench {
        let bench = Bench { profile in
            var signUp = Profile.Endpoint(method: "POST", path: "/signup", body: [:])
            signUp.answerID = JSONPointer("/user")
            profile.creation = .request(signUp)
            change(&profile)
        }
        bench.backend.answer = { _, arrival in
            arrival.request.path == "/signup"
                ? .answered(HTTPMessage.Response(200, json: ["user": 77])) : nil
        }
        return bench
    }

    private static func run(_ bench: Bench, _ steps: [Step]) throws -> RunRecord {
        try bench.run { bench in
            await bench.executor.run(
                RunPlan(steps: steps, users: ["ada"], observes: false),
                in: "n-1",
                sight: Bench.sight,
                within: Bench.within,
                verdict: { _ in .settled }
            )
        }
    }

    private static func body(_ arrival: PlayedBackend.Arrival?) -> JSONValue {
        arrival.flatMap { try? JSONValue(parsing: $0.request.body) } ?? .null
    }

    @Test func `an id that a contract writes out may hold what the run made up`() throws {
        let bench = Self.bench()
        let record = try Self.run(
            bench,
            [.name(user: "ada", id: "x {{device.ada}}"), Self.purchase]
        )
        let id = "x " + record.namespace.installID(of: "ada")
        #expect(record.namespace.id(of: "ada") == id)
        #expect(Self.body(bench.backend.webhooks.first)["event"]?["app_user_id"] == .string(id))
    }

    @Test func `what an event says of an id that the backend chose, REST says`() throws {
        let bench = Self.bench()
        let record = try Self.run(bench, [.register(user: "ada"), Self.purchase])
        #expect(record.trouble == nil)
        let event = Self.body(bench.backend.webhooks.first)["event"]
        #expect(event?["app_user_id"] == "77")
        let request = HTTPMessage.Request(
            "GET",
            "/v1/subscribers/77",
            fields: [HTTPMessage.Field("authorization", "Bearer sk_assay")]
        )
        let reply = FakeServer.reply(to: request, .revenueCat, bench.world)
        let answer = try JSONValue(parsing: reply.response.body)
        #expect(answer["subscriber"]?["subscriptions"]?.object?.members.count == 1)
    }

    @Test func `whom an event has named registers under that id`() throws {
        let bench = Self.bench()
        let record = try Self.run(bench, [Self.purchase, .register(user: "ada")])
        #expect(record.trouble == nil)
        let named = Self.body(bench.backend.webhooks.first)["event"]?["app_user_id"]
        let registration = bench.backend.arrivals.first { $0.request.path == "/api/user/register" }
        #expect(named != nil)
        #expect(Self.body(registration)["appUserId"] == named)
        #expect(!bench.backend.arrivals.contains { $0.request.path == "/signup" })
    }

    @Test func `where no id can be registered, nobody is played who would have to`() throws {
        let bench = Self.bench { $0.endpoints["register"] = nil }
        let late = SimulatedContracts.contract("late", [Self.purchase, .register(user: "ada")])
        let outcome = try PlayedCases(bench: bench, contracts: [late], looksFirst: false).run()
        #expect(outcome.verdicts == [.notRun])
    }

    private static let places: JSONValue = [
        "id": "{{id}}", "device": "{{device}}", "proof": "{{proof}}",
    ]

    @Test("a proof belongs to the device that was given it", arguments: [true, false])
    func proof(isOtherDevice: Bool) throws {
        let bench = Bench { profile in
            var register = Profile.Endpoint(
                method: "POST",
                path: "/api/user/register",
                body: Self.places
            )
            register.answerProof = JSONPointer("/token")
            profile.endpoints["register"] = register
        }
        bench.backend.answer = { _, arrival in
            arrival.request.path == "/api/user/register"
                ? .answered(HTTPMessage.Response(200, json: ["token": "secret-1"])) : nil
        }
        var call = Call(name: "second", route: .register)
        call.user = "ada"
        if isOtherDevice { call.values["device"] = "another-device" }
        let record = try Self.run(bench, [.register(user: "ada"), .call([call])])
        #expect(record.trouble == nil)
        let second = Self.body(bench.backend.arrivals.last)
        #expect(second["proof"] == (isOtherDevice ? nil : "secret-1"))
    }
}
