/// Pushes reach the right person, say different things where different things happened, and are
/// tried again as the provider asks.
///
/// Source: OneSignal fact sheet, sections 3, 4, 9 and 13; RevenueCat fact sheet, section 6.
package struct PushRule: Rule {
    package static func findings(in evidence: CaseEvidence) -> [Finding] {
        evidence.expectation.effects.flatMap { expected -> [Finding] in
            address(expected, in: evidence) + texts(expected, in: evidence)
                + attempts(expected, in: evidence) + pace(expected, in: evidence)
                + reserved(expected, in: evidence)
        }
    }

    /// The backend's attempts at an effect, taken by the provider or not.
    private static func calls(
        _ expected: EffectExpectation,
        _ evidence: CaseEvidence
    ) -> [Exchange] {
        evidence.subject.exchanges.filter {
            $0.from == .backend && $0.call?.kind == expected.kind
        }
    }

    private static func address(
        _ expected: EffectExpectation,
        in evidence: CaseEvidence
    ) -> [Finding] {
        guard expected.isPersonal else { return [] }
        let record = evidence.subject
        let known = Set(
            record.plan.users.flatMap {
                [record.namespace.id(of: $0), record.namespace.anonymousID(of: $0)]
            }
        )
        let wrong = record.effects.filter { effect, _ in
            effect.kind == expected.kind
                && (effect.recipients.isEmpty
                    || !known.isSuperset(of: effect.recipients))
        }
        if let (effect, exchange) = wrong.first {
            let strangers = effect.recipients.filter { !known.contains($0) }
            return [
                Finding(
                    .wrongAddress,
                    expected: "every push names the users of this case and nobody else",
                    actual: strangers.isEmpty
                        ? "nobody is named" : "also " + strangers.joined(separator: ", "),
                    location: expected.location,
                    evidence: [exchange.sequence]
                )
            ]
        }
        // A call that the provider turned down for its form reached nobody.
        if let refused = calls(expected, evidence).first(where: { $0.call?.refusal == .form }) {
            let body = refused.response.map { String(decoding: $0.body, as: UTF8.self) } ?? ""
            return [
                Finding(
                    .wrongAddress,
                    expected: "the provider accepts the form of the push",
                    actual: "400 \(body.prefix(120))",
                    location: expected.location,
                    evidence: [refused.sequence]
                )
            ]
        }
        return []
    }

    private static func texts(
        _ expected: EffectExpectation,
        in evidence: CaseEvidence
    ) -> [Finding] {
        guard let user = expected.user, let other = expected.unlike else { return [] }
        func told(_ user: String, in record: RunRecord) -> [String: Int] {
            // Whoever reads his own id is told no more than another who reads hers.
            let masking = Masking(record, reader: user)
            var found: [String: Int] = [:]
            for (effect, exchange) in record.effects
            where effect.kind == expected.kind
                && effect.recipients.contains(record.namespace.id(of: user))
            {
                found[masking.apply(effect.content).text] = exchange.sequence
            }
            return found
        }
        /// Beside a run without the steps, only what the steps add is compared.
        func told(_ user: String) -> [String: Int] {
            let all = told(user, in: evidence.subject)
            guard evidence.expectation.relation == .before, let twin = evidence.twins.first else {
                return all
            }
            let before = told(user, in: twin)
            return all.filter { before[$0.key] == nil }
        }
        let (mine, theirs) = (told(user), told(other))
        // What both were told before their ways parted is told to both in the same words.
        let shared = Set(mine.keys).intersection(theirs.keys)
        guard !mine.isEmpty, shared.count == mine.count, mine.count == theirs.count
        else { return [] }
        return [
            Finding(
                .sameText,
                expected: "\(user) is told something else than \(other)",
                actual: shared.sorted().joined(separator: "; "),
                location: expected.location,
                evidence: mine.values.sorted()
            )
        ]
    }

    private static func attempts(
        _ expected: EffectExpectation,
        in evidence: CaseEvidence
    ) -> [Finding] {
        guard let max = expected.attemptsMax else { return [] }
        let calls = calls(expected, evidence)
        guard calls.count > max else { return [] }
        return [
            Finding(
                .tooManyAttempts,
                expected: "at most \(max) attempts at a push that is refused",
                actual: "\(calls.count) (\(evidence.subject.settling))",
                location: expected.location,
                evidence: calls.map(\.sequence)
            )
        ]
    }

    private static func pace(
        _ expected: EffectExpectation,
        in evidence: CaseEvidence
    ) -> [Finding] {
        guard expected.obeysRetryAfter else { return [] }
        let calls = calls(expected, evidence)
        for (index, call) in calls.enumerated() {
            guard case .rate(let wanted) = call.call?.refusal else { continue }
            guard calls.indices.contains(index + 1) else {
                return [
                    Finding(
                        .effectCount,
                        expected: "another attempt after the 429",
                        actual: "none",
                        location: expected.location,
                        evidence: [call.sequence]
                    )
                ]
            }
            let next = calls[index + 1]
            let waited = next.invoked - (call.completed ?? call.invoked)
            // A tenth for clocks that tick apart.
            guard waited < wanted.milliseconds * 900 else { continue }
            return [
                Finding(
                    .tooEarly,
                    expected:
                        "the next attempt no earlier than \(wanted.milliseconds / 1000) s after "
                        + "the 429",
                    actual: "after \(waited / 1000) ms",
                    location: expected.location,
                    evidence: [call.sequence, next.sequence]
                )
            ]
        }
        return []
    }

    /// What another provider's integration keeps up to date is not the backend's to write.
    private static func reserved(
        _ expected: EffectExpectation,
        in evidence: CaseEvidence
    ) -> [Finding] {
        let taken = calls(expected, evidence).first { $0.call?.reservedNames.isEmpty == false }
        guard let taken, let names = taken.call?.reservedNames else { return [] }
        return [
            Finding(
                .effectExtra,
                expected: "the tags that RevenueCat itself keeps are left alone",
                actual: "the backend wrote " + names.joined(separator: ", "),
                location: expected.location,
                evidence: [taken.sequence],
                isFinal: true
            )
        ]
    }
}
