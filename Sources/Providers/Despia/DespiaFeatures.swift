package import Values

/// The parts of a profile and of contracts that concern Despia alone: none, because backends do not
/// call the bridge.
extension DespiaState {
    package static let profileSecrets: [ProfileSecret] = []
    package static let features: [Feature] = []
    package static let effects: [EffectKind] = []
    package static let plannedCalls: PlannedCalls? = nil
}

extension Exchange.Party {
    package static let despia = Exchange.Party.bridge
}
