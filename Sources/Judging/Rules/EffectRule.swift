internal import Contracts
internal import Providers
internal import Values

/// Judges the number of effects at the providers, such as pushes, and the idempotency keys of the
/// attempts at them.
package struct EffectRule: Rule {
    package static func findings(in evidence: CaseEvidence) -> [Finding] {
        guard evidence.areMessagesReadable else { return [] }
        // An expectation without counts and idempotency keys, or with an expected content, is
        // judged by another rule.
        return evidence.expectation.effects.filter {
            ($0.countMin > 0 || $0.countMax != nil || $0.requiresSameIdempotencyKey
                || $0.idempotencyKeyCount != nil || $0.userWithHangingCall != nil)
                && $0.expectedContent == nil
        }.flatMap { findings($0, in: evidence) }
            + evidence.expectation.effects.compactMap { addedEffectFinding($0, in: evidence) }
    }

    /// Judges the number of effects that the judged run has in addition to those of the baseline
    /// run.
    ///
    /// With `like: before`, the baseline run contains only the `given` steps, so that the
    /// difference is the number of effects of `steps`.
    private static func addedEffectFinding(
        _ expected: EffectExpectation,
        in evidence: CaseEvidence
    ) -> Finding? {
        guard expected.countMaxAboveBaseline != nil || expected.userWithSameAddedCount != nil else {
            return nil
        }
        guard let effectsOfSteps = EffectsOfSteps(expected, in: evidence) else {
            return EffectsOfSteps.missingBaseline(of: expected)
        }
        let addedCount = effectsOfSteps.addedCount(for: expected.user)
        func finding(_ expectedText: String, isFinal: Bool) -> Finding {
            Finding(
                .wrongEffectCount,
                expected: expectedText,
                actual: "\(addedCount) more than without the steps",
                location: expected.location,
                evidence: effectsOfSteps.exchanges(for: expected.user).map(\.sequence),
                isFinal: isFinal
            )
        }
        if let max = expected.countMaxAboveBaseline, addedCount > max {
            return finding(
                "at most \(max) more \(expected.kind) than without the steps",
                isFinal: true
            )
        }
        guard let otherUser = expected.userWithSameAddedCount else { return nil }
        let addedCountOfOtherUser = effectsOfSteps.addedCount(for: otherUser)
        guard addedCount != addedCountOfOtherUser else { return nil }
        return finding(
            "the steps cause as many \(expected.kind) as they cause for \(otherUser): \(addedCountOfOtherUser)",
            isFinal: addedCount > addedCountOfOtherUser
        )
    }

    private static func findings(
        _ expected: EffectExpectation,
        in evidence: CaseEvidence
    ) -> [Finding] {
        if let findings = HeldUpEffect.findings(expected, in: evidence) { return findings }
        let record = evidence.subject
        let ids = expected.user.map(record.namespace.ids(of:))
        let matchingEffects = record.effects.filter { effect, _ in
            effect.kind == expected.kind
                && (ids.map(effect.reaches) ?? true)
                && expected.audience?.isReachedExactly(by: effect, in: record.namespace) != false
        }
        var findings: [Finding] = []
        let expectedCountText =
            switch (expected.countMin, expected.countMax) {
            case (let low, let high?) where low == high: "exactly \(low)"
            case (0, let high?): "at most \(high)"
            case (let low, let high?): "\(low) to \(high)"
            case (let low, nil): "at least \(low)"
            }
        let recipient =
            (expected.audience.map { " to exactly " + $0.text }
                ?? expected.user.map { " to \($0)" }) ?? ""
        if matchingEffects.count < expected.countMin
            || matchingEffects.count > expected.countMax ?? .max
        {
            findings.append(
                Finding(
                    .wrongEffectCount,
                    expected: "\(expectedCountText) \(expected.kind)\(recipient)",
                    actual: "\(matchingEffects.count)",
                    location: expected.location,
                    evidence: matchingEffects.map(\.exchange.sequence),
                    isFinal: matchingEffects.count > expected.countMin
                )
            )
        } else if matchingEffects.isEmpty, !evidence.observability.arePushesObservable,
            evidence.profile.canShowMessages
        {
            findings.append(
                Finding(
                    .unobservable,
                    expected: "\(expectedCountText) \(expected.kind)\(recipient)",
                    actual: "the backend sent no push after a plain purchase either",
                    remedy: "If that is intended, set 'features: {except: [push]}' in assay.yaml."
                )
            )
        }
        if expected.requiresSameIdempotencyKey,
            let finding = changedKeyFinding(expected, in: evidence)
        {
            findings.append(finding)
        }
        if let finding = keyCountFinding(expected, in: evidence) { findings.append(finding) }
        return findings
    }

    /// Judges the number of different idempotency keys on all attempts, which must equal the number
    /// of events.
    ///
    /// With equal numbers, the attempts for one event share a key, and the attempts for different
    /// events have different keys.
    private static func keyCountFinding(
        _ expected: EffectExpectation,
        in evidence: CaseEvidence
    ) -> Finding? {
        guard let count = expected.idempotencyKeyCount else { return nil }
        let calls = evidence.subject.exchanges.filter {
            $0.from == .backend && $0.call?.kind == expected.kind
        }
        let idempotencyKeys = calls.map { $0.call?.idempotencyKey }
        let distinctKeyCount = Set(idempotencyKeys.compactMap(\.self)).count
        guard !calls.isEmpty, distinctKeyCount != count || idempotencyKeys.contains(nil) else {
            return nil
        }
        let attemptsWithoutKeyCount = idempotencyKeys.count { $0 == nil }
        let missingKeyNote =
            attemptsWithoutKeyCount == 0 ? "" : ", \(attemptsWithoutKeyCount) of them without a key"
        return Finding(
            .idempotencyKeyChanged,
            expected:
                "\(count) idempotency key\(count == 1 ? "" : "s") in total, one on every attempt",
            actual: "\(distinctKeyCount) key\(distinctKeyCount == 1 ? "" : "s") on \(calls.count) "
                + "attempt\(calls.count == 1 ? "" : "s")\(missingKeyNote)",
            location: expected.location,
            evidence: calls.map(\.sequence)
        )
    }

    /// Judges that all attempts at one effect, accepted or not, have the same idempotency key.
    ///
    /// Source: OneSignal fact sheet, section 5, and trap 4.
    private static func changedKeyFinding(
        _ expected: EffectExpectation,
        in evidence: CaseEvidence
    ) -> Finding? {
        let calls = evidence.subject.exchanges.filter {
            $0.from == .backend && $0.call?.kind == expected.kind
        }
        guard calls.count > 1 else {
            return Finding(
                .unobservable,
                expected: "at least two attempts at one push, to compare their idempotency keys",
                actual: "\(calls.count) attempt\(calls.count == 1 ? "" : "s")",
                location: expected.location
            )
        }
        let idempotencyKeys = calls.map { $0.call?.idempotencyKey }
        guard Set(idempotencyKeys).count > 1 || idempotencyKeys.contains(nil) else { return nil }
        return Finding(
            .idempotencyKeyChanged,
            expected: "the same idempotency key on every attempt",
            actual: "keys: " + idempotencyKeys.map { $0 ?? "none" }.joined(separator: ", "),
            location: expected.location,
            evidence: calls.map(\.sequence)
        )
    }
}
