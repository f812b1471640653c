package import Providers

extension Contract {
    /// The features that a backend needs for the contract: those listed under `needs`, and those
    /// that follow from the contract; each once.
    package var allRequiredFeatures: [Feature] {
        var seenFeatures: Set<Feature> = []
        return (needs + derivedFeatures).filter { seenFeatures.insert($0).inserted }
    }

    /// The features that follow from the contract's steps and expectations, in the order of the
    /// contract.
    package var derivedFeatures: [Feature] {
        // A scenario that tests only an app requires nothing of a backend.
        let backendSteps = (given + steps).filter { step in
            if case .phone = step { !isDeviceScenario } else { true }
        }
        var features = backendSteps.flatMap(\.traits.needs)
        // A backend that reconciles reads customers from RevenueCat, even if it does not read them
        // when an event arrives.
        if (needs + features).contains(.reconcile) {
            features.removeAll { $0 == .readsSubscriberOnEvent }
        }
        if case .crashPoints(let faults) = search, faults.contains(where: \.isKill) {
            features.append(.restart)
        }
        return features + featuresForEffects + featuresForState
    }

    /// The features of backends that cause the expected effects.
    ///
    /// A contract that limits effects and judges state as well can run without such effects.
    private var featuresForEffects: [Feature] {
        let effects =
            featuresForState.isEmpty
            ? expectation.effects : expectation.effects.filter { $0.countMin > 0 }
        var features = effects.compactMap { ProviderTable.all.effect($0.kind)?.feature }
        if expectation.relation != nil, expectation.compared == [.effects] {
            features += ProviderTable.all.providersWithEffects.flatMap(\.effects)
                .filter(\.isExpectedByDefault).compactMap(\.feature)
        }
        return features
    }

    /// The features of backends whose state Assay can query.
    private var featuresForState: [Feature] {
        let fields = expectation.states.flatMap(\.fields).map(\.name)
        var features: [Feature] = []
        if fields.contains("exists") || !expectation.deletedUserNames.isEmpty {
            features.append(.users)
        }
        let comparesOnlyState =
            expectation.relation != nil && !expectation.compared.isEmpty
            && !expectation.compared.contains(.effects)
        if comparesOnlyState || fields.contains(where: { $0 != "exists" }) {
            features.append(.subscription)
        }
        let showsAccess = expectation.app?.screens.contains { $0.element == .access } ?? false
        if showsAccess, !isDeviceScenario { features.append(.accessRoute) }
        return features
    }
}
