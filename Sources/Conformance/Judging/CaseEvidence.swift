/// All evidence about one case: the judged run, its baseline runs (the same case without faults),
/// and the kinds of results that can be observed.
package struct CaseEvidence: Hashable, Sendable {
    package let plan: CasePlan
    package let subject: RunRecord
    /// The baseline runs of the case, which all execute the same plan without faults.
    ///
    /// Two of them show which fields differ from run to run.
    package let twins: [RunRecord]
    @Boxed package private(set) var profile: Profile
    package let sight: RunRecord.Sight

    package init(
        plan: CasePlan,
        subject: RunRecord,
        twins: [RunRecord],
        profile: Profile,
        sight: RunRecord.Sight
    ) {
        self.plan = plan
        self.subject = subject
        self.twins = twins
        self.profile = profile
        self.sight = sight
    }

    package var expectation: Expectation { plan.contract.expectation }
}
