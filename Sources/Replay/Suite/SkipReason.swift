internal import Contracts
internal import Grammar
internal import Judging
internal import Providers

/// Checks whether a case can run against the backend of a profile.
struct SkipReason {
    let profile: Profile
    /// Whether Assay started the backend.
    ///
    /// Only then can Assay stop and restart it.
    let isStartedByAssay: Bool

    /// Returns the result "not run" for a case that cannot run against this backend; nil for a case
    /// that can run.
    func result(_ plan: CasePlan) -> CaseResult? {
        // A case for an app on a phone needs no backend. 'assay app' itself checks what can run it.
        if !plan.contract.isDeviceScenario,
            let unsupportedElement = Executors.backendAndApps.unsupportedElements(of: plan.contract)
                .first
        {
            return CaseResult(
                contract: plan.contract,
                verdict: .notRun,
                note: unsupportedElement.note
            )
        }
        let declaredReason =
            unmappedFieldReason(plan.contract) ?? unmappedProductReason(plan.subject)
            ?? idConflictReason(plan.subject) ?? missingIDPointerReason(plan.subject)
            ?? profile.skipReason(to: plan.contract)
            ?? (plan.subject.hasRestart && profile.unsupportedFeatures.contains(.restart)
                ? profile.skipReason(to: .restart) : nil)
            ?? unknownUserReason(plan.contract)
        if let declaredReason {
            return CaseResult(
                contract: plan.contract,
                verdict: .notRun,
                note: declaredReason,
                isDeclaredUnsupported: true
            )
        }
        guard plan.subject.hasRestart, !isStartedByAssay else { return nil }
        return CaseResult(
            contract: plan.contract,
            verdict: .notRun,
            note: "only a backend that Assay starts can be restarted; use --start, or declare "
                + "'features: {except: [restart]}'"
        )
    }

    /// Returns the reason to skip a case that reads the state of a user without a registration, if
    /// each probe needs the session of its user.
    ///
    /// A user whom the backend has not registered cannot sign in, so no probe could show the state.
    private func unknownUserReason(_ contract: Contract) -> String? {
        guard !profile.probes.isEmpty,
            profile.probes.allSatisfy({ $0.credentials?.usesUserSession == true }),
            let user = contract.readUsersWithoutRegistration.first
        else { return nil }
        return
            "the case reads the state of '\(user)', who is not registered, and each probe needs a "
            + "session; if a route takes the ID of a user, add a probe with it under 'probes'"
    }

    /// Returns the reason to skip a case that registers a user under an ID that an earlier event
    /// has named.
    ///
    /// Such a case cannot run against a backend that chooses all IDs itself. Returns nil if the
    /// case can run.
    private func idConflictReason(_ plan: RunPlan) -> String? {
        guard profile.backendChoosesIDs, profile.registerEndpointAcceptingIDs == nil else {
            return nil
        }
        var namedUsers: Set<String> = []
        for step in plan.steps {
            if case .register(let user) = step, namedUsers.contains(user) {
                return "the case registers a user under the ID that an event has named, but the "
                    + "backend chooses all IDs ('users: create'); if it also has a route that "
                    + "takes an ID, set it under 'endpoints: register' with '{{id}}'"
            }
            namedUsers.formUnion(step.traits.users)
        }
        return nil
    }

    /// Returns the reason to skip a case that names a user by the ID in the response to a call, if
    /// the profile does not define the location of that ID.
    private func missingIDPointerReason(_ plan: RunPlan) -> String? {
        let templateNames = plan.steps.flatMap { step -> [String] in
            if case .name(_, let id) = step { Template(id).names } else { [] }
        }
        let route = plan.calls.first { call in
            templateNames.contains("\(call.name).\(TemplateWord.returnedID.word)")
                && profile.endpoints[call.route.rawValue]?.responseIDPointer == nil
        }?.route.rawValue
        return route.map {
            "the profile does not define where the response of '\($0)' contains the user's ID; add "
                + "'id: /…' to the endpoint '\($0)' in assay.yaml"
        }
    }

    /// Returns the reason to skip a case with a product that the profile does not map.
    ///
    /// A profile with a map of products describes a backend with a fixed catalog, which may refuse
    /// any other product. Without a map, every product keeps the name in the contract.
    private func unmappedProductReason(_ plan: RunPlan) -> String? {
        guard !profile.products.isEmpty else { return nil }
        let products = plan.deliveries.flatMap { delivery -> [String] in
            if case .event(let event) = delivery.subject { event.products } else { [] }
        }
        guard let product = products.first(where: { profile.products[$0] == nil }) else {
            return nil
        }
        return "product \(product) is not mapped; add '\(product): YOUR_ID' under 'products' in "
            + "assay.yaml; 'assay explain products' lists all of them"
    }

    /// Returns the reason to skip a case that reads only state fields that no probe of the profile
    /// maps.
    ///
    /// A case that reads at least one mapped field can run, because the fields of a state are
    /// optional.
    private func unmappedFieldReason(_ contract: Contract) -> String? {
        let readFields =
            contract.expectation.states.flatMap(\.fields).map(\.name).filter { $0 != "exists" }
            + (contract.expectation.compared.contains(.effects)
                ? [] : contract.expectation.comparedFields)
        guard !readFields.isEmpty, profile.probes.contains(where: { !$0.readings.isEmpty }),
            !readFields.contains(where: { profile.probe(reading: $0) != nil })
        else { return nil }
        return
            "no probe maps '\(readFields[0])', which the case reads; add it under 'probes: … read:' "
            + "in assay.yaml"
    }
}
