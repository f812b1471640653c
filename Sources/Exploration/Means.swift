package import Conformance

/// What a backend has, so that lives ask it for nothing else.
package struct Means: Hashable, Sendable {
    package var features: Set<Feature>
    /// Whether anything is known of what it has stored; else only effects can be compared.
    package var showsState: Bool
    /// Whether the people come to exist by ids that the backend chooses.
    package var choosesIDs: Bool

    package init(features: Set<Feature>, showsState: Bool, choosesIDs: Bool) {
        (self.features, self.showsState, self.choosesIDs) = (features, showsState, choosesIDs)
    }

    func has(_ feature: Feature) -> Bool { features.contains(feature) }

    func allows(_ disturbance: Disturbance) -> Bool {
        disturbance.kind.needs.allSatisfy(features.contains)
    }
}
