import Contracts
import FakeServers
import Judging
internal import Providers
import TestBackend
import Testing
import Values

@testable import Replay

/// What was waited for once in vain is waited for shorter, says so, and is looked at once more.
@Suite("Shared settle timeout")
struct SharedSettleTimeoutTests {
    // MARK: The law

    private static let cause = SharedSettleTimeout.MissingEffectKey(
        clause: "O-03",
        codes: [.effectMissing]
    )

    @Test func `the first case waits fully, later ones with the same cause wait less`() {
        let shared = SharedSettleTimeout()
        func shortenedTimeout(_ cause: SharedSettleTimeout.MissingEffectKey) -> Duration? {
            shared.wait(for: cause, fullTimeout: .seconds(10), atLeast: .seconds(1))?
                .shortenedTimeout
        }
        #expect(shortenedTimeout(Self.cause) == nil)
        shared.recordFullWait(of: Self.cause, in: "first", after: .seconds(10))
        shared.recordFullWait(of: Self.cause, in: "second", after: .seconds(10))
        let wait = shared.wait(for: Self.cause, fullTimeout: .seconds(10), atLeast: .seconds(1))
        #expect(
            wait == .init(caseID: "first", fullTimeout: .seconds(10), shortenedTimeout: .seconds(1))
        )
        #expect(shortenedTimeout(.init(clause: "O-04", codes: [.effectMissing])) == nil)
        #expect(
            shortenedTimeout(.init(clause: "O-03", codes: [.effectMissing, .wrongStateValue]))
                == nil
        )
        #expect(shortenedTimeout(.init(clause: "O-03", codes: [])) == nil)
    }

    @Test("a late effect extends the wait", arguments: [0, 1, 4, 8, 9])
    func arrivals(seconds: Int) {
        let shared = SharedSettleTimeout()
        shared.recordFullWait(of: Self.cause, in: "first", after: .seconds(10))
        shared.recordArrival(of: Self.cause, after: .seconds(seconds))
        shared.recordArrival(of: Self.cause, after: .zero)
        shared.recordArrival(of: .init(clause: "O-03", codes: []), after: .seconds(8))
        let wait = shared.wait(for: Self.cause, fullTimeout: .seconds(10), atLeast: .seconds(1))
        #expect(wait?.shortenedTimeout == (seconds < 9 ? .seconds(seconds + 1) : nil))
    }

    @Test func `finally every case waits fully`() {
        let shared = SharedSettleTimeout()
        shared.recordFullWait(of: Self.cause, in: "first", after: .seconds(10))
        shared.disableShortening()
        #expect(
            shared.wait(for: Self.cause, fullTimeout: .seconds(10), atLeast: .seconds(1)) == nil
        )
    }

    // MARK: In a suite

    /// Cases of one clause whose first push is refused, so that the backend has to try again.
    private static func refused(_ id: String, _ type: String = "INITIAL_PURCHASE") -> Contract {
        SimulatedContracts.contract(
            id,
            [SimulatedContracts.fail([.status(500)]), SimulatedContracts.deliver("a", type)],
            pushes: 1
        )
    }

    private static func bench() -> SimulationBench {
        SimulationBench { $0.settleTimeout = .seconds(10) }
    }

    /// Seconds of all cases, and the results.
    private static func run(
        _ contracts: [Contract],
        on bench: SimulationBench,
        seed: UInt64 = 0
    ) throws -> CaseRunnerFixture.Outcome {
        try CaseRunnerFixture(bench: bench, contracts: contracts, seed: seed, detectsRaces: false)
            .run()
    }

    @Test func `the settle timeout is used once per cause, and reported`() throws {
        let bench = Self.bench()
        let outcome = try Self.run((0..<6).map { Self.refused("c\($0)") }, on: bench)
        #expect(outcome.verdicts == [Verdict](repeating: .failed, count: 6))
        let seconds = outcome.results.map(\.seconds).sorted()
        #expect(seconds.dropLast().allSatisfy { $0 < 3 }, "\(seconds)")
        #expect(seconds.last ?? 0 > 10)
        let told = outcome.results.filter {
            $0.hints.contains { $0.hasPrefix("the wait was only 1000 ms long, because 'c") }
        }
        #expect(told.count == 5)
        // The last one is looked at when it has had its time: once for all of them.
        #expect(bench.machine.now < .seconds(10 + 5 * 3 + 10))
    }

    @Test func `a wait shared with another case is not reported as a race`() throws {
        let bench = Self.bench()
        let contracts = (0..<4).map { number in
            SimulatedContracts.contract(
                "c\(number)",
                [
                    SimulatedContracts.fail([.status(500), .status(500)]),
                    SimulatedContracts.deliver("a") {
                        ($0.times, $0.sendsCopiesConcurrently) = (2, true)
                    },
                ],
                pushes: 1
            )
        }
        let outcome = try CaseRunnerFixture(bench: bench, contracts: contracts).run()
        #expect(outcome.verdicts == [Verdict](repeating: .failed, count: 4))
        let told = outcome.results.flatMap(\.hints)
        #expect(told.count { $0.hasPrefix("the wait was only") } == 3)
        #expect(told.allSatisfy { !$0.hasPrefix("failed in") }, "\(told)")
    }

    @Test func `more waiting cases poll less often`() throws {
        func looks(_ count: Int) throws -> Int {
            let bench = Self.bench()
            let looks = Locked(0)
            bench.backend.respond = { _, arrival in
                // Later, each case runs again with no other case running.
                guard bench.machine.now < .seconds(10) else { return nil }
                if arrival.request.path.hasPrefix("/test/") { looks.withLock { $0 += 1 } }
                return nil
            }
            // Each lacks it for a cause of its own, so that all of them wait to the end.
            let contracts = (0..<count).map { number in
                var contract = Self.refused("c\(number)")
                contract.clause = "X-\(number)"
                return contract
            }
            let outcome = try CaseRunnerFixture(
                bench: bench,
                contracts: contracts,
                jobs: 8,
                detectsRaces: false
            ).run()
            #expect(outcome.verdicts == [Verdict](repeating: .failed, count: count))
            return looks.withLock { $0 } / count
        }
        let (few, many) = (try looks(8), try looks(200))
        #expect(many * 2 < few, "\(few) looks of each of 8, \(many) of each of 200")
    }

    @Test(
        "a late retry is not charged for another case's failure",
        arguments: 0..<8
    )
    func late(seed: UInt64) throws {
        let bench = Self.bench()
        bench.backend.respond = { backend, arrival in
            if let event = arrival.event, event["type"] == "RENEWAL",
                let user = event["app_user_id"]?.string
            {
                bench.model.push(to: user, after: .seconds(6))
            }
            return nil
        }
        let contracts =
            (0..<4).map { Self.refused("never-\($0)") } + [Self.refused("late", "RENEWAL")]
        let outcome = try Self.run(contracts, on: bench, seed: seed)
        #expect(outcome["late"]?.verdict == .passed)
        for number in 0..<4 { #expect(outcome["never-\(number)"]?.verdict == .failed) }
        #expect(outcome.results.count == 5)
    }
}
