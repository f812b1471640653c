internal import Conformance
internal import FakeServers

/// The final recheck of all passed cases, because effects that come after the end of a case count
/// too.
///
/// A case ends when a later event has taken effect and the backend has been quiet for a short time.
/// A backend that works in parallel, or a busy machine, may still cause a second push. The journal
/// contains that push.
struct FinalRecheck {
    let executor: RunExecutor
    let calibration: Calibration
    let cases: CaseRunner

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
        let passed = cases.passed.filter { caseIDs.contains($0.caseID) }
        guard !passed.isEmpty else { return }
        let least = max(Self.lateEffectWaitMin, cases.sight.latency * 10)
        await executor.settleTimeout(least).waitUntilOver()
        // If one effect was late, an effect of the last case may be equally late.
        let slowest = min(lateness(of: passed) * 2, executor.profile.settleTimeout)
        if slowest > least { await executor.settleTimeout(slowest - least).waitUntilOver() }
        let last = executor.world.journal.read { $0.lastBackendCalls() }
        for case let item in passed where results.contains(where: { $0?.isPassed(item) == true }) {
            guard var result = await revisedResult(item, last),
                let index = results.firstIndex(where: { $0?.isPassed(item) == true })
            else { continue }
            result.seconds = results[index]?.seconds ?? 0
            result.runCount = results[index]?.runCount
            results[index] = result
        }
    }

    /// Returns the longest time between the end of a case and a call of the backend that belongs to
    /// this case.
    private func lateness(of passed: [CaseRunner.PassedCase]) -> Duration {
        let last = executor.world.journal.read { $0.lastBackendCalls() }
        let late = passed.flatMap { item in
            ([item.evidence.subject] + item.evidence.baselines).map { record -> Int64 in
                (last[record.namespace.name] ?? -1) - record.lastKnownCall
            }
        }
        return .microseconds(max(0, late.max() ?? 0))
    }

    /// Returns a new result for a passed case if later calls of the backend change its verdict; nil
    /// otherwise.
    private func revisedResult(
        _ item: CaseRunner.PassedCase,
        _ last: [String: Int64]
    ) async -> CaseResult? {
        let records = [item.evidence.subject] + item.evidence.baselines
        let isLate = records.contains { record in
            last[record.namespace.name] ?? -1 > record.lastKnownCall
        }
        if isLate {
            let subject = await executor.refreshedRecord(item.evidence.subject, probes: false)
            var baselines: [RunRecord] = []
            for baseline in item.evidence.baselines {
                baselines.append(await executor.refreshedRecord(baseline, probes: false))
            }
            let evidence = item.evidence.replacing(subject: subject, baselines: baselines)
            let (verdict, findings) = Judge.judge(evidence)
            if verdict != .passed {
                return result(evidence, verdict, findings, "an effect came after the case ended")
            }
        }
        return resultAfterLatePush(item.evidence)
    }

    /// Returns an inconclusive result if the calibration before the first case saw no push, but a
    /// push came later.
    private func resultAfterLatePush(_ evidence: CaseEvidence) -> CaseResult? {
        guard !evidence.sight.seesEffects, let late = calibration.lateness(),
            evidence.expectation.dependsOnEffects
        else { return nil }
        let finding = Finding(
            .unobservable,
            expected: "the backend's pushes arrive while the case waits for them",
            actual: "a push came \(late.milliseconds) ms after its event; no case waits that long",
            location: evidence.plan.contract.location
        )
        return result(evidence, .inconclusive, [finding], finding.actual)
    }

    private func result(
        _ evidence: CaseEvidence,
        _ verdict: Verdict,
        _ findings: [Finding],
        _ note: String
    ) -> CaseResult {
        var result = CaseResult(
            contract: evidence.plan.contract,
            verdict: verdict,
            findings: findings,
            note: note,
            overlap: OverlapRule.overlap(in: evidence.subject),
            volatilePaths: StateComparison(evidence).volatilePaths,
            settling: evidence.subject.settling,
            timeline: evidence.subject.exchanges.map(\.shortened),
            base: evidence.subject.base
        )
        if cases.options.keepsEvidence { result.evidence = evidence }
        return result
    }
}

extension CaseResult {
    fileprivate func isPassed(_ item: CaseRunner.PassedCase) -> Bool {
        verdict == .passed && contract.caseID == item.caseID
    }
}

extension RunRecord {
    /// The time of the backend's last call before the verdict, in microseconds; -1 if the backend
    /// made no call.
    fileprivate var lastKnownCall: Int64 {
        exchanges.last { $0.from == .backend }.map(\.lastActivityTime) ?? -1
    }
}

extension Exchange {
    fileprivate var lastActivityTime: Int64 { max(invoked, completed ?? invoked) }
}

extension Conformance.Expectation {
    fileprivate var dependsOnEffects: Bool {
        !effects.isEmpty || relation != nil && compared.contains(.effects)
    }
}
