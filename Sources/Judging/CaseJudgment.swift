package import Contracts
internal import Providers
internal import Values

/// The verdict and the findings about one case, together with the evidence that was judged.
///
/// This type is the only place that asks the judge, so a verdict never exists without its evidence.
/// Code that needs the verdict again takes it from the judgment. New evidence gives a new judgment.
package struct CaseJudgment: Hashable, Sendable {
    package let evidence: CaseEvidence
    /// The verdict, before the list of known failures is applied.
    package let verdict: Verdict
    package let findings: [Finding]

    /// The reason why the case had nothing to judge; nil when it has another verdict than "not run".
    package var inapplicableReason: String? {
        verdict == .notRun
            ? evidence.inapplicableReason ?? evidence.invisibleUserReason : nil
    }

    /// Judges a case by its evidence.
    package init(_ evidence: CaseEvidence) {
        self.evidence = evidence
        (verdict, findings) = Judge.judge(evidence)
    }

    /// Returns the judgment of the same case with other records.
    ///
    /// Records that equal the judged ones are not judged again.
    package func replacing(subject: RunRecord? = nil, baselines: [RunRecord]? = nil)
        -> CaseJudgment
    {
        let changedEvidence = evidence.replacing(subject: subject, baselines: baselines)
        return changedEvidence == evidence ? self : CaseJudgment(changedEvidence)
    }

    /// Whether two judgments have the same verdict, for the same kinds of findings.
    package func hasSameOutcome(as other: CaseJudgment) -> Bool {
        verdict == other.verdict && Set(findings.map(\.code)) == Set(other.findings.map(\.code))
    }
}

extension CaseResult {
    /// Creates the result of a judged case.
    ///
    /// It contains no evidence; `judgment` stays nil.
    package init(_ judgment: CaseJudgment, seconds: Double = 0) {
        let subject = judgment.evidence.subject
        self.init(
            contract: judgment.evidence.plan.contract,
            verdict: judgment.verdict,
            findings: judgment.findings,
            seconds: seconds,
            note: judgment.verdict == .inconclusive
                ? judgment.findings.first?.actual : judgment.inapplicableReason,
            isDeclaredUnsupported: judgment.verdict == .notRun,
            overlap: ConcurrentRequestsRule.overlappingRequestCount(in: subject),
            volatilePaths: StateComparison(judgment.evidence).volatilePaths,
            settleEvidence: subject.settleEvidence,
            timeline: judgment.verdict == .passed ? [] : subject.exchanges.map(\.shortened),
            base: subject.base
        )
        namedIDs = subject.namespace.tokens(
            users: subject.plan.users,
            accounts: subject.plan.accounts,
            deliveries: []
        ).map { NamedID(id: $0.id, name: $0.token) }
        probedMembers = Set(
            judgment.evidence.profile.probes.flatMap(\.readings.values)
                .compactMap(\.pointer.tokens.last)
        )
    }
}
