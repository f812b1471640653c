package import Contracts
internal import Values

/// Adjustments of the findings when the settle timeout (the longest wait for the backend) ended too
/// early.
extension Judge {
    /// Returns the findings without those that a later retry of the backend could resolve.
    ///
    /// When no other findings remain, the result is one inconclusive finding.
    static func withoutRetriedFindings(_ findings: [Finding], in evidence: CaseEvidence)
        -> [Finding]
    {
        guard let retryPause = evidence.subject.openRetryPause else {
            return findings.isEmpty
                ? unsettledFindings(evidence)
                : withoutUnprocessedFindings(findings, in: evidence).map {
                    addingWaitTime(of: $0, in: evidence)
                }
        }
        let findingsOfOpenRetry = findings.filter {
            $0.code == .effectMissing || $0.code == .wrongEffectCount && !$0.isFinal
        }
        guard findingsOfOpenRetry.count == findings.count else { return findings }
        let sufficientTimeout =
            evidence.profile.settleTimeout
            + max(retryPause * (RunRecord.retryPauseGrowthMax + 1), evidence.profile.settleTimeout)
        let suggestedTimeoutInSeconds = (sufficientTimeout.milliseconds + 999) / 1000
        return [
            Finding(
                .settleTimeoutExpired,
                expected: findingsOfOpenRetry.first?.expected ?? "the backend finishes its retries",
                actual: (findingsOfOpenRetry.first.map { $0.actual + "; " } ?? "")
                    + "the last attempt failed \(retryPause.milliseconds) ms after the previous one, "
                    + "and the settle timeout ended before the next attempt",
                remedy:
                    "Set 'settle-timeout: \(suggestedTimeoutInSeconds)s' in the profile, or make the backend "
                    + "retry faster in tests.",
                location: findingsOfOpenRetry.first?.location ?? evidence.plan.contract.location,
                evidence: findingsOfOpenRetry.first?.evidence ?? []
            )
        ]
    }
}

extension Judge {
    /// Returns the findings without those about missing outcomes if the backend processed no later
    /// event either.
    ///
    /// The events may still wait in a queue, so the outcomes may still come. One inconclusive
    /// finding replaces the removed ones, unless other failures remain.
    private static func withoutUnprocessedFindings(
        _ findings: [Finding],
        in evidence: CaseEvidence
    ) -> [Finding] {
        // After a fault, the missing effects may be the reason why nothing later has an effect.
        guard !evidence.plan.subject.hasFaults, !evidence.plan.subject.mayBlockBackend else {
            return findings
        }
        let isSubjectUnprocessed =
            evidence.subject.unsuccessfulWaitTime != nil && evidence.lacksLaterEvent
        let isBaselineUnprocessed = evidence.isBaselineUnprocessed
        let doubtful = findings.filter {
            isSubjectUnprocessed && !$0.code.isInconclusive && mayResolveWithLongerWait([$0])
                || isBaselineUnprocessed && $0.mayComeFromLateEffects
        }
        guard let first = doubtful.first else { return findings }
        let others = findings.filter { !doubtful.contains($0) }
        guard others.allSatisfy(\.code.isInconclusive) else { return others }
        return others + [
            settleTimeoutFinding(
                first,
                because: "a later purchase had no effect either when the settle timeout ended",
                evidence
            )
        ]
    }

    /// Returns the findings of a case if other runs show that its effects may come later.
    ///
    /// One inconclusive finding replaces all failures, which late effects may have caused.
    ///
    /// - Parameters:
    ///   - findings: The findings, whose failures may come from late effects.
    ///   - settleTimeout: The settle timeout of the profile.
    ///   - reason: The observation in the other runs, as a clause.
    /// - Returns: The findings with the replaced failures.
    package static func withoutLateFindings(
        _ findings: [Finding],
        after settleTimeout: Duration,
        because reason: String
    ) -> [Finding] {
        guard mayComeFromLateEffects(findings),
            let first = findings.first(where: { !$0.code.isInconclusive })
        else { return findings }
        return findings.filter(\.code.isInconclusive) + [
            Finding(
                .settleTimeoutExpired,
                expected: first.expected,
                actual: "\(first.actual); \(reason)",
                remedy: "If only these events take effect so late, correct how the backend handles "
                    + "them. Otherwise set 'settle-timeout: "
                    + "\(max(settleTimeout.milliseconds * 3 / 1000, 1))s' in the profile.",
                location: first.location,
                evidence: first.evidence
            )
        ]
    }

    private static func settleTimeoutFinding(
        _ finding: Finding,
        because reason: String,
        _ evidence: CaseEvidence
    ) -> Finding {
        Finding(
            .settleTimeoutExpired,
            expected: finding.expected,
            actual: "\(finding.actual); \(reason)",
            remedy: settleTimeoutRemedy(evidence),
            location: finding.location ?? evidence.plan.contract.location,
            evidence: finding.evidence
        )
    }

    private static func settleTimeoutRemedy(_ evidence: CaseEvidence) -> String {
        let suggestedTimeoutInSeconds = (evidence.profile.settleTimeout * 2).milliseconds / 1000
        return "Set 'settle-timeout: \(suggestedTimeoutInSeconds)s' in the profile; a longer "
            + "timeout does not help when the steps of this case block the backend."
    }

    /// Adds the length of the wait to a finding about a missing push, which a slow backend may
    /// still send.
    private static func addingWaitTime(of finding: Finding, in evidence: CaseEvidence) -> Finding {
        guard let unsuccessfulWaitTime = evidence.subject.unsuccessfulWaitTime,
            finding.code == .effectMissing
                || finding.code == .wrongEffectCount && !finding.isFinal
        else { return finding }
        let suggestedTimeoutInSeconds =
            (max(unsuccessfulWaitTime, evidence.profile.settleTimeout) * 3).milliseconds / 1000
        var findingWithWaitTime = Finding(
            finding.code,
            expected: finding.expected,
            actual: "\(finding.actual), after waiting for \(unsuccessfulWaitTime.milliseconds) ms",
            remedy: finding.remedy + " If the backend retries later, set 'settle-timeout: "
                + "\(suggestedTimeoutInSeconds)s' in the profile.",
            location: finding.location,
            evidence: finding.evidence,
            isFinal: finding.isFinal
        )
        findingWithWaitTime.nearMiss = finding.nearMiss
        return findingWithWaitTime
    }

    /// Reports that a purchase sent after the steps had no visible effect, although purchases of
    /// other cases have one.
    ///
    /// The events of the steps, which were sent before that purchase, may not have been processed
    /// either.
    private static func unsettledFindings(_ evidence: CaseEvidence) -> [Finding] {
        guard evidence.lacksLaterEvent else { return [] }
        return [
            Finding(
                .settleTimeoutExpired,
                expected: "a purchase that is sent after the steps takes effect",
                actual: "the purchase had no effect when the settle timeout ended",
                remedy: settleTimeoutRemedy(evidence),
                location: evidence.plan.contract.location
            )
        ]
    }
}

extension CaseEvidence {
    /// Whether a purchase that was sent after the steps had no visible effect, although purchases
    /// of other cases have one.
    fileprivate var lacksLaterEvent: Bool {
        lacksLaterEvent(subject)
    }

    /// Whether this is true of a baseline run, so that its effects may be missing.
    fileprivate var isBaselineUnprocessed: Bool { baselines.contains(where: lacksLaterEvent) }

    /// Whether a purchase after the steps had no visible effect, in the judged run or in a baseline
    /// run.
    package var mayBeUnprocessed: Bool { lacksLaterEvent || isBaselineUnprocessed }

    private func lacksLaterEvent(_ record: RunRecord) -> Bool {
        guard case .window = record.settleEvidence else { return false }
        return record.plan.extraObservationTime == nil && !observability.showsNoPurchase
    }
}

extension RunRecord {
    /// The maximum factor by which a pause between retries is assumed to exceed the previous pause.
    fileprivate static let retryPauseGrowthMax: Int64 = 5

    /// The pause before the last failed attempt of a call that the backend may retry again; nil
    /// when no retry is expected.
    ///
    /// No retry is expected when the last call did not fail, or when no earlier call with the same
    /// method and path failed. The same is true when the time since the last attempt exceeds five
    /// times the pause. Pauses usually double, and hardly any backend lengthens a pause by a factor
    /// of five.
    package var pauseOfFailedRetry: Duration? {
        let calls = exchanges.filter { $0.from == .backend && $0.request.method != "GET" }
        guard let last = calls.last, last.hasFailed else { return nil }
        let previousAttempt = calls.dropLast().last {
            $0.to == last.to && $0.request.method == last.request.method
                && $0.request.target == last.request.target && $0.hasFailed
        }
        guard let previousAttempt, let lastSeenTime = exchanges.last?.invoked else { return nil }
        let retryPause = last.invoked - previousAttempt.invoked
        return lastSeenTime - last.invoked > retryPause * Self.retryPauseGrowthMax
            ? nil : .microseconds(retryPause)
    }
}

extension Exchange {
    /// Whether the exchange failed, so that the caller has a reason to retry.
    fileprivate var hasFailed: Bool {
        guard case .answered(let response) = outcome else { return true }
        return response.status >= 500 || response.status == 429
    }
}
