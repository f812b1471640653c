import Contracts
import FakeServers
import Judging
import TestBackend
import Testing
import Values

@testable import Replay

/// A rate limit on the webhook, which also counts the provider.
struct ThrottledWebhookTests {
    /// The failed cases of a run against a backend that answers some deliveries differently.
    private static func failures(
        copies: Int,
        isUnauthorized: @escaping @Sendable (_ number: Int) -> Bool = { _ in false },
        isThrottled: @escaping @Sendable (_ number: Int) -> Bool
    ) throws -> [CaseResult] {
        let bench = SimulationBench()
        let count = Locked(0)
        bench.backend.respond = { _, arrival in
            guard arrival.event != nil else { return nil }
            let number = count.withLock { count in
                count += 1
                return count
            }
            if isUnauthorized(number) { return .status(401) }
            return isThrottled(number) ? .status(429) : nil
        }
        let contract = SimulatedContracts.contract(
            "purchase",
            [
                SimulatedContracts.deliver("a") {
                    $0.times = copies
                    $0.sendsCopiesConcurrently = copies > 1
                }
            ],
            states: [("access", true)]
        )
        return try bench.verify(contract).results.filter { $0.verdict == .failed }
    }

    @Test("a 429 at the rate of a provider is a failure of the run", arguments: [1, 8, 16])
    func refused(copies: Int) throws {
        let failures = try Self.failures(copies: copies) { $0.isMultiple(of: 3) }
        let failure = try #require(failures.first)
        #expect(failures.count == 1 && failure.contract.id == "run/takes-bursts")
        let finding = try #require(failure.findings.first)
        #expect(finding.code == .webhookThrottled)
        #expect(finding.actual.contains("others within one second"), "\(finding.actual)")
    }

    @Test func `a limit above the rate of a provider is no failure`() throws {
        #expect(try Self.failures(copies: 60) { (32...62).contains($0) }.isEmpty)
    }

    @Test func `a limit that follows refused callers is no failure`() throws {
        let failures = try Self.failures(copies: 8, isUnauthorized: { $0 == 4 }) { $0 > 4 }
        #expect(!failures.contains { $0.contract.id == "run/takes-bursts" })
    }

    @Test func `a backend without a limit has no such failure`() throws {
        #expect(try Self.failures(copies: 20) { _ in false }.isEmpty)
    }
}
