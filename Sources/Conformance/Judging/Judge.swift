/// Applies every rule of judgment to the evidence of one case, and decides the verdict.
package enum Judge {
    package static var rules: [any Rule.Type] {
        [
            AnswerRule.self, CallRule.self, OverlapRule.self, EffectRule.self, PushRule.self,
            RelationRule.self, StateRule.self, SecretRule.self, DisturbanceRule.self,
            GoldenRule.self, ClientRule.self, ForgetRule.self,
        ]
    }

    /// Returns the verdict of a case and its findings, before the list of known failures is
    /// applied.
    ///
    /// A finding against the backend outweighs an inconclusive one: a case that failed one
    /// expectation has failed, even when another expectation could not be observed.
    package static func judge(_ evidence: CaseEvidence) -> (verdict: Verdict, findings: [Finding]) {
        // This check comes first, because a backend that exited is also unreachable.
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
        // A status of 429 comes from the backend's rate limiter and not from the code under test.
        if let throttle = findings.first(where: { $0.code == .throttled }) {
            return (.inconclusive, [throttle])
        }
        let failures = findings.filter { !$0.code.isInconclusive }
        if !failures.isEmpty { return (.failed, failures) }
        return findings.isEmpty ? (.passed, []) : (.inconclusive, findings)
    }

    /// Returns the findings about missing responses in a case whose baseline run (without faults)
    /// could not start.
    ///
    /// Without a baseline run, a case is usually inconclusive. These findings do not need one, and
    /// they may explain why it is missing: the case blocked the backend.
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
            [("the case", evidence.subject)] + evidence.twins.map { ("its baseline run", $0) }
        return runs.lazy.compactMap { name, record in
            record.trouble.map { finding(for: $0, in: name) }
        }.first
    }

    /// Returns the inconclusive finding for a problem of a run that prevents a verdict about the
    /// backend.
    private static func finding(for trouble: RunRecord.Trouble, in run: String) -> Finding {
        let (code, expected, actual): (FindingCode, String, String) =
            switch trouble {
            case .registrationFailed(let user, let text):
                (.setupFailed, "user '\(user)' is created before \(run)", text)
            case .backendGone(let text): (.backendGone, "the backend responds", text)
            case .journalGap:
                (
                    .journalGap, "every exchange of \(run) is in the journal",
                    "the journal was full and dropped its oldest entries"
                )
            case .restartFailed(let text):
                (.setupFailed, "the backend responds again after a restart", text)
            case .probeFailed(let text): (.setupFailed, "the probes respond", text)
            case .pageUnusable(let text): (.setupFailed, "the page loads and reacts to input", text)
            case .disturbanceMissed(let text):
                (.disturbanceMissed, "the planned fault of \(run) takes effect", text)
            case .actFailed(let text):
                (.disturbanceMissed, "every action in \(run) ends as planned", text)
            case .overTooSoon(let text):
                (
                    .disturbanceMissed,
                    "the response to an event comes before the event's period ends", text
                )
            }
        let remedy: String? =
            switch trouble {
            case .pageUnusable:
                "Open the page in a browser; its URL comes from --url or 'app: url:'."
            case .actFailed:
                "See the response to the last call in the timeline; it contains the reason."
            case .registrationFailed, .backendGone, .journalGap, .restartFailed, .probeFailed,
                .disturbanceMissed, .overTooSoon:
                nil
            }
        return Finding(code, expected: expected, actual: actual, remedy: remedy)
    }
}

extension Judge {
    /// Whether a longer wait might resolve all of these findings.
    ///
    /// It might when something is missing that may still arrive, and nothing unwanted exists.
    package static func mayImprove(_ findings: [Finding]) -> Bool {
        !findings.isEmpty
            && findings.allSatisfy { finding in
                if finding.isFinal { return false }
                return switch finding.code {
                case .effectMissing, .effectCount, .stateDiffers, .stateValue, .userMissing,
                    .keyChanged, .effectContent, .commandMissing, .identitySplit, .registrationLost,
                    .startTooSlow, .wrongPerson, .screenDiffers, .personalDataKept,
                    // The backend may not have written the missing field yet.
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
                // The backend may still make the call that should meet the fault.
                case .disturbanceMissed: true
                }
            }
    }

    /// Whether any of the findings depends on the results of a baseline run.
    package static func dependsOnTwin(_ findings: [Finding]) -> Bool {
        dependsOnVolatility(findings)
            || findings.contains {
                [.effectMissing, .effectExtra, .unsteady].contains($0.code)
                    || $0.code == .effectCount && $0.isFinal
            }
    }

    /// Whether any of the findings compares values that could also differ between two equal runs.
    package static func dependsOnVolatility(_ findings: [Finding]) -> Bool {
        findings.contains { $0.code == .stateDiffers || $0.code == .effectDiffers }
    }
}
