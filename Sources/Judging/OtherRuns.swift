extension Judge {
    /// Whether other runs against the same backend process may have caused all of these findings.
    ///
    /// A run that blocks the process delays the effects and the responses of all other runs. A
    /// finding about an outcome that is certain, such as a wrong recipient, has no such cause.
    package static func mayComeFromOtherRuns(_ findings: [Finding]) -> Bool {
        !findings.isEmpty && findings.allSatisfy { !$0.isFinal && $0.code.mayComeFromOtherRuns }
    }

    /// Whether all of these findings are about outcomes that are missing so far.
    package static func areAboutMissingOutcomes(_ findings: [Finding]) -> Bool {
        mayResolveWithLongerWait(findings.filter { !$0.code.isInconclusive })
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
