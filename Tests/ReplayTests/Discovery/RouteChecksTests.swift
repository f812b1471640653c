import Contracts
import Judging
import Providers
import TestBackend
import Testing
import Values

@testable import Replay

/// Doctor finds mistakes of the profile that would look like failures of the backend.
@Suite("Route checks of doctor")
struct RouteChecksTests {
    /// A backend whose probe shows `access` and `expires`.
    private static func bench(isStoredFlag: Bool, mapsDate: Bool) -> SimulationBench {
        let bench = SimulationBench { profile in
            profile.probes[0].readings["expires"] = Profile.FieldReading(
                pointer: JSONPointer(tokens: ["expires"]),
                meaning: .value
            )
            guard mapsDate else { return }
            profile.probes[0].readings["access"] = Profile.FieldReading(
                pointer: JSONPointer(tokens: ["expires"]),
                meaning: .isFuture
            )
        }
        let ends = Locked<[String: Int64]>([:])
        bench.backend.respond = { backend, arrival in
            if let event = arrival.event, let user = event["app_user_id"]?.string,
                let end = event["expiration_at_ms"]?.int64
            {
                ends.withLock { ends in ends[user] = end }
            }
            guard arrival.request.path.hasPrefix("/test/") else { return nil }
            let user = String(arrival.request.path.dropFirst("/test/".count))
            let end = ends.withLock { $0[user] }
            let isOver = end.map { Instant(milliseconds: $0) <= backend.clock.wallTime } ?? true
            let hasAccess = end != nil && (isStoredFlag || !isOver)
            let expires: JSONValue = end.map { JSONValue.number(JSONNumber($0)) } ?? .null
            return .json([
                "access": .bool(hasAccess), "refunded": false, "product": "premium_monthly",
                "expires": expires,
            ])
        }
        return bench
    }

    private static func results(
        _ bench: SimulationBench
    ) throws -> [DoctorChecks.CheckResult] {
        try bench.run { await DoctorChecks.checkBackend($0.executor, name: "d") }.checkResults
    }

    @Test("a stored flag is questioned, an access rule is not", arguments: [true, false])
    func accessQuestion(isStoredFlag: Bool) throws {
        let results = try Self.results(Self.bench(isStoredFlag: isStoredFlag, mapsDate: false))
        let question = results.first { $0.topic == "access" }
        #expect((question?.state == .doubtful) == isStoredFlag)
        if isStoredFlag { #expect(question?.text.contains("a stored flag?") == true) }
    }

    @Test func `a date that Assay compares is no stored flag`() throws {
        let results = try Self.results(Self.bench(isStoredFlag: true, mapsDate: true))
        #expect(!results.contains { $0.topic == "access" })
    }

    @Test("doctor tries the protected route", arguments: [200, 404, 401])
    func protectedRoute(status: Int) throws {
        let bench = SimulationBench {
            $0.endpoints["protected"] = Profile.Endpoint(method: "GET", path: "/me")
        }
        bench.backend.respond = { _, arrival in
            arrival.request.path == "/me" ? .status(status) : nil
        }
        let problem = try Self.results(bench).first { $0.topic == "protected" }
        #expect((problem?.state == .bad) == (status != 200))
        if status != 200 {
            #expect(problem?.text.contains("GET /me returns \(status)") == true)
            let calls = bench.backend.arrivals.map(\.request.path)
            let register = try #require(calls.lastIndex(of: "/api/user/register"))
            #expect(try #require(calls.firstIndex(of: "/me")) > register)
        }
    }
}
