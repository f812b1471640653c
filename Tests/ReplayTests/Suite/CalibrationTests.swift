import Contracts
import FakeServers
import Grammar
import Providers
import TestBackend
import Testing
import Values

@testable import Replay

/// What of a backend can be seen from outside, and how fast, learned by plain purchases.
@Suite("Sentinel and calibration")
struct CalibrationTests {
    private static let all = RunRecord.Observability(
        arePushesObservable: true,
        areProbeChangesObservable: true,
        latency: .zero
    )
    private static let effects = RunRecord.Observability(
        arePushesObservable: true,
        areProbeChangesObservable: false,
        latency: .zero
    )
    private static let state = RunRecord.Observability(
        arePushesObservable: false,
        areProbeChangesObservable: true,
        latency: .zero
    )

    private static func observePurchase(
        _ bench: SimulationBench,
        _ wanted: RunRecord.Observability = all,
        wait: Duration = .seconds(1)
    ) throws -> RunRecord.Observability? {
        try bench.run {
            await Sentinel(run: $0.executor).observePurchase("s-1", wait: wait, wanted)
        }
    }

    // MARK: One purchase

    @Test func `a fully observable backend is detected when its slower effect arrives`() throws {
        let bench = SimulationBench()
        bench.model.pushDelay = .milliseconds(20)
        let observability = try #require(try Self.observePurchase(bench))
        #expect(observability.arePushesObservable)
        #expect(observability.areProbeChangesObservable)
        #expect(!observability.readsSubscribersOverREST)
        // 2 ms for the answer, 20 for the push; the looks are at most 8 ms apart by then.
        #expect(observability.latency >= .milliseconds(22))
        #expect(observability.latency <= .milliseconds(42))
    }

    @Test func `the sentinel is another user in its own run`() throws {
        let bench = SimulationBench()
        _ = try Self.observePurchase(bench)
        let namespace = Namespace(name: "s-1", idForm: bench.executor.profile.idForm)
        let event = try #require(bench.backend.webhooks.first?.event)
        #expect(event["app_user_id"]?.string == namespace.id(of: "sentinel"))
        #expect(event["type"] == "INITIAL_PURCHASE")
        let own = bench.journal("s-1")
        #expect(own.count { $0.purpose == .sentinel } == 1)
        #expect(own.contains { $0.to == .oneSignal }, "its push is its own")
        #expect(own.contains { $0.purpose == .registration(user: "sentinel") })
    }

    @Test func `unmapped effects are not waited for`() throws {
        let bench = SimulationBench()
        bench.model.pushDelay = .milliseconds(700)
        let observability = try #require(try Self.observePurchase(bench, Self.state))
        #expect(!observability.arePushesObservable)
        #expect(observability.areProbeChangesObservable)
        #expect(bench.clock.now < .milliseconds(50))
        let nothingObservable = SimulationBench()
        let effects = try #require(try Self.observePurchase(nothingObservable, Self.effects))
        #expect(effects.arePushesObservable)
        #expect(effects.valuePaths == nil, "nobody looked at the probes")
        #expect(
            !nothingObservable.backend.arrivals.contains { $0.request.path.hasPrefix("/test/") }
        )
    }

    @Test func `one of two effects counts when the wait ends`() throws {
        let bench = SimulationBench()
        bench.model.pushDelay = nil
        let observability = try #require(try Self.observePurchase(bench))
        #expect(observability.areProbeChangesObservable)
        #expect(!observability.arePushesObservable)
        // The push that does not come says nothing about the speed of the backend.
        #expect(observability.latency < .milliseconds(20))
        #expect(bench.clock.now >= .seconds(1))
        #expect(bench.clock.now < .milliseconds(1100))
    }

    @Test func `a backend without visible effects in time is unobservable`() throws {
        let bench = SimulationBench()
        bench.model.pushDelay = .seconds(2)
        #expect(try Self.observePurchase(bench, Self.effects) == nil)
        let mute = SimulationBench()
        mute.backend.respondToWebhooks(.status(200))
        #expect(try Self.observePurchase(mute) == nil)
    }

    @Test("a refused event shows nothing", arguments: [201, 204, 301, 401, 404, 500])
    func refused(status: Int) throws {
        let bench = SimulationBench()
        bench.backend.respondToWebhooks(.status(status))
        let observability = try Self.observePurchase(bench)
        #expect(observability == nil)
        // A 2xx is looked behind, and anything else is not.
        #expect((bench.clock.now > .milliseconds(500)) == (200..<300).contains(status))
    }

    @Test func `a user whose registration fails is not probed`() throws {
        let bench = SimulationBench()
        bench.backend.respond(to: "/api/user/register", .status(503))
        #expect(try Self.observePurchase(bench) == nil)
        #expect(bench.backend.webhooks.isEmpty)
    }

    @Test func `a REST read during the response is detected`() throws {
        let bench = SimulationBench()
        bench.backend.respond = { backend, arrival in
            guard let user = arrival.event?["app_user_id"]?.string else { return nil }
            bench.model.readCustomer(user)
            return nil
        }
        #expect(try #require(try Self.observePurchase(bench)).readsSubscribersOverREST)
    }

    @Test func `JSON paths in probe responses are recorded before and after`() throws {
        let bench = SimulationBench()
        bench.backend.respond = { backend, arrival in
            guard arrival.request.path.hasPrefix("/test/") else { return nil }
            let isBought = !bench.model.owned.isEmpty
            let answer: JSONValue = isBought ? ["access": true, "until": 5] : ["trial": ["on": 1]]
            return .json(answer)
        }
        let observability = try #require(try Self.observePurchase(bench))
        let valuePaths = try #require(observability.valuePaths?["user"]).map(\.description)
        #expect(Set(valuePaths).isSuperset(of: ["/access", "/until", "/trial", "/trial/on"]))
        #expect(valuePaths == valuePaths.sorted())
    }

    @Test func `existing state is not a sign of an effect`() throws {
        let bench = SimulationBench()
        bench.backend.respond = { _, arrival in
            guard arrival.request.path.hasPrefix("/test/") else { return nil }
            return .json(["access": true])
        }
        #expect(try Self.observePurchase(bench, Self.state) == nil)
    }

    // MARK: Two purchases

    private static func calibrated(_ bench: SimulationBench) throws -> RunRecord.Observability {
        try bench.run { await Calibration(executor: $0.executor, nonce: "x").observability() }
    }

    @Test func `only the calibration reads the state of an unknown user`() throws {
        let bench = SimulationBench()
        func unknownUserReads(_ name: String) -> Int {
            bench.journal(name).count {
                if case .probe(_, "nobody") = $0.purpose { true } else { false }
            }
        }
        let observability = try Self.calibrated(bench)
        #expect(observability.unknownUserDocuments != nil)
        #expect(unknownUserReads("x-c1") > 0 && unknownUserReads("x-c2") > 0)
        #expect(try Self.observePurchase(bench)?.areProbeChangesObservable == true)
        #expect(unknownUserReads("s-1") == 0)
    }

    @Test func `without declared observability no event is sent`() throws {
        let bench = SimulationBench {
            $0.probes = []
            $0.unsupportedFeatures = [.push]
        }
        #expect(try Self.calibrated(bench) == Calibration.nothingObservable)
        #expect(bench.backend.arrivals.isEmpty)
    }

    @Test func `the second purchase measures the latency`() throws {
        let bench = SimulationBench()
        bench.backend.respond = { backend, arrival in
            guard arrival.event != nil else { return nil }
            // Cold code.
            if backend.webhooks.count == 1 { await backend.clock.pause(.milliseconds(600)) }
            return nil
        }
        let observability = try Self.calibrated(bench)
        #expect(observability.arePushesObservable && observability.areProbeChangesObservable)
        #expect(observability.latency < .milliseconds(30))
        #expect(bench.journal("x-c1").count { $0.purpose == .sentinel } == 1)
        #expect(bench.journal("x-c2").count { $0.purpose == .sentinel } == 1)
    }

    @Test func `a backend without visible effects is unobservable after one purchase`() throws {
        let bench = SimulationBench()
        bench.backend.respond = { _, arrival in
            guard arrival.event != nil else { return nil }
            return .json(["skipped": true])
        }
        let observability = try Self.calibrated(bench)
        #expect(observability.showsNoPurchase)
        #expect(observability.plainPurchaseStatus == #"200 {"skipped":true}"#)
        #expect(bench.backend.webhooks.count == 1)
    }

    @Test func `pushes are not waited for if the profile excludes them`() throws {
        let bench = SimulationBench { $0.unsupportedFeatures = [.push] }
        let observability = try Self.calibrated(bench)
        #expect(!observability.arePushesObservable)
        #expect(observability.areProbeChangesObservable)
        #expect(bench.clock.now < .milliseconds(100))
    }

    @Test func `a late push of the first purchase counts`() throws {
        let bench = SimulationBench()
        bench.model.pushDelay = .milliseconds(4500)
        let observability = try Self.calibrated(bench)
        #expect(observability.arePushesObservable)
        #expect(observability.latency >= .milliseconds(4500))
        #expect(observability.latency <= .milliseconds(4503))
    }

    @Test func `still later pushes are unknown until they arrive`() throws {
        let bench = SimulationBench()
        bench.model.pushDelay = .seconds(9)
        let found = try bench.run { bench in
            let calibration = Calibration(executor: bench.executor, nonce: "x")
            let observability = await calibration.observability()
            let before = calibration.effectDelay()
            await bench.clock.pause(.seconds(5))
            return [
                observability.arePushesObservable ? .zero : nil, before, calibration.effectDelay(),
            ]
        }
        #expect(found[0] == nil)
        #expect(found[1] == nil)
        let late = try #require(found[2])
        #expect(late >= .seconds(9))
        #expect(late <= .milliseconds(9003))
    }

    @Test func `reading subscribers once is enough`() throws {
        let bench = SimulationBench()
        bench.backend.respond = { backend, arrival in
            guard let user = arrival.event?["app_user_id"]?.string, backend.webhooks.count == 1
            else { return nil }
            bench.model.readCustomer(user)
            return nil
        }
        #expect(
            try Self.calibrated(bench).readsSubscribersOverREST,
            "a cache may answer the second"
        )
    }
}
