/// What one variant came to, and the evidence a person needs to believe it.
package struct CaseResult: Hashable, Sendable {
    @Boxed package var contract: Contract
    package var verdict: Verdict
    package var findings: [Finding]
    package var seconds: Double
    /// Why it is inconclusive or did not run, or what the known-failing list says.
    package var note: String?
    /// It did not run because the profile says that the backend lacks a feature.
    package var isDeclaredUnsupported: Bool
    /// Copies in flight at one moment, when copies were released together.
    package var overlap: Int?
    /// Places in the probes' answers that differ by themselves and were not compared.
    package var volatile: [String]
    /// What it asks about and nothing showed, so that it proves nothing though it passed.
    package var unseen: [String] = []
    /// Whether the kill that was to interrupt a delivery came before its answer; nil without one.
    package var killHits: Bool?
    /// What the evidence shows beside the findings.
    package var hints: [String] = []
    package var settling: RunRecord.Settling
    /// The exchanges of the judged run, kept for failing cases.
    package var timeline: [Exchange]
    package var base: Instant
    /// What an app showed when it was judged, as base64 of a PNG; nil when nobody looked.
    package var picture: String?
    /// What the backend wrote, where that explains a failure.
    package var backendOutput: String?
    /// How many runs a search took.
    package var runCount: Int?
    /// All that the verdict rests on, when the run is saved.
    @Boxed package var evidence: CaseEvidence? = nil
    /// The cases that show it again; nil: its own.
    package var replays: [String]?
    /// The smallest event that fails, as a contract ready to be kept.
    @Boxed package var found: Contract? = nil

    package init(
        contract: Contract,
        verdict: Verdict,
        findings: [Finding] = [],
        seconds: Double = 0,
        note: String? = nil,
        isDeclaredUnsupported: Bool = false,
        overlap: Int? = nil,
        volatile: [String] = [],
        settling: RunRecord.Settling = .notNeeded,
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
        self.volatile = volatile
        self.settling = settling
        self.timeline = timeline
        self.base = base
        self.backendOutput = backendOutput
    }
}
