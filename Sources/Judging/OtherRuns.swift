extension Judge {
    /// Whether other runs against the same backend process may have caused all of these findings.
    ///
    /// A run that blocks the process delays the effects and the responses of all other runs. A
    /// finding about an outcome that is certain, such as a wrong recipient, has no such cause.
    package static func mayComeFromOtherRuns(_ findings: [Finding]) -> Bool {
        !findings.isEmpty && findings.allSatisfy { !$0.isFinal && $0.code.mayComeFromOtherRuns }
    }

    /// Whether effects that come after the settle timeout may have caused all of these failures.
    ///
    /// Findings without a failure do not count.
    package static func mayComeFromLateEffects(_ findings: [Finding]) -> Bool {
        let failures = findings.filter { !$0.code.isInconclusive }
        return !failures.isEmpty && failures.allSatisfy(\.mayComeFromLateEffects)
    }
}

extension Finding {
    /// Whether an effect that comes after the settle timeout may have caused the finding.
    ///
    /// The effect may be missing in the judged run or in one of its baseline runs.
    var mayComeFromLateEffects: Bool {
        !isFinal && code != .responseLate && code.mayComeFromOtherRuns
    }
}

extension FindingCode {
    /// Whether a backend process that another run blocks may cause the finding.
    ///
    /// The baseline run of a case may lack an effect for the same reason, so findings about
    /// additional effects count too.
    fileprivate var mayComeFromOtherRuns: Bool {
        switch self {
        case .effectMissing, .wrongEffectCount, .effectContentDiffers, .stateDiffers,
            .wrongStateValue, .userMissing, .unexpectedEffect, .unstableState, .responseLate,
            .settleTimeoutExpired:
            true
        default: false
        }
    }
}
