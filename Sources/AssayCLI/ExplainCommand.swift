internal import ArgumentParser
internal import Conformance
internal import ContractFiles
internal import Reports

struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract:
            "Explains a finding code, a clause, a contract, a key, or the source behind them.",
        discussion: """
            Example:  assay explain E204
                      assay explain S-03
                      assay explain revenuecat/idempotency/duplicate-initial-purchase
                      assay explain lose-answers
                      assay explain steps.deliver.along
                      assay explain source
                      assay explain source identity-rules C.1
                      assay explain source X-08
            """
    )

    @Argument(
        help: ArgumentHelp(
            "A finding code, a clause, the id of a contract, or a key of contracts or profiles. "
                + "'source' and a fact sheet, a section, a row: what contracts cite.",
            valueName: "subject"
        )
    )
    var subjects: [String]

    @OptionGroup var options: SelectionOptions

    func validate() throws {
        guard subjects.count > 1, subjects.first != "source" else { return }
        throw ValidationError(
            "one subject at a time, not '\(subjects.joined(separator: " "))'; only 'source' takes more"
        )
    }

    private var subject: String { subjects.first ?? "" }

    mutating func run() async throws {
        if subject == "source" {
            return try ExplainSource(words: Array(subjects.dropFirst())).run()
        }
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
            if let contract = library.contracts.first(where: { $0.id == file.id }) {
                for line in citations(of: contract.source, by: contract.id) {
                    Terminal.output("# read: \(line)\n")
                }
            }
            return
        }
        guard !matching.isEmpty else {
            if explainKey() { return }
            throw unknown(library)
        }
        if let clause = Clause.named(subject) {
            explain(clause)
        } else if let name = matching.first?.clause, name == subject.uppercased() {
            try ExplainSource(words: [name]).run()
            Terminal.output("\n")
        }
        var told: Set<String> = []
        for contract in matching where told.insert(contract.id).inserted {
            Terminal.output("\(contract.clause)  \(contract.id)\n      \(contract.title)\n")
            Terminal.output("      source: \(contract.source)\n")
        }
    }

    /// What the clause demands; the contracts that ask for it follow.
    private func explain(_ clause: Clause) {
        Terminal.output("\(clause.name)\n")
        show([("demands", clause.demand), ("because", clause.why)])
        show(clause.faults.enumerated().map { ($0 == 0 ? "goes wrong" : "", "– " + $1) })
        show([("build", clause.build), ("source", clause.source)])
        show(
            citations(of: clause.source, by: "clause").enumerated()
                .map { ($0 == 0 ? "read" : "", $1) }
        )
        Terminal.output("\n")
    }

    /// The commands that show what a source cites.
    private func citations(of source: String, by id: String) -> [String] {
        Citation.all(in: source, by: id).map { Terminal.next(["explain"] + $0.words) }
    }

    private func unknown(_ library: ContractLibrary) -> Failure {
        let known =
            FindingCode.allCases.map(\.rawValue) + Clause.all.map(\.name)
            + Set(library.contracts.map(\.id))
            + Language.allCases.flatMap(\.reference.names)
        let near = Suggestion.nearest(to: subject, among: known)
        return Failure(
            .nothingSelected,
            "'\(subject)' is neither a finding code nor a clause, a contract or a key"
                + (near.map { "; did you mean '\($0)'?" } ?? "; see 'assay list'")
        )
    }

    /// Every key of that name, each with the way to it from the top of its file.
    private func explainKey() -> Bool {
        var isFound = false
        for language in Language.allCases {
            for place in language.reference.places(named: subject) {
                if isFound { Terminal.output("\n") }
                isFound = true
                Terminal.output("\(place.text)  (\(language.rawValue))\n")
                show(language.reference.explanation(of: place))
            }
        }
        return isFound
    }

    private func explain(_ code: FindingCode) {
        let parts = code.explanation
        Terminal.output("\(code.rawValue) \(code.rule)\n")
        show([("meaning", parts.meaning), ("cause", parts.cause), ("remedy", parts.remedy)])
    }

    private func show(_ parts: [(label: String, text: String)]) {
        for (label, text) in parts {
            for (index, line) in text.wrapped(84).enumerated() {
                let head = index == 0 ? label : ""
                Terminal.output(
                    "  " + head + String(repeating: " ", count: 12 - head.count) + line + "\n"
                )
            }
        }
    }
}
