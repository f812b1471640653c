/// What a list shows of a case and a selection asks of it: all but what is played and expected.
package struct ContractHeading: Hashable, Sendable {
    package var id: String
    /// The values along the axes, as in the contract.
    package var variant: String
    package var title: String
    package var clause: String
    package var level: Contract.Level
    package var source: String
    package var needs: [Feature]
    /// Whether it judges an app on a phone, and not a backend.
    package var isDeviceScenario: Bool
    /// Which kind of search it stands for; nil for a contract that is one run.
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

    /// How reports, lists and `--only` name this variant.
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
            needs: needs,
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
