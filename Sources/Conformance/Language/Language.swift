/// The two languages that people write.
package enum Language: String, CaseIterable, Sendable {
    case contract, profile

    private static let contractReference = GrammarReference(Contract.grammar.shape)
    private static let profileReference = GrammarReference(Profile.grammar.shape)

    /// What is said of its keys.
    package var reference: GrammarReference {
        switch self {
        case .contract: Self.contractReference
        case .profile: Self.profileReference
        }
    }

    /// Its JSON Schema.
    package var schema: String {
        let hasAxes = self == .contract
        return GrammarSchema(reference.root, title: "Assay \(rawValue)", hasAxes: hasAxes).text
    }

    /// Its reference page.
    package var page: String {
        switch self {
        case .contract:
            reference.page(
                title: "The language of contracts",
                introduction: """
                    Every key of a contract file. `assay explain KEY` says the same at the prompt.

                    This page is generated from the grammar, which also reads and writes contracts \
                    and makes `contracts/contract.schema.json`: it is changed there.
                    """
            )
        case .profile:
            reference.page(
                title: "The language of profiles",
                introduction: """
                    Every key of `assay.yaml`. `assay explain KEY` says the same at the prompt.

                    This page is generated from the grammar, which also reads profiles and makes \
                    `contracts/profile.schema.json`: it is changed there.
                    """
            ) + """

                ## Features

                What `features: {except: […]}` takes; whatever needs one of them is left unproven. \
                `assay explain FEATURE` names the contracts that do.

                \(Feature.table)
                """
        }
    }
}
