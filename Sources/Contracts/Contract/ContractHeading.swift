package import Providers

/// The metadata of a test case, without its steps and expectations; used to list and select cases.
package struct ContractHeading: Hashable, Sendable {
    package var id: String
    /// The chosen values of the contract file's `variants`, for example `copies:2`; empty for a
    /// file without variants.
    package var variant: String
    package var title: String
    package var clause: String
    package var level: Contract.Level
    package var source: String
    /// All features that a backend needs for the contract, listed or derived.
    package var needs: [Feature]
    /// Whether the contract judges an app on a phone instead of a backend.
    package var isDeviceScenario: Bool
    /// The kind of rule that expands the contract to many runs; nil for a contract that is one run.
    package var search: Search.Kind?

    package init(
        id: String,
        variant: String,
        title: String,
        clause: String,
        level: Contract.Level,
        source: String,
        needs: [Feature],
        isDeviceScenario: Bool,
        search: Search.Kind?
    ) {
        self.id = id
        self.variant = variant
        self.title = title
        self.clause = clause
        self.level = level
        self.source = source
        self.needs = needs
        self.isDeviceScenario = isDeviceScenario
        self.search = search
    }

    /// The ID of this test case in reports, lists and the option `--only`: the contract's ID, and
    /// its variant if there is one.
    package var caseID: String { variant.isEmpty ? id : "\(id)/\(variant)" }
}

extension Contract {
    package var heading: ContractHeading {
        ContractHeading(
            id: id,
            variant: variant,
            title: title,
            clause: clause,
            level: level,
            source: source,
            needs: allRequiredFeatures,
            isDeviceScenario: isDeviceScenario,
            search: search?.kind
        )
    }
}

extension Search {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case crashPoints = "crash-points"
        case orders
        case generated
    }

    package var kind: Kind {
        switch self {
        case .crashPoints: .crashPoints
        case .orders: .orders
        case .generated: .generated
        }
    }
}
