/// All that is known about one case: the judged run, its twins, and how well the backend is seen.
package struct CaseEvidence: Hashable, Sendable {
    package let plan: CasePlan
    package let subject: RunRecord
    /// Runs of the same twin plan; two of them show which fields differ by themselves.
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
