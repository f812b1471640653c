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
        // First: whoever has ended is gone as well.
        if let exit = evidence.subject.backendExit {
            let finding = Finding(
                .backendExited,
                expected: "the backend keeps running",
                actual: exit,
                location: evidence.plan.contract.location
            )
            return (.failed, [finding])
        }
        if let trouble = trouble(in: evidence) {
            let unanswered = unanswered(in: evidence)
            return unanswered.isEmpty ? (.inconclusive, [trouble]) : (.failed, unanswered)
        }
        let found = rules.flatMap { $0.findings(in: evidence) }
        let findings = heedingRetries(heedingStarvation(found, in: evidence), in: evidence)
        // A limiter was judged, and not what stands behind it.
        if let throttle = findings.first(where: { $0.code == .throttled }) {
            return (.inconclusive, [throttle])
        }
        let failures = findings.filter { !$0.code.isInconclusive }
        if !failures.isEmpty { return (.failed, failures) }
        return findings.isEmpty ? (.passed, []) : (.inconclusive, findings)
    }

    /// What the case itself was left without an answer to, where its twin found nobody who answers.
    ///
    /// A twin that could not be made decides nothing; but this needs no twin, and may well be why
    /// there is none: a backend that has wedged in the case.
    private static func unanswered(in evidence: CaseEvidence) -> [Finding] {
        let isOfTwinAlone = evidence.subject.trouble == nil
        let couldNotBegin = evidence.twins.contains { twin in
            if case .registrationFailed? = twin.trouble { true } else { false }
        }
        guard isOfTwinAlone, couldNotBegin else { return [] }
        return heedingStarvation(AnswerRule.findings(in: evidence), in: evidence)
            .filter { [.noAnswer, .answerLate].contains($0.code) }
    }

    private static func trouble(in evidence: CaseEvidence) -> Finding? {
        let runs =
            [("the case", evidence.subject)] + evidence.twins.map { ("its twin", $0) }
        return runs.lazy.compactMap { name, record in
            record.trouble.map { finding(for: $0, in: name) }
        }.first
    }

    /// What a run's trouble is called, which says nothing about the backend.
    private static func finding(for trouble: RunRecord.Trouble, in run: String) -> Finding {
        let (code, expected, actual): (FindingCode, String, String) =
            switch trouble {
            case .registrationFailed(let user, let text):
                (.setupFailed, "user '\(user)' is created before \(run)", text)
            case .backendGone(let text): (.backendGone, "the backend answers", text)
            case .journalGap:
                (
                    .journalGap, "every exchange of \(run) is in the journal",
                    "the journal was full and forgot the oldest entries"
                )
            case .restartFailed(let text):
                (.setupFailed, "the backend comes back after a restart", text)
            case .probeFailed(let text): (.setupFailed, "the probes answer", text)
            case .pageUnusable(let text): (.setupFailed, "the page loads and reacts", text)
            case .disturbanceMissed(let text):
                (.disturbanceMissed, "something to disturb in \(run)", text)
            case .actFailed(let text):
                (.disturbanceMissed, "every act in \(run) ends as it has to", text)
            case .overTooSoon(let text):
                (.disturbanceMissed, "an event is answered before what it tells of is over", text)
            }
        let remedy: String? =
            switch trouble {
            case .pageUnusable:
                "Open the page by hand; its URL is given by --url or 'app: url:'."
            case .actFailed:
                "Look at the last call in the timeline: whoever answered it says why."
            case .registrationFailed, .backendGone, .journalGap, .restartFailed, .probeFailed,
                .disturbanceMissed, .overTooSoon:
                nil
            }
        return Finding(code, expected: expected, actual: actual, remedy: remedy)
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
                    .effectExtra, .effectDiffers, .userUnwanted, .unsteady, .noOverlap, .journalGap,
                    .allVolatile, .throttled, .backendGone, .twinFailed, .setupFailed, .notRun,
                    .unobservable, .callRefused, .sameText, .wrongAddress, .tooManyAttempts,
                    .tooEarly,
                    .wrongID, .tellingAnswer, .wrongWinners, .secretShown, .tooManyFetches,
                    .answerDiffers, .expired, .commandUnwanted, .unusableID, .paywallTooEarly,
                    .paywallRepeated, .registrationRepeated, .registrationIncomplete, .badCommand,
                    .wrongOrder, .guessableID, .openSecret, .pageBroken, .machineBusy,
                    .patienceOver:
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
                [.effectMissing, .effectExtra, .unsteady].contains($0.code)
                    || $0.code == .effectCount && $0.isFinal
            }
    }

    /// Whether a finding rests on the belief that a place is steady.
    package static func dependsOnVolatility(_ findings: [Finding]) -> Bool {
        findings.contains { $0.code == .stateDiffers || $0.code == .effectDiffers }
    }
}
