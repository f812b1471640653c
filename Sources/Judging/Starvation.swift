internal import Contracts

/// Adjustments of the findings for starvation: Assay itself got too little processor time on a busy
/// machine.
extension Judge {
    /// Returns the findings without those that exist only because a deadline passed while Assay
    /// itself was paused.
    ///
    /// One inconclusive finding about the busy machine replaces the removed findings.
    static func withoutStarvedFindings(_ findings: [Finding], in evidence: CaseEvidence)
        -> [Finding]
    {
        let ownStarvation = evidence.subject.starvation
        let baselines = evidence.baselines.compactMap(\.starvation)
        let baselineStarvation = baselines.first(where: \.didShortenWait) ?? baselines.first
        guard
            let starvation = [ownStarvation, baselineStarvation].compactMap({ $0 }).max(by: {
                $0.longestPause < $1.longestPause
            })
        else { return findings }
        let doubtfulFindings = findings.filter { finding in
            let comparesBaseline = finding.code.facts.comparesWithBaseline
            return switch basis(of: finding, in: evidence) {
            case .evidence: false
            case .deadline: ownStarvation != nil || baselineStarvation != nil && comparesBaseline
            case .wait:
                ownStarvation?.didShortenWait == true
                    || baselineStarvation?.didShortenWait == true && comparesBaseline
            case .baseline: baselineStarvation?.didShortenWait == true
            case .missedCall: ownStarvation?.didShortenWait == true || baselineStarvation != nil
            }
        }
        guard let first = doubtfulFindings.first else { return findings }
        let machineBusyFinding = Finding(
            .machineBusy,
            expected: first.expected,
            actual: "\(first.actual), while Assay itself was paused: \(starvation)",
            location: first.location,
            evidence: first.evidence
        )
        return findings.filter { !doubtfulFindings.contains($0) } + [machineBusyFinding]
    }

    /// The condition on which a finding depends.
    private enum FindingBasis {
        case evidence
        /// The finding depends on a response or an effect that missed a deadline after the first
        /// step.
        case deadline
        /// The finding depends on an outcome that was missing when the wait after the last step
        /// ended.
        case wait
        /// The finding depends on an outcome that was missing when the wait of a baseline run
        /// ended.
        case baseline
        /// The finding depends on a call that the backend did not make, in the judged run or in the
        /// run that is to prove that the backend never makes it.
        case missedCall
    }

    /// Returns the condition on which a finding depends.
    ///
    /// A finding about an existing outcome depends on no wait. A finding about a missing outcome
    /// depends on the wait in the judged run or in the baseline run.
    private static func basis(of finding: Finding, in evidence: CaseEvidence) -> FindingBasis {
        if finding.code == .faultNotApplied, PlannedFaultRule.missedCall(in: evidence) != nil {
            return .missedCall
        }
        if finding.code.isInconclusive { return .evidence }
        switch finding.code {
        case .unexpectedEffect, .unstableState: return .baseline
        case .effectDiffers, .responseLate, .noResponse: return .deadline
        case .effectMissing, .wrongEffectCount, .effectContentDiffers, .effectHeldUp, .stateDiffers,
            .wrongStateValue,
            .userMissing,
            .idempotencyKeyChanged, .identitySplit, .personalDataKept,
            // The wait for an app's commands and calls counts only the time in which Assay was not
            // paused.
            .commandMissing, .registrationLost, .wrongUser, .screenDiffers:
            return mayResolveWithLongerWait([finding]) ? .wait : .evidence
        default: return mayResolveWithLongerWait([finding]) ? .deadline : .evidence
        }
    }
}
