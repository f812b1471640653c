package import Conformance

extension HistoryScript {
    /// Returns the shortest beginning of the history at whose end the backend already returned a
    /// wrong state.
    ///
    /// - Parameters:
    ///   - evidence: The recorded requests and responses from the run of the whole history.
    ///   - capabilities: The capabilities of the backend.
    /// - Returns: The beginning of the history; nil when every probe returned the expected state.
    ///   The caller must run the beginning separately, because the backend may only have needed
    ///   more time.
    package func firstWrongPrefix(in evidence: CaseEvidence, _ capabilities: Capabilities)
        -> CustomerHistory?
    {
        quietPoints.first { showsWrongState($0, evidence, capabilities) }?.prefix
    }

    private func showsWrongState(
        _ point: QuietPoint,
        _ evidence: CaseEvidence,
        _ capabilities: Capabilities
    ) -> Bool {
        guard let script = try? HistoryScript(point.prefix, capabilities, id: contract.id),
            let next = evidence.subject.attempts(of: point.next).first?.sequence
        else { return false }
        let plan = CasePlan(script.contract)
        var record = evidence.subject
        record.exchanges.removeAll { $0.sequence >= next }
        record.plan = plan.subject
        let before = CaseEvidence(
            plan: plan,
            subject: record,
            baselines: [],
            profile: evidence.profile,
            sight: evidence.sight
        )
        return Judge.judge(before).verdict == .failed
    }
}
