package import Contracts
package import Judging
internal import Providers
internal import Values

/// The target of a suite that tests a backend, before it is prepared for the cases.
///
/// `CaseRunner` plans and executes the cases, and compares them with their baseline runs (the same
/// cases without faults).
package struct BackendTarget: SuiteTarget {
    private let executor: RunExecutor
    private let options: SuiteRunOptions
    private let report: @Sendable (SuiteEvent) -> Void

    package init(
        executor: RunExecutor,
        options: SuiteRunOptions,
        report: @escaping @Sendable (SuiteEvent) -> Void
    ) {
        self.executor = executor
        self.options = options
        self.report = report
    }

    package func drawn(_ contract: Contract) -> Contract {
        ValuePool(executor.profile, seed: options.seed).drawn(contract)
    }

    package func skipReason(_ plan: CasePlan) -> CaseResult? {
        SkipReason(profile: executor.profile, isStartedByAssay: executor.backend.process != nil)
            .result(plan)
    }

    /// Makes two purchases without faults to find out which state and effects of the backend can be
    /// observed.
    ///
    /// The purchases are made only if at least one case observes state or effects.
    package func open(for plans: [CasePlan]) async -> any OpenTarget {
        await calibratedTarget(for: plans)
    }

    /// Prepares the target as `open(for:)` does, for callers that choose the order of the cases
    /// themselves.
    func calibratedTarget(for plans: [CasePlan]) async -> CalibratedTarget {
        if executor.profile.requests.loginTakesIDToken || plans.contains(where: \.usesIDTokens) {
            executor.prepareKeys()
        }
        let calibration = Calibration(executor: executor, nonce: options.nonce)
        var observability = Calibration.nothingObservable
        var skipReasons: [String] = []
        var eventRefusals: [EventRefusal] = []
        if plans.contains(where: { $0.subject.observesFinalState }) {
            observability = await calibration.observability()
            report(.calibrated(observability))
            if options.checksBackendFirst,
                plans.contains(where: { $0.sendsWebhook(of: executor.purchaseWebhook.party) })
            {
                let preflight = Preflight(
                    executor: executor,
                    namespaceNames: calibration.namespaceNames,
                    observability: observability,
                    needsVisiblePurchase: !options.hasSelectedCases
                )
                skipReasons = await preflight.skipReasons()
                eventRefusals = skipReasons.isEmpty ? await preflight.eventRefusals() : []
                // A run with a case of the clause reports the refusal as a failure instead.
                let clauses = Set(plans.map(\.contract.clause))
                let warnings = eventRefusals.map { ($0.invariant.contract.clause, $0.warning) }
                    .filter { !clauses.contains($0.0) }.map(\.1)
                if !warnings.isEmpty { report(.warned(warnings)) }
            }
        }
        return CalibratedTarget(
            caseRunner: CaseRunner(
                executor: executor,
                options: options,
                observability: observability,
                report: report
            ),
            calibration: calibration,
            skipReasons: skipReasons,
            eventRefusals: eventRefusals,
            clockProof: ClockProof(
                executor: executor,
                name: options.nonce + "-t",
                observability: observability
            )
        )
    }

    /// Measures how much processor time Assay's process gets, until the task is canceled.
    package func monitorLoad() async { await executor.heartbeat.beat() }
}

extension SchedulingRule {
    /// Creates the rule of a case that runs against a backend.
    ///
    /// - Parameters:
    ///   - plan: The run of the case.
    ///   - servesOneRequestAtATime: Whether the backend serves one request at a time, so that
    ///     concurrent copies of a request block all other cases.
    fileprivate init(_ plan: RunPlan, servesOneRequestAtATime: Bool) {
        self =
            if plan.affectsAllUsers {
                .beforeEverything
            } else if plan.degradesBackend {
                .degradesInstance
            } else if plan.clock != nil {
                .movesClock
            } else if plan.needsBackendForItself
                || servesOneRequestAtATime && plan.sendsConcurrentCopies
            {
                .exclusive
            } else {
                .concurrent
            }
    }
}

extension CasePlan {
    /// Whether a user signs in with an ID token during the case.
    fileprivate var usesIDTokens: Bool {
        contract.allRequiredFeatures.contains(where: { $0.roles.contains(.idTokens) })
    }

    /// Returns whether the case sends a webhook of a provider to the backend.
    fileprivate func sendsWebhook(of provider: Exchange.Party) -> Bool {
        subject.deliveries.contains { $0.provider == provider }
    }
}

/// A backend that is ready to run cases, with the results of the calibration by two plain
/// purchases.
struct CalibratedTarget: OpenTarget {
    let caseRunner: CaseRunner
    let calibration: Calibration
    let skipReasons: [String]
    /// The events of the preflight that the backend refused.
    let eventRefusals: [EventRefusal]
    let clockProof: ClockProof

    private var executor: RunExecutor { caseRunner.executor }

    /// Returns the cases that a case represents; usually only the case itself.
    ///
    /// A case that searches for crash points becomes one case for each point.
    func expanded(_ plan: CasePlan) async -> [CasePlan] {
        let plans = await crashPointCases(plan)
        return executor.profile.clock == nil ? plans : plans.map(\.withClockTimes)
    }

    private func crashPointCases(_ plan: CasePlan) async -> [CasePlan] {
        guard case .crashPoints(let faults) = plan.contract.search, !Task.isCancelled,
            let goldenRun = await caseRunner.baselines(plan).first,
            // A golden run (the run without a fault) that failed has only some of the calls. The
            // case itself reports the failure.
            goldenRun.runProblem == nil
        else { return [plan] }
        let points = CasePlan.crashPoints(in: goldenRun, faults: faults)
        // Without any call, one case remains, and a rule reports why the fault never took effect.
        return points.isEmpty ? [plan] : points.map { plan.injectingFault(at: $0) }
    }

    func schedulingRules(of plans: [CasePlan]) async -> [SchedulingRule] {
        let servesOneRequestAtATime =
            plans.contains { $0.subject.sendsConcurrentCopies }
            ? await executor.servesOneRequestAtATime() : false
        return plans.map {
            SchedulingRule($0.subject, servesOneRequestAtATime: servesOneRequestAtATime)
        }
    }

    func result(of plan: CasePlan, number: Int, isExclusive: Bool) async -> CaseResult? {
        guard isExclusive else { return await caseRunner.runConcurrently(plan) }
        if plan.subject.clock != nil, let unprovenReason = await clockProof.unprovenReason() {
            guard plan.contract.allRequiredFeatures.contains(.clock) else {
                return await caseRunner.runExclusively(plan.settingBackendClock(clock: nil))
            }
            return CaseRunner.inconclusive(
                plan,
                clockProof.finding(unprovenReason, of: plan.contract)
            )
        }
        let result = await caseRunner.runExclusively(plan)
        // After a case that affects all users, earlier baseline runs are no longer comparable.
        if plan.subject.affectsAllUsers { caseRunner.discardBaselineRuns() }
        return result
    }

    func discardRun(of plan: CasePlan) { caseRunner.discardRun(of: plan) }

    func casesWithChangedVerdict(isAfterReruns: Bool) async -> Set<String> {
        guard caseRunner.options.rechecksCases else { return [] }
        let caseIDs = await caseRunner.casesWithChangedVerdict(isAfterReruns: isAfterReruns)
        await executor.recheckUnprocessedPurchases()
        return caseIDs
    }

    func revise(_ results: inout [CaseResult?], among caseIDs: Set<String>) async {
        await FinalRecheck(executor: executor, calibration: calibration, caseRunner: caseRunner)
            .revise(&results, among: caseIDs)
        caseRunner.reviseLateEffects(&results, among: caseIDs)
        UnservedRoutes(executor: executor).revise(&results)
    }

    func invariantViolations(alongside results: [CaseResult]) -> [CaseResult] {
        caseRunner.restarter.invariantViolations(alongside: results)
            + executor.strayEffectFailures(of: caseRunner.options.nonce)
            + ThrottledWebhook(executor: executor).failures()
            + executor.unprocessedPurchaseResults
            // One instance is enough, because all instances are started in the same way.
            + (caseRunner.options.checksBackendFirst
                ? UnprotectedWebhook(executor: executor).failures(alongside: results) : [])
            + refusedEventFailures(alongside: results)
    }

    /// Returns one failed case for each refused event of the preflight whose clause the run covers.
    private func refusedEventFailures(alongside results: [CaseResult]) -> [CaseResult] {
        let clauses = Set(results.map(\.contract.clause))
        return eventRefusals.filter { clauses.contains($0.invariant.contract.clause) }
            .map { $0.failure(at: executor.base) }
    }
}
