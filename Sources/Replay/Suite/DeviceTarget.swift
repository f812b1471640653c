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
        @Sendable (_ plan: CasePlan, _ name: String, _ judging: ScenarioJudge) async -> RunRecord

    /// Judges one scenario while it runs, by one contract or by several with the same steps.
    ///
    /// The code that runs the scenario asks for the verdict, and passes on a screenshot of the
    /// page.
    package struct ScenarioJudge: Sendable {
        /// The judges of the contracts, one for each.
        private let judges: [RecordJudge]
        /// Whether contracts without a certain verdict count as passed.
        private let ignoresInconclusive: Bool
        fileprivate let screenshot = Locked<String?>(nil)

        fileprivate init(_ plans: [CasePlan], _ profile: Profile, ignoresInconclusive: Bool) {
            judges = plans.map { plan in
                RecordJudge { .forApp($0.withPlan(by: plan), plan, profile) }
            }
            self.ignoresInconclusive = ignoresInconclusive
        }

        /// Returns the judgments of this record by all contracts, in their order.
        fileprivate func judgments(of record: RunRecord) -> [CaseJudgment] {
            judges.map { $0.judgment(of: record) }
        }

        private func countedJudgments(of record: RunRecord) -> [CaseJudgment] {
            judgments(of: record).filter { !ignoresInconclusive || $0.verdict != .inconclusive }
        }

        /// Returns whether a longer wait for the app could change the verdict about this record.
        package func mayResolveWithLongerWait(_ record: RunRecord) -> Bool {
            Judge.mayResolveWithLongerWait(countedJudgments(of: record).flatMap(\.findings))
        }

        package func isPassed(_ record: RunRecord) -> Bool {
            countedJudgments(of: record).allSatisfy { $0.verdict == .passed }
        }

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
    package func schedulingRules(of plans: [CasePlan]) async -> [SchedulingRule] {
        plans.map { _ in .concurrent }
    }

    package func result(of plan: CasePlan, number: Int, isExclusive: Bool) async -> CaseResult? {
        let start = clock.now
        let judging = ScenarioJudge([plan], profile, ignoresInconclusive: false)
        let record = await perform(plan, "\(options.nonce)-\(number)", judging)
        let judgment = judging.judgments(of: record)[0]
        let (verdict, findings) = (judgment.verdict, judgment.findings)
        // An effect may be missing only because other scenarios used the processor.
        let isDoubtful =
            record.lackedProcessorTime || findings.contains { $0.code == .faultNotApplied }
        if !isExclusive, options.jobs > 1, isDoubtful, verdict != .passed,
            !findings.contains(where: \.isFinal)
        {
            return nil
        }
        var result = CaseResult(judgment, seconds: seconds(since: start))
        result.screenshot = judging.screenshot.withLock { $0 }
        if options.keepsEvidence { result.judgment = judgment }
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
        // A contract about a condition that does not occur requires nothing, so the run does not
        // wait for it.
        let judging = ScenarioJudge(expectationPlans, profile, ignoresInconclusive: true)
        let record = await perform(plan, "\(options.nonce)-\(number)", judging)
        let results = judging.judgments(of: record).map {
            CaseResult($0, seconds: seconds(since: start))
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

extension RunRecord {
    /// Whether the page may have had too little processor time.
    fileprivate var lackedProcessorTime: Bool {
        if case .pageUnusable? = runProblem { return true }
        return starvation != nil
    }
}
