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
                : findings.map { addingWaitTime(of: $0, in: evidence) }
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
        guard case .window = evidence.subject.settleEvidence,
            evidence.plan.subject.extraObservationTime == nil,
            !evidence.observability.showsNoPurchase
        else { return [] }
        let suggestedTimeoutInSeconds = (evidence.profile.settleTimeout * 2).milliseconds / 1000
        return [
            Finding(
                .settleTimeoutExpired,
                expected: "a purchase that is sent after the steps takes effect",
                actual: "the purchase had no effect when the settle timeout ended",
                remedy:
                    "Set 'settle-timeout: \(suggestedTimeoutInSeconds)s' in the profile; a longer timeout does not "
                    + "help when the steps of this case block the backend.",
                location: evidence.plan.contract.location
            )
        ]
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
