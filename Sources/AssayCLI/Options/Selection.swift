internal import Contracts
internal import Grammar

/// The selection of cases: patterns for case IDs, contract IDs and clauses.
struct Selection {
    let only: [String]
    let skip: [String]
    /// The lowest level that runs, from `--level`; nil without that flag.
    let level: Contract.Level?
    /// The lowest level of contracts that run without `--level`; nil for no limit.
    ///
    /// A contract below this level runs only when a pattern is its exact ID.
    var defaultLevel: Contract.Level?

    /// Returns the selected contracts, and throws for a pattern that selects none.
    func apply(to contracts: [ContractHeading]) throws -> [ContractHeading] {
        for pattern in only where !contracts.contains(where: { Self.matches(pattern, $0) }) {
            throw CommandFailure(
                .nothingSelected,
                Self.unmatchedMessage("--only", pattern, contracts)
            )
        }
        for pattern in skip where !contracts.contains(where: { Self.matches(pattern, $0) }) {
            throw CommandFailure(
                .nothingSelected,
                Self.unmatchedMessage("--skip", pattern, contracts)
            )
        }
        let selectedHeadings = contracts.filter(includes)
        guard !selectedHeadings.isEmpty else {
            let existsAtLowerLevel = contracts.contains {
                !hasLevel($0) && Selection(only: only, skip: skip, level: nil).includes($0)
            }
            throw CommandFailure(
                .nothingSelected,
                "the selection matches none of \(contracts.count) cases; "
                    + (existsAtLowerLevel
                        ? "lower levels run with '--level may'" : "see 'assay list'")
            )
        }
        return selectedHeadings
    }

    /// Returns the selected contracts that test a backend.
    ///
    /// `assay app` runs the contracts that test an app.
    func applyForBackends(to contracts: [ContractHeading]) throws -> [ContractHeading] {
        let backendHeadings = contracts.filter { !$0.isDeviceScenario }
        for pattern in only where !backendHeadings.contains(where: { Self.matches(pattern, $0) }) {
            guard contracts.contains(where: { Self.matches(pattern, $0) }) else { continue }
            throw CommandFailure(
                .nothingSelected,
                "--only '\(pattern)' selects device scenarios, which test an app; run: "
                    + "assay app --only '\(pattern)' --url URL"
            )
        }
        return try apply(to: backendHeadings)
    }

    /// Returns whether the selection contains a contract, or a case that the contract generates by
    /// a search.
    func includes(_ contract: ContractHeading) -> Bool {
        (only.isEmpty || only.contains { Self.matches($0, contract) })
            && !skip.contains { Self.matches($0, contract) } && hasLevel(contract)
    }

    private func hasLevel(_ contract: ContractHeading) -> Bool {
        guard let lowest = level ?? defaultLevel else { return true }
        if contract.level <= lowest { return true }
        return level == nil && only.contains { matchesName($0, of: contract) }
    }

    /// Returns whether a pattern is the ID of this contract and matches no other contract.
    private func matchesName(_ pattern: String, of contract: ContractHeading) -> Bool {
        (pattern + "/").hasPrefix(contract.id + "/") && Self.matches(pattern, contract)
    }

    /// Returns whether a pattern matches a contract.
    ///
    /// A pattern is a clause, or the ID of a case, a contract or a folder of contracts. `*` matches
    /// any characters.
    static func matches(_ pattern: String, _ contract: ContractHeading) -> Bool {
        if pattern == contract.clause { return true }
        let id = contract.caseID
        // A search creates its cases while it runs, so a pattern for such a case begins with the ID
        // of the contract.
        if contract.search == .crashPoints, pattern.hasPrefix(contract.id + "/") { return true }
        if pattern.contains("*") {
            return matchesGlob(Array(pattern.utf8)[...], Array(id.utf8)[...])
                || matchesGlob(Array(pattern.utf8)[...], Array(contract.id.utf8)[...])
        }
        return id == pattern || contract.id == pattern
            || id.hasPrefix(pattern.hasSuffix("/") ? pattern : pattern + "/")
    }

    private static func matchesGlob(_ pattern: ArraySlice<UInt8>, _ text: ArraySlice<UInt8>) -> Bool
    {
        // On a mismatch after the last star, the star matches one more byte, and the comparison is
        // repeated.
        var (pattern, text) = (pattern, text)
        var backtrackPoint: (pattern: ArraySlice<UInt8>, text: ArraySlice<UInt8>)?
        while true {
            if pattern.first == UInt8(ascii: "*") {
                pattern = pattern.dropFirst()
                backtrackPoint = (pattern, text)
            } else if let first = pattern.first, first == text.first {
                (pattern, text) = (pattern.dropFirst(), text.dropFirst())
            } else if pattern.isEmpty, text.isEmpty {
                return true
            } else if let last = backtrackPoint, !last.text.isEmpty {
                backtrackPoint = (last.pattern, last.text.dropFirst())
                (pattern, text) = (last.pattern, last.text.dropFirst())
            } else {
                return false
            }
        }
    }

    private static func unmatchedMessage(
        _ flag: String,
        _ pattern: String,
        _ contracts: [ContractHeading]
    ) -> String {
        let clauses = Set(contracts.map(\.clause)).sorted()
        let names = Set(contracts.map(\.id)).sorted()
        return "\(flag) '\(pattern)' selects no case; "
            + (ClauseSuggestion(pattern, among: clauses)?.text
                ?? (Suggestion.nearest(to: pattern, among: names)
                ?? names.first { $0.contains(pattern.lowercased()) })
                .map { "did you mean '\($0)'?" } ?? "see 'assay list'")
    }
}
