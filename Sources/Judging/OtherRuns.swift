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

extension Judge {
    /// A kind of outcome of an event, which a backend may produce late.
    package enum OutcomeKind: Hashable, Sendable {
        case state, message
    }

    /// Returns the kinds of outcome that the failures in these findings are about.
    package static func outcomeKinds(of findings: [Finding]) -> Set<OutcomeKind> {
        Set(findings.filter { !$0.code.isInconclusive }.compactMap(\.code.outcomeKind))
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
        outcomeKind != nil || self == .responseLate || self == .settleTimeoutExpired
    }

    /// The kind of outcome that a finding with this code is about; nil for other codes.
    fileprivate var outcomeKind: Judge.OutcomeKind? {
        switch self {
        case .effectMissing, .wrongEffectCount, .effectContentDiffers, .unexpectedEffect: .message
        case .stateDiffers, .wrongStateValue, .userMissing, .unstableState: .state
        default: nil
        }
    }
}
