/// Pushes reach the right person, say different things where different things happened, and are
/// tried again as the provider asks.
///
/// Source: OneSignal fact sheet, sections 3, 4, 9 and 13; RevenueCat fact sheet, section 6.
package struct PushRule: Rule {
    /// Tags that RevenueCat's own integration keeps up to date (clause O-05).
    package static let reservedTags: Set<String> = [
        "app_user_id", "period_type", "purchased_at", "expiration_at", "store", "environment",
        "last_event_type", "product_id", "entitlement_ids", "active_subscription",
        "subscription_status", "grace_period_expiration_at",
    ]

    package static func findings(in evidence: CaseEvidence) -> [Finding] {
        evidence.expectation.effects.flatMap { expected -> [Finding] in
            if expected.kind == "onesignal.tags" { return tags(expected, in: evidence) }
            return address(expected, in: evidence) + texts(expected, in: evidence)
                + attempts(expected, in: evidence) + pace(expected, in: evidence)
        }
    }

    /// What the backend sends to OneSignal to tell somebody something.
    private static func calls(_ evidence: CaseEvidence) -> [Exchange] {
        evidence.subject.exchanges.filter {
            $0.from == .backend && $0.to == .oneSignal && $0.request.method == "POST"
                && $0.request.path.hasSuffix("/notifications")
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
        if let refused = calls(evidence).first(where: { $0.response?.status == 400 }) {
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
        let record = evidence.subject
        let masking = Masking(record)
        func told(_ user: String) -> [String: Int] {
            var found: [String: Int] = [:]
            for (effect, exchange) in record.effects
            where effect.kind == expected.kind
                && effect.recipients.contains(record.namespace.id(of: user))
            {
                found[masking.apply(effect.content).text] = exchange.sequence
            }
            return found
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
        let calls = calls(evidence)
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
        let calls = calls(evidence)
        guard let refused = calls.firstIndex(where: { $0.response?.status == 429 }) else {
            return []
        }
        guard calls.indices.contains(refused + 1) else {
            return [
                Finding(
                    .effectCount,
                    expected: "another attempt after the 429",
                    actual: "none",
                    location: expected.location,
                    evidence: [calls[refused].sequence]
                )
            ]
        }
        let wanted = calls[refused].response?[field: "retry-after"].flatMap { Int64($0) } ?? 0
        let end = calls[refused].completed ?? calls[refused].invoked
        let waited = calls[refused + 1].invoked - end
        // A tenth for clocks that tick apart.
        guard waited < wanted * 900_000 else { return [] }
        return [
            Finding(
                .tooEarly,
                expected: "the next attempt no earlier than \(wanted) s after the 429",
                actual: "after \(waited / 1000) ms",
                location: expected.location,
                evidence: [calls[refused].sequence, calls[refused + 1].sequence]
            )
        ]
    }

    private static func tags(
        _ expected: EffectExpectation,
        in evidence: CaseEvidence
    ) -> [Finding] {
        for call in evidence.subject.exchanges
        where call.from == .backend && call.to == .oneSignal && call.request.method != "GET" {
            guard let body = try? JSONValue(parsing: call.request.body) else { continue }
            let tags = (body["properties"]?["tags"] ?? body["tags"])?.object?.keys ?? []
            let taken = reservedTags.intersection(tags)
            guard !taken.isEmpty else { continue }
            return [
                Finding(
                    .effectExtra,
                    expected: "the tags that RevenueCat itself keeps are left alone",
                    actual: "the backend wrote " + taken.sorted().joined(separator: ", "),
                    location: expected.location,
                    evidence: [call.sequence],
                    isFinal: true
                )
            ]
        }
        return []
    }
}
