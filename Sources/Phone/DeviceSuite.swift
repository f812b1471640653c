package import Conformance

/// Runs device scenarios, one after another or side by side, and judges each.
///
/// How a scenario is carried out is the caller's: by the scripted app in virtual time, or by a
/// browser.
package struct DeviceSuite: Sendable {
    /// Carries one scenario out; `verdict` tells whether waiting longer could change anything.
    package typealias Performer =
        @Sendable (
            _ plan: RunPlan, _ name: String, _ verdict: @Sendable (RunRecord) -> Bool
        ) async -> RunRecord

    package let profile: Profile
    /// Who plays; a scenario that it does not play in full does not run.
    package let cast: Cast
    package var jobs = 1
    /// Makes ids unique on a backend that keeps its data.
    package var nonce = "app"
    package var knownFailures = KnownFailures()
    package var keepsEvidence = false
    package var started: @Sendable (String) -> Void = { _ in }
    package var finished: @Sendable (CaseResult, _ done: Int, _ of: Int) -> Void = { _, _, _ in }

    package init(profile: Profile, cast: Cast) {
        self.profile = profile
        self.cast = cast
    }

    /// The results in the order of the contracts; what a cancellation cut short is `notRun`.
    package func run(_ contracts: [Contract], _ perform: @escaping Performer) async -> [CaseResult]
    {
        var results = [CaseResult?](repeating: nil, count: contracts.count)
        var done = 0
        await withTaskGroup(of: (Int, CaseResult?).self) { group in
            var waiting = contracts.indices[...]
            func add() {
                guard let index = waiting.popFirst() else { return }
                group.addTask {
                    if Task.isCancelled { return (index, nil) }
                    let result = await self.result(of: contracts[index], number: index, perform)
                    // What a cancellation cut short says nothing.
                    return (index, Task.isCancelled ? nil : result)
                }
            }
            for _ in 0..<max(1, jobs) { add() }
            for await (index, result) in group {
                if let result {
                    done += 1
                    results[index] = result
                    finished(result, done, contracts.count)
                }
                add()
            }
        }
        return zip(results, contracts).map { result, contract in
            result ?? CaseResult(contract: contract, verdict: .notRun, note: "interrupted")
        }
    }

    private func result(
        of contract: Contract,
        number: Int,
        _ perform: Performer
    ) async -> CaseResult {
        started(contract.caseID)
        if let refusal = cast.refusals(of: contract).first {
            return CaseResult(contract: contract, verdict: .notRun, note: refusal.note)
        }
        let clock = ContinuousClock()
        let start = clock.now
        let plan = CasePlan(contract)
        let profile = profile
        let sight = RunRecord.Sight(seesEffects: false, seesState: false, latency: .zero)
        @Sendable func evidence(_ record: RunRecord) -> CaseEvidence {
            CaseEvidence(plan: plan, subject: record, twins: [], profile: profile, sight: sight)
        }
        let record = await perform(plan.subject, "\(nonce)-\(number)") { record in
            Judge.mayImprove(Judge.judge(evidence(record)).findings)
        }
        let (verdict, findings) = Judge.judge(evidence(record))
        var result = CaseResult(
            contract: contract,
            verdict: verdict,
            findings: findings,
            seconds: Double((clock.now - start).milliseconds) / 1000,
            note: verdict == .inconclusive ? findings.first?.actual : nil,
            settling: record.settling,
            timeline: verdict == .passed ? [] : record.exchanges.map(\.shortened),
            base: record.base
        )
        if keepsEvidence { result.evidence = evidence(record) }
        let (final, note) = knownFailures.verdict(
            result.verdict,
            of: contract.caseID,
            findings: result.findings
        )
        result.verdict = final
        if let note { result.note = note }
        return result
    }
}
