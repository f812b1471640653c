import Contracts
import FakeServers
import Judging
import Providers
import TestBackend
import Testing
import Values

@testable import Replay

/// A token that ends while a case goes on, before backends that let clocks differ by anything.
@Suite("Expired tokens")
struct TokenExpiryTests {
    /// What came to the protected route: when, with which token, and whether it passed.
    private struct PresentedToken: Sendable {
        let token: String
        let hasPassed: Bool
        let name: String
    }

    private static func bench(skew: Int64, remembers: Bool) -> (
        SimulationBench, Locked<[PresentedToken]>
    ) {
        let bench = SimulationBench {
            $0.endpoints["protected"] = Profile.Endpoint(method: "GET", path: "/me")
        }
        let shown = Locked<[PresentedToken]>([])
        let fakes = bench.fakes
        bench.backend.respond = { _, arrival in
            guard arrival.request.path == "/me" else { return nil }
            let value = arrival.request.fields.value(of: "authorization") ?? ""
            let token = String(value.dropFirst(7))
            let parts = token.split(separator: ".", omittingEmptySubsequences: false)
            let claims = Base64.bytes(parts.count == 3 ? parts[1] : "").flatMap {
                try? JSONValue(parsing: $0)
            }
            let end = claims?["exp"]?.int64 ?? 0
            let isKnown = remembers && shown.withLock { $0.contains { $0.token == token } }
            let passes = isKnown || fakes.now.seconds - end < skew
            let name = claims?["jti"]?.string ?? ""
            shown.withLock {
                $0.append(PresentedToken(token: token, hasPassed: passes, name: name))
            }
            return .status(passes ? 200 : 401)
        }
        return (bench, shown)
    }

    private static func run(_ bench: SimulationBench) throws -> RunRecord {
        func call(_ name: String, _ change: (inout TokenSpec) -> Void) -> Step {
            var call = Call(name: name, route: .protected)
            var token = TokenSpec()
            change(&token)
            (call.user, call.token) = ("ada", token)
            return .call([call])
        }
        let steps = [
            call("good") { $0.expires = .soon }, call("over") { $0.callWithExpiredToken = "good" },
        ]
        return try bench.runWithHeartbeat { bench in
            await bench.executor.run(
                RunPlan(steps: steps, users: ["ada"], observesFinalState: false),
                in: "n-1",
                observability: SimulationBench.observability,
                within: SimulationBench.within,
                verdict: { _ in .settled }
            )
        }
    }

    @Test(
        "one token is sent twice, before and after it expires",
        arguments: [0, 1, 5, 30, 60, 119]
    )
    func shownTwice(skew: Int64) throws {
        let (bench, shown) = Self.bench(skew: skew, remembers: false)
        let record = try Self.run(bench)
        #expect(record.runProblem == nil)
        let own = shown.withLock { $0 }.filter { $0.name.isEmpty }
        try #require(own.count == 2)
        #expect(own[0].token == own[1].token)
        #expect(own.map(\.hasPassed) == [true, false])
        // All the others were new to the backend.
        let trials = shown.withLock { $0 }.filter { !$0.name.isEmpty }.map(\.token)
        #expect(Set(trials).count == trials.count)
        #expect(record.exchange(ofCall: "good")?.response?.status == 200)
        #expect(record.exchange(ofCall: "over")?.response?.status == 401)
    }

    @Test("a backend that caches a valid token accepts it after expiry", arguments: [0, 10, 60])
    func remembered(skew: Int64) throws {
        let (bench, _) = Self.bench(skew: skew, remembers: true)
        let record = try Self.run(bench)
        #expect(record.runProblem == nil)
        #expect(record.exchange(ofCall: "over")?.response?.status == 200)
    }

    @Test func `a backend that accepts any token is inconclusive`() throws {
        let (bench, _) = Self.bench(skew: 100_000, remembers: false)
        let record = try Self.run(bench)
        guard case .faultNotApplied = record.runProblem else {
            Issue.record("\(String(describing: record.runProblem))")
            return
        }
        #expect(record.exchange(ofCall: "over") == nil)
    }

    @Test("a key is withdrawn after two rotations", arguments: [0, 1, 2])
    func withdrawn(rotations: Int) throws {
        let (bench, shown) = Self.bench(skew: 0, remembers: false)
        var call = Call(name: "withdrawn", route: .protected)
        var token = TokenSpec()
        token.signing = .withdrawnKey
        (call.user, call.token) = ("ada", token)
        let steps = [Step](repeating: .rotateKeys, count: rotations) + [.call([call])]
        let record = try bench.runWithHeartbeat { bench in
            bench.fakes.edit("") { services, _ in services.firebase.settings.tokens = .rs256 }
            bench.executor.prepareKeys()
            return await bench.executor.run(
                RunPlan(steps: steps, users: ["ada"], observesFinalState: false),
                in: "n-1",
                observability: SimulationBench.observability,
                within: SimulationBench.within,
                verdict: { _ in .settled }
            )
        }
        if rotations == 2 {
            #expect(record.runProblem == nil)
            #expect(shown.withLock { $0.count } == 1)
        } else {
            guard case .faultNotApplied(let text) = record.runProblem else {
                Issue.record("\(String(describing: record.runProblem))")
                return
            }
            #expect(text.contains("rotate-keys"))
        }
    }
}
