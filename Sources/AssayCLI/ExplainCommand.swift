internal import ArgumentParser
internal import Conformance
internal import ContractFiles
internal import Reports

struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Explains a finding code, a clause or a contract.",
        discussion: """
            Example:  assay explain E204
                      assay explain S-03
                      assay explain revenuecat/idempotency/duplicate-initial-purchase
            """
    )

    @Argument(help: "A finding code, a clause, or the id of a contract.")
    var subject: String

    @OptionGroup var options: SelectionOptions

    mutating func run() async throws {
        if let code = FindingCode(rawValue: subject.uppercased()) {
            explain(code)
            return
        }
        let library = try options.contractLibrary()
        let matching = library.contracts.filter { Selection.matches(subject, $0) }
        if let file = library.files.first(where: { $0.id == subject })
            ?? matching.first.flatMap({ first in
                Set(matching.map(\.id)).count == 1
                    ? library.files.first { $0.id == first.id } : nil
            })
        {
            Terminal.output("# \(file.path)\n\(file.text)")
            return
        }
        guard !matching.isEmpty else {
            let known = FindingCode.allCases.map(\.rawValue) + Set(library.contracts.map(\.id))
            let near = Suggestion.nearest(to: subject, among: known)
            throw Failure(
                .nothingSelected,
                "'\(subject)' is neither a finding code nor a clause nor a contract"
                    + (near.map { "; did you mean '\($0)'?" } ?? "; see 'assay list'")
            )
        }
        for id in matching.map(\.id).reduce(
            into: [String](),
            { if !$0.contains($1) { $0.append($1) } }
        ) {
            guard let contract = matching.first(where: { $0.id == id }) else { continue }
            Terminal.output("\(contract.clause)  \(id)\n      \(contract.title)\n")
            Terminal.output("      source: \(contract.source)\n")
        }
    }

    private func explain(_ code: FindingCode) {
        let parts = code.explanation
        Terminal.output("\(code.rawValue) \(code.rule)\n")
        for (label, text) in [
            ("meaning", parts.meaning), ("cause", parts.cause), ("remedy", parts.remedy),
        ] {
            for (index, line) in text.wrapped(86).enumerated() {
                let head = index == 0 ? label : ""
                Terminal.output(
                    "  " + head + String(repeating: " ", count: 10 - head.count) + line + "\n"
                )
            }
        }
    }
}
