/// What a case disturbs took place: a failing provider that nobody called proves nothing.
package struct DisturbanceRule: Rule {
    package static func findings(in evidence: CaseEvidence) -> [Finding] {
        missedCalls(in: evidence) + missedFailures(in: evidence)
    }

    /// Whoever answers 200 while the store fails has either stored the event elsewhere, or was not
    /// hit: before a backend that works later that is as it should be.
    private static func missedFailures(in evidence: CaseEvidence) -> [Finding] {
        missedFailuresOfCalls(in: evidence)
            + evidence.plan.subject.deliveries.compactMap { delivery in
                guard delivery.storeFailures != nil, evidence.sight.worksLater != true,
                    evidence.subject.attempts(of: delivery.name).first?.response?.status == 200
                else { return nil }
                return Finding(
                    .disturbanceMissed,
                    expected: "the store fails at the first attempt of '\(delivery.name)'",
                    actual: "it was answered with 200, as if nothing had failed",
                    remedy: "Let 'fault: break' in the profile hit what the webhook writes to.",
                    location: evidence.plan.contract.location
                )
            }
    }

    private static func missedFailuresOfCalls(in evidence: CaseEvidence) -> [Finding] {
        evidence.plan.subject.calls.compactMap { call in
            guard call.storeFails == true, evidence.sight.worksLater != true,
                let response = evidence.subject.answer(to: call.name)?.response,
                (200..<300).contains(response.status)
            else { return nil }
            return Finding(
                .disturbanceMissed,
                expected: "the store fails while '\(call.name)' is made",
                actual: "it was answered with \(response.status), as if nothing had failed",
                remedy: "Let 'fault: break' in the profile hit what the route writes to.",
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
