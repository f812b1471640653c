import Contracts
import Judging
import TestBackend
import Testing
import Values

@testable import Replay

/// Cases whose concurrent requests arrive in several orders and at several offsets.
@Suite("Timing sweep")
struct TimingSweepTests {
    /// Two different events of one user that arrive at the same time.
    private static func differentEvents() throws -> Contract {
        guard case .deliver(var first) = SimulatedContracts.deliver("a") else {
            throw CancellationError()
        }
        first.isConcurrentWithNext = true
        return SimulatedContracts.contract(
            "a",
            [.deliver(first), SimulatedContracts.deliver("b", "RENEWAL")]
        )
    }

    private static func copies(_ change: (inout Delivery) -> Void) throws -> Contract {
        guard case .deliver(var delivery) = SimulatedContracts.deliver("a") else {
            throw CancellationError()
        }
        change(&delivery)
        return SimulatedContracts.contract("a", [.deliver(delivery)])
    }

    private static func result(
        of contract: Contract,
        on bench: SimulationBench,
        detectsRaces: Bool = true
    ) throws -> CaseResult {
        let outcome = try CaseRunnerFixture(
            bench: bench,
            contracts: [contract],
            detectsRaces: detectsRaces
        ).run()
        return try #require(outcome["a"])
    }

    // MARK: Races

    /// A backend that refuses an event if the other event came within the given time before it.
    ///
    /// - Parameters:
    ///   - window: The times between the two events that show the race.
    ///   - isReversed: Whether the race shows only if the second event of the contract comes first.
    /// - Returns: The backend.
    private static func racing(_ window: Range<Duration>, isReversed: Bool) -> SimulationBench {
        let bench = SimulationBench()
        let earlier = Locked<[String: Duration]>([:])
        bench.backend.respond = { backend, arrival in
            guard let event = arrival.event, let user = event["app_user_id"]?.string,
                !user.contains("sentinel")
            else { return nil }
            let now = backend.clock.now
            let isRenewal = event["type"]?.string == "RENEWAL"
            let other = earlier.withLock { earlier in
                defer { earlier[user + "\(isRenewal)"] = now }
                return earlier[user + "\(!isRenewal)"]
            }
            guard let other, isRenewal != isReversed else { return nil }
            return window.contains(now - other) ? .status(500) : nil
        }
        return bench
    }

    @Test(
        "a race of two different events is found, whatever its offsets",
        arguments: UInt64(0)..<32
    )
    func generated(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed, text: "window")
        let start: Duration = .microseconds(Int64.random(in: 400...1000, using: &random))
        let bench = Self.racing(start..<(start * 21 / 10), isReversed: Bool.random(using: &random))
        let result = try Self.result(of: Self.differentEvents(), on: bench)
        #expect(result.verdict == .failed, "\(start)")
        #expect(
            result.hints.contains {
                $0.contains(" runs, in both orders and with offsets of 0 to ")
                    && $0.hasSuffix(": timing-dependent (a race)")
            },
            "\(result.hints)"
        )
    }

    @Test func `a case of different events passes only after the complete sweep`() throws {
        let bench = SimulationBench()
        let result = try Self.result(of: Self.differentEvents(), on: bench)
        #expect(result.verdict == .passed)
        #expect(result.runCount == ConcurrentTiming.sweep(upTo: .seconds(1)).count)
    }

    // MARK: Classification

    /// Runs two concurrent copies against a backend that refuses a copy while it works on the other
    /// one.
    @Test(
        "a failure that always occurs at once is a race if an offset prevents it",
        arguments: [1, 4] as [Int64]
    )
    func offsets(workMilliseconds: Int64) throws {
        let bench = SimulationBench()
        let working = Locked(0)
        bench.backend.respond = { backend, arrival in
            guard arrival.event != nil else { return nil }
            let isFirst = working.withLock { count in
                count += 1
                return count == 1
            }
            await backend.clock.pause(.milliseconds(workMilliseconds))
            working.withLock { $0 -= 1 }
            return isFirst ? nil : .status(500)
        }
        let contract = try Self.copies { ($0.sendsCopiesConcurrently, $0.times) = (true, 2) }
        let result = try Self.result(of: contract, on: bench)
        #expect(result.verdict == .failed)
        #expect(
            result.hints.contains {
                $0.contains("runs, in both orders and with offsets of 0 to")
                    && $0.hasSuffix("timing-dependent (a race)") && !$0.contains("not timing")
            },
            "\(result.hints)"
        )
    }

    @Test func `a failure in each order and at each offset does not depend on the timing`() throws {
        let bench = SimulationBench()
        bench.backend.respondToWebhooks(.status(500))
        let contract = try Self.copies { ($0.sendsCopiesConcurrently, $0.times) = (true, 2) }
        let result = try Self.result(of: contract, on: bench)
        #expect(result.verdict == .failed)
        #expect(
            result.hints.contains {
                $0.hasPrefix("failed in all ") && $0.hasSuffix(": not timing-dependent")
                    && $0.contains("in both orders and with offsets of 0 to ")
            },
            "\(result.hints)"
        )
    }

    @Test func `a fault with fixed times is not reported as independent of timing`() throws {
        let bench = SimulationBench()
        bench.backend.respondToWebhooks(.status(500))
        let contract = try Self.copies { ($0.disconnects, $0.followsRetrySchedule) = (1, true) }
        let result = try Self.result(of: contract, on: bench)
        #expect(result.verdict == .failed)
        #expect(
            result.hints.contains {
                $0.hasPrefix("failed in all ") && $0.hasSuffix(": the timing was not varied")
                    && $0.contains("with the same order and times in each run")
            },
            "\(result.hints)"
        )
    }
}
