import Contracts
import Judging
import TestBackend
import Testing
import Values

@testable import Replay

/// Backends that accept events and apply them later, at any speed that the settle timeout covers.
@Suite("Slow asynchronous backends")
struct SlowBackendTests {
    private static let loads: [(String, SimulatedMachine.Load)] = [
        ("idle", .faultFree), ("busy", .busy),
    ]

    /// The longest time in which the backend processes four events of one user, which is more than
    /// any simulated contract sends at once.
    private static func longestDelay(_ lanes: SubscriptionModel.LaneDelays) -> Duration {
        let one =
            max(lanes.usual, lanes.slow) * lanes.laterFactor + lanes.coldStart
            + (lanes.batchInterval ?? .zero)
        return one * 4
    }

    private static func suite(
        _ seed: UInt64,
        _ load: SimulatedMachine.Load = .faultFree,
        _ change: (inout SubscriptionModel.LaneDelays) -> Void = { _ in }
    ) -> SimulatedSuite {
        var random = SeededGenerator(seed: seed, text: "lanes")
        var lanes = SubscriptionModel.LaneDelays()
        lanes.usual = .milliseconds(Int64.random(in: 1...100, using: &random))
        lanes.slow = .milliseconds(Int64.random(in: 100...4000, using: &random))
        lanes.slowOneIn = UInt64.random(in: 1...8, using: &random)
        lanes.later = .seconds(Int64.random(in: 1...60, using: &random))
        lanes.laterFactor = Int.random(in: 1...3, using: &random)
        if Bool.random(using: &random) {
            lanes.batchInterval = .milliseconds(Int64.random(in: 50...3000, using: &random))
        }
        if Bool.random(using: &random) {
            lanes.coldStart = .milliseconds(Int64.random(in: 100...2500, using: &random))
        }
        change(&lanes)
        var suite = SimulatedSuite(seed: seed, load: load)
        let timeout = longestDelay(lanes) + .seconds(2)
        suite.shape.lanes = lanes
        suite.change = { $0.settleTimeout = timeout }
        return suite
    }

    @Test(
        "a backend that keeps the settle timeout never fails",
        arguments: loads,
        UInt64(0)..<24
    )
    func generated(load: (String, SimulatedMachine.Load), seed: UInt64) {
        let suite = Self.suite(seed, load.1)
        let outcome = suite.run()
        #expect(outcome.results != nil, "\(load.0): it never ended")
        #expect(outcome.cases(.failed).isEmpty, "\(load.0), \(suite.shape): \(outcome.text)")
    }

    @Test(
        "a backend that is slower than the settle timeout never fails",
        arguments: loads,
        UInt64(0)..<8
    )
    func slowerThanTimeout(load: (String, SimulatedMachine.Load), seed: UInt64) {
        var suite = Self.suite(seed, load.1) { lanes in
            lanes.slow = .seconds(9)
            lanes.slowOneIn = 3
        }
        suite.change = { $0.settleTimeout = .seconds(2) }
        let outcome = suite.run()
        #expect(outcome.results != nil, "\(load.0): it never ended")
        #expect(outcome.cases(.failed).isEmpty, "\(load.0), \(suite.shape): \(outcome.text)")
    }

    @Test("a queue that does not move is reported once", arguments: UInt64(0)..<6)
    func blockedQueue(seed: UInt64) {
        let outcome = Self.suite(seed) { lanes in
            lanes.slow = lanes.usual
            lanes.coldStart = .zero
            lanes.batchInterval = nil
            lanes.end = .milliseconds(700)
        }
        .run()
        #expect(
            outcome.cases(.failed) == [RunInvariant.backendProcessesEvents.rawValue],
            "\(outcome.text)"
        )
    }

    @Test("a slow backend that loses events still fails", arguments: UInt64(0)..<6)
    func lossyQueue(seed: UInt64) {
        var suite = Self.suite(seed)
        suite.defect = .losesOneInFive
        let failed = suite.run().cases(.failed)
        #expect(!failed.filter { !$0.hasPrefix("run/") }.isEmpty, "\(suite.shape)")
    }

    @Test func `late states do not excuse missing pushes`() throws {
        let bench = SimulationBench { $0.settleTimeout = .seconds(10) }
        bench.model.pushDelay = nil
        let eventCount = Locked(0)
        bench.backend.respond = { _, arrival in
            guard let user = arrival.event?["app_user_id"]?.string else { return nil }
            if user.contains("sentinel") {
                bench.model.push(to: user)
                return nil
            }
            let number = eventCount.withLock { count in
                count += 1
                return count
            }
            _ = bench.clock.task {
                // The second case comes within the settle timeout, so it runs again, and is late.
                await bench.clock.pause(.seconds(number == 2 ? 9 : 15))
                bench.model.note(user, owns: "premium_monthly")
            }
            return .status(200)
        }
        let steps = [SimulatedContracts.deliver("a")]
        let outcome = try CaseRunnerFixture(
            bench: bench,
            contracts: [
                SimulatedContracts.contract("state", steps, states: [("access", true)]),
                SimulatedContracts.contract("push", steps, pushes: 1),
            ]
        ).run()
        #expect(outcome["state"]?.verdict == .inconclusive)
        #expect(outcome["push"]?.verdict == .failed)
    }

    // MARK: Lengths of waits

    /// A backend that pushes to the users of cases after a delay, and to all other users at once.
    private static func bench(_ delay: Duration) -> SimulationBench {
        let bench = SimulationBench { $0.settleTimeout = .seconds(10) }
        bench.model.pushDelay = nil
        bench.backend.respond = { _, arrival in
            guard let user = arrival.event?["app_user_id"]?.string else { return nil }
            bench.model.push(to: user, after: user.contains("sentinel") ? .zero : delay)
            return nil
        }
        return bench
    }

    private static func purchases(_ count: Int) -> [Contract] {
        (0..<count).map { number in
            var contract = SimulatedContracts.contract(
                "c\(number)",
                [SimulatedContracts.deliver("a")],
                pushes: 1
            )
            contract.clause = "X-\(number)"
            return contract
        }
    }

    @Test(
        "a push within the settle timeout is not missing, however fast other pushes come",
        arguments: [500, 1500, 4000, 9500]
    )
    func slowUser(milliseconds: Int) throws {
        let outcome = try CaseRunnerFixture(
            bench: Self.bench(.milliseconds(milliseconds)),
            contracts: Self.purchases(3)
        ).run()
        #expect(outcome.verdicts == [.passed, .passed, .passed])
        // A later push comes after the wait of its case, which then runs again.
        let areSlow = milliseconds > 1000
        #expect(outcome.results.map(\.neededLongWait) == [areSlow, areSlow, areSlow])
    }

    @Test func `all failures together need one settle timeout`() throws {
        let bench = Self.bench(.seconds(3600))
        let outcome = try CaseRunnerFixture(bench: bench, contracts: Self.purchases(12)).run()
        #expect(outcome.verdicts == [Verdict](repeating: .failed, count: 12))
        #expect(bench.machine.now > .seconds(10))
        #expect(bench.machine.now < .seconds(12 * 2 + 10))
        // The finding states the whole wait, not only the short wait at the end of the case.
        let waits = outcome.results.compactMap { result in
            result.findings.first?.actual.split(separator: " ").dropLast().last.flatMap { Int($0) }
        }
        #expect(waits.count == 12)
        #expect(waits.allSatisfy { $0 >= 10_000 }, "\(waits)")
    }
}
