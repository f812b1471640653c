internal import ArgumentParser
internal import ContractFiles
internal import Contracts
internal import Grammar
internal import Judging
internal import Providers
internal import Reports

struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract:
            "Explains a finding code, a clause, a key or a source.",
        discussion: """
            Example:  assay explain E204
                      assay explain S-03
                      assay explain revenuecat/idempotency/duplicate-initial-purchase
                      assay explain lost-responses
                      assay explain steps.deliver.retry
                      assay explain endpoints.login
                      assay explain products
                      assay explain profile
                      assay explain subscriber-reads
                      assay explain source
                      assay explain source C.1
                      assay explain source X-08
            """
    )

    @Argument(
        help: ArgumentHelp(
            "A finding code, a clause, a contract ID, a feature, or a key of contracts or "
                + "profiles, or several of them; 'contract' or 'profile' lists all keys. 'source' "
                + "with a fact sheet, a section and a row shows a source that contracts cite.",
            valueName: "subject"
        ),
        completion: Completions.topicCompletion
    )
    var subjects: [String]

    @OptionGroup var options: SelectionOptions

    private var subject: String { subjects.first ?? "" }

    mutating func run() async throws {
        if subject == "source" {
            return try ExplainSource(words: Array(subjects.dropFirst())).run()
        }
        for (index, subject) in subjects.enumerated() {
            if index > 0 { Terminal.output("\n") }
            var command = self
            command.subjects = [subject]
            try command.explainSubject()
        }
    }

    /// Explains the only subject.
    private func explainSubject() throws {
        if let code = FindingCode(rawValue: subject.uppercased()) {
            explain(code)
            return
        }
        let library = try options.contractLibrary()
        let explainedFeature = explainFeature(library)
        let matchingHeadings = library.headings.filter { Selection.matches(subject, $0) }
        if let file = library.files.first(where: { $0.id == subject })
            ?? matchingHeadings.first.flatMap({ first in
                Set(matchingHeadings.map(\.id)).count == 1
                    ? library.files.first { $0.id == first.id } : nil
            })
        {
            Terminal.output("# \(file.path)\n\(file.text)")
            if let contract = library.headings.first(where: { $0.id == file.id }) {
                for line in citations(of: contract.source, by: contract.id) {
                    Terminal.output("# read: \(line)\n")
                }
            }
            return
        }
        guard !matchingHeadings.isEmpty else {
            // 'contract' is also a key of contracts, whose meaning the list contains.
            if explainLanguage() || ExplainKey(name: subject).run() || explainedFeature {
                if subject == "products" {
                    Terminal.output("\n")
                    ExplainProducts(library: library).run()
                }
                return
            }
            throw unknownNameFailure(library)
        }
        if let clause = Clause.named(subject) {
            explain(clause, testedBy: matchingHeadings.map(\.id))
            return
        }
        if let name = matchingHeadings.first?.clause, name == subject.uppercased() {
            try ExplainSource(words: [name]).run()
            Terminal.output("\n")
        }
        var printedTexts: Set<String> = []
        for contract in matchingHeadings where printedTexts.insert(contract.id).inserted {
            Terminal.output("\(contract.clause)  \(contract.id)\n")
            let source = subject == contract.id ? ["source: \(contract.source)"] : []
            for line in ([contract.title] + source).flatMap({ $0.wrapped(74) }) {
                Terminal.output("      \(line)\n")
            }
        }
    }

    /// Prints the requirement of a clause, its reason, typical mistakes, its sources and the contracts
    /// that test it, each of which can be explained as well.
    private func explain(_ clause: Clause, testedBy contractIDs: [String]) {
        var printedIDs: Set<String> = []
        let uniqueIDs = contractIDs.filter { printedIDs.insert($0).inserted }
        Terminal.output("\(clause.title) (\(clause.name))\n")
        ExplainText.printParts([("requires", clause.requirement), ("because", clause.rationale)])
        ExplainText.printParts(
            clause.faults.enumerated().map { ($0 == 0 ? "mistakes" : "", "– " + $1) }
        )
        ExplainText.printParts([("build", clause.correctDesign), ("source", clause.source)])
        ExplainText.printParts(
            citations(of: clause.source, by: "clause").enumerated()
                .map { ($0 == 0 ? "read" : "", $1) }
                + uniqueIDs.enumerated().map { ($0 == 0 ? "tested by" : "", $1) }
        )
    }

    /// Returns the `assay explain` commands that show the sources that a contract or clause cites.
    ///
    /// - Parameters:
    ///   - source: The text with the citations.
    ///   - id: The ID of the contract or clause.
    /// - Returns: One command for each cited source.
    private func citations(of source: String, by id: String) -> [String] {
        Citation.all(in: source, by: id).map { Terminal.next(["explain"] + $0.words) }
    }

    private func unknownNameFailure(_ library: ContractLibrary) -> CommandFailure {
        let knownNames =
            FindingCode.allCases.map(\.rawValue) + Clause.all.map(\.name)
            + Set(library.headings.map(\.id))
            + FileFormat.allCases.flatMap(\.reference.names)
            + FileFormat.allCases.map(\.rawValue) + Feature.allCases.map(\.rawValue)
        let clauses = Set(Clause.all.map(\.name) + library.headings.map(\.clause)).sorted()
        let isFindingCode = subject.uppercased().first == "E"
        let suggestion =
            (isFindingCode ? nil : ClauseSuggestion(subject, among: clauses)?.text)
            ?? Suggestion.nearest(to: subject, among: knownNames).map { "did you mean '\($0)'?" }
        return CommandFailure(
            .nothingSelected,
            "'\(subject)' is not a finding code, a clause, a contract, a feature or a key; "
                + (suggestion ?? "see 'assay list'")
        )
    }

    /// Prints the feature of backends that the subject names: its meaning, how a profile declares
    /// that the backend lacks it, and the contracts that need it.
    ///
    /// - Returns: Whether the subject names a feature.
    private func explainFeature(_ library: ContractLibrary) -> Bool {
        guard let feature = Feature(rawValue: subject) else { return false }
        Terminal.output("\(feature.rawValue)  (feature of a backend)\n")
        let exceptFeatureExample = "features: {except: [\(feature.rawValue)]}"
        ExplainText.printParts([
            ("meaning", feature.meaning),
            (
                "without",
                exceptFeatureExample + (feature.isOptionalByDesign ? ", if that is intended" : "")
            ),
        ])
        var contractIDs: [String] = []
        for contract in library.contracts where contract.allRequiredFeatures.contains(feature) {
            if !contractIDs.contains(contract.id) { contractIDs.append(contract.id) }
        }
        ExplainText.printParts(contractIDs.enumerated().map { ($0 == 0 ? "needed by" : "", $1) })
        Terminal.output("\n")
        return true
    }

    /// Prints the keys of contracts or of profiles.
    ///
    /// - Returns: Whether the subject is `contract` or `profile`.
    private func explainLanguage() -> Bool {
        guard let language = FileFormat(rawValue: subject) else { return false }
        ExplainLanguage(language: language).run()
        return true
    }

    private func explain(_ code: FindingCode) {
        let parts = code.facts
        Terminal.output("\(code.rawValue) \(code.rule)\n")
        ExplainText.printParts([
            ("meaning", parts.meaning), ("cause", parts.cause), ("remedy", parts.remedy),
        ])
    }
}
