package import Contracts
package import Judging

/// Runs the selected cases, and reports the result of each case.
///
/// Every suite uses this runner, whether it tests a backend or an app on simulated phones. The
/// target of the suite (`SuiteTarget`) runs and judges the single cases, and `CaseScheduler` decides
/// when and where they run.
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

    // MARK: The walk of a suite

    private func results(of contracts: [Contract]) async -> [CaseResult] {
        let given = contracts.map { Candidate(CasePlan(target.drawn($0)), on: target) }
        let runnable = given.filter { $0.skipReason == nil }.map(\.plan)
        let open = await target.open(for: runnable)
        if let reason = open.skipReasons.first {
            report(.stopped(open.skipReasons))
            return given.map { $0.skipReason ?? $0.notRun(reason) }
        }
        let candidates = await expanded(given, on: open)
        let progress = SuiteProgress(candidates.map(\.plan), options.knownFailures, report)
        for (index, candidate) in candidates.enumerated() {
            if let result = candidate.skipReason { progress.finish(index, result) }
        }
        let scheduler = CaseScheduler(
            await scheduledCases(candidates, on: open),
            options: options,
            additionalInstanceMax: additionalInstances?.countMax ?? 0,
            progress: progress,
            report: report
        )
        let main = BackendInstance(open, number: CaseSchedule.mainInstance)
        let instances = await scheduler.runCases(on: main) { number in
            await self.openInstance(number, for: runnable)
        }
        await scheduler.rerunChangedCases(on: instances)
        await scheduler.reviseResults(of: instances)
        await scheduler.runDegradingCases(on: main)
        let results = progress.final
        let invariantViolations = instances.flatMap {
            $0.open.invariantViolations(alongside: results)
        }
        return results + Self.joined(invariantViolations).map(options.knownFailures.applied)
    }

    /// A case that is considered for the run, with its result "not run" if it cannot run.
    private struct Candidate {
        let plan: CasePlan
        let skipReason: CaseResult?

        init(_ plan: CasePlan, on target: any SuiteTarget) {
            self.plan = plan
            skipReason = target.skipReason(plan)
        }

        func notRun(_ reason: String) -> CaseResult {
            CaseResult(contract: plan.contract, verdict: .notRun, note: reason)
        }
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

    /// Returns the cases that can run, each with the scheduling rule that the target declares.
    private func scheduledCases(_ candidates: [Candidate], on open: any OpenTarget) async
        -> [ScheduledCase]
    {
        let indices = candidates.indices.filter { candidates[$0].skipReason == nil }
        let rules = await open.schedulingRules(of: indices.map { candidates[$0].plan })
        return zip(indices, rules).map { index, rule in
            ScheduledCase(candidates[index].plan, index: index, rule: rule)
        }
    }

    /// Starts and prepares the additional instance with a number, counted from 1; returns nil if it
    /// could not be started.
    private func openInstance(_ number: Int, for runnable: [CasePlan]) async -> BackendInstance? {
        guard let additionalInstances else { return nil }
        do {
            let target = try await additionalInstances.open(number - 1)
            return BackendInstance(await target.open(for: runnable), number: number)
        } catch {
            if !Task.isCancelled { report(.instanceFailed("\(error)")) }
            return nil
        }
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
