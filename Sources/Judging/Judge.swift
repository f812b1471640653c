package import Contracts

/// Applies every rule of judgment to the evidence of one case, and decides the verdict.
package enum Judge {
    package static var rules: [any Rule.Type] {
        [
            ResponseRule.self, CallRule.self, ConcurrentRequestsRule.self, EffectRule.self,
            PushRule.self,
            RelationRule.self, StateRule.self, SecretRule.self, PlannedFaultRule.self,
            GoldenRule.self, ClientRule.self, DeletedAccountRule.self, EffectSourceRule.self,
        ]
    }

    /// Returns the verdict of a case and its findings, before the list of known failures is
    /// applied.
    ///
    /// A finding against the backend outweighs an inconclusive one: a case that failed one
    /// expectation has failed, even when another expectation could not be observed. A case that had
    /// nothing to judge is not run, never passed.
    package static func judge(_ evidence: CaseEvidence) -> (verdict: Verdict, findings: [Finding]) {
        // This check comes first, because a backend that exited is also unreachable.
        if let exitReason = evidence.subject.backendExitReason {
            let finding = Finding(
                .backendExited,
                expected: "the backend keeps running",
                actual: exitReason,
                location: evidence.plan.contract.location
            )
            return (.failed, [finding])
        }
        if let runProblem = runProblem(in: evidence) {
            let missingResponseFindings = missingResponseFindings(in: evidence)
            return missingResponseFindings.isEmpty
                ? (.inconclusive, [runProblem]) : (.failed, missingResponseFindings)
        }
        let allFindings = findings(of: rules, in: evidence)
        let findings = withoutRetriedFindings(
            withoutStarvedFindings(allFindings, in: evidence),
            in: evidence
        )
        // A status of 429 comes from the backend's rate limiter and not from the code under test.
        if let throttledFinding = findings.first(where: { $0.code == .backendThrottled }) {
            return (.inconclusive, [throttledFinding])
        }
        let failures = findings.filter { !$0.code.isInconclusive }
        if !failures.isEmpty { return (.failed, failures) }
        if evidence.areAboutInvisibleUsers(findings) { return (.notRun, []) }
        if !findings.isEmpty { return (.inconclusive, findings) }
        return (evidence.inapplicableReason == nil ? .passed : .notRun, [])
    }

    /// Returns the findings of all rules, each once, for the messages of each effect source.
    private static func findings(
        of rules: [any Rule.Type],
        in evidence: CaseEvidence
    ) -> [Finding] {
        let views = evidence.viewsOfMessages
        var seenFindings: Set<Finding> = []
        return rules.flatMap { rule in views.flatMap { rule.findings(in: $0) } }
            .filter { views.count == 1 || seenFindings.insert($0).inserted }
    }

    /// Returns the findings about missing responses in a case whose baseline run (without faults)
    /// could not start.
    ///
    /// A case without a baseline run is usually inconclusive. Missing responses can be judged
    /// without a baseline run, and may explain its absence: the case blocked the backend.
    private static func missingResponseFindings(in evidence: CaseEvidence) -> [Finding] {
        let onlyBaselineHasProblem = evidence.subject.runProblem == nil
        let hasUnregisteredBaselineUser = evidence.baselines.contains { baseline in
            if case .registrationFailed? = baseline.runProblem { true } else { false }
        }
        guard onlyBaselineHasProblem, hasUnregisteredBaselineUser else { return [] }
        return withoutStarvedFindings(ResponseRule.findings(in: evidence), in: evidence)
            .filter { [.noResponse, .responseLate].contains($0.code) }
    }

    /// The expectation of the finding about a backend that does not start again.
    static let restartExpectation = "the backend responds again after a restart"

    private static func runProblem(in evidence: CaseEvidence) -> Finding? {
        let runs =
            [("the case", evidence.subject)] + evidence.baselines.map { ("its baseline run", $0) }
        return runs.lazy.compactMap { name, record in
            record.runProblem.map { finding(for: $0, in: name) }
        }.first
    }

    /// Returns the inconclusive finding for a problem of a run that prevents a verdict about the
    /// backend.
    ///
    /// - Parameters:
    ///   - runProblem: The problem of the run.
    ///   - run: The run in the words of the finding, such as "the case".
    /// - Returns: The finding.
    package static func finding(for runProblem: RunRecord.RunProblem, in run: String) -> Finding {
        let (code, expected, actual): (FindingCode, String, String) =
            switch runProblem {
            case .registrationFailed(let user, let text):
                (.setupFailed, "user '\(user)' is created before \(run)", text)
            case .backendGone(let text): (.backendGone, "the backend responds", text)
            case .journalGap:
                (
                    .journalGap, "every exchange of \(run) is in the journal",
                    "the journal was full and dropped its oldest entries"
                )
            case .restartFailed(let text):
                (.setupFailed, restartExpectation, text)
            case .probeFailed(let text): (.setupFailed, "the probes respond", text)
            case .pageUnusable(let text): (.setupFailed, "the page loads and reacts to input", text)
            case .faultNotApplied(let text):
                (.faultNotApplied, "the planned fault of \(run) takes effect", text)
            case .actionFailed(let text):
                (.faultNotApplied, "every action in \(run) ends as planned", text)
            case .periodEndedTooEarly(let text):
                (
                    .faultNotApplied,
                    "the response to an event comes before the event's period ends", text
                )
            }
        let remedy: String? =
            switch runProblem {
            case .pageUnusable:
                "Open the page in a browser; its URL comes from --url or 'app: url:'."
            case .actionFailed:
                "See the response to the last call in the timeline; it contains the reason."
            case .registrationFailed, .backendGone, .journalGap, .restartFailed, .probeFailed,
                .faultNotApplied, .periodEndedTooEarly:
                nil
            }
        return Finding(code, expected: expected, actual: actual, remedy: remedy)
    }
}

extension Judge {
    /// Whether a longer wait might resolve all of these findings.
    ///
    /// A longer wait might help when only missing results are reported, which may still arrive, and
    /// no unwanted results.
    package static func mayResolveWithLongerWait(_ findings: [Finding]) -> Bool {
        !findings.isEmpty
            && findings.allSatisfy { finding in
                if finding.isFinal { return false }
                return switch finding.code {
                case .effectMissing, .wrongEffectCount, .stateDiffers, .wrongStateValue,
                    .userMissing,
                    .idempotencyKeyChanged, .effectContentDiffers, .effectHeldUp, .commandMissing,
                    .identitySplit,
                    .registrationLost,
                    .startTooSlow, .wrongUser, .screenDiffers, .personalDataKept,
                    // The backend may not have written the missing field yet.
                    .mappedPathAbsent:
                    true
                case .responseStatus, .unauthenticatedAccepted, .noResponse, .responseLate,
                    .backendExited,
                    .unexpectedEffect, .effectDiffers, .unexpectedUser, .unstableState,
                    .requestsNotConcurrent,
                    .journalGap,
                    .allValuesVolatile, .backendThrottled, .backendGone, .baselineFailed,
                    .setupFailed,
                    .notRun,
                    .unobservable, .providerCallRefused, .identicalMessages, .wrongRecipient,
                    .tooManyAttempts,
                    .retriedTooEarly,
                    .wrongID, .revealingResponse, .wrongRaceOutcome, .secretExposed,
                    .tooManyFetches,
                    .responseDiffers, .contractExpired, .unexpectedCommand, .unusableID,
                    .paywallTooEarly,
                    .paywallRepeated, .registrationRepeated, .registrationIncomplete,
                    .malformedCommand,
                    .wrongOrder, .guessableID, .unprotectedSecret, .pageBroken,
                    .commandSwallowed, .appliedButRefused, .webhookThrottled, .machineBusy,
                    .settleTimeoutExpired:
                    false
                // The backend may still make the provider call for which the fault is planned.
                case .faultNotApplied: true
                }
            }
    }

    /// Whether any of the findings depends on the results of a baseline run.
    package static func dependsOnBaseline(_ findings: [Finding]) -> Bool {
        dependsOnVolatility(findings)
            || findings.contains {
                [.effectMissing, .unexpectedEffect, .unstableState].contains($0.code)
                    || $0.code == .wrongEffectCount && $0.isFinal
            }
    }

    /// Whether any of the findings compares values that could also differ between two equal runs.
    package static func dependsOnVolatility(_ findings: [Finding]) -> Bool {
        findings.contains { $0.code == .stateDiffers || $0.code == .effectDiffers }
    }
}
