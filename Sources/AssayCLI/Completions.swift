internal import ArgumentParser
internal import Conformance
internal import ContractFiles
internal import ReferenceBackend

/// What a shell offers when the Tab key is pressed: names out of the program's own tables.
///
/// `assay --generate-completion-script bash` (zsh, fish) writes the script, which asks the program.
enum Completions {
    /// Clauses, contracts and cases, as `--only` takes them.
    static let cases = CompletionKind.custom { _, _, prefix in
        let headings = ContractLibrary.listed.headings
        let clauses = Set(headings.map(\.clause)).sorted()
        // A case is offered when its contract has been typed: six hundred are no choice.
        let contracts = Set(headings.map(\.id)).sorted()
        let isInside = contracts.contains { prefix.hasPrefix($0) }
        let names = isInside ? headings.map(\.caseID) : contracts
        return offered(clauses + names, prefix)
    }

    /// What `explain` explains: codes and clauses.
    static let topics = CompletionKind.custom { _, _, prefix in
        let codes = FindingCode.allCases.map(\.rawValue)
        let clauses = Clause.all.map(\.name)
        return offered(codes + clauses, prefix)
    }

    /// Defects of the reference backend.
    static let defects = CompletionKind.custom { _, _, prefix in
        offered(Defect.allCases.map(\.rawValue) + ["guide"], prefix)
    }

    static let profile = CompletionKind.file(extensions: ["yaml", "yml"])

    private static func offered(_ names: [String], _ prefix: String) -> [String] {
        names.filter { $0.hasPrefix(prefix) }
    }
}
