import Conformance
import FakeServers
import Testing

@testable import Replay

/// The runs that cases are compared with: each once for all that share it, and looked at until they
/// agree.
@Suite("Twin runs")
struct TwinRunsTests {
    private static let plan = CasePlan(
        SimulatedContracts.contract("c", [SimulatedContracts.deliver("a")], like: .once)
    )

    /// Twins of one suite, and how many runs they took.
    private struct Twins: Sendable {
        let runs: TwinRuns
        let names: Locked<[String]>

        init(_ bench: Bench, _ sight: RunRecord.Sight = Bench.sight) {
            let names = Locked<[String]>([])
            self.names = names
            runs = TwinRuns(executor: bench.executor, sight: sight) {
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

    @Test("all who share a twin share its two runs", arguments: UInt64(0)..<6)
    func shared(seed: UInt64) throws {
        let bench = Bench(seed: seed)
        let found = try bench.run { bench in
            let twins = Twins(bench)
            let askers = (0..<5).map { _ in
                bench.clock.task { await twins.runs.records(of: Self.plan) }
            }
            var found: [[RunRecord]] = []
            for asker in askers { found.append(await asker.value) }
            found.append(await twins.runs.records(of: Self.plan))
            #expect(twins.count == 2)
            return found
        }
        #expect(Set(found).count == 1)
        #expect(found[0].map(\.namespace.name) == ["t-1", "t-2"])
        #expect(found[0].allSatisfy { $0.trouble == nil && Self.pushes($0) == 1 })
    }

    @Test func `another twin is another run`() throws {
        let other = CasePlan(
            SimulatedContracts.contract(
                "d",
                [SimulatedContracts.deliver("a", "RENEWAL")],
                like: .once
            )
        )
        let count = try Bench().run { bench in
            let twins = Twins(bench)
            _ = await twins.runs.records(of: Self.plan)
            _ = await twins.runs.records(of: other)
            return twins.count
        }
        #expect(count == 4)
    }

    @Test func `a case that is compared with nothing has no twin`() throws {
        let plan = CasePlan(
            SimulatedContracts.contract("c", [SimulatedContracts.deliver("a")], pushes: 1)
        )
        let bench = Bench()
        let found = try bench.run { bench in
            let twins = Twins(bench)
            return await twins.runs.records(of: plan)
                + (await twins.runs.matured(of: plan, known: []))
                + (await twins.runs.oneMore(of: plan, beside: []))
        }
        #expect(found.isEmpty)
        #expect(bench.backend.arrivals.isEmpty)
    }

    @Test func `whoever does not answer once is not asked twice`() throws {
        let bench = Bench()
        bench.backend.answer = { backend, arrival in
            if arrival.event != nil { await backend.clock.pause(.seconds(3600)) }
            return nil
        }
        let found = try bench.run { bench in
            await Twins(bench).runs.records(of: Self.plan)
        }
        #expect(found.map(\.isSilent) == [true])
    }

    @Test func `after the backend has ended its twins are run anew`() throws {
        let count = try Bench().run { bench in
            let twins = Twins(bench)
            let before = await twins.runs.records(of: Self.plan)
            twins.runs.forget()
            let after = await twins.runs.records(of: Self.plan)
            #expect(before.map(\.namespace.name) == ["t-1", "t-2"])
            #expect(after.map(\.namespace.name) == ["t-3", "t-4"])
            return twins.count
        }
        #expect(count == 4)
    }

    @Test func `who only asked does not end a run that others wait for by going`() throws {
        let bench = Bench()
        let found = try bench.run { bench in
            let twins = Twins(bench)
            let asker = bench.clock.task { await twins.runs.records(of: Self.plan) }
            await bench.clock.pause(.microseconds(1))
            let all = await asker.value
            return all.count
        }
        #expect(found == 2)
    }

    // MARK: Until they agree

    /// One push of the first twin comes late; those of everybody else come at once.
    private static func lateFirst(_ delay: Duration, _ bench: Bench) {
        bench.backend.pushDelay = nil
        bench.backend.answer = { backend, arrival in
            guard let user = arrival.event?["app_user_id"]?.string else { return nil }
            backend.push(to: user, after: backend.webhooks.count == 1 ? delay : .zero)
            return nil
        }
    }

    @Test("a twin that was looked at too early is looked at again", arguments: [100, 400, 900])
    func agree(milliseconds: Int) throws {
        let bench = Bench()
        Self.lateFirst(.milliseconds(milliseconds), bench)
        let found = try bench.run { bench in
            await Twins(bench).runs.records(of: Self.plan)
        }
        #expect(found.map(Self.pushes) == [1, 1])
    }

    @Test func `twins that never agree are given up, and their place is known to differ`() throws {
        let bench = Bench()
        Self.lateFirst(.seconds(3600), bench)
        let other = CasePlan(
            SimulatedContracts.contract(
                "d",
                [SimulatedContracts.deliver("a", "RENEWAL")],
                like: .once
            )
        )
        let (first, times) = try bench.run { bench in
            let twins = Twins(bench)
            let start = bench.clock.now
            let first = await twins.runs.records(of: Self.plan)
            let middle = bench.clock.now
            _ = await twins.runs.records(of: other)
            return (first, [middle - start, bench.clock.now - middle])
        }
        #expect(first.map(Self.pushes) == [0, 1])
        #expect(times[0] > .seconds(1))
        #expect(times[0] < .seconds(2))
        #expect(times[1] < .milliseconds(300), "these agree")
    }

    @Test func `a place that differs by itself is waited for once in a suite`() throws {
        let bench = Bench()
        let count = Locked(0)
        bench.backend.answer = { _, arrival in
            guard arrival.request.path.hasPrefix("/test/") else { return nil }
            let number = count.withLock { count in
                count += 1
                return count
            }
            let answer: JSONValue = [
                "access": .bool(number % 3 != 0), "refunded": false,
                "product": .string("p\(number)"),
            ]
            return .answered(HTTPMessage.Response(200, json: answer))
        }
        let other = CasePlan(
            SimulatedContracts.contract(
                "d",
                [SimulatedContracts.deliver("a", "RENEWAL")],
                like: .once
            )
        )
        let times = try bench.run { bench in
            let twins = Twins(bench)
            var times: [Duration] = []
            for plan in [Self.plan, other] {
                let start = bench.clock.now
                _ = await twins.runs.records(of: plan)
                times.append(bench.clock.now - start)
            }
            return times
        }
        #expect(times[0] > .seconds(1))
        #expect(times[1] < times[0] / 2)
    }

    // MARK: Doubts

    @Test func `a mature twin has had as much time as a case has`() throws {
        let bench = Bench()
        bench.backend.pushDelay = nil
        bench.backend.answer = { backend, arrival in
            guard let user = arrival.event?["app_user_id"]?.string else { return nil }
            // Every event of the case leads to a second push, later than the twins are looked at.
            backend.push(to: user)
            backend.push(to: user, after: .milliseconds(700))
            return nil
        }
        let (young, mature, time) = try bench.run { bench in
            let twins = Twins(bench)
            let young = await twins.runs.records(of: Self.plan)
            let start = bench.clock.now
            let mature = await twins.runs.matured(of: Self.plan, known: young)
            return (young, mature, bench.clock.now - start)
        }
        #expect(young.map(Self.pushes) == [1, 1])
        #expect(mature.map(Self.pushes) == [2, 2])
        #expect(time > .milliseconds(600))
        #expect(time < .milliseconds(1100))
        #expect(mature.map(\.namespace) == young.map(\.namespace), "no new runs")
    }

    @Test func `a twin that is old enough is looked at at once`() throws {
        let bench = Bench()
        let time = try bench.run { bench in
            let twins = Twins(bench)
            let young = await twins.runs.records(of: Self.plan)
            await bench.clock.pause(.seconds(5))
            let start = bench.clock.now
            _ = await twins.runs.matured(of: Self.plan, known: young)
            return bench.clock.now - start
        }
        #expect(time < .milliseconds(20))
    }

    @Test func `a twin that the machine held up is run anew for the next, and stays with its case`()
        throws
    {
        let (known, mature, next) = try Bench().run { bench in
            let twins = Twins(bench)
            let known = await twins.runs.records(of: Self.plan)
            twins.runs.forget(twinOf: Self.plan)
            let mature = await twins.runs.matured(of: Self.plan, known: known)
            return (known, mature, await twins.runs.records(of: Self.plan))
        }
        #expect(mature == known)
        #expect(next.map(\.namespace.name) == ["t-3", "t-4"])
    }

    @Test func `one more twin comes beside those that are known`() throws {
        let (known, more, count) = try Bench().run { bench in
            let twins = Twins(bench)
            let known = await twins.runs.records(of: Self.plan)
            let more = await twins.runs.oneMore(of: Self.plan, beside: known)
            return (known, more, twins.count)
        }
        #expect(count == 3)
        try #require(more.count == 3)
        #expect(Array(more.prefix(2)) == known)
        #expect(more[2].namespace.name == "t-3")
    }

    @Test func `what a later life of the backend shows says nothing about an earlier`() throws {
        let bench = Bench()
        let (mature, probes) = try bench.run { bench in
            let twins = Twins(bench)
            let young = await twins.runs.records(of: Self.plan)
            await bench.clock.pause(.seconds(5))
            try? await bench.executor.backend.restart(.kill)
            bench.backend.forget()
            let before = bench.backend.arrivals.count
            let mature = await twins.runs.matured(of: Self.plan, known: young)
            return (mature, bench.backend.arrivals.count - before)
        }
        #expect(probes == 0, "nobody looked at people whom it has forgotten")
        #expect(mature.count == 2)
        #expect(mature.allSatisfy { $0.state(of: "ada", probe: "user") != nil })
    }
}
