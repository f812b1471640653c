/// The two languages that people write: contracts and profiles.
package enum Language {
    package static let contract = GrammarReference(Contract.grammar.shape)
    package static let profile = GrammarReference(Profile.grammar.shape)

    /// The JSON Schema of `contract` or `profile`; nil for another name.
    package static func schema(_ name: String) -> String? {
        switch name {
        case "contract":
            GrammarSchema(contract.root, title: "Assay contract", hasAxes: true).text
        case "profile":
            GrammarSchema(profile.root, title: "Assay profile", hasAxes: false).text
        default: nil
        }
    }

    /// The reference page of `contract` or `profile`; nil for another name.
    package static func page(_ name: String) -> String? {
        switch name {
        case "contract":
            contract.page(
                title: "The language of contracts",
                introduction: """
                    Every key of a contract file. `assay explain KEY` says the same at the prompt.

                    This page is generated from the grammar, which also reads and writes contracts \
                    and makes `contracts/contract.schema.json`: it is changed there.
                    """
            )
        case "profile":
            profile.page(
                title: "The language of profiles",
                introduction: """
                    Every key of `assay.yaml`. `assay explain KEY` says the same at the prompt.

                    This page is generated from the grammar, which also reads profiles and makes \
                    `contracts/profile.schema.json`: it is changed there.
                    """
            )
        default: nil
        }
    }
}
