import Contracts
import Judging
import TestSupport

extension CaseResult {
    /// What is judged from the evidence, which it keeps.
    init(judging evidence: CaseEvidence) {
        let judgment = CaseJudgment(evidence)
        self.init(
            contract: evidence.plan.contract,
            verdict: judgment.verdict,
            findings: judgment.findings
        )
        self.judgment = judgment
    }
}

extension RunReport {
    /// A run of these cases that somebody made up.
    init(of cases: [CaseResult], isInterrupted: Bool = false, notes: [String] = []) {
        self.init(
            version: "1",
            suite: "s",
            seed: "x",
            target: "t",
            began: SampleContract.base,
            seconds: 1,
            jobs: 1,
            cases: cases,
            isInterrupted: isInterrupted,
            notes: notes
        )
    }
}
