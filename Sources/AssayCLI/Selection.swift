internal import Conformance
internal import ContractFiles
internal import Phone

/// Which cases run: patterns over case ids, contract ids and clauses.
struct Selection {
    let only: [String]
    let skip: [String]
    /// The lowest level that runs, when a person said one.
    let level: Contract.Level?
    /// The lowest level that runs unasked: a contract below it runs where a pattern is its very name.
    var fallback: Contract.Level?

    /// The selected contracts; a pattern that selects nothing is an error.
    func apply(to contracts: [ContractHeading]) throws -> [ContractHeading] {
        for pattern in only where !contracts.contains(where: { Self.matches(pattern, $0) }) {
            throw Failure(.nothingSelected, Self.unmatched("--only", pattern, contracts))
        }
        for pattern in skip where !contracts.contains(where: { Self.matches(pattern, $0) }) {
            throw Failure(.nothingSelected, Self.unmatched("--skip", pattern, contracts))
        }
        let selected = contracts.filter(takes)
        guard !selected.isEmpty else {
            let isLower = contracts.contains {
                !hasLevel($0) && Selection(only: only, skip: skip, level: nil).takes($0)
            }
            throw Failure(
                .nothingSelected,
                "the selection leaves no case of \(contracts.count); "
                    + (isLower ? "lower levels run with '--level may'" : "see 'assay list'")
            )
        }
        return selected
    }

    /// The selected contracts that judge a backend; those that judge an app are 'assay app's.
    func applyForBackends(to contracts: [ContractHeading]) throws -> [ContractHeading] {
        let backends = contracts.filter { !$0.isDeviceScenario }
        for pattern in only where !backends.contains(where: { Self.matches(pattern, $0) }) {
            guard contracts.contains(where: { Self.matches(pattern, $0) }) else { continue }
            throw Failure(
                .nothingSelected,
                "--only '\(pattern)' selects device scenarios, which judge an app: "
                    + "assay app --only '\(pattern)' --url URL"
            )
        }
        return try apply(to: backends)
    }

    /// Whether the selection holds that contract, or that case of a search.
    func takes(_ contract: ContractHeading) -> Bool {
        (only.isEmpty || only.contains { Self.matches($0, contract) })
            && !skip.contains { Self.matches($0, contract) } && hasLevel(contract)
    }

    private func hasLevel(_ contract: ContractHeading) -> Bool {
        guard let lowest = level ?? fallback else { return true }
        if contract.level <= lowest { return true }
        return level == nil && only.contains { isName($0, of: contract) }
    }

    /// Whether a pattern names that contract and no other.
    private func isName(_ pattern: String, of contract: ContractHeading) -> Bool {
        (pattern + "/").hasPrefix(contract.id + "/") && Self.matches(pattern, contract)
    }

    /// A pattern names a clause, a case, a contract, or a folder of contracts; `*` stands for
    /// anything.
    static func matches(_ pattern: String, _ contract: ContractHeading) -> Bool {
        if pattern == contract.clause { return true }
        let id = contract.caseID
        // A case of a search is made while it runs: its pattern begins with the contract.
        if contract.search == .crashPoints, pattern.hasPrefix(contract.id + "/") { return true }
        if pattern.contains("*") {
            return glob(Array(pattern.utf8)[...], Array(id.utf8)[...])
                || glob(Array(pattern.utf8)[...], Array(contract.id.utf8)[...])
        }
        return id == pattern || contract.id == pattern
            || id.hasPrefix(pattern.hasSuffix("/") ? pattern : pattern + "/")
    }

    private static func glob(_ pattern: ArraySlice<UInt8>, _ text: ArraySlice<UInt8>) -> Bool {
        // The last star seen takes one byte more whenever what follows it does not fit.
        var (pattern, text) = (pattern, text)
        var retry: (pattern: ArraySlice<UInt8>, text: ArraySlice<UInt8>)?
        while true {
            if pattern.first == UInt8(ascii: "*") {
                pattern = pattern.dropFirst()
                retry = (pattern, text)
            } else if let first = pattern.first, first == text.first {
                (pattern, text) = (pattern.dropFirst(), text.dropFirst())
            } else if pattern.isEmpty, text.isEmpty {
                return true
            } else if let last = retry, !last.text.isEmpty {
                retry = (last.pattern, last.text.dropFirst())
                (pattern, text) = (last.pattern, last.text.dropFirst())
            } else {
                return false
            }
        }
    }

    private static func unmatched(
        _ flag: String,
        _ pattern: String,
        _ contracts: [ContractHeading]
    ) -> String {
        let names = Set(contracts.map(\.id)).sorted()
        let near =
            Suggestion.nearest(to: pattern, among: names)
            ?? names.first { $0.contains(pattern) }
        return "\(flag) '\(pattern)' selects no case"
            + (near.map { "; did you mean '\($0)'?" } ?? "; see 'assay list'")
    }
}
