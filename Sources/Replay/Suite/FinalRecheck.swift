internal import Contracts
internal import FakeServers
internal import Judging
internal import Providers
internal import Values

/// The final recheck of all passed cases, because effects that come after the end of a case count
/// too.
///
/// A case ends when a later event has taken effect and the backend has been quiet for a short time.
/// A backend that works in parallel, or a busy machine, may still cause a second push. The journal
/// contains that push.
struct FinalRecheck {
    let executor: RunExecutor
    let calibration: Calibration
    let caseRunner: CaseRunner

    /// The shortest wait for late effects after the last case.
    ///
    /// The wait is ten times the backend's usual latency if that is longer.
    private static let lateEffectWaitMin: Duration = .milliseconds(50)

    /// Judges passed cases again if the backend has made further calls since they ended.
    ///
    /// - Parameters:
    ///   - results: The results of all cases, in which the results of changed cases are replaced.
    ///   - caseIDs: The IDs of the cases to recheck.
    func revise(_ results: inout [CaseResult?], among caseIDs: Set<String>) async {
        let passed = caseRunner.passed.filter { caseIDs.contains($0.caseID) }
        guard !passed.isEmpty else { return }
        let shortestWait = max(Self.lateEffectWaitMin, caseRunner.observability.latency * 10)
        await executor.settleTimeout(shortestWait).waitUntilOver()
        // If one effect was late, the last case may also have a late effect, so the wait is twice
        // the longest known delay.
        let longestWait = min(effectDelay(of: passed) * 2, executor.profile.settleTimeout)
        if longestWait > shortestWait {
            await executor.settleTimeout(longestWait - shortestWait).waitUntilOver()
        }
        let last = executor.fakes.journal.read { $0.lastBackendCallTimes() }
        for case let passedCase in passed
        where results.contains(where: { $0?.isPassed(passedCase) == true }) {
            guard var result = await revisedResult(passedCase, last),
                let index = results.firstIndex(where: { $0?.isPassed(passedCase) == true })
            else { continue }
            result.seconds = results[index]?.seconds ?? 0
            result.runCount = results[index]?.runCount
            results[index] = result
        }
    }

    /// Returns the longest time between the end of a case and a call of the backend that belongs to
    /// this case.
    private func effectDelay(of passed: [PassedCase]) -> Duration {
        let last = executor.fakes.journal.read { $0.lastBackendCallTimes() }
        let late = passed.flatMap { passedCase in
            ([passedCase.evidence.subject] + passedCase.evidence.baselines).map { record -> Int64 in
                (last[record.namespace.name] ?? -1) - record.lastKnownCallTime
            }
        }
        return .microseconds(max(0, late.max() ?? 0))
    }

    /// Returns a new result for a passed case if later calls of the backend change its verdict; nil
    /// otherwise.
    private func revisedResult(
        _ passedCase: PassedCase,
        _ last: [String: Int64]
    ) async -> CaseResult? {
        let records = [passedCase.evidence.subject] + passedCase.evidence.baselines
        let isLate = records.contains { record in
            last[record.namespace.name] ?? -1 > record.lastKnownCallTime
        }
        if isLate {
            let subject = await executor.refreshedRecord(passedCase.evidence.subject, probes: false)
            var baselines: [RunRecord] = []
            for baseline in passedCase.evidence.baselines {
                baselines.append(await executor.refreshedRecord(baseline, probes: false))
            }
            let judgment = CaseJudgment(
                passedCase.evidence.replacing(subject: subject, baselines: baselines)
            )
            if judgment.verdict != .passed { return resultAfterLateEffect(judgment) }
        }
        return resultAfterLatePush(passedCase.evidence)
    }

    /// Returns an inconclusive result if the calibration before the first case saw no push, but a
    /// push came later.
    ///
    /// The finding does not follow from the evidence of the case, so the result has no evidence that
    /// could be judged again.
    private func resultAfterLatePush(_ evidence: CaseEvidence) -> CaseResult? {
        guard !evidence.observability.arePushesObservable, let late = calibration.effectDelay(),
            evidence.expectation.dependsOnEffects
        else { return nil }
        let finding = Finding(
            .unobservable,
            expected: "the backend's pushes arrive while the case waits for them",
            actual: "a push came \(late.milliseconds) ms after its event; no case waits that long",
            location: evidence.plan.contract.location
        )
        return CaseResult(
            contract: evidence.plan.contract,
            verdict: .inconclusive,
            findings: [finding],
            note: finding.actual,
            overlap: ConcurrentRequestsRule.overlappingRequestCount(in: evidence.subject),
            volatilePaths: StateComparison(evidence).volatilePaths,
            settleEvidence: evidence.subject.settleEvidence,
            timeline: evidence.subject.exchanges.map(\.shortened),
            base: evidence.subject.base
        )
    }

    private func resultAfterLateEffect(_ judgment: CaseJudgment) -> CaseResult {
        var result = CaseResult(judgment)
        result.note = "an effect came after the case ended"
        if caseRunner.options.keepsEvidence { result.judgment = judgment }
        return result
    }
}

extension CaseResult {
    fileprivate func isPassed(_ passedCase: PassedCase) -> Bool {
        verdict == .passed && contract.caseID == passedCase.caseID
    }
}

extension RunRecord {
    /// The time of the backend's last call before the verdict, in microseconds; -1 if the backend
    /// made no call.
    fileprivate var lastKnownCallTime: Int64 {
        exchanges.last { $0.from == .backend }.map(\.lastActivityTime) ?? -1
    }
}

extension Exchange {
    fileprivate var lastActivityTime: Int64 { max(invoked, completed ?? invoked) }
}

extension Contracts.Expectation {
    fileprivate var dependsOnEffects: Bool {
        !effects.isEmpty || relation != nil && compared.contains(.effects)
    }
}
