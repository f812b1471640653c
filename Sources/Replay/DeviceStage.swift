package import Conformance
internal import FakeServers

/// Phones alone, before no backend that is judged: how a scenario is carried out is the caller's, by
/// the scripted app in virtual time or by a page in a browser.
package struct DeviceStage: SuiteStage, OpenStage {
    /// Carries one scenario out in the namespace of that name.
    package typealias Perform =
        @Sendable (_ plan: CasePlan, _ name: String, _ judging: Judging) async -> RunRecord

    /// What whoever carries a scenario out may ask of its judge, and leave with it.
    package struct Judging: Sendable {
        fileprivate let judge: @Sendable (RunRecord) -> (verdict: Verdict, findings: [Finding])
        fileprivate let picture = Locked<String?>(nil)

        /// Whether waiting longer could change the verdict.
        package func mayImprove(_ record: RunRecord) -> Bool {
            Judge.mayImprove(judge(record).findings)
        }

        package func isGreen(_ record: RunRecord) -> Bool { judge(record).verdict == .passed }

        /// Keeps what the page showed when it was judged, as base64 of a PNG.
        package func keep(_ text: String) { picture.withLock { $0 = text } }
    }

    private let profile: Profile
    private let cast: Cast
    private let options: SuiteRunner.Options
    private let clock: any RunClock
    private let perform: Perform

    /// - Parameters:
    ///   - profile: Endpoints, keys and budgets.
    ///   - cast: Who plays; a scenario that it does not play in full does not run.
    ///   - options: The suite's.
    ///   - clock: By which it is told how long a scenario took.
    ///   - perform: Carries a scenario out.
    package init(
        profile: Profile,
        cast: Cast,
        options: SuiteRunner.Options,
        clock: any RunClock,
        perform: @escaping Perform
    ) {
        self.profile = profile
        self.cast = cast
        self.options = options
        self.clock = clock
        self.perform = perform
    }

    package func obstacle(_ plan: CasePlan) -> CaseResult? {
        cast.refusals(of: plan.contract).first.map {
            CaseResult(contract: plan.contract, verdict: .notRun, note: $0.note)
        }
    }

    package func open(for plans: [CasePlan]) async -> any OpenStage { self }

    package func accompany() async {}

    package func expanded(_ plan: CasePlan) async -> [CasePlan] { [plan] }

    /// No two scenarios share a phone.
    package func turns(of plans: [CasePlan]) async -> [Turn] { plans.map { _ in .together } }

    package func result(of plan: CasePlan, number: Int, isAlone: Bool) async -> CaseResult? {
        let start = clock.now
        let profile = profile
        let judging = Judging { Judge.judge(.ofApp($0, plan, profile)) }
        let record = await perform(plan, "\(options.nonce)-\(number)", judging)
        let (verdict, findings) = Judge.judge(.ofApp(record, plan, profile))
        // What is missing may be missing because others took the machine.
        let isDoubtful = record.hasStarved || findings.contains { $0.code == .disturbanceMissed }
        if !isAlone, options.jobs > 1, isDoubtful, verdict != .passed,
            !findings.contains(where: \.isFinal)
        {
            return nil
        }
        var result = CaseResult(plan, verdict, findings, record, seconds: seconds(since: start))
        result.picture = judging.picture.withLock { $0 }
        if options.keepsEvidence { result.evidence = .ofApp(record, plan, profile) }
        return result
    }

    /// Carries one scenario out, and judges by each contract that is about it.
    ///
    /// - Parameters:
    ///   - plan: What happens, and what may be waited for.
    ///   - parts: Contracts of the same steps.
    ///   - number: Makes the names of its run unique.
    /// - Returns: A result for each part, and what stood in the way of all of them.
    func results(
        of plan: CasePlan,
        judgedBy parts: [CasePlan],
        number: Int
    ) async -> PartResults {
        let start = clock.now
        let profile = profile
        // What never happens in it asks nothing, and is not waited for.
        let judging = Judging { record -> (verdict: Verdict, findings: [Finding]) in
            let missing = parts.map { Judge.judge(.ofApp(record.told(by: $0), $0, profile)) }
                .filter { $0.verdict == .failed }
                .flatMap { $0.findings }
            return (missing.isEmpty ? .passed : .failed, missing)
        }
        let record = await perform(plan, "\(options.nonce)-\(number)", judging)
        let results = parts.map { part in
            let own = record.told(by: part)
            let (verdict, findings) = Judge.judge(.ofApp(own, part, profile))
            return CaseResult(part, verdict, findings, own, seconds: seconds(since: start))
        }
        guard record.trouble != nil || record.starvation != nil else {
            return PartResults(results: results, doubt: nil)
        }
        // What was done is done, however little time there was; all else is open.
        let isCertain = { (result: CaseResult) in
            result.verdict == .failed && result.findings.contains(where: \.isFinal)
        }
        // Trouble is each part's first finding; without any the machine had no time.
        let trouble = record.trouble.flatMap { _ in results.first?.findings.first?.code }
        return PartResults(
            results: results.filter(isCertain),
            doubt: trouble ?? .machineBusy
        )
    }

    /// What one scenario says of each of several contracts.
    struct PartResults: Sendable {
        let results: [CaseResult]
        /// Why the others say nothing: the page hung, the machine was busy.
        let doubt: FindingCode?
    }

    private func seconds(since start: Duration) -> Double {
        Double((clock.now - start).milliseconds) / 1000
    }

    /// A scenario is over when its record is there.
    package func revise(_ results: inout [CaseResult?], among caseIDs: Set<String>) async {}
}

extension RunRecord {
    /// What happened, as the run of another contract of the same steps.
    fileprivate func told(by part: CasePlan) -> RunRecord {
        var record = self
        record.plan = part.subject
        return record
    }
}

extension CaseEvidence {
    /// Of a phone alone: there is no backend whose state or effects could be seen.
    fileprivate static func ofApp(
        _ record: RunRecord,
        _ plan: CasePlan,
        _ profile: Profile
    ) -> CaseEvidence {
        CaseEvidence(
            plan: plan,
            subject: record,
            twins: [],
            profile: profile,
            sight: RunRecord.Sight(seesEffects: false, seesState: false, latency: .zero)
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
            settling: record.settling,
            timeline: verdict == .passed ? [] : record.exchanges.map(\.shortened),
            base: record.base
        )
    }
}

extension RunRecord {
    /// Whether its page did not have the time that it needed, as far as can be told.
    fileprivate var hasStarved: Bool {
        if case .pageUnusable? = trouble { return true }
        return starvation != nil
    }
}
