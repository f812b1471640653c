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
            "Explains a finding code, a clause, a contract, a key or a cited source.",
        discussion: """
            Example:  assay explain E204
                      assay explain S-03
                      assay explain revenuecat/idempotency/duplicate-initial-purchase
                      assay explain lost-responses
                      assay explain steps.deliver.retry
                      assay explain profile
                      assay explain subscriber-reads
                      assay explain source
                      assay explain source identity-rules C.1
                      assay explain source X-08
            """
    )

    @Argument(
        help: ArgumentHelp(
            "A finding code, a clause, a contract ID, a feature, or a key of contracts or "
                + "profiles; 'contract' or 'profile' lists all keys. 'source' with a fact sheet, "
                + "a section and a row shows a source that contracts cite.",
            valueName: "subject"
        ),
        completion: Completions.topicCompletion
    )
    var subjects: [String]

    @OptionGroup var options: SelectionOptions

    func validate() throws {
        guard subjects.count > 1, subjects.first != "source" else { return }
        throw ValidationError(
            "'\(subjects.joined(separator: " "))' is more than one subject; "
                + "only 'source' takes several words"
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
            let explainedKey = explainKey()
            if explainedFeature || explainedKey || explainLanguage() { return }
            throw unknownNameFailure(library)
        }
        if let clause = Clause.named(subject) {
            explain(clause)
        } else if let name = matchingHeadings.first?.clause, name == subject.uppercased() {
            try ExplainSource(words: [name]).run()
            Terminal.output("\n")
        }
        var printedTexts: Set<String> = []
        for contract in matchingHeadings where printedTexts.insert(contract.id).inserted {
            Terminal.output("\(contract.clause)  \(contract.id)\n      \(contract.title)\n")
            Terminal.output("      source: \(contract.source)\n")
        }
    }

    /// Prints the requirement of a clause, its reason, typical mistakes and its sources.
    private func explain(_ clause: Clause) {
        Terminal.output("\(clause.title) (\(clause.name))\n")
        printParts([("requires", clause.requirement), ("because", clause.rationale)])
        printParts(clause.faults.enumerated().map { ($0 == 0 ? "mistakes" : "", "– " + $1) })
        printParts([("build", clause.correctDesign), ("source", clause.source)])
        printParts(
            citations(of: clause.source, by: "clause").enumerated()
                .map { ($0 == 0 ? "read" : "", $1) }
        )
        Terminal.output("\n")
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
        let nearestName = Suggestion.nearest(to: subject, among: knownNames)
        return CommandFailure(
            .nothingSelected,
            "'\(subject)' is not a finding code, a clause, a contract, a feature or a key"
                + (nearestName.map { "; did you mean '\($0)'?" } ?? "; see 'assay list'")
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
        printParts([
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
        printParts(contractIDs.enumerated().map { ($0 == 0 ? "needed by" : "", $1) })
        Terminal.output("\n")
        return true
    }

    /// Prints every key of contracts or of profiles, indented by depth.
    ///
    /// - Returns: Whether the subject is `contract` or `profile`.
    private func explainLanguage() -> Bool {
        guard let language = FileFormat(rawValue: subject) else { return false }
        Terminal.output("Every key of a \(language.rawValue); 'assay explain KEY' shows more\n")
        for keyLocation in language.reference.keyLocations {
            let doc = keyLocation.key.doc.replacing("`", with: "")
            let first = doc.prefix { $0 != "." && $0 != ";" }
            let name =
                String(repeating: "  ", count: keyLocation.path.count)
                + (keyLocation.path.last ?? "")
            let columnPadding = String(repeating: " ", count: max(2, 30 - name.count))
            Terminal.output((name + columnPadding + first).prefix(100) + "\n")
        }
        return true
    }

    /// Prints every key of contracts and profiles that the subject names, each with its path from
    /// the top of the file.
    ///
    /// Keys with the same meaning are printed together.
    ///
    /// - Returns: Whether the subject names a key.
    private func explainKey() -> Bool {
        var meanings: [(keyLocations: [String], parts: [(label: String, text: String)])] = []
        for language in FileFormat.allCases {
            for keyLocation in language.reference.keyLocations(named: subject) {
                let parts = language.reference.explanation(of: keyLocation)
                let text = "\(keyLocation.text)  (\(language.rawValue))"
                if let sameMeaningIndex = meanings.firstIndex(where: {
                    $0.parts.elementsEqual(parts, by: ==)
                }) {
                    meanings[sameMeaningIndex].keyLocations.append(text)
                } else {
                    meanings.append(([text], parts))
                }
            }
        }
        for (index, meaning) in meanings.enumerated() {
            if index > 0 { Terminal.output("\n") }
            Terminal.output(meaning.keyLocations.map { $0 + "\n" }.joined())
            printParts(meaning.parts)
        }
        return !meanings.isEmpty
    }

    private func explain(_ code: FindingCode) {
        let parts = code.facts
        Terminal.output("\(code.rawValue) \(code.rule)\n")
        printParts([("meaning", parts.meaning), ("cause", parts.cause), ("remedy", parts.remedy)])
    }

    private func printParts(_ parts: [(label: String, text: String)]) {
        for (label, text) in parts {
            for (index, line) in text.wrapped(84).enumerated() {
                let labelColumn = index == 0 ? label : ""
                Terminal.output(
                    "  " + labelColumn + String(repeating: " ", count: 12 - labelColumn.count)
                        + line + "\n"
                )
            }
        }
    }
}
