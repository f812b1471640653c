/// What a case disturbs took place: a failing provider that nobody called proves nothing.
package struct DisturbanceRule: Rule {
    package static func findings(in evidence: CaseEvidence) -> [Finding] {
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
