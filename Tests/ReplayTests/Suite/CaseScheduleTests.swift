import Contracts
import Testing

@testable import Replay
import Values

/// The schedule alone, without any I/O: instances ask in a random order, and cases end in a random
/// order, disturbed or not.
@Suite("Case schedule")
struct CaseScheduleTests {
    @Test("each case gets one result in any suite", arguments: UInt64(0)..<400)
    func losesNoCase(seed: UInt64) {
        var run = ScheduleSimulation(seed: seed)
        run.perform()
        #expect(run.results.sorted() == run.cases.map(\.index), "seed \(seed)")
        for scheduledCase in run.cases {
            let startCount = run.starts.count { $0.scheduledCase == scheduledCase }
            let repeatCount = run.repeatedIndices.count { $0 == scheduledCase.index }
            #expect(startCount == repeatCount + 1, "seed \(seed): case \(scheduledCase.index)")
        }
    }

    @Test("an interrupted suite knows the state of every case", arguments: UInt64(0)..<200)
    func interruptedSuite(seed: UInt64) {
        var run = ScheduleSimulation(seed: seed, stepMax: Int(seed % 60))
        run.perform()
        #expect(Set(run.results).count == run.results.count)
        for index in run.cases.map(\.index) {
            let startCount = run.starts.count { $0.scheduledCase.index == index }
            let endedOrRunning = run.results + run.repeatedIndices + run.runningIndices
            #expect(
                startCount == endedOrRunning.count { $0 == index },
                "seed \(seed): case \(index)"
            )
        }
    }

    @Test("an instance takes its cases in the order of their rules", arguments: UInt64(0)..<200)
    func ruleOrder(seed: UInt64) throws {
        var run = ScheduleSimulation(seed: seed)
        run.perform()
        for instance in Set(run.starts.map(\.instance)) {
            for part in ScheduleSimulation.Part.allCases {
                let firstStarts = run.starts.filter {
                    $0.instance == instance && $0.part == part && !$0.isRepeated
                }
                let ranks = try firstStarts.map {
                    try #require(SchedulingRule.allCases.firstIndex(of: $0.scheduledCase.rule))
                }
                #expect(ranks == ranks.sorted(), "seed \(seed), instance \(instance)")
            }
        }
        let concurrentStarts = run.starts.filter { !$0.isExclusive }
        #expect(concurrentStarts.allSatisfy { $0.instance == CaseSchedule.mainInstance })
        let durations = ScheduledCase.ExpectedDuration.allCases
        let durationRanks = concurrentStarts.compactMap {
            durations.firstIndex(of: $0.scheduledCase.expectedDuration)
        }
        #expect(durationRanks == durationRanks.sorted(), "seed \(seed): slow cases come first")
    }

    @Test("a run that may end early begins with decisive cases", arguments: UInt64(0)..<100)
    func decisiveCasesFirst(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let cases = (0..<40).map { index in
            ScheduledCase(
                index: index,
                rule: .concurrent,
                expectedDuration: ScheduledCase.ExpectedDuration.allCases
                    .randomElement(using: &generator) ?? .short,
                contractID: "\(index)",
                decisiveness: Decisiveness.allCases.randomElement(using: &generator) ?? .other
            )
        }
        var schedule = CaseSchedule(
            cases,
            jobs: 40,
            seed: seed,
            additionalInstanceMax: 0,
            mayEndEarly: true
        )
        var started: [ScheduledCase] = []
        while case .startConcurrently(let next) = schedule.nextDecision(for: 0) {
            started.append(next)
        }
        #expect(started.count == cases.count)
        let firstPositions = Decisiveness.allCases.compactMap { subject in
            started.firstIndex { $0.decisiveness == subject }
        }
        #expect(firstPositions == firstPositions.sorted())
        let firstOther = started.firstIndex { $0.decisiveness == .other } ?? started.count
        #expect(started[firstOther...].allSatisfy { $0.decisiveness == .other })
        for subject in Decisiveness.allCases {
            let durations = started.filter { $0.decisiveness == subject }.compactMap {
                ScheduledCase.ExpectedDuration.allCases.firstIndex(of: $0.expectedDuration)
            }
            #expect(durations == durations.sorted(by: >), "fast cases come first")
        }
    }

    @Test("a degraded instance runs nothing else afterwards", arguments: UInt64(0)..<200)
    func degradedInstance(seed: UInt64) {
        var run = ScheduleSimulation(seed: seed)
        run.perform()
        for instance in Set(run.starts.map(\.instance)) {
            let rules = run.starts.filter { $0.instance == instance }.map(\.scheduledCase.rule)
            let rest = rules.drop { $0 != .degradesInstance }
            #expect(rest.allSatisfy { $0 == .degradesInstance }, "seed \(seed)")
            if instance != CaseSchedule.mainInstance { #expect(rest.isEmpty || rest == rules[...]) }
        }
    }

    @Test("the order depends on the seed only", arguments: UInt64(0)..<50)
    func deterministic(seed: UInt64) {
        var (first, second) = (ScheduleSimulation(seed: seed), ScheduleSimulation(seed: seed))
        first.perform()
        second.perform()
        #expect(first.starts == second.starts)
    }

    @Test func `another seed gives another order of the concurrent cases`() {
        let cases = (0..<20).map { ScheduleSimulation.scheduledCase($0, .concurrent) }
        let orders = (UInt64(0)..<8).map { seed -> [Int] in
            var schedule = CaseSchedule(cases, jobs: 20, seed: seed, additionalInstanceMax: 0)
            return cases.compactMap { _ in
                guard case .startConcurrently(let scheduledCase) = schedule.nextDecision(for: 0)
                else { return nil }
                return scheduledCase.index
            }
        }
        #expect(Set(orders).count == orders.count)
        #expect(orders.allSatisfy { $0.sorted() == Array(0..<20) })
    }

    @Test(
        "exclusive cases decide the number of instances",
        arguments: [
            // Exclusive cases, degrading cases, the maximum, the instances.
            (0, 0, 3, 0), (3, 0, 3, 0), (4, 0, 3, 1), (8, 0, 3, 2), (40, 0, 3, 3), (40, 0, 0, 0),
            (0, 1, 3, 1), (8, 1, 3, 3), (40, 2, 3, 3), (40, 1, 1, 1), (3, 9, 2, 1),
        ]
    )
    func instanceCount(exclusive: Int, degrading: Int, max: Int, expected: Int) {
        let rules: [SchedulingRule] =
            (0..<exclusive).map { $0.isMultiple(of: 2) ? .exclusive : .movesClock }
            + Array(repeating: .degradesInstance, count: degrading)
            + [.concurrent, .beforeEverything]
        let cases = rules.enumerated().map { ScheduleSimulation.scheduledCase($0, $1) }
        let schedule = CaseSchedule(cases, jobs: 2, seed: 0, additionalInstanceMax: max)
        #expect(schedule.additionalInstances.sorted() == Array(1..<(expected + 1)))
    }

    @Test func `an instance takes up to four variants of one contract together`() {
        let cases = (0..<8).map {
            ScheduledCase(
                index: $0,
                rule: .exclusive,
                expectedDuration: .short,
                contractID: $0 < 6 ? "a" : "b"
            )
        }
        var schedule = CaseSchedule(cases, jobs: 1, seed: 0, additionalInstanceMax: 2)
        func started(on instance: Int) -> Int? {
            guard case .startExclusively(let started) = schedule.nextDecision(for: instance) else {
                return nil
            }
            return schedule.endCase(started, on: instance, .judged) ? started.index : nil
        }
        // The instances ask by turns: the first takes 0 to 3, the second 4 and 5.
        let indices = [1, 2, 1, 2, 2, 1].map { started(on: $0) }
        #expect(indices == [0, 4, 1, 5, 6, 2])
    }

    @Test func `the cases of a lost instance return to their queue, in their order`() {
        let cases = (0..<4).map { ScheduleSimulation.scheduledCase($0, .exclusive, contract: "a") }
        var schedule = CaseSchedule(cases, jobs: 1, seed: 0, additionalInstanceMax: 1)
        let decisions = [1, 0].map { schedule.nextDecision(for: $0) }
        #expect(decisions == [.startExclusively(cases[0]), .stop])
        let countsOnLostInstance = schedule.endCase(cases[0], on: 1, .instanceLost)
        #expect(!countsOnLostInstance)
        let decisionOfLostInstance = schedule.nextDecision(for: 1)
        #expect(decisionOfLostInstance == .stop)
        schedule.endAdditionalInstances()
        for scheduledCase in cases {
            let decision = schedule.nextDecision(for: 0)
            #expect(decision == .startExclusively(scheduledCase))
            // No other instance is left, so the result counts.
            let counts = schedule.endCase(scheduledCase, on: 0, .instanceLost)
            #expect(counts)
        }
        let lastDecision = schedule.nextDecision(for: 0)
        #expect(lastDecision == .stop)
    }
}

/// A suite drawn from a seed, on instances that do nothing but ask the schedule.
private struct ScheduleSimulation {
    /// The parts of a suite, which have different queues on the main instance.
    enum Part: Hashable, CaseIterable {
        case withAdditionalInstances, afterAdditionalInstances, degrading
    }

    struct Start: Hashable {
        let scheduledCase: ScheduledCase
        let instance: Int
        let part: Part
        let isExclusive: Bool
        /// Whether the case had started before.
        let isRepeated: Bool
    }

    private struct RunningCase {
        enum State { case working, waiting, wantingJob }

        let scheduledCase: ScheduledCase
        let isExclusive: Bool
        var state = State.working
        /// Whether another case ran on the same instance at any time.
        var wasAccompanied = false
    }

    let cases: [ScheduledCase]
    private(set) var starts: [Start] = []
    /// The cases whose results counted, in the order of the results.
    private(set) var results: [Int] = []
    /// The cases that have to start once more, once for each time.
    private(set) var repeatedIndices: [Int] = []

    private let jobs: Int
    private var schedule: CaseSchedule
    private var random: SeededGenerator
    private var remainingStepCount: Int
    private var part = Part.withAdditionalInstances
    private var running: [Int: [RunningCase]] = [:]
    private var casesWantingJob: [Int] = []

    static func scheduledCase(_ index: Int, _ rule: SchedulingRule, contract: String? = nil)
        -> ScheduledCase
    {
        ScheduledCase(
            index: index,
            rule: rule,
            expectedDuration: .short,
            contractID: contract ?? "c\(index)"
        )
    }

    init(seed: UInt64, stepMax: Int = 100_000) {
        var random = SeededGenerator(seed: seed, text: "schedule")
        cases = (0..<Int.random(in: 0...40, using: &random)).map { index in
            ScheduledCase(
                index: index,
                rule: SchedulingRule.allCases.randomElement(using: &random) ?? .concurrent,
                expectedDuration: ScheduledCase.ExpectedDuration.allCases.randomElement(
                    using: &random
                )
                    ?? .short,
                contractID: "c\(Int.random(in: 0...3, using: &random))"
            )
        }
        jobs = Int.random(in: 1...6, using: &random)
        schedule = CaseSchedule(
            cases,
            jobs: jobs,
            seed: seed,
            additionalInstanceMax: Int.random(in: 0...4, using: &random)
        )
        self.random = random
        remainingStepCount = stepMax
    }

    mutating func perform() {
        // Some instances cannot start.
        let opened = schedule.additionalInstances.filter { _ in
            Int.random(in: 0..<4, using: &random) > 0
        }
        perform(on: [CaseSchedule.mainInstance] + opened)
        guard remainingStepCount > 0 else { return }
        part = .afterAdditionalInstances
        schedule.endAdditionalInstances()
        perform(on: [CaseSchedule.mainInstance])
        guard remainingStepCount > 0 else { return }
        part = .degrading
        schedule.startDegrading()
        perform(on: [CaseSchedule.mainInstance])
    }

    private mutating func perform(on instances: [Int]) {
        var instances = Set(instances)
        while let instance = instances.sorted().randomElement(using: &random) {
            guard remainingStepCount > 0 else { return }
            remainingStepCount -= 1
            if Bool.random(using: &random) {
                if !followDecision(on: instance) { instances.remove(instance) }
            } else {
                changeRunningCase(on: instance)
            }
        }
    }

    var runningIndices: [Int] { running.values.flatMap { $0 }.map(\.scheduledCase.index) }

    private var workingCount: Int {
        running.values.flatMap { $0 }.count { !$0.isExclusive && $0.state == .working }
    }

    /// Follows the next decision of the schedule; returns false when the instance stops.
    private mutating func followDecision(on instance: Int) -> Bool {
        let runningCases = running[instance] ?? []
        switch schedule.nextDecision(for: instance) {
        case .startConcurrently(let scheduledCase):
            #expect(workingCount < jobs)
            #expect(runningCases.allSatisfy { !$0.isExclusive })
            #expect(scheduledCase.rule == .concurrent)
            start(scheduledCase, on: instance, isExclusive: false)
        case .startExclusively(let scheduledCase):
            #expect(runningCases.isEmpty)
            start(scheduledCase, on: instance, isExclusive: true)
        case .resumeWaitingCase:
            #expect(workingCount < jobs)
            let index = casesWantingJob.removeFirst()
            setState(.working, of: index, on: instance)
        case .wait:
            #expect(
                !runningCases.isEmpty
                    || instance != CaseSchedule.mainInstance && !schedule.areConcurrentCasesOver,
                "the instance would wait forever"
            )
        case .stop:
            #expect(runningCases.isEmpty)
            return false
        }
        return true
    }

    private mutating func start(_ scheduledCase: ScheduledCase, on instance: Int, isExclusive: Bool)
    {
        starts.append(
            Start(
                scheduledCase: scheduledCase,
                instance: instance,
                part: part,
                isExclusive: isExclusive,
                isRepeated: starts.contains { $0.scheduledCase == scheduledCase }
            )
        )
        for position in (running[instance] ?? []).indices {
            running[instance]?[position].wasAccompanied = true
        }
        let isAccompanied = running[instance]?.isEmpty == false
        running[instance, default: []].append(
            RunningCase(
                scheduledCase: scheduledCase,
                isExclusive: isExclusive,
                wasAccompanied: isAccompanied
            )
        )
    }

    private mutating func setState(_ state: RunningCase.State, of index: Int, on instance: Int) {
        for position in (running[instance] ?? []).indices
        where running[instance]?[position].scheduledCase.index == index {
            running[instance]?[position].state = state
        }
    }

    /// Ends a random case of an instance, or lets it wait or want to continue.
    private mutating func changeRunningCase(on instance: Int) {
        guard let chosen = running[instance]?.randomElement(using: &random) else { return }
        let index = chosen.scheduledCase.index
        switch chosen.state {
        case .wantingJob: break
        case .waiting:
            schedule.jobs.want()
            casesWantingJob.append(index)
            setState(.wantingJob, of: index, on: instance)
        case .working where !chosen.isExclusive && Int.random(in: 0..<3, using: &random) == 0:
            let isReleased = schedule.jobs.release()
            #expect(jobs > 1 || !isReleased, "with one job, no case waits without it")
            if isReleased { setState(.waiting, of: index, on: instance) }
        case .working: end(chosen, on: instance)
        }
    }

    private mutating func end(_ chosen: RunningCase, on instance: Int) {
        let index = chosen.scheduledCase.index
        let isUnlucky = Int.random(in: 0..<5, using: &random) == 0
        let end: CaseSchedule.CaseEnd =
            switch (isUnlucky, chosen.isExclusive) {
            case (false, _): .judged
            case (true, true): .instanceLost
            case (true, false): Bool.random(using: &random) ? .disturbed : .failedPerhapsDisturbed
            }
        running[instance]?.removeAll { $0.scheduledCase.index == index }
        let counts = schedule.endCase(chosen.scheduledCase, on: instance, end)
        if end == .failedPerhapsDisturbed {
            #expect(counts == !chosen.wasAccompanied, "case \(index)")
        }
        if counts {
            results.append(index)
        } else {
            #expect(end != .judged)
            repeatedIndices.append(index)
        }
    }
}
