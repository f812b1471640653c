/// The backend does not differ from itself: the judged run ends like its twin.
///
/// Idempotency is `like: once`, order is `like: in-order`, and recovery from failures, losses and
/// restarts is `like: undisturbed`; that the retries of one push carry one idempotency key is
/// judged by `EffectRule`.
///
/// This oracle knows nothing about the backend. It compares whole probe answers, with ids replaced
/// by names and with places masked that differ between two runs of the same twin, and the multiset
/// of effects.
package struct RelationRule: Rule {
    package static func findings(in evidence: CaseEvidence) -> [Finding] {
        guard let relation = evidence.expectation.relation else { return [] }
        guard !evidence.twins.isEmpty else {
            return [
                Finding(
                    .twinFailed,
                    expected: "a run to compare with, that ends \(phrase(relation))",
                    actual: "there was none",
                    location: evidence.expectation.relationLocation
                )
            ]
        }
        if let failure = evidence.twins.lazy.compactMap(twinFailure).first { return [failure] }
        return evidence.expectation.compared.isEmpty ? [] : comparison(relation, in: evidence)
    }

    private static func comparison(
        _ relation: Expectation.Relation,
        in evidence: CaseEvidence
    ) -> [Finding] {
        let subject = ComparableRun(evidence.subject, evidence)
        let twins = evidence.twins.map { ComparableRun($0, evidence) }
        var findings: [Finding] = []
        var isObserved = false
        if !evidence.expectation.compared.isDisjoint(with: [.state, .fields, .kept]) {
            let comparison = StateComparison(evidence, subject: subject, twins: twins)
            findings += comparison.findings(relation)
            isObserved = comparison.isObserved && evidence.sight.seesState
            findings += comparison.blindFields.map { field, reading, probe in
                ReadingSurvey(evidence).finding(
                    field,
                    reading,
                    of: probe,
                    expected: "\(field) ends \(phrase(relation))",
                    at: evidence.expectation.relationLocation
                )
            }
            if comparison.isAllVolatile, findings.isEmpty {
                findings.append(
                    Finding(
                        .allVolatile,
                        expected: "something steady in the probes' answers",
                        actual: "two runs of the same twin differ everywhere: "
                            + comparison.volatile.joined(separator: ", ")
                    )
                )
            }
        }
        if evidence.expectation.compared.contains(.effects) {
            findings += effectFindings(
                subject,
                twins,
                relation,
                at: evidence.expectation.relationLocation
            )
            isObserved = isObserved || evidence.sight.seesEffects
        }
        if !isObserved, findings.isEmpty {
            findings.append(
                Finding(
                    .unobservable,
                    expected: "the run ends \(phrase(relation))",
                    actual: evidence.sight.blindness
                        ?? "neither a probe nor a push shows anything of it",
                    location: evidence.expectation.relationLocation
                )
            )
        }
        return findings
    }

    /// The relation in words, to follow "ends".
    static func phrase(_ relation: Expectation.Relation) -> String {
        switch relation {
        case .once: "as if every event had come once"
        case .inOrder: "as if everything had come in order"
        case .undisturbed: "as if nothing had been disturbed"
        case .before: "as if the steps had not taken place"
        case .direct: "as if the events had named the registered id"
        case .plain: "as if the events had been plain"
        }
    }

    /// A twin whose own steps did not end as they should is nothing to compare with.
    private static func twinFailure(_ twin: RunRecord) -> Finding? {
        for delivery in twin.plan.deliveries {
            let attempts = twin.attempts(of: delivery.name)
            if attempts.isEmpty {
                return Finding(
                    .twinFailed,
                    expected: "'\(delivery.name)' is delivered in the undisturbed twin",
                    actual: "no attempt of it reached the backend"
                )
            }
            for attempt in attempts where attempt.response?.status != 200 {
                let answer = attempt.response.map { "\($0.status)" } ?? "no answer"
                return Finding(
                    attempt.response?.status == 429 ? .throttled : .twinFailed,
                    expected: "200 for '\(delivery.name)' in the undisturbed twin",
                    actual: answer
                )
            }
        }
        return nil
    }

    private static func effectFindings(
        _ subject: ComparableRun,
        _ twins: [ComparableRun],
        _ relation: Expectation.Relation,
        at location: SourceLocation?
    ) -> [Finding] {
        guard let twin = twins.first else { return [] }
        let addresses = twins.reduce(Set(subject.effects.keys)) { $0.union($1.effects.keys) }
        return addresses.sorted { $0.text < $1.text }.compactMap { address in
            let theirs = twin.effects[address] ?? []
            let mine = subject.effects[address] ?? []
            let counts = twins.map { $0.effects[address]?.count ?? 0 }
            guard counts.allSatisfy({ $0 == counts[0] }) else {
                return Finding(
                    .unsteady,
                    expected: "equal runs lead to equally many \(address.text)",
                    actual: counts.map(String.init).joined(separator: " and "),
                    location: location
                )
            }
            guard theirs.count == mine.count else {
                return Finding(
                    mine.count < theirs.count ? .effectMissing : .effectExtra,
                    expected: "\(theirs.count) \(address.text), \(phrase(relation))",
                    actual: "\(mine.count)",
                    location: location,
                    evidence: mine.map(\.sequence)
                )
            }
            let (expected, actual) = (sorted(theirs), sorted(mine))
            // A text that differs between two runs of the twin differs by itself.
            let isSteady = twins.dropFirst().allSatisfy {
                sorted($0.effects[address] ?? []) == expected
            }
            guard isSteady, expected != actual else { return nil }
            return Finding(
                .effectDiffers,
                expected: expected.joined(separator: "; "),
                actual: actual.joined(separator: "; "),
                location: location,
                evidence: mine.map(\.sequence)
            )
        }
    }

    private static func sorted(_ effects: [ComparableRun.MaskedEffect]) -> [String] {
        effects.map(\.content.text).sorted()
    }
}
