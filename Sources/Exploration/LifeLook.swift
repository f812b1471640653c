package import Conformance

extension LifeScript {
    /// The beginning of the life after which the backend already showed something wrong.
    ///
    /// - Parameters:
    ///   - evidence: Of the whole life, as it was played.
    ///   - means: What can be asked of the backend.
    /// - Returns: The shortest such beginning, for one more run of its own: a backend may only have
    ///   needed more time. Nil when every look showed what it had to.
    package func suspect(in evidence: CaseEvidence, _ means: Means) -> Life? {
        quietPoints.first { isSuspect($0, evidence, means) }?.prefix
    }

    private func isSuspect(_ point: QuietPoint, _ evidence: CaseEvidence, _ means: Means) -> Bool {
        guard let script = try? LifeScript(point.prefix, means, id: contract.id),
            let next = evidence.subject.attempts(of: point.next).first?.sequence
        else { return false }
        let plan = CasePlan(script.contract)
        var record = evidence.subject
        record.exchanges.removeAll { $0.sequence >= next }
        record.plan = plan.subject
        let before = CaseEvidence(
            plan: plan,
            subject: record,
            twins: [],
            profile: evidence.profile,
            sight: evidence.sight
        )
        return Judge.judge(before).verdict == .failed
    }
}
