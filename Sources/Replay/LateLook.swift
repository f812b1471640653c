internal import Conformance
internal import FakeServers

/// A last look at all cases that passed: what a backend did after its case was judged counts too.
///
/// A case ends when a later event has taken effect and it has been quiet for a moment; a second push
/// may still come, of a backend that works in parallel or on a busy machine. The journal holds it.
struct LateLook {
    let executor: RunExecutor
    let calibration: Calibration
    let cases: CaseRunner

    /// So long after the last case stragglers are waited for, beside ten times what is usual.
    private static let straggleMin: Duration = .milliseconds(50)

    /// Judges those again that more has become known about.
    ///
    /// - Parameters:
    ///   - results: All results.
    ///   - caseIDs: Only these cases.
    func revise(_ results: inout [CaseResult?], among caseIDs: Set<String>) async {
        let passed = cases.passed.filter { caseIDs.contains($0.caseID) }
        guard !passed.isEmpty else { return }
        let least = max(Self.straggleMin, cases.sight.latency * 10)
        await executor.patience(least).elapse()
        // Who was late once may be as late at the case that came last.
        let slowest = min(lateness(of: passed) * 2, executor.profile.patience)
        if slowest > least { await executor.patience(slowest - least).elapse() }
        let last = executor.world.journal.read { $0.lastCalls() }
        for case let item in passed where results.contains(where: { $0?.isPassed(item) == true }) {
            guard var result = await revised(item, last),
                let index = results.firstIndex(where: { $0?.isPassed(item) == true })
            else { continue }
            result.seconds = results[index]?.seconds ?? 0
            result.runCount = results[index]?.runCount
            results[index] = result
        }
    }

    /// How long after its case was judged the latest of all calls came.
    private func lateness(of passed: [CaseRunner.Passed]) -> Duration {
        let last = executor.world.journal.read { $0.lastCalls() }
        let late = passed.flatMap { item in
            ([item.evidence.subject] + item.evidence.twins).map { record -> Int64 in
                (last[record.namespace.name] ?? -1) - record.lastKnownCall
            }
        }
        return .microseconds(max(0, late.max() ?? 0))
    }

    /// The result that replaces one of before; nil when nothing has changed.
    private func revised(
        _ item: CaseRunner.Passed,
        _ last: [String: Int64]
    ) async -> CaseResult? {
        let records = [item.evidence.subject] + item.evidence.twins
        let isLate = records.contains { record in
            last[record.namespace.name] ?? -1 > record.lastKnownCall
        }
        if isLate {
            let subject = await executor.lookAgain(item.evidence.subject, probes: false)
            var twins: [RunRecord] = []
            for twin in item.evidence.twins {
                twins.append(await executor.lookAgain(twin, probes: false))
            }
            let evidence = item.evidence.replacing(subject: subject, twins: twins)
            let (verdict, findings) = Judge.judge(evidence)
            if verdict != .passed {
                return result(evidence, verdict, findings, "it came after the case was over")
            }
        }
        return lateSight(item.evidence)
    }

    /// Calibration took the backend for one that sends no pushes, and then one came.
    private func lateSight(_ evidence: CaseEvidence) -> CaseResult? {
        guard !evidence.sight.seesEffects, let late = calibration.lateness(),
            evidence.expectation.restsOnEffects
        else { return nil }
        let finding = Finding(
            .unobservable,
            expected: "what the backend sends is seen in time",
            actual:
                "its pushes come after \(late.milliseconds) ms, later than they were looked for",
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
            volatile: StateComparison(evidence).volatile,
            settling: evidence.subject.settling,
            timeline: evidence.subject.exchanges.map(\.shortened),
            base: evidence.subject.base
        )
        if cases.options.keepsEvidence { result.evidence = evidence }
        return result
    }
}

extension CaseResult {
    fileprivate func isPassed(_ item: CaseRunner.Passed) -> Bool {
        verdict == .passed && contract.caseID == item.caseID
    }
}

extension RunRecord {
    /// When the last call of the backend came that the verdict rests on, in microseconds; -1: none.
    fileprivate var lastKnownCall: Int64 {
        exchanges.last { $0.from == .backend }.map(\.lastMoment) ?? -1
    }
}

extension Exchange {
    fileprivate var lastMoment: Int64 { max(invoked, completed ?? invoked) }
}

extension Conformance.Expectation {
    fileprivate var restsOnEffects: Bool {
        !effects.isEmpty || relation != nil && compared.contains(.effects)
    }
}
