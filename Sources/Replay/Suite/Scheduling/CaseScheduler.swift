internal import Contracts
internal import Judging
internal import Values

/// Runs the cases of a suite on the instances of the backend.
///
/// `CaseSchedule` decides which case starts when and where. The scheduler carries out its decisions,
/// and passes on the results.
final class CaseScheduler: Sendable {
    /// A change that may allow another case to start.
    enum Event: Sendable {
        case caseEnded(ScheduledCase, Outcome)
        /// A case has begun to wait, so another case may use its job.
        case jobReleased
        /// A case has finished waiting, and continues as soon as a job is free.
        case jobWanted(CheckedContinuation<Void, Never>)
        /// No case runs concurrently any more, so the disturbed cases can run again.
        case concurrentCasesEnded
    }

    /// The outcome of one attempt to run a case.
    enum Outcome: Sendable {
        case completed(CaseResult)
        /// Other cases disturbed this case, so it has to run again, exclusively.
        case disturbed
        /// A cancellation interrupted the case, so its run proves nothing.
        case interrupted
    }

    private let cases: [Int: ScheduledCase]
    private let schedule: Locked<CaseSchedule>
    private let progress: SuiteProgress
    /// The failures of cases that run again because another case may have caused them, by index.
    private let doubtfulFailures = Locked<[Int: CaseResult]>([:])
    /// The numbers of discarded runs for which the machine was too busy, by index of the case.
    private let busyRunCounts = Locked<[Int: Int]>([:])
    /// The instances that wait for the end of the concurrent cases.
    private let waitingInstances = Locked<[AsyncStream<Event>.Continuation]>([])
    private let report: @Sendable (SuiteEvent) -> Void

    /// Creates a scheduler.
    ///
    /// - Parameters:
    ///   - cases: The cases that can run, in the order of the suite.
    ///   - options: The number of jobs and the seed.
    ///   - additionalInstanceMax: The largest number of additional instances of the backend.
    ///   - progress: Receives the results.
    ///   - report: Receives an event for each start of a case.
    init(
        _ cases: [ScheduledCase],
        options: SuiteRunOptions,
        additionalInstanceMax: Int,
        progress: SuiteProgress,
        report: @escaping @Sendable (SuiteEvent) -> Void
    ) {
        self.cases = Dictionary(uniqueKeysWithValues: cases.map { ($0.index, $0) })
        schedule = Locked(
            CaseSchedule(
                cases,
                jobs: options.jobs,
                seed: options.seed,
                additionalInstanceMax: additionalInstanceMax,
                mayEndEarly: options.mayEndEarly
            )
        )
        self.progress = progress
        self.report = report
    }

    // MARK: The parts of a suite

    /// Runs all cases that leave the main instance usable, and in parallel the cases that
    /// additional instances take.
    ///
    /// - Parameters:
    ///   - main: The main instance of the backend.
    ///   - openInstance: Opens the additional instance with a number; returns nil if it could not be
    ///     started.
    /// - Returns: All instances that ran cases, the main instance first.
    func runCases(
        on main: BackendInstance,
        openInstance: @escaping @Sendable (_ number: Int) async -> BackendInstance?
    ) async -> [BackendInstance] {
        let instances = await withTaskGroup(of: BackendInstance?.self) { group in
            for number in schedule.withLock({ $0.additionalInstances }) {
                group.addTask {
                    guard let instance = await openInstance(number) else { return nil }
                    if instance.open.skipReasons.isEmpty { await self.runCases(on: instance) }
                    return instance
                }
            }
            await runCases(on: main)
            var instances = [main]
            for await instance in group { instances += instance.map { [$0] } ?? [] }
            return instances
        }
        schedule.withLock { $0.endAdditionalInstances() }
        await runCases(on: main)
        return instances
    }

    /// Runs the cases that may leave the main instance unusable, unless an additional instance has
    /// run them.
    func runDegradingCases(on main: BackendInstance) async {
        schedule.withLock { $0.startDegrading() }
        await runCases(on: main)
    }

    /// Reruns each case that would get another verdict now, because its wait for an effect was
    /// shorter than the settle timeout.
    ///
    /// The instances do this at the same time, each with its own cases.
    func rerunChangedCases(on instances: [BackendInstance]) async {
        await withDiscardingTaskGroup { group in
            for instance in instances {
                group.addTask { await self.rerunChangedCases(on: instance) }
            }
        }
    }

    private func rerunChangedCases(on instance: BackendInstance) async {
        guard !Task.isCancelled else { return }
        let changedCaseIDs = await instance.open.casesWithChangedVerdict(isAfterReruns: false)
        for index in instance.executedCaseIndices.sorted()
        where changedCaseIDs.contains(progress.plans[index].contract.caseID) {
            guard let scheduledCase = cases[index] else { continue }
            progress.forget(index)
            schedule.withLock { $0.startAgain(scheduledCase, on: instance.number) }
            await runExclusively(scheduledCase, on: instance)
        }
        guard !changedCaseIDs.isEmpty, !Task.isCancelled else { return }
        _ = await instance.open.casesWithChangedVerdict(isAfterReruns: true)
    }

    /// Revises the results of all cases that are not already revised.
    func reviseResults(of instances: [BackendInstance]) async {
        guard !Task.isCancelled else { return }
        await withDiscardingTaskGroup { group in
            for instance in instances {
                let indices = instance.executedCaseIndices.filter {
                    cases[$0]?.rule.isRevisedAtOnce == false
                }
                group.addTask { await instance.revise(self.progress, among: indices) }
            }
        }
    }

    // MARK: The cases of one instance

    /// Runs cases on one instance, until the schedule has none left for it.
    private func runCases(on instance: BackendInstance) async {
        await withDiscardingTaskGroup { group in
            let (events, eventSink) = AsyncStream.makeStream(of: Event.self)
            var eventIterator = events.makeAsyncIterator()
            var waitingContinuations: [CheckedContinuation<Void, Never>] = []
            waitingInstances.withLock { $0.append(eventSink) }
            while true {
                // After a cancellation, nothing starts. The results that have already come count.
                let decision =
                    Task.isCancelled
                    ? .wait : nextDecision(for: instance)
                switch decision {
                case .startConcurrently(let scheduledCase):
                    let slot = JobSlot(in: schedule, events: eventSink)
                    group.addTask {
                        let outcome = await JobSlot.$current.withValue(slot) {
                            await self.outcome(of: scheduledCase, on: instance, isExclusive: false)
                        }
                        eventSink.yield(.caseEnded(scheduledCase, outcome))
                    }
                case .startExclusively(let scheduledCase):
                    await runExclusively(scheduledCase, on: instance)
                case .resumeWaitingCase: waitingContinuations.removeFirst().resume()
                case .wait:
                    switch await eventIterator.next() {
                    case .caseEnded(let scheduledCase, let outcome):
                        endCase(scheduledCase, outcome, on: instance)
                    case .jobReleased, .concurrentCasesEnded: break
                    case .jobWanted(let continuation):
                        waitingContinuations.append(continuation)
                        schedule.withLock { $0.jobs.want() }
                    case nil:
                        // Cases that wait for a free job end without a result.
                        for continuation in waitingContinuations { continuation.resume() }
                        return
                    }
                case .stop: return
                }
            }
        }
    }

    /// Returns the next action on an instance, and wakes the other instances if no case runs
    /// concurrently any more.
    private func nextDecision(for instance: BackendInstance) -> CaseSchedule.Decision {
        let (decision, areConcurrentCasesOver) = schedule.withLock {
            ($0.nextDecision(for: instance.number), $0.areConcurrentCasesOver)
        }
        if areConcurrentCasesOver {
            let instances = waitingInstances.withLock { waiting in
                defer { waiting = [] }
                return waiting
            }
            for instance in instances { instance.yield(.concurrentCasesEnded) }
        }
        return decision
    }

    /// Takes the result of a case that ran concurrently, unless the case has to run again.
    private func endCase(
        _ scheduledCase: ScheduledCase,
        _ outcome: Outcome,
        on instance: BackendInstance
    ) {
        let end: CaseSchedule.CaseEnd =
            switch outcome {
            case .completed(let result):
                if result.isMachineTooBusy {
                    .disturbed
                } else if result.mayComeFromOtherCases {
                    .failedPerhapsDisturbed
                } else {
                    .judged
                }
            case .disturbed: .disturbed
            case .interrupted: .notJudged
            }
        let isFinished = schedule.withLock { $0.endCase(scheduledCase, on: instance.number, end) }
        if !isFinished { instance.open.discardRun(of: progress.plans[scheduledCase.index]) }
        if isFinished, case .completed(let result) = outcome {
            instance.note(scheduledCase.index)
            progress.finish(scheduledCase.index, result)
        } else if end == .failedPerhapsDisturbed, case .completed(let result) = outcome {
            doubtfulFailures.withLock { $0[scheduledCase.index] = result }
        } else if case .completed(let result) = outcome, result.isMachineTooBusy {
            countBusyRun(of: scheduledCase)
        }
    }

    /// Runs a case while no other case runs on the same instance, and takes its result.
    private func runExclusively(_ scheduledCase: ScheduledCase, on instance: BackendInstance) async
    {
        var result = await exclusiveResult(of: scheduledCase, on: instance)
        if let failure = doubtfulFailures.withLock({ $0.removeValue(forKey: scheduledCase.index) })
        {
            result = result?.afterRerun(of: failure)
        }
        let end = result.map { $0.isBackendGone ? CaseSchedule.CaseEnd.instanceLost : .judged }
        let isFinished = schedule.withLock {
            $0.endCase(scheduledCase, on: instance.number, end ?? .notJudged)
        }
        guard isFinished, let result else { return }
        instance.note(scheduledCase.index)
        progress.finish(scheduledCase.index, result)
        if scheduledCase.rule.isRevisedAtOnce, !Task.isCancelled {
            await instance.revise(progress, among: [scheduledCase.index])
        }
    }

    /// The maximum number of runs of a case for which the machine is too busy.
    private static let busyRunCountMax = 4

    /// Runs a case exclusively, and runs it again while the machine is too busy.
    private func exclusiveResult(of scheduledCase: ScheduledCase, on instance: BackendInstance)
        async -> CaseResult?
    {
        var outcome = await outcome(of: scheduledCase, on: instance, isExclusive: true)
        for _ in 1..<Self.busyRunCountMax {
            guard case .completed(let result) = outcome, result.isMachineTooBusy else { break }
            countBusyRun(of: scheduledCase)
            let nextOutcome = await self.outcome(
                of: scheduledCase,
                on: instance,
                isExclusive: true
            )
            if case .completed = nextOutcome { outcome = nextOutcome }
        }
        guard case .completed(var result) = outcome else { return nil }
        result.busyRunCount = busyRunCounts.withLock { $0[scheduledCase.index] } ?? 0
        return result
    }

    /// Counts a run that is discarded because the machine was too busy.
    private func countBusyRun(of scheduledCase: ScheduledCase) {
        busyRunCounts.withLock { $0[scheduledCase.index, default: 0] += 1 }
    }

    private func outcome(
        of scheduledCase: ScheduledCase,
        on instance: BackendInstance,
        isExclusive: Bool
    ) async -> Outcome {
        if Task.isCancelled { return .interrupted }
        let plan = progress.plans[scheduledCase.index]
        report(.started(plan.contract.caseID))
        let result = await instance.open.result(
            of: plan,
            number: scheduledCase.index,
            isExclusive: isExclusive
        )
        if Task.isCancelled { return .interrupted }
        return result.map { .completed($0) } ?? .disturbed
    }
}

extension CaseResult {
    /// Whether the case is inconclusive because the machine was too busy.
    fileprivate var isMachineTooBusy: Bool {
        verdict == .inconclusive && findings.contains { $0.code == .machineBusy }
    }

    /// Whether other cases on the same instance may have caused the failure.
    fileprivate var mayComeFromOtherCases: Bool {
        verdict == .failed && Judge.mayComeFromOtherRuns(findings)
            || verdict == .inconclusive && findings.contains { $0.code == .settleTimeoutExpired }
    }

    /// Returns this result with a note that only this run counts, because other cases ran during
    /// the earlier run.
    ///
    /// A result with the same findings needs no note.
    fileprivate func afterRerun(of failure: CaseResult) -> CaseResult {
        var result = self
        let codes = Set(failure.findings.map(\.code.rawValue)).sorted().joined(separator: ", ")
        let text =
            "ran again with no other case on the backend, and only that run counts; next to other "
            + "cases it had \(codes)"
        if verdict == .passed {
            result.note = [note, text].compactMap(\.self).joined(separator: "; ")
        } else if Set(findings.map(\.code.rawValue)).sorted().joined(separator: ", ") != codes {
            result.hints.append(text)
        }
        return result
    }

    /// Whether the case found that the backend responds to nothing.
    fileprivate var isBackendGone: Bool { findings.contains { $0.code == .backendGone } }
}
