internal import Contracts
internal import Judging
internal import Providers

/// A proof that the backend, by design, never makes the call that the fault of a case hits.
enum MissingCallProof {
    /// The text is the reason why the case does not apply.
    case proven(String)
    /// Assay was paused during the runs that are the proof.
    case starved([RunRecord])

    /// Creates the proof from a run of the same steps without faults: in that run too, the backend
    /// does not call the provider.
    ///
    /// Returns nil when the backend calls the provider, or when the case has other findings.
    init?(_ judgment: CaseJudgment, _ baselineRuns: BaselineRuns) async {
        let evidence = judgment.evidence
        let plan = evidence.plan
        guard !judgment.findings.isEmpty,
            judgment.findings.allSatisfy({ $0.code == .faultNotApplied }),
            plan.contract.search == nil, !plan.subject.affectsAllUsers,
            let missedCall = PlannedFaultRule.missedCall(in: evidence)
        else { return nil }
        let faultFreePlan = plan.comparedWithFaultFreeRun
        let baselines =
            plan.baselineHasAllSteps
            ? evidence.baselines : await baselineRuns.records(of: faultFreePlan)
        guard !baselines.isEmpty,
            baselines.allSatisfy({ $0.runProblem == nil && missedCall.isMissed(in: $0) })
        else { return nil }
        guard baselines.allSatisfy({ $0.starvation == nil }) else {
            baselineRuns.forget(baselineOf: faultFreePlan)
            self = .starved(baselines)
            return
        }
        self = .proven(
            "the fault needs a call from the backend to \(missedCall.provider), but the backend makes "
                + "none in this case, even without the fault"
        )
    }
}
