internal import Contracts
internal import Judging
internal import Values

/// Judges the records of one run of a case, each record once.
///
/// A run asks for the judgment while it waits for effects, and its caller asks again when the run
/// has ended. The judge keeps the latest judgment, so a record that did not change since then is
/// not judged again.
final class RecordJudge: Sendable {
    private let evidence: @Sendable (RunRecord) -> CaseEvidence
    private let latest = Locked<CaseJudgment?>(nil)

    /// Creates a judge for the records of one run.
    ///
    /// - Parameter evidence: Completes a record to the evidence of the case.
    init(evidence: @escaping @Sendable (RunRecord) -> CaseEvidence) { self.evidence = evidence }

    /// Returns the judgment of the case if its run has this record.
    func judgment(of record: RunRecord) -> CaseJudgment {
        let evidence = evidence(record)
        return latest.withLock { latest in
            if let latest, latest.evidence == evidence { return latest }
            let judgment = CaseJudgment(evidence)
            latest = judgment
            return judgment
        }
    }
}
