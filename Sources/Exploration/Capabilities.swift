package import Conformance

/// The capabilities of the tested backend.
///
/// Generated histories use no other capability.
package struct Capabilities: Hashable, Sendable {
    package var features: Set<Feature>
    /// Whether any probe of the backend returns stored state.
    ///
    /// Without one, a run can only compare effects, such as pushes.
    package var showsState: Bool
    /// Whether the backend itself creates the IDs of its users, instead of the app.
    package var backendChoosesIDs: Bool

    package init(features: Set<Feature>, showsState: Bool, backendChoosesIDs: Bool) {
        (self.features, self.showsState, self.backendChoosesIDs) = (
            features, showsState, backendChoosesIDs
        )
    }

    func has(_ feature: Feature) -> Bool { features.contains(feature) }

    func allows(_ fault: HistoryFault) -> Bool {
        fault.kind.needs.allSatisfy(features.contains)
    }
}
