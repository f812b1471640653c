/// Judges the recipients of pushes, their content for different events, and the number and timing
/// of retries.
///
/// Source: OneSignal fact sheet, sections 3, 4, 9 and 13; RevenueCat fact sheet, section 6.
package struct PushRule: Rule {
    package static func findings(in evidence: CaseEvidence) -> [Finding] {
        evidence.expectation.effects.flatMap { expected -> [Finding] in
            recipientFindings(expected, in: evidence) + contentFindings(expected, in: evidence)
                + attemptCountFindings(expected, in: evidence)
                + retryPauseFindings(expected, in: evidence)
                + reservedTagFindings(expected, in: evidence)
        }
    }

    /// Returns the backend's attempts at the expected effect, whether the provider accepted them or
    /// not.
    private static func calls(
        _ expected: EffectExpectation,
        _ evidence: CaseEvidence
    ) -> [Exchange] {
        evidence.subject.exchanges.filter {
            $0.from == .backend && $0.call?.kind == expected.kind
        }
    }

    private static func recipientFindings(
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
            let unknownUsers = effect.recipients.filter { !known.contains($0) }
            return [
                Finding(
                    .wrongRecipient,
                    expected: "every push is addressed only to users of this case",
                    actual: unknownUsers.isEmpty
                        ? "the push names no user"
                        : "the push also names: " + unknownUsers.joined(separator: ", "),
                    location: expected.location,
                    evidence: [exchange.sequence]
                )
            ]
        }
        // A push that the provider rejected as invalid reached no user.
        if let refused = calls(expected, evidence).first(where: { $0.call?.refusal == .form }) {
            let body = refused.response.map { String(decoding: $0.body, as: UTF8.self) } ?? ""
            return [
                Finding(
                    .wrongRecipient,
                    expected: "the provider accepts the format of the push",
                    actual: "400 \(body.prefix(120))",
                    location: expected.location,
                    evidence: [refused.sequence]
                )
            ]
        }
        return []
    }

    private static func contentFindings(
        _ expected: EffectExpectation,
        in evidence: CaseEvidence
    ) -> [Finding] {
        guard let user = expected.user, let other = expected.unlike else { return [] }
        func pushContents(_ user: String, in record: RunRecord) -> [String: Int] {
            // A user's own ID in a push is no difference in content, so it is masked.
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
        /// Returns the contents of the pushes to a user; with `like: before`, only those of pushes
        /// that the steps add.
        func pushContents(_ user: String) -> [String: Int] {
            let all = pushContents(user, in: evidence.subject)
            guard evidence.expectation.relation == .before, let baseline = evidence.baselines.first
            else {
                return all
            }
            let before = pushContents(user, in: baseline)
            return all.filter { before[$0.key] == nil }
        }
        let (mine, theirs) = (pushContents(user), pushContents(other))
        // The pushes that were sent before the events of the two users differ have equal content.
        let shared = Set(mine.keys).intersection(theirs.keys)
        guard !mine.isEmpty, shared.count == mine.count, mine.count == theirs.count
        else { return [] }
        return [
            Finding(
                .sameMessage,
                expected: "\(user) gets a different message than \(other)",
                actual: shared.sorted().joined(separator: "; "),
                location: expected.location,
                evidence: mine.values.sorted()
            )
        ]
    }

    private static func attemptCountFindings(
        _ expected: EffectExpectation,
        in evidence: CaseEvidence
    ) -> [Finding] {
        guard let max = expected.attemptsMax else { return [] }
        let calls = calls(expected, evidence)
        guard calls.count > max else { return [] }
        return [
            Finding(
                .tooManyAttempts,
                expected: "attempts at a rejected push: at most \(max)",
                actual: "attempts: \(calls.count) (\(evidence.subject.settling))",
                location: expected.location,
                evidence: calls.map(\.sequence)
            )
        ]
    }

    private static func retryPauseFindings(
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
                        .wrongEffectCount,
                        expected: "the backend tries the push again after the 429",
                        actual: "there was no further attempt",
                        location: expected.location,
                        evidence: [call.sequence]
                    )
                ]
            }
            let next = calls[index + 1]
            let waited = next.invoked - (call.completed ?? call.invoked)
            // A tolerance of 10 % allows for differences between the clocks.
            guard waited < wanted.milliseconds * 900 else { continue }
            return [
                Finding(
                    .retriedTooEarly,
                    expected:
                        "the next attempt no earlier than \(wanted.milliseconds / 1000) s after "
                        + "the 429",
                    actual: "the next attempt came after \(waited / 1000) ms",
                    location: expected.location,
                    evidence: [call.sequence, next.sequence]
                )
            ]
        }
        return []
    }

    /// Reports tags that the backend writes although RevenueCat's integration maintains them.
    private static func reservedTagFindings(
        _ expected: EffectExpectation,
        in evidence: CaseEvidence
    ) -> [Finding] {
        let taken = calls(expected, evidence).first { $0.call?.reservedNames.isEmpty == false }
        guard let taken, let names = taken.call?.reservedNames else { return [] }
        return [
            Finding(
                .effectExtra,
                expected: "the backend does not write the tags that RevenueCat maintains",
                actual: "the backend wrote " + names.joined(separator: ", "),
                location: expected.location,
                evidence: [taken.sequence],
                isFinal: true
            )
        ]
    }
}
