internal import Contracts
internal import Judging
internal import Values

/// Checks after all cases whether effects that cases lacked have come.
extension CaseRunner {
    /// Returns the IDs of cases that would get another verdict now, because an effect came
    /// that they lacked.
    ///
    /// Most waits are shorter than the settle timeout. One wait gives all these cases the rest of
    /// their time. After a full wait, an effect that came nevertheless is late, and not missing.
    ///
    /// - Parameter isAfterReruns: Whether the changed cases have run again. Their effects then get
    ///   more time, to find out whether they are late or missing.
    /// - Returns: The IDs of the cases to run again.
    func casesWithChangedVerdict(isAfterReruns: Bool) async -> Set<String> {
        let missed = memory.withLock { $0.takeMissedEffects() }
        executor.sharedSettleTimeout.disableShortening()
        if let latestFullWaitEnd = missed.values.map(\.fullWaitEnd).max() {
            let remainingWait =
                latestFullWaitEnd + (isAfterReruns ? executor.profile.settleTimeout : .zero)
                - executor.heartbeat.usableTime
            if remainingWait > .zero { await executor.settleTimeout(remainingWait).waitUntilOver() }
        }
        var changedCaseIDs: Set<String> = []
        for (caseID, missedEffect) in missed.sorted(by: { $0.key < $1.key }) {
            if Task.isCancelled { break }
            let earlierJudgment = missedEffect.judgment
            let currentJudgment = await refreshedJudgment(missedEffect)
            if currentJudgment.evidence.mayBeUnprocessed {
                memory.withLock { _ = $0.unprocessedCaseIDs.insert(caseID) }
            }
            // A case that fails with other findings fails nevertheless.
            guard currentJudgment.verdict != earlierJudgment.verdict else {
                if missedEffect.isWaitShortened, currentJudgment.hasSameOutcome(as: earlierJudgment)
                {
                    memory.withLock { $0.judgmentsAfterFullWait[caseID] = currentJudgment }
                }
                continue
            }
            if missedEffect.isWaitShortened, earlierJudgment.verdict == .inconclusive,
                currentJudgment.verdict == .failed,
                memory.withLock({ $0.caseIDsRunAlone.contains(caseID) })
            {
                // The effect is still missing after a full wait, and no other case ran meanwhile.
                memory.withLock { $0.judgmentsAfterFullWait[caseID] = currentJudgment }
            } else if missedEffect.isWaitShortened {
                changedCaseIDs.insert(caseID)
                if currentJudgment.verdict == .passed,
                    !earlierJudgment.evidence.plan.subject.hasFaults
                {
                    memory.withLock { _ = $0.caseIDsWithSlowEffects.insert(caseID) }
                }
            } else if currentJudgment.verdict == .passed {
                memory.withLock { _ = $0.caseIDsWithLateEffects.insert(caseID) }
                // After a fault, the backend's own timers decide when it tries again.
                if !earlierJudgment.evidence.plan.subject.hasFaults {
                    executor.sharedSettleTimeout.recordLateOutcomes(
                        Judge.outcomeKinds(of: earlierJudgment.findings)
                    )
                }
            }
        }
        return changedCaseIDs
    }

    /// Returns a judgment of everything that the runs of a case have caused by now.
    private func refreshedJudgment(_ missedEffect: MissedEffectJudgment) async -> CaseJudgment {
        let judgment = missedEffect.judgment
        // After a restart, the state of an earlier process may be lost.
        let isSameProcess =
            missedEffect.processNumber == executor.backend.processNumber
            && !judgment.evidence.plan.subject.hasRestart
        var subject = await executor.refreshedRecord(
            judgment.evidence.subject,
            probes: !judgment.evidence.plan.subject.changesBackendConditions
        )
        if subject.openRetryPause != nil { subject.openRetryPause = subject.pauseOfFailedRetry }
        if missedEffect.isWaitShortened, subject.unsuccessfulWaitTime != nil {
            subject.unsuccessfulWaitTime =
                executor.profile.settleTimeout
                + max(.zero, executor.heartbeat.usableTime - missedEffect.fullWaitEnd)
        }
        var baselines: [RunRecord] = []
        for baseline in judgment.evidence.baselines {
            baselines.append(await executor.refreshedRecord(baseline, probes: isSameProcess))
        }
        return judgment.replacing(subject: subject).replacing(baselines: baselines)
    }

    /// Replaces the results of cases that lack an effect, so that their findings state the whole
    /// time of the wait.
    ///
    /// A case ends after a short wait. The wait after all cases is a part of its wait too.
    private func reportFullWaits(_ results: inout [CaseResult?], among caseIDs: Set<String>) {
        let judgments = memory.withLock { $0.judgmentsAfterFullWait }
        for index in results.indices {
            guard var result = results[index],
                result.verdict == .failed || result.verdict == .inconclusive,
                caseIDs.contains(result.contract.caseID),
                let judgment = judgments[result.contract.caseID]
            else { continue }
            if result.verdict != judgment.verdict { result.note = nil }
            result.verdict = judgment.verdict
            result.findings = judgment.findings
            result.timeline = CaseResult(judgment).timeline
            if result.judgment != nil { result.judgment = judgment }
            results[index] = result
        }
    }

    /// Marks the cases that passed only because their wait was repeated and longer.
    private func markSlowEffects(_ results: inout [CaseResult?], among caseIDs: Set<String>) {
        let slowCaseIDs = memory.withLock { $0.caseIDsWithSlowEffects }.intersection(caseIDs)
        for index in results.indices {
            guard let result = results[index], result.verdict == .passed,
                slowCaseIDs.contains(result.contract.caseID)
            else { continue }
            results[index]?.neededLongWait = true
        }
    }

    /// Makes failed cases inconclusive whose failures may come from effects after the settle
    /// timeout.
    ///
    /// If such effects came in a run without faults, the timeout is too short for every case that
    /// lacks an effect of the same kind. If the queue of the backend does not move, one result
    /// reports that, and not every case.
    func reviseLateEffects(_ results: inout [CaseResult?], among caseIDs: Set<String>) {
        let (lateCaseIDs, unprocessedCaseIDs) = memory.withLock {
            ($0.caseIDsWithLateEffects, $0.unprocessedCaseIDs)
        }
        let lateOutcomes = executor.sharedSettleTimeout.lateOutcomes
        let isQueueBlocked = executor.unprocessedPurchases.counts.isQueueBlocked
        let settleTimeout = executor.profile.settleTimeout
        reportFullWaits(&results, among: caseIDs)
        markSlowEffects(&results, among: caseIDs)
        for index in results.indices {
            guard var result = results[index], result.verdict == .failed,
                caseIDs.contains(result.contract.caseID),
                Judge.mayComeFromLateEffects(result.findings)
            else { continue }
            let caseID = result.contract.caseID
            let isLate =
                lateCaseIDs.contains(caseID)
                || !lateOutcomes.isDisjoint(with: Judge.outcomeKinds(of: result.findings))
            guard isLate || isQueueBlocked && unprocessedCaseIDs.contains(caseID) else { continue }
            result.verdict = .inconclusive
            result.findings = Judge.withoutLateFindings(
                result.findings,
                after: settleTimeout,
                because: isLate
                    ? "effects of this backend came after the settle timeout of "
                        + "\(settleTimeout.milliseconds) ms"
                    : "a later purchase had no effect either, and the queue of the backend does "
                        + "not move"
            )
            result.note = result.findings.last?.actual
            // The finding does not follow from the evidence of the case.
            result.judgment = nil
            results[index] = result
        }
    }
}
