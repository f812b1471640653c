package import Contracts
package import Values

/// The result of one case (one execution of a contract), with the evidence for its verdict.
package struct CaseResult: Hashable, Sendable {
    /// The ID of a user or an account in one run, and its name in reports, such as `‹ada›`.
    package struct NamedID: Hashable, Sendable {
        package let id: String
        package let name: String

        package init(id: String, name: String) { (self.id, self.name) = (id, name) }
    }

    @IndirectlyStored package var contract: Contract
    package var verdict: Verdict
    package var findings: [Finding]
    package var seconds: Double
    /// The reason why the case is inconclusive or did not run, or a note about the case's entry in
    /// the list of known failures.
    package var note: String?
    /// Whether the case is not applicable to the backend: it needs a feature that the profile
    /// declares unsupported, or the backend caused no effect that the case could judge.
    package var isDeclaredUnsupported: Bool
    /// The maximum number of requests of the case that were in flight at the same time; nil for a
    /// case that sends no concurrent requests.
    package var overlap: Int?
    /// The IDs of the users and accounts of the judged run, each with the name that replaces it in
    /// reports; longer IDs come first.
    package var namedIDs: [NamedID] = []
    /// The names of the members of probe responses that the profile maps to state fields.
    package var probedMembers: Set<String> = []
    /// The JSON paths in probe responses that were not compared, because their values differ
    /// between two equal runs.
    package var volatilePaths: [String]
    /// The checks of a passed case whose result no probe could show; empty for none.
    ///
    /// A passed case with such a check proves nothing.
    package var unobservedChecks: [String] = []
    /// Whether the backend was killed before it responded to the delivery that the kill should
    /// interrupt; nil for a case without a kill.
    package var didKillInterruptDelivery: Bool?
    /// Observations from the evidence that may explain the findings, such as an event that names
    /// two known user IDs.
    package var hints: [String] = []
    package var settleEvidence: RunRecord.SettleEvidence
    /// The exchanges (requests with responses) of the judged run; empty for passed cases.
    package var timeline: [Exchange]
    package var base: Instant
    /// A screenshot of the app when it was judged, as a PNG in base64; nil when none was taken.
    package var screenshot: String?
    /// The output of the backend process; nil when it cannot help to explain the failure.
    package var backendOutput: String?
    /// The number of runs that a search made, for a contract with a search; otherwise nil.
    package var runCount: Int?
    /// The number of earlier runs of the case that were discarded because the machine was too busy.
    package var busyRunCount = 0
    /// Whether the case passed only after a longer wait than the run's other cases needed.
    package var neededLongWait = false
    /// The judgment that the result comes from, with its complete evidence; nil when the run is not
    /// saved to a file.
    @IndirectlyStored package var judgment: CaseJudgment? = nil
    /// The IDs of the cases that reproduce the result when they are run again; nil when this case
    /// alone reproduces it.
    package var replayedCaseIDs: [String]?
    /// Whether the result is about the whole run, so that no list of selected cases contains it.
    package var isAboutWholeRun: Bool { contract.id.hasPrefix("run/") }
    /// A contract with the smallest event that made a search fail, ready to be saved; nil when no
    /// event failed.
    @IndirectlyStored package var found: Contract? = nil

    package init(
        contract: Contract,
        verdict: Verdict,
        findings: [Finding] = [],
        seconds: Double = 0,
        note: String? = nil,
        isDeclaredUnsupported: Bool = false,
        overlap: Int? = nil,
        volatilePaths: [String] = [],
        settleEvidence: RunRecord.SettleEvidence = .notNeeded,
        timeline: [Exchange] = [],
        base: Instant = Instant(milliseconds: 0),
        backendOutput: String? = nil
    ) {
        self.contract = contract
        self.verdict = verdict
        self.findings = findings
        self.seconds = seconds
        self.note = note
        self.isDeclaredUnsupported = isDeclaredUnsupported
        self.overlap = overlap
        self.volatilePaths = volatilePaths
        self.settleEvidence = settleEvidence
        self.timeline = timeline
        self.base = base
        self.backendOutput = backendOutput
    }

    /// The verdict as reports count and show it.
    package var outcome: CaseOutcome { CaseOutcome(self) }

    /// The complete evidence for the verdict; nil when the run is not saved to a file.
    package var evidence: CaseEvidence? { judgment?.evidence }
}
