/// What a case disturbs took place: a failing provider that nobody called proves nothing.
package struct DisturbanceRule: Rule {
    package static func findings(in evidence: CaseEvidence) -> [Finding] {
        missedCalls(in: evidence) + missedFailures(in: evidence)
    }

    /// Whoever answers 200 while the store fails has either stored the event elsewhere, or was not
    /// hit: before a backend that works later that is as it should be.
    private static func missedFailures(in evidence: CaseEvidence) -> [Finding] {
        guard evidence.sight.worksLater != true else { return [] }
        let (plan, record) = (evidence.plan.subject, evidence.subject)
        let deliveries = plan.deliveries.filter { $0.storeFailures != nil }.map { delivery in
            (
                "at the first attempt of '\(delivery.name)'",
                record.attempts(of: delivery.name).first?.response?.status, 200...200
            )
        }
        let calls = plan.calls.filter { $0.storeFails == true }.map { call in
            (
                "while '\(call.name)' is made", record.answer(to: call.name)?.response?.status,
                200...299
            )
        }
        return (deliveries + calls).compactMap { moment, status, success in
            guard let status, success.contains(status) else { return nil }
            return Finding(
                .disturbanceMissed,
                expected: "the store fails \(moment)",
                actual: "it was answered with \(status), as if nothing had failed",
                remedy: "Let 'fault: break' in the profile hit what that route writes to.",
                location: evidence.plan.contract.location
            )
        }
    }

    private static func missedCalls(in evidence: CaseEvidence) -> [Finding] {
        guard let missed = missedCall(in: evidence) else { return [] }
        return [
            Finding(
                .disturbanceMissed,
                expected:
                    "call \(missed.number) of the backend to \(missed.provider), to disturb it",
                actual: "\(missed.count(in: evidence.subject)) calls",
                location: evidence.plan.contract.location
            )
        ]
    }

    /// The first call that was to fail and that the backend did not make; nil when it made them all.
    package static func missedCall(in evidence: CaseEvidence) -> MissedCall? {
        for case .provider(let plan) in evidence.plan.subject.steps {
            guard let first = plan.answers.firstIndex(where: { $0 != .asUsual }) else { continue }
            let missed = MissedCall(
                provider: plan.provider,
                number: first + 1,
                includesReads: plan.includesReads
            )
            if missed.isMissed(in: evidence.subject) { return missed }
        }
        return nil
    }
}

/// A call of the backend to a provider that a contract lets fail.
package struct MissedCall: Hashable, Sendable {
    package let provider: Exchange.Party
    /// Its position among the calls to that provider, from 1.
    package let number: Int
    /// Whether reads count as calls.
    let includesReads: Bool

    /// The number of calls that count in a run.
    func count(in record: RunRecord) -> Int {
        record.exchanges.count {
            $0.from == .backend && $0.to == provider
                && (includesReads || !["GET", "HEAD"].contains($0.request.method))
        }
    }

    /// Whether the run ended before the backend made that call.
    package func isMissed(in record: RunRecord) -> Bool { count(in: record) < number }
}
