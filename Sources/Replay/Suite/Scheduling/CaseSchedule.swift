internal import Contracts
internal import Values

/// Decides which case starts next on which instance of the backend.
///
/// The schedule does no I/O. `CaseScheduler` asks for decisions, carries them out and reports the
/// end of each case. The schedule keeps these invariants, whatever the order of the reports:
///
/// - Each case starts once. A case that was disturbed, or whose instance was lost, starts once more.
/// - A case that misses an effect starts once more, exclusively, if another case ran at the same time.
/// - While a case runs exclusively, no other case runs on the same instance.
/// - At most as many cases run concurrently as there are jobs.
/// - The seed decides the order of concurrent cases. Slow cases come before fast ones, except in a
///   run that may end early: it begins with decisive cases, and ends with slow ones.
struct CaseSchedule: Sendable {
    /// The number of the first instance of the backend.
    ///
    /// Additional instances have the numbers from 1.
    static let mainInstance = 0

    /// The next action on one instance.
    enum Decision: Hashable, Sendable {
        case startConcurrently(ScheduledCase)
        case startExclusively(ScheduledCase)
        /// The first of the waiting cases that want to continue gets a job.
        case resumeWaitingCase
        /// Nothing can start until a running case ends or releases its job, or until no case runs
        /// concurrently on the main instance.
        case wait
        /// The instance has no case left.
        case stop
    }

    /// The end of an attempt to run a case.
    enum CaseEnd: Hashable, Sendable {
        case judged
        /// Other cases or the load of the machine disturbed the case.
        case disturbed
        /// The case failed, but another case on the same instance may have caused the failure.
        case failedPerhapsDisturbed
        /// A cancellation interrupted the case, or it could not be judged even exclusively.
        case notJudged
        /// The instance of the backend was gone, so the case may only have suffered from that.
        case instanceLost
    }

    /// A queue of cases that instances take in turn.
    private enum Queue: Hashable {
        case rule(SchedulingRule)
        /// Disturbed cases, which run again exclusively, on any instance.
        ///
        /// The queue is complete when no case runs concurrently any more.
        case disturbed
    }

    private struct Instance {
        /// The queues from which the instance takes cases, in order.
        ///
        /// The instance leaves an empty queue.
        var queues: ArraySlice<Queue>
        /// The next cases of this instance, which other instances can no longer take.
        var takenCases: ArraySlice<ScheduledCase> = []
        var runningIndices: Set<Int> = []
        /// The running cases that have shared the instance with another case since they started.
        var accompaniedIndices: Set<Int> = []

        /// Adds a running case that shares the instance with the other running cases.
        mutating func start(_ index: Int) {
            if !runningIndices.isEmpty {
                accompaniedIndices.formUnion(runningIndices)
                accompaniedIndices.insert(index)
            }
            runningIndices.insert(index)
        }
    }

    /// The number of variants of one contract that one instance takes together, because they share
    /// baseline runs.
    ///
    /// With larger groups, one instance could still have work at the end of the suite while other
    /// instances are idle.
    private static let groupSizeMax = 4
    /// The number of cases about each subject at the start of a run that may end early, before more
    /// cases about the same subjects follow.
    private static let decisiveCasesPerRound = 4
    /// The number of exclusive cases that justify one more instance of the backend.
    ///
    /// An instance takes time to start and to calibrate.
    private static let exclusiveCasesPerInstance = 4

    /// The numbers of the additional instances that the cases need.
    ///
    /// They start in this order. The instance for degrading cases comes first.
    let additionalInstances: [Int]
    private var groups: [Queue: ArraySlice<[ScheduledCase]>] = [:]
    private var instances: [Instance]
    private var areAdditionalInstancesRunning = true
    /// Whether the main instance has run all cases that can run concurrently.
    private(set) var areConcurrentCasesOver = false
    var jobs: CaseJobs

    /// Plans the order of the cases and the number of instances.
    ///
    /// - Parameters:
    ///   - cases: The cases, in the order of the suite.
    ///   - jobs: The number of cases that may run concurrently.
    ///   - seed: The seed of the order of concurrent cases.
    ///   - additionalInstanceMax: The largest number of additional instances of the backend.
    ///   - mayEndEarly: Whether a time limit or the first failure may end the run before all cases
    ///     have run.
    init(
        _ cases: [ScheduledCase],
        jobs: Int,
        seed: UInt64,
        additionalInstanceMax: Int,
        mayEndEarly: Bool = false
    ) {
        self.jobs = CaseJobs(count: jobs)
        for rule in SchedulingRule.allCases {
            groups[.rule(rule)] = Self.groups(
                cases.filter { $0.rule == rule },
                of: rule,
                seed,
                mayEndEarly: mayEndEarly
            )
        }
        let hasDegradingCases = cases.contains { $0.rule == .degradesInstance }
        let degradedInstanceCount = hasDegradingCases ? min(additionalInstanceMax, 1) : 0
        let undegradedInstanceCount = min(
            additionalInstanceMax - degradedInstanceCount,
            cases.count { $0.rule.runsOnAnyInstance } / Self.exclusiveCasesPerInstance
        )
        // The first additional instance is as fresh as the main one: no other case has run on it.
        let freshInstance = undegradedInstanceCount > 0 ? 1 : Self.mainInstance
        instances = (0...undegradedInstanceCount).map { number in
            var queues: ArraySlice<Queue> =
                number == Self.mainInstance
                ? [.rule(.concurrent), .rule(.exclusive), .disturbed, .rule(.movesClock)]
                : [.rule(.exclusive), .disturbed, .rule(.movesClock)]
            if number == freshInstance { queues.insert(.rule(.beforeEverything), at: 0) }
            return Instance(queues: queues)
        }
        let undegradedInstances = Array(1..<instances.count)
        if degradedInstanceCount > 0 {
            additionalInstances = [instances.count] + undegradedInstances
            instances.append(Instance(queues: [.rule(.degradesInstance)]))
        } else {
            additionalInstances = undegradedInstances
        }
    }

    /// Returns the cases of one rule in the order in which they start, in the groups that one
    /// instance takes together.
    private static func groups(
        _ cases: [ScheduledCase],
        of rule: SchedulingRule,
        _ seed: UInt64,
        mayEndEarly: Bool
    ) -> ArraySlice<[ScheduledCase]> {
        var ordered = cases
        if rule.sharesInstance {
            var generator = SeededGenerator(seed: seed)
            ordered.shuffle(using: &generator)
        }
        if mayEndEarly {
            ordered = decisiveCasesFirst(ordered)
        } else if rule.startsSlowCasesFirst {
            // Cases of the same duration keep their order.
            ordered = ScheduledCase.ExpectedDuration.allCases.flatMap { duration in
                ordered.filter { $0.expectedDuration == duration }
            }
        }
        guard rule.runsOnAnyInstance else { return ordered.map { [$0] }[...] }
        var groups: [[ScheduledCase]] = []
        for scheduledCase in ordered {
            if let last = groups.last, last.count < groupSizeMax,
                last[0].contractID == scheduledCase.contractID
            {
                groups[groups.count - 1].append(scheduledCase)
            } else {
                groups.append([scheduledCase])
            }
        }
        return groups[...]
    }

    /// Returns the cases in the order for a run that may end early.
    ///
    /// Rounds with a few cases about each decisive subject come first, then all other cases. Fast
    /// cases come before slow ones, and cases of the same duration keep their order.
    private static func decisiveCasesFirst(_ cases: [ScheduledCase]) -> [ScheduledCase] {
        let fastFirst = ScheduledCase.ExpectedDuration.allCases.reversed().flatMap { duration in
            cases.filter { $0.expectedDuration == duration }
        }
        let casesBySubject = Dictionary(grouping: fastFirst, by: \.decisiveness)
        var ordered: [ScheduledCase] = []
        let decisiveSubjects = Decisiveness.allCases.dropLast()
        let longest = decisiveSubjects.map { casesBySubject[$0]?.count ?? 0 }.max() ?? 0
        for start in stride(from: 0, to: longest, by: decisiveCasesPerRound) {
            for subject in decisiveSubjects {
                ordered += casesBySubject[subject, default: []].dropFirst(start)
                    .prefix(decisiveCasesPerRound)
            }
        }
        return ordered + casesBySubject[.other, default: []]
    }

    // MARK: Decisions

    /// Returns the next action on an instance.
    ///
    /// A case that the decision starts counts as running.
    mutating func nextDecision(for instance: Int) -> Decision {
        while let queue = instances[instance].queues.first {
            let decision =
                queue == .rule(.concurrent)
                ? concurrentDecision(for: instance) : exclusiveDecision(for: instance, from: queue)
            if let decision { return decision }
            if queue == .rule(.concurrent) { areConcurrentCasesOver = true }
            instances[instance].queues.removeFirst()
        }
        return .stop
    }

    /// Returns the next action while cases run concurrently; nil when all of them have ended.
    private mutating func concurrentDecision(for instance: Int) -> Decision? {
        if jobs.resume() { return .resumeWaitingCase }
        if groups[.rule(.concurrent)]?.isEmpty == false, jobs.take(),
            let scheduledCase = groups[.rule(.concurrent)]?.popFirst()?.first
        {
            instances[instance].start(scheduledCase.index)
            return .startConcurrently(scheduledCase)
        }
        return instances[instance].runningIndices.isEmpty ? nil : .wait
    }

    /// Returns the next action with a queue of exclusive cases; nil when the queue is empty.
    private mutating func exclusiveDecision(for instance: Int, from queue: Queue) -> Decision? {
        guard instances[instance].runningIndices.isEmpty else { return .wait }
        if instances[instance].takenCases.isEmpty, let group = groups[queue]?.popFirst() {
            instances[instance].takenCases = group[...]
        }
        guard let scheduledCase = instances[instance].takenCases.popFirst() else {
            return queue == .disturbed && !areConcurrentCasesOver ? .wait : nil
        }
        instances[instance].runningIndices.insert(scheduledCase.index)
        return .startExclusively(scheduledCase)
    }

    // MARK: Reports

    /// Records the end of a case.
    ///
    /// - Returns: Whether the result of the case counts. Otherwise the case has no result, or runs
    ///   again.
    mutating func endCase(_ scheduledCase: ScheduledCase, on instance: Int, _ end: CaseEnd) -> Bool
    {
        instances[instance].runningIndices.remove(scheduledCase.index)
        let wasAccompanied =
            instances[instance].accompaniedIndices.remove(scheduledCase.index) != nil
        let queue = instances[instance].queues.first
        let isConcurrent = queue == .rule(.concurrent)
        if isConcurrent { jobs.giveBack() }
        switch end {
        case .judged: return true
        case .notJudged: return false
        case .failedPerhapsDisturbed where !isConcurrent || !wasAccompanied: return true
        case .disturbed, .failedPerhapsDisturbed:
            if isConcurrent { groups[.disturbed, default: []].append([scheduledCase]) }
            return false
        case .instanceLost:
            // If only this instance is gone, the main instance can run its cases. If the main
            // instance is gone too, its own results report the failure.
            guard areAdditionalInstancesRunning, instance != Self.mainInstance, let queue else {
                return true
            }
            let returnedCases = [scheduledCase] + instances[instance].takenCases
            groups[queue] = ([returnedCases] + groups[queue, default: []])[...]
            instances[instance].takenCases = []
            instances[instance].queues = []
            return false
        }
    }

    /// Lets the main instance run the cases that the additional instances have left, because they
    /// could not start or were lost.
    ///
    /// Degrading cases have to wait until all results are final.
    mutating func endAdditionalInstances() {
        areAdditionalInstancesRunning = false
        instances[Self.mainInstance].queues = [
            .rule(.beforeEverything), .rule(.exclusive), .disturbed, .rule(.movesClock),
        ]
    }

    /// Lets the main instance run the degrading cases, because all other results are final.
    mutating func startDegrading() {
        instances[Self.mainInstance].queues = [.rule(.degradesInstance)]
    }

    /// Starts a finished case again, exclusively.
    mutating func startAgain(_ scheduledCase: ScheduledCase, on instance: Int) {
        instances[instance].runningIndices.insert(scheduledCase.index)
    }
}
