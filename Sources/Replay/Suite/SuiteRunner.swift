package import Contracts
package import Judging

/// Runs the selected cases, concurrently or exclusively, and reports the result of each case.
///
/// Every suite uses this runner, whether it tests a backend or an app on simulated phones. The
/// target of the suite (`SuiteTarget`) runs and judges the single cases.
package final class SuiteRunner: Sendable {
    /// The additional instances of the backend under test.
    ///
    /// With several instances, cases that need a backend exclusively do not have to wait for each
    /// other.
    package struct AdditionalInstances: Sendable {
        /// The largest number of additional instances of the backend.
        let countMax: Int
        /// Starts an additional instance of the backend, and returns it as the target of a suite.
        let open: @Sendable (_ number: Int) async throws -> any SuiteTarget

        package init(
            countMax: Int,
            open: @escaping @Sendable (_ number: Int) async throws -> any SuiteTarget
        ) {
            self.countMax = countMax
            self.open = open
        }
    }

    private let target: any SuiteTarget
    private let additionalInstances: AdditionalInstances?
    private let options: SuiteRunOptions
    private let report: @Sendable (SuiteEvent) -> Void

    package init(
        on target: any SuiteTarget,
        additionalInstances: AdditionalInstances? = nil,
        options: SuiteRunOptions,
        report: @escaping @Sendable (SuiteEvent) -> Void
    ) {
        self.target = target
        self.additionalInstances = additionalInstances
        self.options = options
        self.report = report
    }

    /// Creates a runner for a backend under test.
    ///
    /// - Parameters:
    ///   - executor: The executor of runs against the first instance of the backend.
    ///   - additionalInstanceMax: The largest number of additional instances of the backend.
    ///   - openInstance: Starts an additional instance, and returns an executor that shares state with
    ///     the first executor.
    ///   - options: The options of the suite.
    ///   - report: Receives the progress events.
    package convenience init(
        executor: RunExecutor,
        additionalInstanceMax: Int = 0,
        openInstance: (@Sendable (_ number: Int) async throws -> RunExecutor)? = nil,
        options: SuiteRunOptions,
        report: @escaping @Sendable (SuiteEvent) -> Void
    ) {
        self.init(
            on: BackendTarget(executor: executor, options: options, report: report),
            additionalInstances: openInstance.map { openInstance in
                AdditionalInstances(countMax: additionalInstanceMax) { number in
                    var options = options
                    // The check before the first case has already been made with the first
                    // instance.
                    options.checksBackendFirst = false
                    options.nonce += "-b\(number)"
                    let executor = try await openInstance(number)
                    return BackendTarget(executor: executor, options: options, report: report)
                }
            },
            options: options,
            report: report
        )
    }

    /// Returns the result "not run" for a case that cannot run against this target; nil for a case
    /// that can run.
    package func skipReason(_ plan: CasePlan) -> CaseResult? { target.skipReason(plan) }

    /// Runs all cases and returns their results.
    ///
    /// The results have the order of the contracts. Violations of run invariants that no case
    /// explains follow at the end.
    ///
    /// After a cancellation, cases that did not finish have the verdict `notRun`.
    package func run(_ contracts: [Contract]) async -> [CaseResult] {
        await withTaskGroup(of: [CaseResult]?.self) { group in
            group.addTask {
                await self.target.monitorLoad()
                return nil
            }
            group.addTask { await self.results(of: contracts) }
            var results: [CaseResult] = []
            for await part in group {
                guard let part else { continue }
                results = part
                group.cancelAll()
            }
            return results
        }
    }

    // MARK: The order of a suite

    private func results(of contracts: [Contract]) async -> [CaseResult] {
        let given = contracts.map { Candidate(CasePlan($0), on: target) }
        let runnable = given.filter { $0.skipReason == nil }.map(\.plan)
        let open = await target.open(for: runnable)
        if let reason = open.skipReasons.first {
            report(.stopped(open.skipReasons))
            return given.map { candidate in
                candidate.skipReason
                    ?? CaseResult(
                        contract: candidate.plan.contract,
                        verdict: .notRun,
                        note: reason
                    )
            }
        }
        let candidates = await expanded(given, on: open)
        let progress = SuiteProgress(candidates.map(\.plan), options.knownFailures, report)
        for (index, candidate) in candidates.enumerated() {
            if let result = candidate.skipReason { progress.finish(index, result) }
        }
        let queues = await SuiteQueues(
            progress.plans,
            runnable: candidates.indices.filter { candidates[$0].skipReason == nil },
            seed: options.seed,
            open
        )
        let mainInstance = BackendInstance(open)
        let instances = await execute(queues, of: runnable, on: mainInstance, progress)
        // Runs the cases that additional instances have put back into the queues.
        await execute(queues.first, on: mainInstance, progress, revisesEach: true)
        await execute(queues.exclusive, on: mainInstance, progress)
        await execute(queues.withClockAhead, on: mainInstance, progress)
        for instance in instances { await rerunChangedCases(instance, progress) }
        if !Task.isCancelled {
            for instance in instances {
                await revise(
                    progress,
                    on: instance,
                    among: instance.executedCaseIndices.subtracting(queues.indicesRevisedEach)
                )
            }
        }
        await execute(queues.last, on: mainInstance, progress, revisesEach: true)
        let results = progress.final
        let invariantViolations = instances.flatMap {
            $0.open.invariantViolations(alongside: results)
        }
        return results + Self.joined(invariantViolations).map(options.knownFailures.applied)
    }

    /// Runs the cases of the queues against the main instance of the backend, and in parallel
    /// against additional instances.
    ///
    /// Returns all instances that ran cases.
    private func execute(
        _ queues: SuiteQueues,
        of runnable: [CasePlan],
        on mainInstance: BackendInstance,
        _ progress: SuiteProgress
    ) async -> [BackendInstance] {
        await withTaskGroup(of: BackendInstance?.self) { group in
            // Cases that leave the backend unusable run on a separate backend instance.
            let lastPhaseInstanceCount =
                queues.hasLastPhase ? min(additionalInstances?.countMax ?? 0, 1) : 0
            let additionalInstanceMax = min(
                (additionalInstances?.countMax ?? 0) - lastPhaseInstanceCount,
                queues.exclusiveCaseCount / Self.exclusiveCasesPerInstance
            )
            if lastPhaseInstanceCount > 0 {
                group.addTask {
                    await self.runOnAdditionalInstance(
                        additionalInstanceMax,
                        firstQueue: queues.last,
                        [],
                        of: runnable,
                        progress
                    )
                }
            }
            for number in 0..<additionalInstanceMax {
                group.addTask {
                    await self.runOnAdditionalInstance(
                        number,
                        // The first additional instance is as fresh as the main one: no other case
                        // has run against it.
                        firstQueue: number == 0 ? queues.first : nil,
                        [queues.exclusive, queues.withClockAhead],
                        of: runnable,
                        progress
                    )
                }
            }
            if additionalInstanceMax == 0 {
                await execute(queues.first, on: mainInstance, progress, revisesEach: true)
            }
            let rerun = await execute(queues.concurrent, on: mainInstance, progress)
            await execute(queues.exclusive, on: mainInstance, progress)
            await execute(rerun, exclusivelyOn: mainInstance, progress)
            await execute(queues.withClockAhead, on: mainInstance, progress)
            var instances = [mainInstance]
            for await instance in group { instances += instance.map { [$0] } ?? [] }
            return instances
        }
    }

    /// The number of exclusive cases that justify one more instance of the backend.
    ///
    /// An instance takes time to start and to calibrate.
    private static let exclusiveCasesPerInstance = 4

    /// Runs exclusive cases against an additional instance of the backend, until the queues are
    /// empty.
    ///
    /// - Returns: The additional instance; nil when it could not be started.
    private func runOnAdditionalInstance(
        _ number: Int,
        firstQueue: ExclusiveCaseQueue?,
        _ queues: [ExclusiveCaseQueue],
        of runnable: [CasePlan],
        _ progress: SuiteProgress
    ) async -> BackendInstance? {
        guard let additionalInstances else { return nil }
        let target: any SuiteTarget
        do {
            target = try await additionalInstances.open(number)
        } catch {
            if !Task.isCancelled { report(.instanceFailed("\(error)")) }
            return nil
        }
        let instance = BackendInstance(await target.open(for: runnable))
        guard instance.open.skipReasons.isEmpty else { return instance }
        // If only this instance has exited, the first instance can run the remaining cases. If the
        // first instance has exited too, its own results report the failure.
        let isGone = { @Sendable (result: CaseResult) in
            result.findings.contains { $0.code == .backendGone }
        }
        if let firstQueue,
            !(await execute(firstQueue, on: instance, progress, revisesEach: true, until: isGone))
        {
            return instance
        }
        for queue in queues where !(await execute(queue, on: instance, progress, until: isGone)) {
            break
        }
        return instance
    }

    /// Revises the results of the cases that ran against one instance of the backend.
    ///
    /// No case may run against that instance meanwhile.
    private func revise(
        _ progress: SuiteProgress,
        on instance: BackendInstance,
        among indices: Set<Int>
    ) async {
        let caseIDs = Set(indices.map { progress.plans[$0].contract.caseID })
        let executedCaseIndices = instance.executedCaseIndices
        let before = progress.results
        var results = before.indices.map { executedCaseIndices.contains($0) ? before[$0] : nil }
        await instance.open.revise(&results, among: caseIDs)
        progress.replace(results, at: executedCaseIndices)
    }

    /// Joins violations of the same run invariant by several instances of the backend into one
    /// result.
    private static func joined(_ invariantViolations: [CaseResult]) -> [CaseResult] {
        var joined: [CaseResult] = []
        for violation in invariantViolations {
            if let index = joined.firstIndex(where: {
                $0.contract.caseID == violation.contract.caseID
            }) {
                joined[index].findings += violation.findings
                joined[index].replayedCaseIDs =
                    (joined[index].replayedCaseIDs ?? []) + (violation.replayedCaseIDs ?? [])
            } else {
                joined.append(violation)
            }
        }
        return joined
    }

    /// Returns the cases to run, in the order of the contracts.
    ///
    /// A contract that represents several cases, such as one for each crash point, is replaced by
    /// these cases.
    private func expanded(_ given: [Candidate], on open: any OpenTarget) async -> [Candidate] {
        var candidates: [Candidate] = []
        for candidate in given {
            if candidate.skipReason == nil {
                candidates += await open.expanded(candidate.plan).map { Candidate($0, on: target) }
            } else {
                candidates.append(candidate)
            }
        }
        guard let isWanted = options.isWanted else { return candidates }
        return candidates.filter { isWanted($0.plan.contract) }
    }

    /// A case that is considered for the run, with its result "not run" if it cannot run.
    private struct Candidate {
        let plan: CasePlan
        let skipReason: CaseResult?

        init(_ plan: CasePlan, on target: any SuiteTarget) {
            self.plan = plan
            skipReason = target.skipReason(plan)
        }
    }

    // MARK: Running

    /// The outcome of one attempt to run a case.
    enum Outcome: Sendable {
        case completed(CaseResult)
        /// Other cases disturbed this case, so it has to run again, exclusively.
        case rerun
        /// A cancellation interrupted the case, so its run proves nothing.
        case interrupted
    }

    /// Runs cases concurrently, at most as many at a time as there are jobs.
    ///
    /// Cases that only wait for time to pass do not count against the number of jobs.
    ///
    /// - Returns: The indices of the cases that have to run again, exclusively.
    private func execute(_ queue: [Int], on instance: BackendInstance, _ progress: SuiteProgress)
        async -> [Int]
    {
        let open = instance.open
        let plans = progress.plans
        var cases = ConcurrentCases(queue, jobs: options.jobs) { index in
            await self.outcome(of: plans[index], index, on: open, isExclusive: false)
        }
        return await cases.run { index, result in
            instance.note(index)
            progress.finish(index, result)
        }
    }

    /// Runs these cases exclusively against one instance, one after the other.
    private func execute(
        _ queue: [Int],
        exclusivelyOn instance: BackendInstance,
        _ progress: SuiteProgress
    ) async {
        for index in queue {
            if let result = await runExclusively(index, on: instance, progress) {
                instance.note(index)
                progress.finish(index, result)
            }
        }
    }

    /// Takes exclusive cases from a queue and runs them one after the other, until the queue is
    /// empty.
    ///
    /// - Parameters:
    ///   - queue: The exclusive cases that no instance of the backend has taken yet.
    ///   - instance: The instance of the backend that runs the cases.
    ///   - progress: Receives the results.
    ///   - revisesEach: Whether each result is revised before the next case runs. Cases that affect
    ///     all users, or leave the backend unusable, need this: later entries in the journal are
    ///     not their effects.
    ///   - stopsInstance: Returns whether a result makes this instance stop. The case of that result goes
    ///     back to the queue, and other instances run the rest.
    /// - Returns: False when this instance stopped before the queue was empty; true otherwise.
    @discardableResult private func execute(
        _ queue: ExclusiveCaseQueue,
        on instance: BackendInstance,
        _ progress: SuiteProgress,
        revisesEach: Bool = false,
        until stopsInstance: (CaseResult) -> Bool = { _ in false }
    ) async -> Bool {
        while !Task.isCancelled, let group = queue.takeGroup() {
            for (position, index) in group.enumerated() {
                guard let result = await runExclusively(index, on: instance, progress) else {
                    continue
                }
                if stopsInstance(result) {
                    queue.returnGroup(Array(group[position...]))
                    return false
                }
                instance.note(index)
                progress.finish(index, result)
                if revisesEach, !Task.isCancelled {
                    await revise(progress, on: instance, among: [index])
                }
            }
        }
        return true
    }

    /// Runs a case exclusively, and runs it a second time if the machine was too busy.
    private func runExclusively(
        _ index: Int,
        on instance: BackendInstance,
        _ progress: SuiteProgress
    ) async
        -> CaseResult?
    {
        let plan = progress.plans[index]
        var outcome = await outcome(of: plan, index, on: instance.open, isExclusive: true)
        if case .completed(let result) = outcome, result.isMachineTooBusy {
            let secondOutcome = await self.outcome(
                of: plan,
                index,
                on: instance.open,
                isExclusive: true
            )
            if case .completed = secondOutcome { outcome = secondOutcome }
        }
        if case .completed(let result) = outcome { return result }
        return nil
    }

    /// Reruns each case that would get another verdict now, because its wait for an effect was
    /// shortened.
    private func rerunChangedCases(_ instance: BackendInstance, _ progress: SuiteProgress) async {
        guard !Task.isCancelled else { return }
        let changedCaseIDs = await instance.open.casesWithChangedVerdict()
        for index in instance.executedCaseIndices.sorted()
        where changedCaseIDs.contains(progress.plans[index].contract.caseID) {
            progress.forget(index)
            await execute([index], exclusivelyOn: instance, progress)
        }
    }

    private func outcome(
        of plan: CasePlan,
        _ number: Int,
        on open: any OpenTarget,
        isExclusive: Bool
    ) async -> Outcome {
        if Task.isCancelled { return .interrupted }
        report(.started(plan.contract.caseID))
        let result = await open.result(of: plan, number: number, isExclusive: isExclusive)
        if Task.isCancelled { return .interrupted }
        return result.map { .completed($0) } ?? .rerun
    }
}

extension CaseResult {
    /// Whether the case is inconclusive because the machine was too busy.
    var isMachineTooBusy: Bool {
        verdict == .inconclusive && findings.contains { $0.code == .machineBusy }
    }
}

extension KnownFailures {
    /// Returns the result of a case with its verdict after the list of known failures is applied.
    package func applied(to result: CaseResult) -> CaseResult {
        var result = result
        let (verdict, note) = verdict(
            result.verdict,
            of: result.contract.caseID,
            findings: result.findings
        )
        result.verdict = verdict
        if let note { result.note = note }
        return result
    }
}
