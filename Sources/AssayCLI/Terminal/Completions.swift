internal import ArgumentParser
internal import ContractFiles
internal import Contracts
internal import Grammar
internal import Judging
internal import ReferenceBackend

/// The names that a shell completes after the Tab key: contracts, finding codes and defects.
///
/// `assay --generate-completion-script bash` (or zsh, fish) prints a shell script that calls this
/// program for these names.
enum Completions {
    /// The clauses, contracts and cases that the shell offers after `--only`.
    static let cases = CompletionKind.custom { _, _, prefix in
        let headings = ContractLibrary.indexed.headings
        let clauseNames = Set(headings.map(\.clause)).sorted()
        // Cases are offered only after their contract was typed: a list of all six hundred is too
        // long.
        let contractIDs = Set(headings.map(\.id)).sorted()
        let completesCaseID = contractIDs.contains { prefix.hasPrefix($0) }
        let candidateNames = completesCaseID ? headings.map(\.caseID) : contractIDs
        return matchingNames(clauseNames + candidateNames, prefix)
    }

    /// The finding codes, clauses and profile keys that the shell offers after `assay explain`.
    static let topicCompletion = CompletionKind.custom { _, _, prefix in
        let findingCodes = FindingCode.allCases.map(\.rawValue)
        let clauseNames = Clause.all.map(\.name)
        // Deeper keys repeat the keys of a request or a probe for each name.
        let keys = FileFormat.profile.reference.keyLocations.filter { $0.path.count <= 2 }
        let formats = FileFormat.allCases.map(\.rawValue)
        return matchingNames(
            findingCodes + clauseNames + formats + ["source"] + keys.map(\.text),
            prefix
        )
    }

    /// The names of the reference backend's defects, and `guide`, which turns on the defects of a
    /// published guide.
    static let defects = CompletionKind.custom { _, _, prefix in
        matchingNames(Defect.allCases.map(\.rawValue) + ["guide"], prefix)
    }

    static let profile = CompletionKind.file(extensions: ["yaml", "yml"])

    private static func matchingNames(_ candidateNames: [String], _ prefix: String) -> [String] {
        candidateNames.filter { $0.hasPrefix(prefix) }
    }
}
