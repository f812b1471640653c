package import Contracts

/// All evidence about one case: the judged run, its baseline runs (the same case without faults),
/// and the kinds of results that can be observed.
package struct CaseEvidence: Hashable, Sendable {
    package let plan: CasePlan
    package let subject: RunRecord
    /// The baseline runs of the case, which all execute the same plan without faults.
    ///
    /// Two of them show which fields differ from run to run.
    package let baselines: [RunRecord]
    @IndirectlyStored package private(set) var profile: Profile
    package let observability: RunRecord.Observability

    package init(
        plan: CasePlan,
        subject: RunRecord,
        baselines: [RunRecord],
        profile: Profile,
        observability: RunRecord.Observability
    ) {
        self.plan = plan
        self.subject = subject
        self.baselines = baselines
        self.profile = profile
        self.observability = observability
    }

    package var expectation: Expectation { plan.contract.expectation }

    /// Returns the evidence of the same case with other records.
    package func replacing(subject: RunRecord? = nil, baselines: [RunRecord]? = nil)
        -> CaseEvidence
    {
        CaseEvidence(
            plan: plan,
            subject: subject ?? self.subject,
            baselines: baselines ?? self.baselines,
            profile: profile,
            observability: observability
        )
    }
}
