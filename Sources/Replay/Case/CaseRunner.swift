internal import Contracts
internal import FakeServers
internal import Judging
internal import Providers
internal import Values

/// Runs single cases against a backend and judges them.
final class CaseRunner: Sendable {
    let executor: RunExecutor
    let options: SuiteRunOptions
    let observability: RunRecord.Observability
    let restarter: BackendRestarter
    let memory: Locked<CaseMemory>
    private let baselineRuns: BaselineRuns

    init(
        executor: RunExecutor,
        options: SuiteRunOptions,
        observability: RunRecord.Observability,
        report: @escaping @Sendable (SuiteEvent) -> Void
    ) {
        self.executor = executor
        self.options = options
        self.observability = observability
        restarter = BackendRestarter(executor: executor, report: report)
        let memory = Locked(CaseMemory())
        self.memory = memory
        let nonce = options.nonce
        baselineRuns = BaselineRuns(executor: executor, observability: observability) {
            memory.withLock { $0.nextNamespaceName(nonce) }
        }
    }

    /// The cases that passed, in the order in which they ended.
    var passed: [PassedCase] { memory.withLock { $0.passed } }

    func baselines(_ plan: CasePlan) async -> [RunRecord] { await baselineRuns.records(of: plan) }

    /// Discards the records and baseline runs of a case that are no longer needed.
    ///
    /// The fakes forget the users of the case later, because a slow backend may still send requests
    /// about them.
    func forget(_ plan: CasePlan, _ evidence: CaseEvidence?) {
        baselineRuns.forget(baselineOf: plan)
        let records = evidence.map { [$0.subject] + $0.baselines } ?? []
        let expiredNamespaces = memory.withLock { $0.retire(records.map(\.namespace.name)) }
        for name in expiredNamespaces {
            executor.fakes.retire(name)
            executor.fakes.retire(name + "-s")
        }
    }

    /// Discards all baseline runs, so that the next case runs its baseline (its steps without
    /// faults) again.
    func discardBaselineRuns() { baselineRuns.forget() }

    // MARK: Cases and restarts of the backend

    /// Runs a case while other cases run.
    ///
    /// Returns nil when the backend ended while the case ran, or the date of this machine changed.
    /// The case then has to run again, exclusively.
    func runConcurrently(_ plan: CasePlan) async -> CaseResult? {
        memory.withLock { memory in
            memory.caseIDsRunConcurrently.insert(plan.contract.caseID)
            memory.caseIDsRunAlone.remove(plan.contract.caseID)
        }
        let completedRun = await runOnRunningBackend(plan)
        return completedRun.isBackendRunOver || completedRun.isDateChanged
            ? nil : completedRun.result
    }

    /// Runs a case while no other case runs.
    ///
    /// If the date of this machine changes during the run, the case runs once more.
    ///
    /// After a run that may block the backend, waits until the backend has recovered.
    func runExclusively(_ plan: CasePlan) async -> CaseResult? {
        // The baseline runs of a case that ran next to other cases may lack effects too.
        if memory.withLock({ $0.caseIDsRunConcurrently.contains(plan.contract.caseID) }) {
            baselineRuns.forget(baselineOf: plan)
        }
        memory.withLock { _ = $0.caseIDsRunAlone.insert(plan.contract.caseID) }
        var completedRun = await runOnRunningBackend(plan)
        if completedRun.isDateChanged, !Task.isCancelled {
            completedRun = await runOnRunningBackend(plan)
        }
        if plan.subject.mayBlockBackend {
            await executor.waitForRecovery(
                memory.withLock { $0.nextNamespaceName(options.nonce) } + "-r",
                observability
            )
        }
        if Task.isCancelled { return nil }
        guard completedRun.isDateChanged else { return completedRun.result }
        return CaseResult(
            contract: plan.contract,
            verdict: .notRun,
            seconds: completedRun.result.seconds,
            note: "the date of this machine was changed while the case ran"
        )
    }

    private struct CompletedRun {
        let result: CaseResult
        /// Whether the backend ended while the case ran.
        let isBackendRunOver: Bool
        /// Whether the date of this machine was changed while the case ran.
        let isDateChanged: Bool
    }

    private func runOnRunningBackend(_ plan: CasePlan) async -> CompletedRun {
        let caseID = plan.contract.caseID
        let forget: @Sendable () -> Void = { [baselineRuns] in baselineRuns.forget() }
        guard let processNumber = await restarter.beginCase(caseID, forget: forget) else {
            let result = Self.resultNotRun(
                plan,
                restarter.unavailableReason ?? "the backend is gone"
            )
            return CompletedRun(result: result, isBackendRunOver: false, isDateChanged: false)
        }
        if executor.adoptDateChange() { baselineRuns.forget() }
        // Records of an earlier attempt to run the case no longer count.
        memory.withLock { $0.forget(caseID) }
        let dateOffsetAtStart = executor.dateOffset
        let result = await CaseSearch(caseRunner: self).run(plan)
        let isDateChanged = executor.isDateChanged(since: dateOffsetAtStart)
        if isDateChanged { discardEvidence(caseID) }
        let isBackendGone = result.findings.contains { $0.code == .backendGone }
        let isBackendRunOver = await restarter.endCase(
            caseID,
            of: processNumber,
            isBackendGone: isBackendGone,
            hasStoppedResponding: await hasStoppedResponding(after: result),
            forget: forget
        )
        return CompletedRun(
            result: result,
            isBackendRunOver: isBackendRunOver,
            isDateChanged: isDateChanged
        )
    }

    /// Discards the records of a run that does not count, because the case runs again.
    func discardRun(of plan: CasePlan) {
        memory.withLock { $0.forget(plan.contract.caseID) }
    }

    /// Discards the records of a case whose run proves nothing, and all baseline runs.
    private func discardEvidence(_ caseID: String) {
        baselineRuns.forget()
        memory.withLock { $0.forget(caseID) }
    }

    /// Returns whether a failed case may run again, to find out whether the failure is a race.
    func mayRerun(_ failure: CaseResult, _ plan: CasePlan) -> Bool {
        options.detectsRaces && failure.verdict == .failed && plan.subject.dependsOnTiming
            // A shortened wait hides the time that the case really takes.
            && memory.withLock {
                $0.missedEffects[plan.contract.caseID]?.judgment.evidence.subject.shortened == nil
            }
            && executor.backend.process?.exitDescription == nil
    }

    /// Returns whether the backend has stopped responding to events altogether.
    ///
    /// The check is made after a case with a late response. For example, a connection pool that
    /// this case exhausted would make all later cases fail.
    private func hasStoppedResponding(after result: CaseResult) async -> Bool {
        guard result.findings.contains(where: { $0.code == .responseLate }),
            restarter.isRestartWorthwhile,
            !(await executor.respondsToEvents())
        else { return false }
        restarter.countFailedRestart()
        return true
    }

    // MARK: One case, once

    func runOnce(_ plan: CasePlan) async -> CaseResult {
        let start = executor.clock.now
        if let result = resultIfBackendIsSilent(plan) { return result }
        let outputStart = executor.backend.process?.outputSize ?? 0
        let shortageCount = executor.fakes.shortages.count
        var judgment = await judgmentAfterRun(plan)
        if judgment.verdict == .failed { judgment = await judgmentAfterRechecks(judgment) }
        if judgment.verdict == .inconclusive {
            switch await MissingCallProof(judgment, baselineRuns) {
            case .proven(let reason):
                return CaseResult(
                    contract: plan.contract,
                    verdict: .notRun,
                    seconds: Double((executor.clock.now - start).milliseconds) / 1000,
                    note: reason,
                    isDeclaredUnsupported: true
                )
            case .starved(let baselines): judgment = judgment.replacing(baselines: baselines)
            case nil: break
            }
        }
        if judgment.verdict != .passed,
            let reason = judgment.evidence.shortage
                ?? executor.fakes.shortages.first(after: shortageCount)
        {
            baselineRuns.forget(baselineOf: plan)
            return CaseResult(
                contract: plan.contract,
                verdict: .notRun,
                seconds: Double((executor.clock.now - start).milliseconds) / 1000,
                note: reason
            )
        }
        memory.withLock {
            $0.note(
                judgment,
                at: executor.heartbeat.usableTime,
                in: executor.backend.processNumber,
                isRechecked: options.rechecksCases
            )
        }
        if judgment.findings.contains(where: { $0.code == .machineBusy }) {
            baselineRuns.forget(baselineOf: plan)
        }
        return result(judgment, since: start, outputStart: outputStart)
    }

    /// Returns the result of a judged case.
    private func result(
        _ judgment: CaseJudgment,
        since start: Duration,
        outputStart: UInt64
    ) -> CaseResult {
        let evidence = judgment.evidence
        var result = CaseResult(
            judgment,
            seconds: Double((executor.clock.now - start).milliseconds) / 1000
        )
        if Self.isOutputRelevant(evidence.subject, judgment.verdict) {
            result.backendOutput = executor.backend.process?.output(since: outputStart)
        } else if judgment.verdict == .failed {
            result.backendOutput = ownOutput(evidence.subject, since: outputStart)
        }
        if judgment.verdict == .passed {
            result.unobservedChecks = evidence.unobservedChecks
        } else {
            result.hints = evidence.hints
            if let drawnValues = evidence.subject.plan.drawnValues {
                result.hints.append("drawn by the seed: \(drawnValues.summary)")
            }
            if let shortened = evidence.subject.shortened {
                result.hints.append(shortened.description)
            }
        }
        result.didKillInterruptDelivery = evidence.didKillInterruptDelivery
        if options.keepsEvidence { result.judgment = judgment }
        return result
    }

    /// The number of lines of the output that are searched for those about one case.
    private static let searchedLineCountMax = 400
    private static let ownLineCountMax = 8

    /// Returns the lines of the backend's output that contain an ID of the run, because other cases
    /// may run on the same backend.
    ///
    /// Lines about the probes of the run and about its sentinel are left out. The result is nil when no line remains.
    private func ownOutput(_ record: RunRecord, since start: UInt64) -> String? {
        guard let process = executor.backend.process else { return nil }
        let ids = record.namespace.tokens(
            users: record.plan.users,
            accounts: record.plan.accounts,
            deliveries: record.plan.deliveries.map(\.name)
        ).map(\.id)
        let probePaths = record.exchanges.compactMap { exchange in
            if case .probe = exchange.purpose { exchange.request.path } else { nil }
        }
        let lines = process.output(since: start, lineCountMax: Self.searchedLineCountMax).exactLines
            .filter { line in
                ids.contains(where: line.contains) && !Sentinel.isNamed(in: line)
                    && !probePaths.contains(where: line.contains)
            }
        return lines.isEmpty ? nil : lines.suffix(Self.ownLineCountMax).joined(separator: "\n")
    }

    /// Runs the baseline of a case and then the case itself, and judges these runs.
    private func judgmentAfterRun(_ plan: CasePlan) async -> CaseJudgment {
        let (executor, observability) = (executor, observability)
        let baselines = await baselineRuns.records(of: plan)
        let judge = RecordJudge { record in
            CaseEvidence(
                plan: plan,
                subject: record,
                baselines: baselines,
                profile: executor.profile,
                observability: executor.updatedObservability(observability)
            )
        }
        let missingEffect = RunExecutor.MissingEffect(
            caseID: plan.contract.caseID,
            waitRule: plan.subject.waitRule(isRechecked: options.rechecksCases)
        ) { record in
            SharedSettleTimeout.MissingEffectKey(
                clause: plan.contract.clause,
                codes: Set(judge.judgment(of: record).findings.map(\.code))
            )
        }
        var run = plan.subject
        var subject: RunRecord
        repeat {
            subject = await executor.run(
                run,
                in: memory.withLock { $0.nextNamespaceName(options.nonce) },
                observability: observability,
                within: plan.contract.expectation.within ?? .seconds(60),
                missingEffect: missingEffect
            ) { record in
                Judge.mayResolveWithLongerWait(judge.judgment(of: record).findings)
                    ? .mayResolveWithLongerWait : .settled
            }
            // If the run takes longer than the short period of its purchase, the run is repeated
            // with a longer period.
            run.timeUntilSoonPeriodEnd =
                (run.timeUntilSoonPeriodEnd ?? RunPlan.soonPeriodDefault) * 3
        } while subject.hasPurchaseEndedTooEarly
            && run.timeUntilSoonPeriodEnd ?? .zero <= RunPlan.soonPeriodMax
            && !Task.isCancelled
        if let process = executor.backend.process, let exit = process.exitDescription,
            !plan.subject.hasRestart
        {
            if process.hasPortConflict, executor.backend.processNumber > 1 {
                subject.runProblem = .backendGone(
                    "the port was still in use after Assay stopped the backend"
                )
            } else {
                subject.backendExitReason = exit
            }
        }
        return judge.judgment(of: subject)
    }

    /// Returns the judgment of a failed case after further checks, each of which could show that
    /// the backend is not at fault.
    private func judgmentAfterRechecks(_ first: CaseJudgment) async -> CaseJudgment {
        var judgment = first
        let plan = first.evidence.plan
        if Judge.dependsOnBaseline(first.findings) {
            // The baseline run may lack an effect only because the wait for it was too short.
            if !plan.subject.affectsAllUsers {
                let baselines = await baselineRuns.refreshedRecords(
                    of: plan,
                    known: first.evidence.baselines
                )
                judgment = judgment.replacing(baselines: baselines)
            }
            if judgment.verdict == .failed, Judge.dependsOnVolatility(judgment.findings) {
                // One more baseline run shows whether the same field varies without a fault.
                let baselinesWithExtraRun = await baselineRuns.recordsWithExtraRun(
                    of: plan,
                    alongside: judgment.evidence.baselines
                )
                judgment = judgment.replacing(baselines: baselinesWithExtraRun)
            }
        }
        // The baseline runs had time for their effects by now, so the judged run gets it too.
        judgment = await judgmentAfterSkippedWait(judgment)
        guard executor.backend.process == nil, judgment.verdict == .failed,
            !(await executor.backend.isReachable())
        else { return judgment }
        // The backend became unreachable while the case ran, so missing effects are not a failure
        // of the backend.
        var subject = judgment.evidence.subject
        subject.runProblem = .backendGone("the backend was no longer reachable after the case")
        return judgment.replacing(subject: subject)
    }

    /// Waits once more for missing effects, unless the run has waited for them.
    ///
    /// A run does not wait if its baseline runs lacked the same effects when it was judged first.
    private func judgmentAfterSkippedWait(_ first: CaseJudgment) async -> CaseJudgment {
        var judgment = first
        guard judgment.verdict == .failed, judgment.evidence.subject.unsuccessfulWaitTime == nil,
            judgment.evidence.plan.subject.observesFinalState,
            !judgment.evidence.plan.subject.affectsAllUsers,
            Judge.mayResolveWithLongerWait(judgment.findings)
        else { return first }
        let plan = first.evidence.plan.subject
        let fullTimeout = executor.profile.settleTimeout
        let settleTimeout = executor.settleTimeout(
            plan.waitRule(isRechecked: options.rechecksCases) == .recheckAfterAllCases
                ? executor.sharedSettleTimeout.timeoutBeforeRecheck(
                    for: nil,
                    fullTimeout: fullTimeout,
                    atLeast: executor.shortSettleTimeout(observability.latency)
                ) : fullTimeout
        )
        await JobSlot.releaseSlot {
            var pause: Duration = .milliseconds(5)
            while Judge.mayResolveWithLongerWait(judgment.findings), !settleTimeout.isOver,
                !Task.isCancelled
            {
                await settleTimeout.pause(pause)
                pause = min(pause * 2, .milliseconds(100))
                judgment = judgment.replacing(
                    subject: await executor.refreshedRecord(
                        judgment.evidence.subject,
                        probes: !plan.changesBackendConditions
                    )
                )
            }
        }
        guard judgment.verdict == .failed else { return judgment }
        var subject = judgment.evidence.subject
        subject.unsuccessfulWaitTime = executor.clock.now - settleTimeout.start
        subject.openRetryPause = subject.pauseOfFailedRetry
        if settleTimeout.isCutShort {
            subject.starvation = executor.heartbeat.starvation(
                since: settleTimeout.start,
                isCutShort: true
            )
        }
        return judgment.replacing(subject: subject)
    }

    // MARK: Remembered results

    /// Returns the result of a case that is not run because the backend responds to nothing; nil if
    /// the case is to run.
    private func resultIfBackendIsSilent(_ plan: CasePlan) -> CaseResult? {
        guard memory.withLock({ $0.isBackendSilent }) else { return nil }
        return Self.resultNotRun(
            plan,
            "the backend responded to no delivery in \(CaseMemory.silentCaseCountMax) cases, and no case passed"
        )
    }

    private static func resultNotRun(_ plan: CasePlan, _ reason: String) -> CaseResult {
        let finding = Finding(
            .backendGone,
            expected: "the backend responds to deliveries",
            actual: reason + "; the case was not run"
        )
        return inconclusive(plan, finding)
    }

    static func inconclusive(_ plan: CasePlan, _ finding: Finding) -> CaseResult {
        CaseResult(
            contract: plan.contract,
            verdict: .inconclusive,
            findings: [finding],
            note: finding.actual
        )
    }

    /// Returns whether the backend's output may explain why the backend exited, failed or did not
    /// respond.
    private static func isOutputRelevant(_ record: RunRecord, _ verdict: Verdict) -> Bool {
        if record.backendExitReason != nil { return true }
        if case .restartFailed = record.runProblem { return true }
        return verdict == .failed
            && record.exchanges.contains { exchange in
                guard exchange.to == .backend else { return false }
                if case .failed = exchange.outcome { return true }
                return exchange.response.map { $0.status >= 500 } ?? false
            }
    }
}

extension RunRecord {
    fileprivate var hasPurchaseEndedTooEarly: Bool {
        if case .periodEndedTooEarly = runProblem { true } else { false }
    }
}

extension CaseEvidence {
    /// The resource, such as file descriptors, that Assay lacked for a call in the case or in its
    /// baseline.
    ///
    /// Nil when Assay could make every call.
    fileprivate var shortage: String? {
        ([subject] + baselines).lazy.flatMap(\.exchanges).compactMap { exchange in
            if case .failed(.shortage, let reason) = exchange.outcome { reason } else { nil }
        }.first
    }
}
