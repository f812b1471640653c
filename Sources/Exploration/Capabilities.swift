internal import Contracts
package import Providers

/// The capabilities of the tested backend.
///
/// Generated histories use no other capability.
package struct Capabilities: Hashable, Sendable {
    package var features: Set<Feature>
    /// Whether any probe of the backend returns stored state.
    ///
    /// Without such a probe, a run can only compare effects, such as pushes.
    package var canReadState: Bool
    /// Whether the backend itself creates the IDs of its users, instead of the app.
    package var backendChoosesIDs: Bool

    package init(features: Set<Feature>, canReadState: Bool, backendChoosesIDs: Bool) {
        (self.features, self.canReadState, self.backendChoosesIDs) = (
            features, canReadState, backendChoosesIDs
        )
    }

    package func has(_ feature: Feature) -> Bool { features.contains(feature) }

    func allows(_ fault: HistoryFault) -> Bool {
        fault.kind.needs.allSatisfy(features.contains)
    }
}
