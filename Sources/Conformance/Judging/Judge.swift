/// Judges one case by every rule.
package enum Judge {
    package static var rules: [any Rule.Type] {
        [
            AnswerRule.self, CallRule.self, OverlapRule.self, EffectRule.self, PushRule.self,
            RelationRule.self, StateRule.self, SecretRule.self, DisturbanceRule.self,
            GoldenRule.self, ClientRule.self, ForgetRule.self,
        ]
    }

    /// The verdict before the known-failing list is looked at.
    ///
    /// Findings against the backend win over doubts: a case that failed one expectation has
    /// failed, even when another could not be observed.
    package static func judge(_ evidence: CaseEvidence) -> (verdict: Verdict, findings: [Finding]) {
        if let trouble = trouble(in: evidence) { return (.inconclusive, [trouble]) }
        if let exit = evidence.subject.backendExit {
            let finding = Finding(
                .backendExited,
                expected: "the backend keeps running",
                actual: exit,
                location: evidence.plan.contract.location
            )
            return (.failed, [finding])
        }
        let findings = heedingStarvation(rules.flatMap { $0.findings(in: evidence) }, in: evidence)
        let failures = findings.filter { !$0.code.isInconclusive }
        if !failures.isEmpty { return (.failed, failures) }
        return findings.isEmpty ? (.passed, []) : (.inconclusive, findings)
    }

    private static func trouble(in evidence: CaseEvidence) -> Finding? {
        for (name, record) in [("the case", evidence.subject)]
            + evidence.twins.map({ ("its twin", $0) })
        {
            switch record.trouble {
            case nil: break
            case .registrationFailed(let user, let text):
                return Finding(
                    .setupFailed,
                    expected: "user '\(user)' is created before \(name)",
                    actual: text
                )
            case .backendGone(let text):
                return Finding(.backendGone, expected: "the backend answers", actual: text)
            case .journalGap:
                return Finding(
                    .journalGap,
                    expected: "every exchange of \(name) is in the journal",
                    actual: "the journal was full and forgot the oldest entries"
                )
            case .restartFailed(let text):
                return Finding(
                    .setupFailed,
                    expected: "the backend comes back after a restart",
                    actual: text
                )
            case .probeFailed(let text):
                return Finding(.setupFailed, expected: "the probes answer", actual: text)
            case .pageUnusable(let text):
                return Finding(
                    .setupFailed,
                    expected: "the page loads and reacts",
                    actual: text,
                    remedy: "Open the page by hand; its URL is given by --url or 'app: url:'."
                )
            case .disturbanceMissed(let text):
                return Finding(
                    .disturbanceMissed,
                    expected: "something to disturb in \(name)",
                    actual: text
                )
            }
        }
        return nil
    }
}

extension Judge {
    /// Whether time alone could turn these findings into none: something is missing that may
    /// still come, and nothing is there that cannot go away.
    package static func mayImprove(_ findings: [Finding]) -> Bool {
        !findings.isEmpty
            && findings.allSatisfy { finding in
                if finding.isFinal { return false }
                return switch finding.code {
                case .effectMissing, .effectCount, .stateDiffers, .stateValue, .userMissing,
                    .keyChanged, .effectContent, .commandMissing, .identitySplit, .registrationLost,
                    .startTooSlow, .wrongPerson, .screenDiffers, .personalDataKept,
                    // The backend may not have written it yet.
                    .readingAbsent:
                    true
                case .answerStatus, .intruderAccepted, .noAnswer, .answerLate, .backendExited,
                    .effectExtra, .effectDiffers, .userUnwanted, .noOverlap, .journalGap,
                    .allVolatile, .throttled, .backendGone, .twinFailed, .setupFailed, .notRun,
                    .unobservable, .callRefused, .sameText, .wrongAddress, .tooManyAttempts,
                    .tooEarly,
                    .wrongID, .tellingAnswer, .wrongWinners, .secretShown, .tooManyFetches,
                    .answerDiffers, .expired, .commandUnwanted, .unusableID, .paywallTooEarly,
                    .paywallRepeated, .registrationRepeated, .registrationIncomplete, .badCommand,
                    .wrongOrder, .guessableID, .openSecret, .pageBroken, .machineBusy:
                    false
                // The call may still come.
                case .disturbanceMissed: true
                }
            }
    }

    /// Whether a finding rests on what a twin showed, or did not show.
    package static func dependsOnTwin(_ findings: [Finding]) -> Bool {
        dependsOnVolatility(findings)
            || findings.contains {
                [.effectMissing, .effectExtra].contains($0.code)
                    || $0.code == .effectCount && $0.isFinal
            }
    }

    /// Whether a finding rests on the belief that a place is steady.
    package static func dependsOnVolatility(_ findings: [Finding]) -> Bool {
        findings.contains { $0.code == .stateDiffers || $0.code == .effectDiffers }
    }
}
