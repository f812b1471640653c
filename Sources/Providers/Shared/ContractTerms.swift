/// The parts of contracts and profiles that concern one service alone.
package struct ContractTerms: Sendable {
    /// The service's secrets that a profile may define.
    package let secrets: [ProfileSecret]
    /// The optional features of backends that concern the service alone.
    package let features: [Feature]
    /// The kinds of effects that a backend's calls can cause at the service.
    package let effects: [EffectKind]
    /// The properties of the backend's calls for which a contract can plan responses; nil when
    /// contracts cannot plan them.
    package let plannedCalls: PlannedCalls?
    /// The IDs of products at the service; nil if the service names a product only by the ID in its
    /// events.
    package let productNaming: (any ProductNaming.Type)?

    package init(
        secrets: [ProfileSecret],
        features: [Feature],
        effects: [EffectKind],
        plannedCalls: PlannedCalls?,
        productNaming: (any ProductNaming.Type)? = nil
    ) {
        self.secrets = secrets
        self.features = features
        self.effects = effects
        self.plannedCalls = plannedCalls
        self.productNaming = productNaming
    }
}

/// The IDs by which a service names a product.
package protocol ProductNaming: Sendable {
    /// Returns all IDs of a product, including the ID in the service's events.
    static func productIDs(idInEvent: String) -> Set<String>
}
