/// The outcome of a whole run, from which every report is made.
package struct RunReport: Hashable, Sendable {
    package var version: String
    /// Digest of the contracts that were selected.
    package var suite: String
    package var seed: String
    package var target: String
    package var began: Instant
    package var seconds: Double
    package var jobs: Int
    package var cases: [CaseResult]
    /// The run was stopped before every selected case had run.
    package var isInterrupted: Bool
    /// Facts about the run that no case owns, for people.
    package var notes: [String]

    package init(
        version: String,
        suite: String,
        seed: String,
        target: String,
        began: Instant,
        seconds: Double,
        jobs: Int,
        cases: [CaseResult],
        isInterrupted: Bool,
        notes: [String] = []
    ) {
        self.version = version
        self.suite = suite
        self.seed = seed
        self.target = target
        self.began = began
        self.seconds = seconds
        self.jobs = jobs
        self.cases = cases
        self.isInterrupted = isInterrupted
        self.notes = notes
    }

    package func count(_ verdict: Verdict) -> Int {
        cases.count { $0.verdict == verdict }
    }

    /// The documented exit code of the architecture, section 6.
    package var exitCode: Int32 {
        if isInterrupted { return 130 }
        if count(.failed) + count(.unexpectedPass) > 0 { return 1 }
        if count(.inconclusive) > 0 { return 5 }
        if cases.contains(where: { $0.verdict == .notRun && !$0.isDeclaredUnsupported }) {
            return 5
        }
        return 0
    }
}

/// What one variant came to, and the evidence a person needs to believe it.
package struct CaseResult: Hashable, Sendable {
    package var contract: Contract
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
    package var settling: RunRecord.Settling
    /// The exchanges of the judged run, kept for failing cases.
    package var timeline: [Exchange]
    package var base: Instant
    /// What the backend wrote, where that explains a failure.
    package var backendOutput: String?
    /// How many runs a search took.
    package var runCount: Int?
    /// The smallest event that fails, as a contract ready to be kept.
    package var found: Contract?

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
