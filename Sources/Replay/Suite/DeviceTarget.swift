package import Contracts
package import Judging
internal import Values

/// The target of a suite that tests an app on simulated phones, without a backend under test.
///
/// The caller runs the scenarios: with the scripted app in virtual time, or with a real page in a
/// browser.
package struct DeviceTarget: SuiteTarget, OpenTarget {
    /// Runs one scenario of an app in the namespace with the given name, and returns its record.
    package typealias ScenarioExecution =
        @Sendable (_ plan: CasePlan, _ name: String, _ judging: RecordJudge) async -> RunRecord

    /// Judges one scenario while it runs.
    ///
    /// The code that runs the scenario asks for the verdict, and passes on a screenshot of the
    /// page.
    package struct RecordJudge: Sendable {
        fileprivate let judge: @Sendable (RunRecord) -> (verdict: Verdict, findings: [Finding])
        fileprivate let screenshot = Locked<String?>(nil)

        /// Returns whether a longer wait for the app could change the verdict about this record.
        package func mayResolveWithLongerWait(_ record: RunRecord) -> Bool {
            Judge.mayResolveWithLongerWait(judge(record).findings)
        }

        package func isPassed(_ record: RunRecord) -> Bool { judge(record).verdict == .passed }

        /// Stores a screenshot that shows the page at the time of the verdict, as a Base64-encoded
        /// PNG.
        package func storeScreenshot(_ text: String) { screenshot.withLock { $0 = text } }
    }

    private let profile: Profile
    private let executorSet: Executors
    private let options: SuiteRunOptions
    private let clock: any RunClock
    private let perform: ScenarioExecution

    /// Creates a target for scenarios of an app.
    ///
    /// - Parameters:
    ///   - profile: The endpoints, keys and time budgets of the app.
    ///   - executorSet: The executors that can run steps, such as a browser. A scenario runs only if they
    ///     can run all its steps.
    ///   - options: The options of the suite.
    ///   - clock: The clock that measures the duration of scenarios.
    ///   - perform: Runs one scenario.
    package init(
        profile: Profile,
        executorSet: Executors,
        options: SuiteRunOptions,
        clock: any RunClock,
        perform: @escaping ScenarioExecution
    ) {
        self.profile = profile
        self.executorSet = executorSet
        self.options = options
        self.clock = clock
        self.perform = perform
    }

    package func skipReason(_ plan: CasePlan) -> CaseResult? {
        executorSet.unsupportedElements(of: plan.contract).first.map {
            CaseResult(contract: plan.contract, verdict: .notRun, note: $0.note)
        }
    }

    package func open(for plans: [CasePlan]) async -> any OpenTarget { self }

    package func monitorLoad() async {}

    package func expanded(_ plan: CasePlan) async -> [CasePlan] { [plan] }

    /// Lets all scenarios run concurrently, because each scenario has its own simulated phones.
    package func phases(of plans: [CasePlan]) async -> [SuitePhase] {
        plans.map { _ in .concurrent }
    }

    package func result(of plan: CasePlan, number: Int, isExclusive: Bool) async -> CaseResult? {
        let start = clock.now
        let profile = profile
        let judging = RecordJudge { Judge.judge(.forApp($0, plan, profile)) }
        let record = await perform(plan, "\(options.nonce)-\(number)", judging)
        let (verdict, findings) = Judge.judge(.forApp(record, plan, profile))
        // An effect may be missing only because other scenarios used the processor.
        let isDoubtful =
            record.lackedProcessorTime || findings.contains { $0.code == .faultNotApplied }
        if !isExclusive, options.jobs > 1, isDoubtful, verdict != .passed,
            !findings.contains(where: \.isFinal)
        {
            return nil
        }
        var result = CaseResult(plan, verdict, findings, record, seconds: seconds(since: start))
        result.screenshot = judging.screenshot.withLock { $0 }
        if options.keepsEvidence { result.evidence = .forApp(record, plan, profile) }
        return result
    }

    /// Runs one scenario, and judges it by several contracts that have the same steps.
    ///
    /// - Parameters:
    ///   - plan: The steps of the scenario, and its longest waits.
    ///   - expectationPlans: The contracts with these steps.
    ///   - number: A number that makes the namespace of the run unique.
    /// - Returns: A result for each contract that could be judged, and the reason why other
    ///   contracts could not be judged.
    func results(
        of plan: CasePlan,
        judgedBy expectationPlans: [CasePlan],
        number: Int
    ) async -> ScenarioResults {
        let start = clock.now
        let profile = profile
        // A contract about a condition that does not occur requires nothing, so the run does not
        // wait for it.
        let judging = RecordJudge { record -> (verdict: Verdict, findings: [Finding]) in
            let missingExpectations = expectationPlans.map {
                Judge.judge(.forApp(record.withPlan(by: $0), $0, profile))
            }
            .filter { $0.verdict == .failed }
            .flatMap { $0.findings }
            return (missingExpectations.isEmpty ? .passed : .failed, missingExpectations)
        }
        let record = await perform(plan, "\(options.nonce)-\(number)", judging)
        let results = expectationPlans.map { expectationPlan in
            let partRecord = record.withPlan(by: expectationPlan)
            let (verdict, findings) = Judge.judge(.forApp(partRecord, expectationPlan, profile))
            return CaseResult(
                expectationPlan,
                verdict,
                findings,
                partRecord,
                seconds: seconds(since: start)
            )
        }
        guard record.runProblem != nil || record.starvation != nil else {
            return ScenarioResults(results: results, inconclusiveCode: nil)
        }
        // A forbidden action that was observed is a certain failure, even if the machine was busy.
        // Anything else stays undecided.
        let isVerdictCertain = { (result: CaseResult) in
            result.verdict == .failed && result.findings.contains(where: \.isFinal)
        }
        // A run that could not be judged gives every contract the same first finding, which is the
        // reason. In any other run without a certain verdict, the machine was too busy.
        let runProblem = record.runProblem.flatMap { _ in results.first?.findings.first?.code }
        return ScenarioResults(
            results: results.filter(isVerdictCertain),
            inconclusiveCode: runProblem ?? .machineBusy
        )
    }

    /// The results of one scenario that was judged by several contracts.
    struct ScenarioResults: Sendable {
        let results: [CaseResult]
        /// The reason why some contracts have no result: the page was stuck, or the machine was
        /// busy.
        ///
        /// Nil if every contract has a result.
        let inconclusiveCode: FindingCode?
    }

    private func seconds(since start: Duration) -> Double {
        Double((clock.now - start).milliseconds) / 1000
    }

    /// Does nothing, because the result of a scenario is final when its record is complete.
    package func revise(_ results: inout [CaseResult?], among caseIDs: Set<String>) async {}
}

extension RunRecord {
    /// Returns this record as if another contract with the same steps had been run.
    fileprivate func withPlan(by expectationPlan: CasePlan) -> RunRecord {
        var record = self
        record.plan = expectationPlan.subject
        return record
    }
}

extension CaseEvidence {
    /// Returns the evidence of a run on phones, in which no backend was observed.
    fileprivate static func forApp(
        _ record: RunRecord,
        _ plan: CasePlan,
        _ profile: Profile
    ) -> CaseEvidence {
        CaseEvidence(
            plan: plan,
            subject: record,
            baselines: [],
            profile: profile,
            observability: RunRecord.Observability(
                arePushesObservable: false,
                areProbeChangesObservable: false,
                latency: .zero
            )
        )
    }
}

extension CaseResult {
    fileprivate init(
        _ plan: CasePlan,
        _ verdict: Verdict,
        _ findings: [Finding],
        _ record: RunRecord,
        seconds: Double
    ) {
        self.init(
            contract: plan.contract,
            verdict: verdict,
            findings: findings,
            seconds: seconds,
            note: verdict == .inconclusive ? findings.first?.actual : nil,
            settleEvidence: record.settleEvidence,
            timeline: verdict == .passed ? [] : record.exchanges.map(\.shortened),
            base: record.base
        )
    }
}

extension RunRecord {
    /// Whether the page may have had too little processor time.
    fileprivate var lackedProcessorTime: Bool {
        if case .pageUnusable? = runProblem { return true }
        return starvation != nil
    }
}
