import Contracts
import FakeServers
import Judging
import Providers
import TestBackend
import Testing
import Values

@testable import Replay

/// Device scenarios on the one suite runner: who carries them out is the caller's.
@Suite("Device target")
struct DeviceTargetTests {
    private static let place = SourceLocation(path: "app.yaml", line: 9, column: 3)

    private static func scenario(_ id: String, _ steps: [Step] = [launch]) -> Contract {
        var expectation = Expectation(responses: .anyOutcome)
        expectation.app = AppExpectation(location: place)
        return Contract(
            id: id,
            variant: "",
            title: id,
            clause: "C-01",
            level: .must,
            source: "a test",
            needs: [],
            given: [],
            steps: steps,
            expectation: expectation,
            location: place
        )
    }

    private static let launch = Step.phone(.app(AppAction(.launch)))

    /// One whole suite of scenarios that a closure plays.
    private struct Scenarios: Sendable {
        var executorSet = Executors.scripted
        var jobs = 1
        var keepsEvidence = false
        let machine = SimulatedMachine(seed: 0, load: .exact)
        /// How long a scenario takes, on the clock of the suite.
        var time: Duration = .milliseconds(125)
        var runProblem: RunRecord.RunProblem?
        /// Only the first so many plays of each scenario are in trouble; nil: all.
        var troubledCount: Int?
        let plays = Locked<[String: Int]>([:])
        let names = Locked<[String: String]>([:])

        func run(_ contracts: [Contract]) -> [CaseResult]? {
            let clock = SimulatedClock(machine: machine)
            var options = SuiteRunOptions(
                seed: 5,
                jobs: jobs,
                nonce: "seed",
                knownFailures: KnownFailures()
            )
            options.keepsEvidence = keepsEvidence
            let (names, time, runProblem) = (names, time, runProblem)
            let (plays, troubledCount) = (plays, troubledCount)
            let stage = DeviceTarget(
                profile: Profile(),
                executorSet: executorSet,
                options: options,
                clock: clock
            ) { plan, name, judging in
                names.withLock { $0[plan.contract.id] = name }
                let play = plays.withLock { plays in
                    plays[plan.contract.id, default: 0] += 1
                    return plays[plan.contract.id, default: 0]
                }
                let isTroubled = troubledCount.map { play <= $0 } ?? true
                await clock.pause(time)
                let record = RunRecord(
                    plan: plan.subject,
                    namespace: Namespace(name: name, idForm: .string),
                    base: SimulatedClock.start,
                    began: SimulatedClock.start,
                    ended: SimulatedClock.start,
                    exchanges: [
                        .userAction(
                            UserAction("launch"),
                            on: "phone",
                            namespace: name,
                            at: SimulatedClock.start
                        )
                    ],
                    settleEvidence: .notNeeded,
                    runProblem: isTroubled ? runProblem : nil
                )
                judging.storeScreenshot("picture of \(plan.contract.id)")
                #expect(
                    !judging.mayResolveWithLongerWait(record),
                    "nothing is missing that could still come"
                )
                return record
            }
            let runner = SuiteRunner(on: stage, options: options) { _ in }
            return machine.run { await runner.run(contracts) }
        }
    }

    @Test func `a scenario's duration is measured by the suite's clock`() throws {
        let results = try #require(Scenarios().run([Self.scenario("a")]))
        try #require(results.map(\.seconds) == [0.125])
        #expect(results.map(\.verdict) == [.passed])
        #expect(results[0].base == SimulatedClock.start)
        #expect(results[0].timeline.isEmpty)
        #expect(results[0].evidence == nil)
    }

    @Test(
        "runs are named by their position in the suite, so a seed repeats them",
        arguments: [1, 4]
    )
    func names(jobs: Int) throws {
        var scenarios = Scenarios()
        scenarios.jobs = jobs
        let contracts = (0..<6).map { Self.scenario("c\($0)") }
        #expect(scenarios.run(contracts)?.count == 6)
        let names = scenarios.names.withLock { $0 }
        for number in 0..<6 { #expect(names["c\(number)"] == "seed-\(number)") }
    }

    @Test func `a step that the executors do not support is reported with its location`() throws {
        let register = Step.register(user: "ada")
        let scenarios = Scenarios()
        let results = try #require(
            scenarios.run([Self.scenario("a", [register, Self.launch]), Self.scenario("b")])
        )
        try #require(results.map(\.verdict) == [.notRun, .passed])
        let note = try #require(results[0].note)
        #expect(note.hasPrefix("app.yaml:9:3: "))
        #expect(note.contains("assay app --scripted"))
        #expect(scenarios.names.withLock { $0.keys.sorted() } == ["b"])
        #expect(scenarios.names.withLock { $0["b"] } == "seed-1", "its place stays its own")
    }

    @Test func `a scenario with a problem is inconclusive and lists its user actions`() throws {
        var scenarios = Scenarios()
        scenarios.runProblem = .pageUnusable("it is blank")
        scenarios.keepsEvidence = true
        let result = try #require(scenarios.run([Self.scenario("a")])?.first)
        #expect(result.verdict == .inconclusive)
        #expect(result.note == "it is blank")
        #expect(result.timeline.count == 1)
        #expect(result.screenshot == "picture of a")
        #expect(result.evidence?.subject.runProblem == .pageUnusable("it is blank"))
        #expect(result.evidence?.baselines.isEmpty == true)
        #expect(result.evidence?.observability.arePushesObservable == false)
    }

    @Test func `a page that starved next to others reruns exclusively`() throws {
        var scenarios = Scenarios()
        scenarios.jobs = 2
        scenarios.runProblem = .pageUnusable("it is blank")
        scenarios.troubledCount = 1
        let contracts = (0..<3).map { Self.scenario("c\($0)") }
        let results = try #require(scenarios.run(contracts))
        #expect(results.map(\.verdict) == [.passed, .passed, .passed])
        #expect(scenarios.plays.withLock { $0 } == ["c0": 2, "c1": 2, "c2": 2])
        // Alone there is nobody to blame.
        scenarios = Scenarios()
        scenarios.runProblem = .pageUnusable("it is blank")
        scenarios.troubledCount = 1
        let verdicts = scenarios.run(contracts)?.map(\.verdict)
        #expect(verdicts == [.inconclusive, .inconclusive, .inconclusive])
    }

    @Test func `scenarios run concurrently`() throws {
        var scenarios = Scenarios()
        scenarios.jobs = 3
        let contracts = (0..<6).map { Self.scenario("c\($0)") }
        #expect(scenarios.run(contracts)?.count == 6)
        #expect(scenarios.machine.now == .milliseconds(250))
    }
}
