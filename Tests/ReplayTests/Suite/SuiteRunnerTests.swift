import Contracts
import FakeServers
import Judging
import TestBackend
import Testing
import Values

@testable import Replay

/// Who plays beside whom, in what order, what is told of it, and what a cancellation leaves: on a
/// stage that the test plays itself, in exact virtual time.
@Suite("Suite runner")
struct SuiteRunnerTests {
    // MARK: More backends

    private static let exclusiveCases = (0..<8).map {
        SimulatedCase.case("alone-\($0)", takes: 10, rule: .exclusive)
    }

    @Test("exclusive cases run on extra backend instances while there are any", arguments: 0...3)
    func runsExclusiveCasesOnInstances(count: Int) throws {
        let cases = Self.exclusiveCases + (0..<4).map { .case("c\($0)", takes: 40) }
        let run = SuiteRunnerFixture(cases, jobs: 4, additionalInstanceMax: count)
        let results = try #require(run.run())
        #expect(results.map(\.contract.id) == cases.map(\.id))
        #expect(results.allSatisfy { $0.verdict == .passed })
        // One for each four of them; what they cannot do while others play, the first does after it.
        let used = min(count, 2)
        #expect(run.additionalInstances.count { !$0.began.isEmpty } == used)
        #expect(run.time == .milliseconds([120, 60, 40][used]))
        for stage in [run.stage] + run.additionalInstances {
            for id in stage.began where id.hasPrefix("alone") {
                #expect(stage.wasAlone[id] == true)
                #expect(stage.beside[id] == [], "\(id)")
            }
        }
        let began = ([run.stage] + run.additionalInstances).flatMap(\.began)
        #expect(began.sorted() == cases.map(\.id).sorted(), "each once")
        #expect(run.counts == Array(1...12))
    }

    @Test("cases that run again share the instances", arguments: 0...3, [1, 25, 80])
    func reruns(instanceCount: Int, concurrentTime: Int) throws {
        let broken = (0..<12).map {
            SimulatedCase.case("broken-\($0)", takes: concurrentTime, findings: [.effectMissing])
        }
        let cases = Self.exclusiveCases + broken
        let run = SuiteRunnerFixture(cases, jobs: 12, additionalInstanceMax: instanceCount)
        let results = try #require(run.run())
        #expect(results.map(\.verdict) == cases.map { $0.findings.isEmpty ? .passed : .failed })
        let instances = [run.stage] + run.additionalInstances.prefix(2)
        let began = instances.flatMap(\.began).filter { $0.hasPrefix("broken") }
        #expect(began.sorted() == (broken + broken).map(\.id).sorted(), "each runs twice")
        for id in broken.map(\.id) {
            // The instance of the second run; the first run was on the main instance.
            let last = instances.last { $0.began.contains(id) }
            #expect(last?.beside[id] == [], "\(id) ran alone in the end")
        }
        #expect(instances.allSatisfy { $0.began.contains { $0.hasPrefix("broken") } })
        #expect(run.counts == Array(1...20))
        // The concurrent part, and then an equal share of the twelve cases.
        let shareTime = concurrentTime * (12 / (min(instanceCount, 2) + 1))
        #expect(run.time <= .milliseconds(concurrentTime + shareTime + 80 + concurrentTime))
    }

    @Test func `a cancellation ends an instance that waits for cases that run again`() throws {
        let cases = Self.exclusiveCases + [.case("slow", takes: 5000), .case("other", takes: 1)]
        let run = SuiteRunnerFixture(cases, jobs: 2, additionalInstanceMax: 2)
        let results = try #require(run.run(cancelledAfter: .milliseconds(200)))
        #expect(results.count { $0.verdict == .passed } == 9)
        #expect(run.time == .milliseconds(200))
    }

    @Test func `a case that affects all users runs first on the next instance`() throws {
        let cases =
            Self.exclusiveCases
            + [
                .case("first-1", takes: 3, rule: .beforeEverything), .case("c", takes: 100),
                .case("first-2", takes: 3, rule: .beforeEverything),
                .case("last", rule: .degradesInstance),
            ]
        let run = SuiteRunnerFixture(cases, jobs: 2, additionalInstanceMax: 3)
        #expect(try #require(run.run()).allSatisfy { $0.verdict == .passed })
        #expect(run.additionalInstances[0].began.prefix(2) == ["first-1", "first-2"])
        #expect(run.additionalInstances[0].revisedAlone == ["first-1", "first-2"])
        #expect(!run.additionalInstances[1].began.contains { $0.hasPrefix("first") })
        #expect(run.stage.began == ["c"])
        // Who wears a backend out has one for itself.
        #expect(run.additionalInstances[2].began == ["last"])
        #expect(run.additionalInstances[2].revisedAlone == ["last"])
    }

    @Test func `a case that moves the clock forward runs last on its instance`() throws {
        let cases = (0..<8).map { number in
            SimulatedCase.case(
                "c\(number)",
                takes: 5,
                rule: number % 2 == 0 ? .movesClock : .exclusive
            )
        }
        let run = SuiteRunnerFixture(cases, jobs: 2, additionalInstanceMax: 2)
        #expect(try #require(run.run()).allSatisfy { $0.verdict == .passed })
        for stage in [run.stage] + run.additionalInstances {
            let rules = stage.began.map { id in cases.first { $0.id == id }?.rule }
            #expect(rules.drop { $0 == .exclusive }.allSatisfy { $0 == .movesClock })
        }
    }

    @Test func `an extra instance that cannot start is reported, and its cases run`() throws {
        let run = SuiteRunnerFixture(
            Self.exclusiveCases + [.case("c", takes: 5)],
            jobs: 2,
            additionalInstanceMax: 2
        )
        run.failingInstances = [0, 1]
        let results = try #require(run.run())
        #expect(results.allSatisfy { $0.verdict == .passed })
        #expect(run.log.count { $0.hasPrefix("instanceFailed") } == 2)
        #expect(run.stage.began.count == 9)
    }

    @Test func `cases of a lost extra instance run on the first instance`() throws {
        let cases =
            Self.exclusiveCases + [.case("first", rule: .beforeEverything), .case("c", takes: 100)]
        let run = SuiteRunnerFixture(cases, jobs: 2, additionalInstanceMax: 2)
        run.additionalInstances[0].goneAfter = 0
        run.additionalInstances[1].goneAfter = 2
        let results = try #require(run.run())
        #expect(results.map(\.verdict) == cases.map { _ in .passed })
        #expect(run.additionalInstances[0].began == ["first"])
        #expect(run.additionalInstances[1].began.count == 3)
        #expect(run.stage.began.sorted().contains("first"))
        #expect(run.counts == Array(1...10), "each is told once")
    }

    @Test func `an unreachable backend ends the suite`() throws {
        let run = SuiteRunnerFixture(Self.exclusiveCases, jobs: 2, additionalInstanceMax: 2)
        for stage in [run.stage] + run.additionalInstances { stage.goneAfter = 0 }
        let results = try #require(run.run())
        #expect(results.map(\.verdict) == Self.exclusiveCases.map { _ in .inconclusive })
    }

    @Test("results do not depend on the number of instances", arguments: 0..<40)
    func resultsIgnoreInstanceCount(seed: UInt64) throws {
        let cases = SimulatedCase.randomCases(seed)
        let verdicts = try (0...3).map { count in
            let run = SuiteRunnerFixture(cases, jobs: 3, seed: seed, additionalInstanceMax: count)
            return try #require(run.run()).map { "\($0.contract.caseID) \($0.verdict)" }
        }
        #expect(Set(verdicts).count == 1)
    }

    // MARK: Results

    @Test("results are returned in the given order", arguments: [1, 2, 7, 64])
    func order(jobs: Int) throws {
        let run = SuiteRunnerFixture((0..<20).map { .case("c\($0)", takes: 20 - $0) }, jobs: jobs)
        let results = try #require(run.run())
        #expect(results.map(\.contract.id) == (0..<20).map { "c\($0)" })
        #expect(results.allSatisfy { $0.verdict == .passed })
    }

    @Test func `an empty suite ends at once`() throws {
        let run = SuiteRunnerFixture([])
        #expect(try #require(run.run()).isEmpty)
        #expect(run.stage.opened == [[]])
        #expect(run.log.isEmpty)
    }

    @Test("the number of concurrent cases equals the jobs", arguments: [1, 2, 3, 5, 8, 30])
    func jobs(jobs: Int) throws {
        let run = SuiteRunnerFixture((0..<12).map { .case("c\($0)", takes: 10) }, jobs: jobs)
        #expect(run.run()?.count == 12)
        #expect(run.stage.busiest == min(jobs, 12))
        // Nobody idles while a case waits: twelve equal cases take as many rounds as they must.
        #expect(run.time == .milliseconds((12 + jobs - 1) / jobs * 10))
    }

    @Test("fewer than one job means one", arguments: [0, -1, -100])
    func jobsMin(jobs: Int) throws {
        let run = SuiteRunnerFixture([.case("a", takes: 5), .case("b", takes: 5)], jobs: jobs)
        #expect(run.run()?.count == 2)
        #expect(run.stage.busiest == 1)
    }

    @Test func `a long case does not block the others`() throws {
        let run = SuiteRunnerFixture(
            [.case("long", takes: 100)] + (0..<10).map { .case("c\($0)", takes: 10) },
            jobs: 2
        )
        #expect(run.run()?.count == 11)
        #expect(run.time <= .milliseconds(200))
        #expect(run.stage.ended.last == "long" || run.time < .milliseconds(200))
    }

    // MARK: Solitude

    @Test("an exclusive case runs before or after the others", arguments: [1, 4, 16])
    func runsExclusiveCaseAlone(jobs: Int) throws {
        let run = SuiteRunnerFixture(
            [
                .case("alone-1", takes: 7, rule: .exclusive), .case("a", takes: 30),
                .case("first-1", takes: 3, rule: .beforeEverything), .case("b", takes: 4),
                .case("alone-2", takes: 7, rule: .exclusive),
                .case("first-2", takes: 3, rule: .beforeEverything),
                .case("last", takes: 3, rule: .degradesInstance),
                .case("c", takes: 12),
            ],
            jobs: jobs
        )
        let results = try #require(run.run())
        #expect(results.map(\.contract.id) == run.cases.map(\.id))
        for id in ["alone-1", "alone-2", "first-1", "first-2", "last"] {
            #expect(run.stage.beside[id] == [], "\(id)")
            #expect(run.stage.wasAlone[id] == true)
        }
        for id in ["a", "b", "c"] { #expect(run.stage.wasAlone[id] == false) }
        let order = run.stage.began
        #expect(Array(order.prefix(2)) == ["first-1", "first-2"])
        #expect(Array(order.suffix(3)) == ["alone-1", "alone-2", "last"])
        // Each of the first is corrected before the next changes what is in its journal.
        #expect(run.stage.revisedAlone == ["first-1", "first-2", "last"])
        #expect(run.stage.revisedAfter == ["alone-2"])
    }

    @Test func `a disturbed case reruns exclusively and is reported once`() throws {
        let run = SuiteRunnerFixture(
            [
                .case("a", takes: 5), .case("disturbed", takes: 5, disturbedTimes: 1),
                .case("alone", takes: 5, rule: .exclusive), .case("b", takes: 5),
            ],
            jobs: 3
        )
        let results = try #require(run.run())
        #expect(results.map(\.verdict) == [.passed, .passed, .passed, .passed])
        #expect(run.stage.began.count { $0 == "disturbed" } == 2)
        #expect(run.stage.began.suffix(2) == ["alone", "disturbed"])
        #expect(run.stage.beside["disturbed"] == [])
        #expect(run.finished.count { $0 == "disturbed" } == 1)
        #expect(run.started.count { $0 == "disturbed" } == 2)
    }

    @Test func `a case that cannot be judged even exclusively is not run`() throws {
        let run = SuiteRunnerFixture([.case("a"), .case("hopeless", disturbedTimes: 9)], jobs: 2)
        let results = try #require(run.run())
        #expect(results.map(\.verdict) == [.passed, .notRun])
        #expect(run.stage.began.count { $0 == "hopeless" } == 2)
        #expect(run.finished == ["a"])
    }

    @Test("a starved case reruns exclusively at most twice", arguments: [1, 3])
    func heldUp(jobs: Int) throws {
        var cases = ["a", "once", "twice", "ever", "failed"].map {
            SimulatedCase.case($0, takes: 5)
        }
        for (index, times) in [(1, 1), (2, 2), (3, 9)] { cases[index].heldUpTimes = times }
        cases[4].findings = [.idempotencyKeyChanged, .machineBusy]
        cases.append(.case("alone", takes: 5, rule: .exclusive))
        cases[5].heldUpTimes = 1
        let run = SuiteRunnerFixture(cases, jobs: jobs)
        let results = try #require(run.run())
        #expect(
            results.map(\.verdict) == [.passed, .passed, .passed, .inconclusive, .failed, .passed]
        )
        #expect(results[3].findings.map(\.code) == [.machineBusy])
        for (id, count) in [("a", 1), ("once", 2), ("twice", 3), ("ever", 5), ("failed", 1)] {
            #expect(run.stage.began.count { $0 == id } == count, "\(id)")
        }
        #expect(run.stage.began.count { $0 == "alone" } == 2)
        for id in ["once", "twice", "ever"] { #expect(run.stage.beside[id] == [], "\(id)") }
        #expect(run.finished.sorted() == cases.map(\.id).sorted(), "told once each")
    }

    @Test func `a rerun that was cut short stays inconclusive`() throws {
        var test = SimulatedCase.case("a", takes: 10, rule: .exclusive)
        test.heldUpTimes = 9
        let run = SuiteRunnerFixture([test])
        let results = try #require(run.run(cancelledAfter: .milliseconds(15)))
        #expect(results.map(\.verdict) == [.inconclusive])
    }

    // MARK: Order

    @Test func `the seed decides the order of concurrent cases`() throws {
        func began(_ seed: UInt64) -> [String] {
            let run = SuiteRunnerFixture((0..<30).map { .case("c\($0)") }, jobs: 1, seed: seed)
            _ = run.run()
            return run.stage.began
        }
        let orders = (0..<8).map { began($0) }
        for order in orders { #expect(order.sorted() == (0..<30).map { "c\($0)" }.sorted()) }
        #expect(Set(orders).count == 8)
        #expect(began(3) == orders[3])
        #expect(orders[0] != (0..<30).map { "c\($0)" })
    }

    @Test func `case numbers are positions in the suite`() throws {
        for jobs in [1, 5] {
            for seed in UInt64(0)..<4 {
                let run = SuiteRunnerFixture(
                    (0..<9).map { .case("c\($0)", rule: $0 == 4 ? .exclusive : .concurrent) },
                    jobs: jobs,
                    seed: seed
                )
                _ = run.run()
                for (index, test) in run.cases.enumerated() {
                    #expect(run.stage.numbers[test.id] == [index])
                }
            }
        }
    }

    @Test("long cases start first, in an order chosen by the seed", arguments: [1, 3])
    func longFirst(jobs: Int) throws {
        func began(_ seed: UInt64) throws -> [String] {
            var cases = (0..<12).map { SimulatedCase.case("c\($0)", takes: 2) }
            for index in [3, 7, 11] {
                cases[index].takes = 9
                cases[index].isSearch = true
            }
            let run = SuiteRunnerFixture(cases, jobs: jobs, seed: seed)
            _ = try #require(run.run())
            return run.stage.began
        }
        let orders = try (0..<8).map { try began($0) }
        for order in orders { #expect(Set(order.prefix(3)) == ["c3", "c7", "c11"]) }
        #expect(Set(orders.map { Array($0.prefix(3)) }).count > 1)
    }

    // MARK: Waiting

    @Test("a case that waits for time frees its job, up to a limit", arguments: 1...4)
    func waiting(jobs: Int) throws {
        var cases = (0..<300).map { SimulatedCase.case("c\($0)") }
        for index in cases.indices { cases[index].waits = 100 }
        let run = SuiteRunnerFixture(cases, jobs: jobs)
        #expect(run.run()?.count == 300)
        // One job was asked for: one after the other.
        let sideBySide = jobs == 1 ? 1 : jobs * 33
        #expect(run.time == .milliseconds((300 + sideBySide - 1) / sideBySide * 100))
        #expect(run.stage.busiest <= jobs)
    }

    @Test func `a case that finished waiting resumes before new cases start`() throws {
        var waiter = SimulatedCase.case("waiter")
        (waiter.waits, waiter.isSearch) = (15, true)
        let others = (0..<10).map { SimulatedCase.case("c\($0)", takes: 10) }
        var second = waiter
        second.id = "second"
        let run = SuiteRunnerFixture([waiter, second] + others, jobs: 2)
        #expect(run.run()?.count == 12)
        let ends = run.stage.ended
        // Two of the others have begun at 0 and two at 10; at 20 there is a place again.
        #expect(Set(ends.prefix(6)).isSuperset(of: ["waiter", "second"]), "\(ends)")
    }

    @Test func `a cancellation reaches a waiting case`() throws {
        var cases = (0..<6).map { SimulatedCase.case("c\($0)") }
        for index in cases.indices { cases[index].waits = 1000 }
        let run = SuiteRunnerFixture(cases, jobs: 2)
        let results = try #require(run.run(cancelledAfter: .milliseconds(10)))
        #expect(results.allSatisfy { $0.verdict == .notRun })
        #expect(run.time == .milliseconds(10))
    }

    // MARK: What does not play

    @Test func `a skip reason is a result, and no target is prepared`() throws {
        let run = SuiteRunnerFixture(
            [
                .case("a"), .case("blocked", skipReason: "no such feature"),
                .case("b", rule: .exclusive),
            ]
        )
        let results = try #require(run.run())
        try #require(results.map(\.verdict) == [.passed, .notRun, .passed])
        #expect(results[1].note == "no such feature")
        #expect(run.stage.opened == [["a", "b"]])
        #expect(!run.stage.began.contains("blocked"))
        #expect(!run.stage.asked.contains("blocked"))
        #expect(!run.started.contains("blocked"))
        #expect(run.finished.sorted() == ["a", "b", "blocked"])
        #expect(run.totals == [3])
        #expect(run.stage.numbers["b"] == [2])
    }

    @Test func `a suite with only skipped cases runs nothing`() throws {
        let run = SuiteRunnerFixture((0..<4).map { .case("c\($0)", skipReason: "no") })
        let results = try #require(run.run())
        #expect(results.allSatisfy { $0.verdict == .notRun && $0.note == "no" })
        #expect(run.finished == ["c0", "c1", "c2", "c3"])
        #expect(run.stage.began.isEmpty)
    }

    // MARK: Cases that stand for several

    @Test func `a search case is expanded in its position`() throws {
        let run = SuiteRunnerFixture(
            [
                .case("a"), .case("many", parts: ["many-1", "many-2", "many-3"]),
                .case("blocked", parts: ["never"], skipReason: "no"), .case("b"),
            ],
            jobs: 2
        )
        let results = try #require(run.run())
        #expect(
            results.map(\.contract.id) == ["a", "many-1", "many-2", "many-3", "blocked", "b"]
        )
        #expect(run.totals == [6])
        #expect(run.stage.expandedIDs == ["a", "many", "b"])
    }

    @Test func `only selected cases and parts run`() throws {
        let run = SuiteRunnerFixture([.case("a"), .case("many", parts: ["many-1", "many-2"])])
        run.options.isWanted = { $0.id.hasSuffix("2") }
        let results = try #require(run.run())
        #expect(results.map(\.contract.id) == ["many-2"])
        #expect(run.stage.began == ["many-2"])
    }

    @Test func `a case that expands to nothing leaves no result`() throws {
        let run = SuiteRunnerFixture([.case("a"), .case("none", parts: [])])
        #expect(try #require(run.run()).map(\.contract.id) == ["a"])
    }

    // MARK: What is told

    @Test("the progress count rises by one with every case", arguments: [1, 4])
    func counts(jobs: Int) throws {
        let run = SuiteRunnerFixture(
            (0..<10).map {
                .case("c\($0)", takes: $0 % 3, rule: $0 == 5 ? .beforeEverything : .concurrent)
            },
            jobs: jobs
        )
        _ = run.run()
        #expect(run.counts == Array(1...10))
        #expect(run.totals == [10])
        for id in run.finished {
            let start = run.log.firstIndex(of: "started \(id)")
            let end = run.log.firstIndex(of: "finished \(id)")
            #expect(try #require(start) < #require(end))
        }
    }

    @Test func `a revision replaces its own result only`() throws {
        let run = SuiteRunnerFixture([.case("a"), .case("b"), .case("z", rule: .beforeEverything)])
        run.stage.revision = { results in
            #expect(results.map { $0?.verdict } == [.passed, .passed, .passed])
            if results.count == 3 { results[1]?.verdict = .failed }
        }
        let results = try #require(run.run())
        #expect(results.map(\.verdict) == [.passed, .failed, .passed])
        #expect(run.stage.revisedCount == 1)
    }

    // MARK: Known failures

    @Test func `the known failures list is applied last`() throws {
        let list = try KnownFailures(
            parsing: "known E205 ticket 1\nbetter E205\nother E205\nlate E205\nblocked E205",
            path: "known"
        )
        let run = SuiteRunnerFixture([
            .case("known", findings: [.idempotencyKeyChanged]), .case("better"),
            .case("other", findings: [.responseStatus]), .case("late"),
            .case("blocked", skipReason: "no"), .case("new", findings: [.idempotencyKeyChanged]),
        ])
        run.options.knownFailures = list
        run.stage.revision = { results in
            #expect(results[0]?.verdict == .failed, "it comes before the list is looked at")
            results[3]?.verdict = .failed
            results[3]?.findings = [Finding(.idempotencyKeyChanged, expected: "", actual: "")]
        }
        let results = try #require(run.run())
        #expect(FindingCode.idempotencyKeyChanged.rawValue == "E205")
        #expect(
            results.map(\.verdict)
                == [.knownFailure, .unexpectedPass, .failed, .knownFailure, .notRun, .failed]
        )
        #expect(results[0].note == "ticket 1")
        #expect(results[2].note?.contains("failed with another code") == true)
        // What is told on the way is what the list makes of it.
        #expect(run.toldVerdicts["known"] == .knownFailure)
        #expect(run.toldVerdicts["better"] == .unexpectedPass)
    }

    // MARK: Beside the cases

    @Test func `the accompanying task ends with the cases`() throws {
        let run = SuiteRunnerFixture([
            .case("a", takes: 20), .case("b", takes: 30, rule: .exclusive),
        ])
        _ = run.run()
        #expect(run.stage.accompaniment == ["began 0", "ended 50"])
    }

    // MARK: Cancellation

    @Test("results before a cancellation are kept", arguments: [1, 2, 4])
    func cancellation(jobs: Int) throws {
        let cases = (0..<12).map { SimulatedCase.case("c\($0)", takes: 10) }
        let run = SuiteRunnerFixture(cases, jobs: jobs)
        let results = try #require(run.run(cancelledAfter: .milliseconds(25)))
        let earned = results.filter { $0.verdict == .passed }.map(\.contract.id)
        #expect(earned.count == 2 * jobs)
        #expect(Set(earned) == Set(run.finished))
        for result in results where result.verdict != .passed {
            #expect(result.verdict == .notRun)
            #expect(result.note == "interrupted")
            #expect(!result.isDeclaredUnsupported)
        }
        #expect(results.map(\.contract.id) == cases.map(\.id))
        // Nothing begins after it, and nothing is corrected.
        #expect(run.stage.began.count == 3 * jobs)
        #expect(run.stage.revisedCount == 0)
        #expect(run.time == .milliseconds(25))
        #expect(run.stage.accompaniment.count == 2)
    }

    @Test func `a result at the end of the run is kept when others are cancelled`() throws {
        let run = SuiteRunnerFixture(
            [.case("quick", takes: 1), .case("slow", takes: 500)],
            jobs: 2
        )
        let results = try #require(run.run(cancelledAfter: .milliseconds(2)))
        #expect(results.map(\.verdict) == [.passed, .notRun])
    }

    @Test func `a cancellation during an exclusive case keeps earlier results`() throws {
        let run = SuiteRunnerFixture([
            .case("a", takes: 5), .case("alone-1", takes: 10, rule: .exclusive),
            .case("alone-2", takes: 10, rule: .exclusive),
            .case("z", takes: 5, rule: .beforeEverything),
        ])
        let results = try #require(run.run(cancelledAfter: .milliseconds(25)))
        #expect(results.map(\.verdict) == [.passed, .passed, .notRun, .passed])
        #expect(run.stage.began == ["z", "a", "alone-1", "alone-2"])
        #expect(run.stage.revisedCount == 0)
    }

    @Test func `a case that ignores a cancellation gives no result`() throws {
        let run = SuiteRunnerFixture([.case("deaf", takes: 50, heedsCancellation: false)])
        let results = try #require(run.run(cancelledAfter: .milliseconds(10)))
        #expect(results.map(\.verdict) == [.notRun])
        #expect(run.finished.isEmpty)
    }

    @Test func `known failures and skip reasons are kept after a cancellation`() throws {
        let run = SuiteRunnerFixture([
            .case("slow", takes: 500), .case("blocked", skipReason: "declared"),
            .case("quick", findings: [.idempotencyKeyChanged]),
        ])
        run.options.knownFailures = try KnownFailures(
            parsing: "quick E205\nslow E205",
            path: "known"
        )
        let results = try #require(run.run(cancelledAfter: .milliseconds(400)))
        #expect(results[0].verdict == .notRun)
        #expect(results[1].note == "declared")
        #expect([.knownFailure, .notRun].contains(results[2].verdict))
    }

    // MARK: Whatever the suite

    /// Suites drawn from a seed: the laws above hold for each of them, with any number of jobs.
    @Test("the scheduler invariants hold for any suite", arguments: UInt64(0)..<150)
    func laws(seed: UInt64) throws {
        let cases = SimulatedCase.randomCases(seed)
        var verdicts: [[String]] = []
        for jobs in [1, 2, 3, 8] {
            let run = SuiteRunnerFixture(cases, jobs: jobs, seed: seed)
            let results = try #require(run.run(), "seed \(seed): it never ended")
            let ids = cases.flatMap { $0.skipReason == nil ? $0.parts ?? [$0.id] : [$0.id] }
            #expect(results.map(\.contract.id) == ids)
            verdicts.append(results.map { "\($0.contract.id) \($0.verdict)" })
            #expect(run.stage.busiest <= jobs)
            #expect(run.counts == Array(1..<(run.finished.count + 1)))
            #expect(Set(run.finished).count == run.finished.count, "told once each")
            for (id, others) in run.stage.beside where run.stage.wasAlone[id] == true {
                #expect(others.isEmpty, "seed \(seed): \(id) was not alone but with \(others)")
            }
            let notRun = results.filter { $0.verdict == .notRun }
            #expect(run.finished.count == ids.count - notRun.count { $0.note == "interrupted" })
        }
        #expect(Set(verdicts).count == 1, "seed \(seed): the verdicts depend on the jobs")
    }
}

/// A case on a stage that a test plays itself.
struct SimulatedCase: Sendable {
    var id: String
    /// In milliseconds.
    var takes = 0
    var rule = SchedulingRule.concurrent
    var skipReason: String?
    /// The cases that it stands for; nil: itself.
    var parts: [String]?
    /// How often others disturb it.
    var disturbedTimes = 0
    /// How often the machine holds it up.
    var heldUpTimes = 0
    var findings: [FindingCode] = []
    /// Whether the findings occur only while another case runs.
    var failsOnlyNextToOthers = false
    var heedsCancellation = true
    /// It stands for many runs of its own.
    var isSearch = false
    /// So long it waits without doing anything, behind its work; in milliseconds.
    var waits = 0

    static func `case`(
        _ id: String,
        takes: Int = 0,
        rule: SchedulingRule = .concurrent,
        parts: [String]? = nil,
        skipReason: String? = nil,
        disturbedTimes: Int = 0,
        findings: [FindingCode] = [],
        heedsCancellation: Bool = true
    ) -> SimulatedCase {
        SimulatedCase(
            id: id,
            takes: takes,
            rule: rule,
            skipReason: skipReason,
            parts: parts,
            disturbedTimes: disturbedTimes,
            findings: findings,
            heedsCancellation: heedsCancellation
        )
    }

    static func randomCases(_ seed: UInt64) -> [SimulatedCase] {
        var random = SeededGenerator(seed: seed, text: "suite")
        return (0..<Int.random(in: 0...14, using: &random)).map { number in
            let id = "c\(number)"
            var test = SimulatedCase(id: id, takes: Int.random(in: 0...9, using: &random))
            test.rule =
                [
                    .concurrent, .concurrent, .concurrent, .exclusive, .beforeEverything,
                    .degradesInstance, .movesClock,
                ].randomElement(
                    using: &random
                )
                ?? .concurrent
            switch Int.random(in: 0..<8, using: &random) {
            case 0: test.skipReason = "no"
            case 1:
                let count = Int.random(in: 0...3, using: &random)
                test.parts = (0..<count).map { "\(id)-\($0)" }
            case 2: test.disturbedTimes = Int.random(in: 1...2, using: &random)
            case 3: test.findings = [.responseStatus]
            case 5: test.heldUpTimes = Int.random(in: 1...4, using: &random)
            case 4: test.waits = Int.random(in: 1...20, using: &random)
            default: break
            }
            return test
        }
    }

    var contract: Contract {
        var contract = SimulatedContracts.contract(id, [])
        if isSearch { contract.search = .orders(sampleSize: 2) }
        return contract
    }
}

/// The real runner on a stage that writes down what becomes of its cases.
final class SuiteRunnerFixture: @unchecked Sendable {
    let cases: [SimulatedCase]
    let stage: SimulatedTarget
    var options: SuiteRunOptions
    /// More stages for those that play alone.
    private(set) var additionalInstances: [SimulatedTarget] = []
    /// These sides cannot be opened.
    var failingInstances: Set<Int> = []
    private let machine: SimulatedMachine
    private(set) var log: [String] = []
    private(set) var started: [String] = []
    private(set) var finished: [String] = []
    private(set) var toldVerdicts: [String: Verdict] = [:]
    private(set) var counts: [Int] = []
    private(set) var totals: Set<Int> = []
    private(set) var planned: [[String]] = []
    private(set) var time: Duration = .zero

    init(_ cases: [SimulatedCase], jobs: Int = 1, seed: UInt64 = 0, additionalInstanceMax: Int = 0)
    {
        self.cases = cases
        machine = SimulatedMachine(seed: seed, load: .exact)
        let clock = SimulatedClock(machine: machine)
        stage = SimulatedTarget(cases, clock)
        additionalInstances = (0..<additionalInstanceMax).map { _ in SimulatedTarget(cases, clock) }
        options = SuiteRunOptions(
            seed: seed,
            jobs: jobs,
            nonce: "n",
            knownFailures: KnownFailures()
        )
    }

    /// The results; nil when all waited for something that never came.
    func run(cancelledAfter time: Duration? = nil) -> [CaseResult]? {
        let (additionalInstances, broken) = (additionalInstances, failingInstances)
        let more = SuiteRunner.AdditionalInstances(countMax: additionalInstances.count) { number in
            if broken.contains(number) { throw SimulatedTarget.InstanceStartError() }
            return additionalInstances[number]
        }
        let runner = SuiteRunner(on: stage, additionalInstances: more, options: options) {
            self.take($0)
        }
        let contracts = cases.map(\.contract)
        let clock = stage.clock
        let results = machine.run {
            let work = clock.task { await runner.run(contracts) }
            if let time {
                _ = clock.task {
                    await clock.pause(time)
                    work.cancel()
                }
            }
            return await work.value
        }
        self.time = machine.now
        return results
    }

    private func take(_ event: SuiteEvent) {
        switch event {
        case .started(let id):
            started.append(id)
            log.append("started \(id)")
        case .finished(let result, let done, let total):
            finished.append(result.contract.id)
            log.append("finished \(result.contract.id)")
            toldVerdicts[result.contract.id] = result.verdict
            counts.append(done)
            totals.insert(total)
        case .planned(let ids): planned.append(ids)
        case .calibrated, .backendRestarted, .stopped, .instanceFailed, .warned:
            log.append("\(event)")
        }
    }
}

/// A stage whose cases do nothing but take their time, and notice who else is there.
final class SimulatedTarget: SuiteTarget, OpenTarget, @unchecked Sendable {
    struct InstanceStartError: Error {}

    /// From so many cases on, nobody answers any more.
    var goneAfter: Int?
    let clock: SimulatedClock
    private var cases: [String: SimulatedCase] = [:]
    private var playing: Set<String> = []
    private var attemptCounts: [String: Int] = [:]
    var revision: ((inout [CaseResult?]) -> Void)?
    private(set) var opened: [[String]] = []
    private(set) var asked: [String] = []
    private(set) var expandedIDs: [String] = []
    private(set) var began: [String] = []
    private(set) var ended: [String] = []
    private(set) var numbers: [String: [Int]] = [:]
    private(set) var wasAlone: [String: Bool] = [:]
    /// Who played at any time while it played, in its last turn.
    private(set) var beside: [String: Set<String>] = [:]
    private(set) var busiest = 0
    private(set) var revisedCount = 0
    private(set) var revisedAfter: [String] = []
    /// Cases that were looked at once more by themselves, in that order.
    private(set) var revisedAlone: [String] = []
    private(set) var accompaniment: [String] = []

    init(_ cases: [SimulatedCase], _ clock: SimulatedClock) {
        self.clock = clock
        for test in cases {
            self.cases[test.id] = test
            for part in test.parts ?? [] {
                var copy = test
                copy.id = part
                copy.parts = nil
                self.cases[part] = copy
            }
        }
    }

    func skipReason(_ plan: CasePlan) -> CaseResult? {
        cases[plan.contract.id]?.skipReason.map {
            CaseResult(contract: plan.contract, verdict: .notRun, note: $0)
        }
    }

    func open(for plans: [CasePlan]) async -> any OpenTarget {
        opened.append(plans.map(\.contract.id))
        return self
    }

    func monitorLoad() async {
        accompaniment.append("began \(clock.now.milliseconds)")
        while !Task.isCancelled { await clock.pause(.seconds(1000)) }
        accompaniment.append("ended \(clock.now.milliseconds)")
    }

    func expanded(_ plan: CasePlan) async -> [CasePlan] {
        expandedIDs.append(plan.contract.id)
        guard let parts = cases[plan.contract.id]?.parts else { return [plan] }
        return parts.map { CasePlan(SimulatedContracts.contract($0, [])) }
    }

    func schedulingRules(of plans: [CasePlan]) async -> [SchedulingRule] {
        asked += plans.map(\.contract.id)
        return plans.map { cases[$0.contract.id]?.rule ?? .concurrent }
    }

    func result(of plan: CasePlan, number: Int, isExclusive: Bool) async -> CaseResult? {
        let id = plan.contract.id
        guard let test = cases[id] else { return nil }
        began.append(id)
        numbers[id, default: []].append(number)
        wasAlone[id] = isExclusive
        beside[id] = playing
        for other in playing { beside[other]?.insert(id) }
        playing.insert(id)
        busiest = max(busiest, playing.count)
        let (clock, time) = (clock, Duration.milliseconds(test.takes))
        if test.heedsCancellation {
            await clock.pause(time)
        } else {
            // A task of its own is not cancelled with this one.
            await clock.task { await clock.pause(time) }.value
        }
        playing.remove(id)
        if test.waits > 0 {
            await JobSlot.releaseSlot { await clock.pause(.milliseconds(test.waits)) }
            playing.insert(id)
            busiest = max(busiest, playing.count)
            playing.remove(id)
        }
        ended.append(id)
        if let goneAfter, ended.count > goneAfter {
            var gone = CaseResult(contract: plan.contract, verdict: .inconclusive)
            gone.findings = [Finding(.backendGone, expected: "", actual: "")]
            return gone
        }
        attemptCounts[id, default: 0] += 1
        if attemptCounts[id, default: 0] <= test.disturbedTimes { return nil }
        if attemptCounts[id, default: 0] <= test.heldUpTimes {
            let busy = Finding(.machineBusy, expected: "", actual: "")
            return CaseResult(contract: plan.contract, verdict: .inconclusive, findings: [busy])
        }
        let wasAlone = beside[id]?.isEmpty ?? true
        let codes = test.failsOnlyNextToOthers && wasAlone ? [] : test.findings
        return CaseResult(
            contract: plan.contract,
            verdict: codes.isEmpty ? .passed : .failed,
            findings: codes.map { Finding($0, expected: "", actual: "") }
        )
    }

    func revise(_ results: inout [CaseResult?], among caseIDs: Set<String>) async {
        #expect(playing.isEmpty)
        if caseIDs.contains(where: {
            [.beforeEverything, .degradesInstance].contains(cases[$0]?.rule)
        }) {
            #expect(caseIDs == Set(began.suffix(1)), "nobody else's journal is its own any more")
            revisedAlone += caseIDs
            return
        }
        revisedCount += 1
        revisedAfter += began.suffix(1)
        revision?(&results)
    }
}
