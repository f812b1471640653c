import Contracts
import FakeServers
import Judging
internal import Providers
import TestBackend
import Testing
import Values

@testable import Replay

/// The runs that cases are compared with: each once for all that share it, and looked at until they
/// agree.
@Suite("Baseline runs")
struct BaselineRunsTests {
    private static let plan = CasePlan(
        SimulatedContracts.contract("c", [SimulatedContracts.deliver("a")], like: .once)
    )

    /// Twins of one suite, and how many runs they took.
    private struct Baselines: Sendable {
        let runs: BaselineRuns
        let names: Locked<[String]>

        init(
            _ bench: SimulationBench,
            _ observability: RunRecord.Observability = SimulationBench.observability
        ) {
            let names = Locked<[String]>([])
            self.names = names
            runs = BaselineRuns(executor: bench.executor, observability: observability) {
                names.withLock { names in
                    names.append("t-\(names.count + 1)")
                    return names.last ?? ""
                }
            }
        }

        var count: Int { names.withLock { $0.count } }
    }

    private static func pushes(_ record: RunRecord) -> Int {
        record.exchanges.count { $0.to == .oneSignal }
    }

    @Test("cases with the same baseline share its two runs", arguments: UInt64(0)..<6)
    func shared(seed: UInt64) throws {
        let bench = SimulationBench(seed: seed)
        let found = try bench.run { bench in
            let baselines = Baselines(bench)
            let askers = (0..<5).map { _ in
                bench.clock.task { await baselines.runs.records(of: Self.plan) }
            }
            var found: [[RunRecord]] = []
            for asker in askers { found.append(await asker.value) }
            found.append(await baselines.runs.records(of: Self.plan))
            #expect(baselines.count == 2)
            return found
        }
        #expect(Set(found).count == 1)
        #expect(found[0].map(\.namespace.name) == ["t-1", "t-2"])
        #expect(found[0].allSatisfy { $0.runProblem == nil && Self.pushes($0) == 1 })
    }

    @Test func `a different baseline has its own runs`() throws {
        let other = CasePlan(
            SimulatedContracts.contract(
                "d",
                [SimulatedContracts.deliver("a", "RENEWAL")],
                like: .once
            )
        )
        let count = try SimulationBench().run { bench in
            let baselines = Baselines(bench)
            _ = await baselines.runs.records(of: Self.plan)
            _ = await baselines.runs.records(of: other)
            return baselines.count
        }
        #expect(count == 4)
    }

    @Test func `a case without a comparison has no baseline`() throws {
        let plan = CasePlan(
            SimulatedContracts.contract("c", [SimulatedContracts.deliver("a")], pushes: 1)
        )
        let bench = SimulationBench()
        let found = try bench.run { bench in
            let baselines = Baselines(bench)
            return await baselines.runs.records(of: plan)
                + (await baselines.runs.refreshedRecords(of: plan, known: []))
                + (await baselines.runs.recordsWithExtraRun(of: plan, alongside: []))
        }
        #expect(found.isEmpty)
        #expect(bench.backend.arrivals.isEmpty)
    }

    @Test func `an unresponsive backend is not asked twice for a baseline`() throws {
        let bench = SimulationBench()
        bench.backend.respond = { backend, arrival in
            if arrival.event != nil { await backend.clock.pause(.seconds(3600)) }
            return nil
        }
        let found = try bench.run { bench in
            await Baselines(bench).runs.records(of: Self.plan)
        }
        #expect(found.map(\.isSilent) == [true])
    }

    @Test func `after a backend restart baselines run again`() throws {
        let count = try SimulationBench().run { bench in
            let baselines = Baselines(bench)
            let before = await baselines.runs.records(of: Self.plan)
            baselines.runs.forget()
            let after = await baselines.runs.records(of: Self.plan)
            #expect(before.map(\.namespace.name) == ["t-1", "t-2"])
            #expect(after.map(\.namespace.name) == ["t-3", "t-4"])
            return baselines.count
        }
        #expect(count == 4)
    }

    @Test func `a cancelled case does not end a baseline run that others wait for`() throws {
        let bench = SimulationBench()
        let found = try bench.run { bench in
            let baselines = Baselines(bench)
            let asker = bench.clock.task { await baselines.runs.records(of: Self.plan) }
            await bench.clock.pause(.microseconds(1))
            let all = await asker.value
            return all.count
        }
        #expect(found == 2)
    }

    // MARK: Until they agree

    /// One push of the first twin comes late; those of everybody else come at once.
    private static func lateFirst(_ delay: Duration, _ bench: SimulationBench) {
        bench.model.pushDelay = nil
        bench.backend.respond = { backend, arrival in
            guard let user = arrival.event?["app_user_id"]?.string else { return nil }
            bench.model.push(to: user, after: backend.webhooks.count == 1 ? delay : .zero)
            return nil
        }
    }

    @Test("a baseline that was probed too early is probed again", arguments: [100, 400, 900])
    func agree(milliseconds: Int) throws {
        let bench = SimulationBench()
        Self.lateFirst(.milliseconds(milliseconds), bench)
        let found = try bench.run { bench in
            await Baselines(bench).runs.records(of: Self.plan)
        }
        #expect(found.map(Self.pushes) == [1, 1])
    }

    @Test func `baselines that never agree are given up, and their location is known to differ`()
        throws
    {
        let bench = SimulationBench()
        Self.lateFirst(.seconds(3600), bench)
        let other = CasePlan(
            SimulatedContracts.contract(
                "d",
                [SimulatedContracts.deliver("a", "RENEWAL")],
                like: .once
            )
        )
        let (first, times) = try bench.run { bench in
            let baselines = Baselines(bench)
            let start = bench.clock.now
            let first = await baselines.runs.records(of: Self.plan)
            let middle = bench.clock.now
            _ = await baselines.runs.records(of: other)
            return (first, [middle - start, bench.clock.now - middle])
        }
        #expect(first.map(Self.pushes) == [0, 1])
        #expect(times[0] > .seconds(1))
        #expect(times[0] < .seconds(2))
        #expect(times[1] < .milliseconds(300), "these agree")
    }

    @Test func `a location that differs by itself is waited for once per suite`() throws {
        let bench = SimulationBench()
        let count = Locked(0)
        bench.backend.respond = { _, arrival in
            guard arrival.request.path.hasPrefix("/test/") else { return nil }
            let number = count.withLock { count in
                count += 1
                return count
            }
            let answer: JSONValue = [
                "access": .bool(number % 3 != 0), "refunded": false,
                "product": .string("p\(number)"),
            ]
            return .json(answer)
        }
        let other = CasePlan(
            SimulatedContracts.contract(
                "d",
                [SimulatedContracts.deliver("a", "RENEWAL")],
                like: .once
            )
        )
        let times = try bench.run { bench in
            let baselines = Baselines(bench)
            var times: [Duration] = []
            for plan in [Self.plan, other] {
                let start = bench.clock.now
                _ = await baselines.runs.records(of: plan)
                times.append(bench.clock.now - start)
            }
            return times
        }
        #expect(times[0] > .seconds(1))
        #expect(times[1] < times[0] / 2)
    }

    // MARK: Doubts

    @Test func `a mature baseline had as much time as a case`() throws {
        let bench = SimulationBench()
        bench.model.pushDelay = nil
        bench.backend.respond = { backend, arrival in
            guard let user = arrival.event?["app_user_id"]?.string else { return nil }
            // Every event of the case leads to a second push, later than the twins are looked at.
            bench.model.push(to: user)
            bench.model.push(to: user, after: .milliseconds(700))
            return nil
        }
        let (young, mature, time) = try bench.run { bench in
            let baselines = Baselines(bench)
            let young = await baselines.runs.records(of: Self.plan)
            let start = bench.clock.now
            let mature = await baselines.runs.refreshedRecords(of: Self.plan, known: young)
            return (young, mature, bench.clock.now - start)
        }
        #expect(young.map(Self.pushes) == [1, 1])
        #expect(mature.map(Self.pushes) == [2, 2])
        #expect(time > .milliseconds(600))
        #expect(time < .milliseconds(1100))
        #expect(mature.map(\.namespace) == young.map(\.namespace), "no new runs")
    }

    @Test func `a mature baseline is probed at once`() throws {
        let bench = SimulationBench()
        let time = try bench.run { bench in
            let baselines = Baselines(bench)
            let young = await baselines.runs.records(of: Self.plan)
            await bench.clock.pause(.seconds(5))
            let start = bench.clock.now
            _ = await baselines.runs.refreshedRecords(of: Self.plan, known: young)
            return bench.clock.now - start
        }
        #expect(time < .milliseconds(20))
    }

    @Test func `a starved baseline runs again for the next case`()
        throws
    {
        let (known, mature, next) = try SimulationBench().run { bench in
            let baselines = Baselines(bench)
            let known = await baselines.runs.records(of: Self.plan)
            baselines.runs.forget(baselineOf: Self.plan)
            let mature = await baselines.runs.refreshedRecords(of: Self.plan, known: known)
            return (known, mature, await baselines.runs.records(of: Self.plan))
        }
        #expect(mature == known)
        #expect(next.map(\.namespace.name) == ["t-3", "t-4"])
    }

    @Test func `a third baseline run joins the existing ones`() throws {
        let (known, more, count) = try SimulationBench().run { bench in
            let baselines = Baselines(bench)
            let known = await baselines.runs.records(of: Self.plan)
            let more = await baselines.runs.recordsWithExtraRun(of: Self.plan, alongside: known)
            return (known, more, baselines.count)
        }
        #expect(count == 3)
        try #require(more.count == 3)
        #expect(Array(more.prefix(2)) == known)
        #expect(more[2].namespace.name == "t-3")
    }

    @Test func `observations of a later backend process do not affect an earlier one`() throws {
        let bench = SimulationBench()
        let (mature, probes) = try bench.run { bench in
            let baselines = Baselines(bench)
            let young = await baselines.runs.records(of: Self.plan)
            await bench.clock.pause(.seconds(5))
            try? await bench.executor.backend.restart(.kill)
            bench.model.forget()
            let before = bench.backend.arrivals.count
            let mature = await baselines.runs.refreshedRecords(of: Self.plan, known: young)
            return (mature, bench.backend.arrivals.count - before)
        }
        #expect(probes == 0, "nobody looked at people whom it has forgotten")
        #expect(mature.count == 2)
        #expect(mature.allSatisfy { $0.state(of: "ada", probe: "user") != nil })
    }
}
