internal import Contracts
internal import Values

/// Judges that a run ends in the same state and with the same effects as its baseline run, as the
/// contract's `like` requires.
///
/// A contract tests idempotency with `like: once`, order with `like: in-order`, and recovery from
/// faults and restarts with `like: fault-free`. The idempotency keys of a push's retries are judged
/// by `EffectRule`.
///
/// The rule knows nothing about the backend. It compares whole probe responses, and the effects
/// without their order. IDs are replaced by names. Values that differ between two equal baseline
/// runs are ignored.
package struct RelationRule: Rule {
    package static func findings(in evidence: CaseEvidence) -> [Finding] {
        guard let relation = evidence.expectation.relation else { return [] }
        guard !evidence.baselines.isEmpty else {
            return [
                Finding(
                    .baselineFailed,
                    expected:
                        "a baseline run to compare with, which ends \(comparisonPhrase(relation))",
                    actual: "there was no baseline run",
                    location: evidence.expectation.relationLocation
                )
            ]
        }
        if let failure = evidence.baselines.lazy.compactMap(baselineFailure).first {
            return [failure]
        }
        return evidence.expectation.compared.isEmpty ? [] : comparison(relation, in: evidence)
    }

    private static func comparison(
        _ relation: Expectation.BaselineRelation,
        in evidence: CaseEvidence
    ) -> [Finding] {
        let subject = ComparableRun(evidence.subject, evidence)
        let baselines = evidence.baselines.map { ComparableRun($0, evidence) }
        var findings: [Finding] = []
        var isStateObserved = false
        if !evidence.expectation.compared.isDisjoint(with: [.state, .fields, .kept]) {
            let comparison = StateComparison(evidence, subject: subject, baselines: baselines)
            findings += comparison.findings(relation)
            isStateObserved =
                comparison.isStateObserved && evidence.observability.areProbeChangesObservable
            findings += comparison.unobservedFields.map { field, reading, probe in
                ProbePathSurvey(evidence).finding(
                    field,
                    reading,
                    of: probe,
                    expected: "\(field) ends \(comparisonPhrase(relation))",
                    at: evidence.expectation.relationLocation
                )
            }
            if comparison.areAllComparedValuesVolatile, findings.isEmpty {
                findings.append(
                    Finding(
                        .allValuesVolatile,
                        expected: "at least one value in the probe responses is the same in "
                            + "equal runs",
                        actual: "two equal baseline runs differ in every value: "
                            + comparison.volatilePaths.joined(separator: ", ")
                    )
                )
            }
        }
        if evidence.expectation.compared.contains(.effects), evidence.areMessagesReadable {
            findings += effectFindings(
                subject,
                baselines,
                relation,
                at: evidence.expectation.relationLocation
            )
            isStateObserved = isStateObserved || evidence.observability.arePushesObservable
        }
        if !isStateObserved, findings.isEmpty {
            findings.append(
                Finding(
                    .unobservable,
                    expected: "the run ends \(comparisonPhrase(relation))",
                    actual: evidence.observability.invisiblePurchaseReason
                        ?? "no probe and no push shows the result",
                    location: evidence.expectation.relationLocation
                )
            )
        }
        return findings
    }

    /// Returns the words for the contract's `like`, such as "as if no fault had occurred"; they
    /// follow the word "ends" in a sentence.
    static func comparisonPhrase(_ relation: Expectation.BaselineRelation) -> String {
        switch relation {
        case .once: "as if every event had come once"
        case .inOrder: "as if all events had come in order"
        case .faultFree: "as if no fault had occurred"
        case .before: "as if the steps had not been run"
        case .direct: "as if the events had contained the registered ID"
        case .plain: "as if the events had not been modified"
        }
    }

    /// Reports a baseline run in which a delivery failed, so that the judged run cannot be compared
    /// with it.
    private static func baselineFailure(_ baseline: RunRecord) -> Finding? {
        for delivery in baseline.plan.deliveries {
            let attempts = baseline.attempts(of: delivery.name)
            if attempts.isEmpty {
                return Finding(
                    .baselineFailed,
                    expected: "'\(delivery.name)' is delivered in the fault-free baseline run",
                    actual: "no attempt at the delivery reached the backend"
                )
            }
            for attempt in attempts where attempt.response?.status != 200 {
                let statusText = attempt.response.map { "\($0.status)" } ?? "no response"
                return Finding(
                    attempt.response?.status == 429 ? .backendThrottled : .baselineFailed,
                    expected: "200 for '\(delivery.name)' in the fault-free baseline run",
                    actual: statusText
                )
            }
        }
        return nil
    }

    private static func effectFindings(
        _ subject: ComparableRun,
        _ baselines: [ComparableRun],
        _ relation: Expectation.BaselineRelation,
        at location: SourceLocation?
    ) -> [Finding] {
        guard let baseline = baselines.first else { return [] }
        let effectKeys = baselines.reduce(Set(subject.effects.keys)) { $0.union($1.effects.keys) }
        return effectKeys.sorted { $0.text < $1.text }.compactMap { effectKey in
            let effectsInBaseline = baseline.effects[effectKey] ?? []
            let effectsInJudgedRun = subject.effects[effectKey] ?? []
            let baselineEffectCounts = baselines.map { $0.effects[effectKey]?.count ?? 0 }
            guard baselineEffectCounts.allSatisfy({ $0 == baselineEffectCounts[0] }) else {
                return Finding(
                    .unstableState,
                    expected: "runs of the same steps cause the same number of \(effectKey.text)",
                    actual: "the baseline runs caused "
                        + baselineEffectCounts.map(String.init).joined(separator: " and "),
                    location: location
                )
            }
            guard effectsInBaseline.count == effectsInJudgedRun.count else {
                return Finding(
                    effectsInJudgedRun.count < effectsInBaseline.count
                        ? .effectMissing : .unexpectedEffect,
                    expected:
                        "\(effectsInBaseline.count) \(effectKey.text), \(comparisonPhrase(relation))",
                    actual: "\(effectsInJudgedRun.count)",
                    location: location,
                    evidence: effectsInJudgedRun.map(\.sequence)
                )
            }
            let (expected, actual) = (sorted(effectsInBaseline), sorted(effectsInJudgedRun))
            // Content that differs between two equal baseline runs may also differ in the judged
            // run.
            let areBaselinesEqual = baselines.dropFirst().allSatisfy {
                sorted($0.effects[effectKey] ?? []) == expected
            }
            guard areBaselinesEqual, expected != actual else { return nil }
            return Finding(
                .effectDiffers,
                expected: expected.joined(separator: "; "),
                actual: actual.joined(separator: "; "),
                location: location,
                evidence: effectsInJudgedRun.map(\.sequence)
            )
        }
    }

    private static func sorted(_ effects: [ComparableRun.MaskedEffect]) -> [String] {
        effects.map(\.content.text).sorted()
    }
}
