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
        for step in evidence.plan.subject.steps {
            guard case .provider(let plan) = step,
                let first = plan.answers.firstIndex(where: { $0 != .asUsual })
            else { continue }
            let calls = evidence.subject.exchanges.filter {
                $0.from == .backend && $0.to == plan.provider
                    && (plan.includesReads || !["GET", "HEAD"].contains($0.request.method))
            }
            guard calls.count <= first else { continue }
            return [
                Finding(
                    .disturbanceMissed,
                    expected: "call \(first + 1) of the backend to \(plan.provider), to disturb it",
                    actual: "\(calls.count) calls",
                    location: evidence.plan.contract.location
                )
            ]
        }
        return []
    }
}
