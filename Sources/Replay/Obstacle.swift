internal import Conformance

/// Why a case cannot be run before this backend.
struct Obstacle {
    let profile: Profile
    /// Whether Assay started the backend, so that it can stop it.
    let isStarted: Bool

    /// The result of a case that cannot be run here; nil when it can.
    func result(_ plan: CasePlan) -> CaseResult? {
        // A device scenario is played before no backend; 'assay app' asks its own cast.
        if !plan.contract.isDeviceScenario,
            let refusal = Cast.live.refusals(of: plan.contract).first
        {
            return CaseResult(contract: plan.contract, verdict: .notRun, note: refusal.note)
        }
        let declared =
            unmapped(plan.contract) ?? unregistrable(plan.subject)
            ?? plan.contract.allNeeds.lazy.compactMap { profile.obstacle(to: $0) }.first
            ?? (plan.subject.hasRestart && profile.unsupported.contains(.restart)
                ? profile.obstacle(to: .restart) : nil)
        if let declared {
            return CaseResult(
                contract: plan.contract,
                verdict: .notRun,
                note: declared,
                isDeclaredUnsupported: true
            )
        }
        guard plan.subject.hasRestart, !isStarted else { return nil }
        return CaseResult(
            contract: plan.contract,
            verdict: .notRun,
            note: "only a backend that Assay starts can be restarted; use --start, or declare "
                + "'features: {except: [restart]}'"
        )
    }

    /// Who has an id cannot register under it where every registration gives out a new one.
    private func unregistrable(_ plan: RunPlan) -> String? {
        guard profile.choosesIDs, profile.endpointTakingIDs == nil else { return nil }
        var named: Set<String> = []
        for step in plan.steps {
            if case .register(let user) = step, named.contains(user) {
                return "the backend chooses the ids of 'users: create'; somebody whom an event has "
                    + "named can only register where 'endpoints: register' takes '{{id}}'"
            }
            named.formUnion(step.traits.users)
        }
        return nil
    }

    /// Fields of a state are optional: a case that asks only for such as no probe maps does not run.
    private func unmapped(_ contract: Contract) -> String? {
        let wanted =
            contract.expectation.states.flatMap(\.fields).map(\.name).filter { $0 != "exists" }
            + (contract.expectation.compared.contains(.effects)
                ? [] : contract.expectation.comparedFields)
        guard !wanted.isEmpty, profile.probes.contains(where: { !$0.readings.isEmpty }),
            !wanted.contains(where: { profile.probe(reading: $0) != nil })
        else { return nil }
        return "no probe maps '\(wanted[0])'; add it under 'probes: … read:' in assay.yaml"
    }
}
