internal import Contracts
internal import Judging
internal import Values

/// Checks after all cases whether effects that cases lacked have come.
extension CaseRunner {
    /// Returns the IDs of cases that would get another verdict now, because an effect came
    /// that they lacked.
    ///
    /// A wait may have been shortened, because another case had waited for the same effect in vain.
    /// After a full wait, an effect that came nevertheless is late, and not missing.
    func casesWithChangedVerdict() async -> Set<String> {
        let missed = memory.withLock { $0.takeMissedEffects() }
        executor.sharedSettleTimeout.disableShortening()
        // One wait is enough for all these cases: after it, each has had its full time.
        if let latestFullWaitEnd = missed.values.map(\.fullWaitEnd).max() {
            let remainingWait = latestFullWaitEnd - executor.heartbeat.usableTime
            if remainingWait > .zero { await executor.settleTimeout(remainingWait).waitUntilOver() }
        }
        var changedCaseIDs: Set<String> = []
        for (caseID, missedEffect) in missed.sorted(by: { $0.key < $1.key }) {
            if Task.isCancelled { break }
            let earlierJudgment = missedEffect.judgment
            var subject = await executor.refreshedRecord(
                earlierJudgment.evidence.subject,
                probes: true
            )
            if subject.openRetryPause != nil { subject.openRetryPause = subject.pauseOfFailedRetry }
            let currentJudgment = earlierJudgment.replacing(subject: subject)
            if !currentJudgment.hasSameOutcome(as: earlierJudgment) {
                if missedEffect.isWaitShortened {
                    changedCaseIDs.insert(caseID)
                } else {
                    memory.withLock { _ = $0.caseIDsWithLateEffects.insert(caseID) }
                    // After a fault, the backend's own timers decide when it tries again.
                    if !earlierJudgment.evidence.plan.subject.hasFaults {
                        executor.sharedSettleTimeout.recordLateEffect()
                    }
                }
            }
        }
        return changedCaseIDs
    }

    /// Makes failed cases inconclusive whose failures may come from effects after the settle
    /// timeout.
    ///
    /// If such effects came in a run without faults, the timeout is too short for every case.
    func reviseLateEffects(_ results: inout [CaseResult?], among caseIDs: Set<String>) {
        let lateCaseIDs = memory.withLock { $0.caseIDsWithLateEffects }
        let isTimeoutTooShort = executor.sharedSettleTimeout.hasSeenLateEffect
        for index in results.indices {
            guard var result = results[index], result.verdict == .failed,
                caseIDs.contains(result.contract.caseID),
                isTimeoutTooShort || lateCaseIDs.contains(result.contract.caseID),
                Judge.mayComeFromLateEffects(result.findings)
            else { continue }
            result.verdict = .inconclusive
            result.findings = Judge.withoutLateFindings(
                result.findings,
                after: executor.profile.settleTimeout
            )
            result.note = result.findings.last?.actual
            // The finding does not follow from the evidence of the case.
            result.judgment = nil
            results[index] = result
        }
    }
}
