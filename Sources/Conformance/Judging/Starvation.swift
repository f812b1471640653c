/// Whether a verdict may rest on the time that passed while the machine was busy.
extension Judge {
    /// The findings, without those that a deadline decided while Assay itself was held up; what is
    /// left out is told as a doubt about the machine.
    static func heedingStarvation(_ findings: [Finding], in evidence: CaseEvidence) -> [Finding] {
        let mine = evidence.subject.starvation
        let twins = evidence.twins.compactMap(\.starvation)
        let theirs = twins.first(where: \.heldUpTheWait) ?? twins.first
        guard
            let starvation = [mine, theirs].compactMap({ $0 }).max(by: { $0.longest < $1.longest })
        else { return findings }
        let doubtful = findings.filter { finding in
            let isOfTwin = finding.code.comparesWithTwin
            return switch basis(of: finding) {
            case .evidence: false
            case .deadline: mine != nil || theirs != nil && isOfTwin
            case .wait: mine?.heldUpTheWait == true || theirs?.heldUpTheWait == true && isOfTwin
            case .twin: theirs?.heldUpTheWait == true
            }
        }
        guard let first = doubtful.first else { return findings }
        let doubt = Finding(
            .machineBusy,
            expected: first.expected,
            actual: "\(first.actual), while Assay itself was held up: \(starvation)",
            location: first.location,
            evidence: first.evidence
        )
        return findings.filter { !doubtful.contains($0) } + [doubt]
    }

    /// What a finding would not exist without.
    private enum Basis {
        case evidence
        /// Something was late by a clock that ran from the first step on.
        case deadline
        /// Something was missing when the wait after the last step was over.
        case wait
        /// The same, in a twin.
        case twin
    }

    /// What is there is there, however late Assay looked; what is missing was waited for, and what
    /// a twin lacks was waited for there.
    private static func basis(of finding: Finding) -> Basis {
        if finding.code.isInconclusive { return .evidence }
        switch finding.code {
        case .effectExtra, .unsteady: return .twin
        case .effectDiffers, .answerLate, .noAnswer: return .deadline
        case .effectMissing, .effectCount, .effectContent, .stateDiffers, .stateValue, .userMissing,
            .keyChanged, .identitySplit, .personalDataKept,
            // What an app is to do is waited for with time that counted.
            .commandMissing, .registrationLost, .wrongPerson, .screenDiffers:
            return mayImprove([finding]) ? .wait : .evidence
        default: return mayImprove([finding]) ? .deadline : .evidence
        }
    }
}

extension FindingCode {
    fileprivate var comparesWithTwin: Bool {
        switch self {
        case .effectMissing, .effectExtra, .effectDiffers, .stateDiffers: true
        default: false
        }
    }
}
