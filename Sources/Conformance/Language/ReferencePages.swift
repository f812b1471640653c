/// The pages of the documentation that are made from the program's own tables, in DocC's Markdown;
/// those of the two languages stand with their grammars.
package enum ReferencePage: CaseIterable, Sendable {
    case clauses, findingCodes

    private static let note =
        "This page is made from the table that the program itself reads: it is changed there."

    /// The page as it is checked in.
    ///
    /// - Parameter contracts: Those that ask for clauses.
    /// - Returns: Its Markdown.
    package func text(_ contracts: [ContractHeading]) -> String {
        let body =
            switch self {
            case .clauses: Self.clauses(contracts)
            case .findingCodes: Self.codes
            }
        return body.joined(separator: "\n") + "\n"
    }

    // MARK: Clauses

    private static func clauses(_ contracts: [ContractHeading]) -> [String] {
        var lines = [
            "# Clauses", "",
            "What a backend or an app can be asked for, why, how it goes wrong and how it is built "
                + "right. `assay explain S-05` says the same at the prompt.", "", note, "",
        ]
        for clause in Clause.all {
            lines += ["## \(clause.name)", "", clause.demand, "", "Because: \(clause.why)", ""]
            lines += ["Goes wrong:", ""] + clause.faults.map { "- \($0)" }
            lines += ["", "Built right: \(clause.build)", "", "Source: \(clause.source)", ""]
            lines += list("Contracts", contracts.filter { $0.clause == clause.name })
        }
        let known = Set(Clause.all.map(\.name))
        let others = unique(contracts.map(\.clause)).filter { !known.contains($0) }
        for name in others {
            lines += ["## \(name)", "", "`assay explain source \(name)` shows the row.", ""]
            lines += list("Contracts", contracts.filter { $0.clause == name })
        }
        return lines.dropLast()
    }

    // MARK: Finding codes

    private static var codes: [String] {
        var lines = [
            "# Findings", "",
            "What each code means, where it usually comes from and what mends it. Codes from 901 on "
                + "are no fault that was seen: they say why nothing could be proven. "
                + "`assay explain E204` says the same at the prompt.", "", note, "",
        ]
        for code in FindingCode.allCases {
            let parts = code.explanation
            lines += ["## \(code.rawValue) \(code.rule)", "", parts.meaning, ""]
            lines += ["Cause: \(parts.cause)", "", "Remedy: \(parts.remedy)", ""]
        }
        return lines.dropLast()
    }

    // MARK: Parts

    private static func list(_ title: String, _ contracts: [ContractHeading]) -> [String] {
        guard !contracts.isEmpty else { return [] }
        var lines = ["\(title):", ""]
        var told: Set<String> = []
        for contract in contracts where told.insert(contract.id).inserted {
            let level = contract.level == .must ? "" : " (\(contract.level.rawValue))"
            lines.append("- `\(contract.id)`\(level): \(contract.title)")
        }
        return lines + [""]
    }

    private static func unique(_ names: [String]) -> [String] {
        var seen: Set<String> = []
        return names.filter { seen.insert($0).inserted }
    }
}
