internal import Contracts
package import Judging
internal import Values

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
    package func firstPrefixWithWrongState(in evidence: CaseEvidence, _ capabilities: Capabilities)
        -> CustomerHistory?
    {
        stateReadPoints.first { showsWrongState($0, evidence, capabilities) }?.prefix
    }

    private func showsWrongState(
        _ stateReadPoint: StateReadPoint,
        _ evidence: CaseEvidence,
        _ capabilities: Capabilities
    ) -> Bool {
        // A part of a history that is impossible alone shows nothing.
        guard let script = try? HistoryScript(stateReadPoint.prefix, capabilities, id: contract.id),
            let next = evidence.subject.attempts(of: stateReadPoint.next).first?.sequence
        else { return false }
        let plan = CasePlan(script.contract)
        var subjectRecord = evidence.subject
        subjectRecord.exchanges.removeAll { $0.sequence >= next }
        subjectRecord.plan = plan.subject
        let evidenceBeforeNextDelivery = CaseEvidence(
            plan: plan,
            subject: subjectRecord,
            baselines: [],
            profile: evidence.profile,
            observability: evidence.observability
        )
        return CaseJudgment(evidenceBeforeNextDelivery).verdict == .failed
    }
}
