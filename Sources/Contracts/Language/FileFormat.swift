package import Grammar
internal import Providers
internal import Values

/// The two YAML file formats of Assay: contracts and profiles.
package enum FileFormat: String, CaseIterable, Sendable {
    case contract, profile

    private static let contractReference = TableDerived { _ in
        GrammarReference(Contract.grammar.shape)
    }
    private static let profileReference = TableDerived { _ in
        GrammarReference(Profile.grammar.shape, exampleHeader: ["assay": 1])
    }

    /// The documentation of all keys of the file format.
    package var reference: GrammarReference {
        switch self {
        case .contract: Self.contractReference.value
        case .profile: Self.profileReference.value
        }
    }

    /// The JSON Schema of the file format, as the contents of a file.
    package var schema: String {
        let hasAxes = self == .contract
        return GrammarSchema(reference.root, title: "Assay \(rawValue)", hasAxes: hasAxes).text
    }

    /// The reference page of the file format, in Markdown.
    package var page: String {
        switch self {
        case .contract:
            reference.page(
                title: "Contract language",
                introductionText: """
                    Every key of a contract file. `assay explain KEY` prints the same in the terminal.

                    This page is generated from the grammar, like `contracts/contract.schema.json`. \
                    Edit the grammar instead.
                    """
            )
        case .profile:
            reference.page(
                title: "Profile language",
                introductionText: """
                    Every key of `assay.yaml`. `assay explain KEY` prints the same in the terminal.

                    This page is generated from the grammar, like `contracts/profile.schema.json`. \
                    Edit the grammar instead.
                    """
            ) + """

                ## Features

                The values of `features: {except: […]}`. Contracts that need a listed feature are not \
                run. `assay explain FEATURE` lists the contracts that need a feature.

                \(Self.featureTable)
                """
        }
    }

    /// A Markdown table of all features.
    private static var featureTable: String {
        let rows = Feature.allCases.map { feature in
            "| `\(feature.rawValue)` | \(feature.meaning) | \(feature.isOptionalByDesign ? "yes" : "") |"
        }
        let headerLines = ["| feature | a backend with this feature | may be missing by design |"]
        return (headerLines + ["| --- | --- | --- |"] + rows).joined(separator: "\n") + "\n"
    }
}
