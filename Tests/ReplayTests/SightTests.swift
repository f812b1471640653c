import Conformance
import FakeServers
import Testing

@testable import Replay

/// What of a backend can be seen from outside, and how fast, learned by plain purchases.
@Suite("Sentinel and calibration")
struct SightTests {
    private static let all = RunRecord.Sight(
        seesEffects: true,
        seesState: true,
        latency: .zero
    )
    private static let effects = RunRecord.Sight(
        seesEffects: true,
        seesState: false,
        latency: .zero
    )
    private static let state = RunRecord.Sight(
        seesEffects: false,
        seesState: true,
        latency: .zero
    )

    private static func see(
        _ bench: Bench,
        _ wanted: RunRecord.Sight = all,
        wait: Duration = .seconds(1)
    ) throws -> RunRecord.Sight? {
        try bench.run { await Sentinel(run: $0.executor).see("s-1", wait: wait, wanted) }
    }

    // MARK: One purchase

    @Test func `a backend that shows all is seen as soon as the slower of both is there`() throws {
        let bench = Bench()
        bench.backend.pushDelay = .milliseconds(20)
        let sight = try #require(try Self.see(bench))
        #expect(sight.seesEffects)
        #expect(sight.seesState)
        #expect(!sight.readsSubscribers)
        // 2 ms for the answer, 20 for the push; the looks are at most 8 ms apart by then.
        #expect(sight.latency >= .milliseconds(22))
        #expect(sight.latency <= .milliseconds(42))
    }

    @Test func `the sentinel is somebody else, in a run of its own`() throws {
        let bench = Bench()
        _ = try Self.see(bench)
        let namespace = Namespace(name: "s-1", idForm: bench.executor.profile.idForm)
        let event = try #require(bench.backend.webhooks.first?.event)
        #expect(event["app_user_id"]?.string == namespace.id(of: "sentinel"))
        #expect(event["type"] == "INITIAL_PURCHASE")
        let own = bench.journal("s-1")
        #expect(own.count { $0.purpose == .sentinel } == 1)
        #expect(own.contains { $0.to == .oneSignal }, "its push is its own")
        #expect(own.contains { $0.purpose == .registration(user: "sentinel") })
    }

    @Test func `nothing that is not looked for is waited for`() throws {
        let bench = Bench()
        bench.backend.pushDelay = .milliseconds(700)
        let sight = try #require(try Self.see(bench, Self.state))
        #expect(!sight.seesEffects)
        #expect(sight.seesState)
        #expect(bench.clock.now < .milliseconds(50))
        let blind = Bench()
        let effects = try #require(try Self.see(blind, Self.effects))
        #expect(effects.seesEffects)
        #expect(effects.places == nil, "nobody looked at the probes")
        #expect(!blind.backend.arrivals.contains { $0.request.path.hasPrefix("/test/") })
    }

    @Test func `what is seen of two things when the wait is over counts`() throws {
        let bench = Bench()
        bench.backend.pushDelay = nil
        let sight = try #require(try Self.see(bench))
        #expect(sight.seesState)
        #expect(!sight.seesEffects)
        #expect(sight.latency >= .seconds(1))
        #expect(bench.clock.now < .milliseconds(1100))
    }

    @Test func `a backend of which nothing is seen in time is not seen`() throws {
        let bench = Bench()
        bench.backend.pushDelay = .seconds(2)
        #expect(try Self.see(bench, Self.effects) == nil)
        let mute = Bench()
        mute.backend.answer = { _, arrival in
            arrival.event == nil ? nil : .answered(HTTPMessage.Response(200))
        }
        #expect(try Self.see(mute) == nil)
    }

    @Test("an event that is not taken shows nothing", arguments: [201, 204, 301, 401, 404, 500])
    func refused(status: Int) throws {
        let bench = Bench()
        bench.backend.answer = { _, arrival in
            arrival.event == nil ? nil : .answered(HTTPMessage.Response(status))
        }
        let sight = try Self.see(bench)
        #expect(sight == nil)
        // A 2xx is looked behind, and anything else is not.
        #expect((bench.clock.now > .milliseconds(500)) == (200..<300).contains(status))
    }

    @Test func `whoever cannot be registered is not looked at`() throws {
        let bench = Bench()
        bench.backend.answer = { _, arrival in
            arrival.request.path == "/api/user/register"
                ? .answered(HTTPMessage.Response(503)) : nil
        }
        #expect(try Self.see(bench) == nil)
        #expect(bench.backend.webhooks.isEmpty)
    }

    @Test func `a read of RevenueCat's REST while it answers is seen`() throws {
        let bench = Bench()
        bench.backend.answer = { backend, arrival in
            guard let user = arrival.event?["app_user_id"]?.string else { return nil }
            backend.call(
                .revenueCat,
                HTTPMessage.Request(
                    "GET",
                    "/v1/subscribers/\(user)",
                    fields: [HTTPMessage.Field("authorization", "Bearer sk_assay")]
                )
            )
            return nil
        }
        #expect(try #require(try Self.see(bench)).readsSubscribers)
    }

    @Test func `the places of the probes' answers are known, before and after`() throws {
        let bench = Bench()
        bench.backend.answer = { backend, arrival in
            guard arrival.request.path.hasPrefix("/test/") else { return nil }
            let isBought = !backend.owned.isEmpty
            let answer: JSONValue = isBought ? ["access": true, "until": 5] : ["trial": ["on": 1]]
            return .answered(HTTPMessage.Response(200, json: answer))
        }
        let sight = try #require(try Self.see(bench))
        let places = try #require(sight.places?["user"]).map(\.description)
        #expect(Set(places).isSuperset(of: ["/access", "/until", "/trial", "/trial/on"]))
        #expect(places == places.sorted())
    }

    @Test func `a state that was there before is no sign`() throws {
        let bench = Bench()
        bench.backend.answer = { _, arrival in
            guard arrival.request.path.hasPrefix("/test/") else { return nil }
            return .answered(HTTPMessage.Response(200, json: ["access": true]))
        }
        #expect(try Self.see(bench, Self.state) == nil)
    }

    // MARK: Two purchases

    private static func calibrated(_ bench: Bench) throws -> RunRecord.Sight {
        try bench.run { await Calibration(executor: $0.executor, nonce: "x").sight() }
    }

    @Test func `where nothing is declared to be seen nothing is sent`() throws {
        let bench = Bench {
            $0.probes = []
            $0.unsupported = [.push]
        }
        #expect(try Self.calibrated(bench) == Calibration.blind)
        #expect(bench.backend.arrivals.isEmpty)
    }

    @Test func `the second purchase tells how long things take`() throws {
        let bench = Bench()
        bench.backend.answer = { backend, arrival in
            guard arrival.event != nil else { return nil }
            // Cold code.
            if backend.webhooks.count == 1 { await backend.clock.pause(.milliseconds(600)) }
            return nil
        }
        let sight = try Self.calibrated(bench)
        #expect(sight.seesEffects && sight.seesState)
        #expect(sight.latency < .milliseconds(30))
        #expect(bench.journal("x-c1").count { $0.purpose == .sentinel } == 1)
        #expect(bench.journal("x-c2").count { $0.purpose == .sentinel } == 1)
    }

    @Test func `a backend that shows nothing is blind after one purchase`() throws {
        let bench = Bench()
        bench.backend.answer = { _, arrival in
            guard arrival.event != nil else { return nil }
            return .answered(HTTPMessage.Response(200, json: ["skipped": true]))
        }
        let sight = try Self.calibrated(bench)
        #expect(sight.isBlind)
        #expect(sight.plainAnswer == #"200 {"skipped":true}"#)
        #expect(bench.backend.webhooks.count == 1)
    }

    @Test func `pushes are not looked for when the profile says that there are none`() throws {
        let bench = Bench { $0.unsupported = [.push] }
        let sight = try Self.calibrated(bench)
        #expect(!sight.seesEffects)
        #expect(sight.seesState)
        #expect(bench.clock.now < .milliseconds(100))
    }

    @Test func `a push of the first that came while the second was looked at counts`() throws {
        let bench = Bench()
        bench.backend.pushDelay = .milliseconds(4500)
        let sight = try Self.calibrated(bench)
        #expect(sight.seesEffects)
        #expect(sight.latency >= .milliseconds(4500))
        #expect(sight.latency <= .milliseconds(4503))
    }

    @Test func `pushes that come later still are not known of, until they are`() throws {
        let bench = Bench()
        bench.backend.pushDelay = .seconds(9)
        let found = try bench.run { bench in
            let calibration = Calibration(executor: bench.executor, nonce: "x")
            let sight = await calibration.sight()
            let before = calibration.lateness()
            await bench.clock.pause(.seconds(5))
            return [sight.seesEffects ? .zero : nil, before, calibration.lateness()]
        }
        #expect(found[0] == nil)
        #expect(found[1] == nil)
        let late = try #require(found[2])
        #expect(late >= .seconds(9))
        #expect(late <= .milliseconds(9003))
    }

    @Test func `reading subscribers once is reading them`() throws {
        let bench = Bench()
        bench.backend.answer = { backend, arrival in
            guard let user = arrival.event?["app_user_id"]?.string, backend.webhooks.count == 1
            else { return nil }
            backend.call(
                .revenueCat,
                HTTPMessage.Request(
                    "GET",
                    "/v1/subscribers/\(user)",
                    fields: [HTTPMessage.Field("authorization", "Bearer sk_assay")]
                )
            )
            return nil
        }
        #expect(try Self.calibrated(bench).readsSubscribers, "a cache may answer the second")
    }
}
