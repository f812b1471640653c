package import Conformance
internal import Exploration

extension Campaign.Outcome {
    /// So many of a clause's lives may tell nothing before it counts as not looked at.
    private static let undecidedShareMax = 0.05

    /// What a report says: each cause that was found, and for every clause that lives asked for,
    /// whether they came back.
    package var cases: [CaseResult] {
        if let reason = obstacles.first {
            return [
                CaseResult(contract: Self.stand("lives", "S-10", 0), verdict: .notRun, note: reason)
            ]
        }
        let failed = Set(found.map(\.result.contract.clause))
        let clauses = clauses.keys.sorted().filter { !failed.contains($0) }
        let others =
            clauses.map(caseResult) + unsteady.enumerated().map { Self.unsteady($1, $0 + 1) }
            + asides + rest
        return found.map(\.caseResult) + others.map(Self.withoutFile)
    }

    /// What stands in no file is not selected by its name.
    private static func withoutFile(_ result: CaseResult) -> CaseResult {
        var result = result
        result.replays = []
        return result
    }

    /// Lives that would have been played: what ended a campaign early is no success.
    private var rest: [CaseResult] {
        guard let end else { return [] }
        let finding = Finding(
            .unobservable,
            expected: "lives can be played until the campaign is over",
            actual: "it ended early: \(end)"
        )
        return [
            CaseResult(
                contract: Self.stand("lives/rest", "S-33", progress.lives),
                verdict: .inconclusive,
                findings: [finding],
                note: finding.actual
            )
        ]
    }

    private func caseResult(_ clause: String) -> CaseResult {
        let count = clauses[clause, default: 0]
        let undecided = undecidedClauses[clause, default: 0]
        let isDecided = Double(undecided) <= Double(count) * Self.undecidedShareMax
        let contract = Self.stand(Self.standIn(of: clause), clause, count)
        guard !isDecided else {
            var result = CaseResult(contract: contract, verdict: .passed)
            result.runCount = count
            return result
        }
        let reason = inconclusive.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key ?? ""
        let code = reason.split(separator: " ").first.flatMap { FindingCode(rawValue: String($0)) }
        let finding = Finding(
            code ?? .unobservable,
            expected: "lives that ask for \(clause) can be judged",
            actual: "\(undecided) of \(count) could not, most of all for \(reason)"
        )
        var result = CaseResult(
            contract: contract,
            verdict: .inconclusive,
            findings: [finding],
            note: finding.actual
        )
        result.runCount = count
        return result
    }

    /// The case that stands for all lives that asked for a clause.
    static func standIn(of clause: String) -> String { "lives/\(clause)" }

    static let unsteadyPrefix = "lives/unsteady-"

    static func title(_ count: Int, _ clause: String) -> String {
        "\(count) lives that ask for \(clause)"
    }

    /// A contract that stands for many lives.
    private static func stand(_ id: String, _ clause: String, _ count: Int) -> Contract {
        Contract(
            id: id,
            variant: "",
            title: title(count, clause),
            clause: clause,
            level: .must,
            source: "lives that 'assay explore' played",
            needs: [],
            given: [],
            steps: [],
            expectation: Expectation(answers: .statuses([200])),
            location: SourceLocation(path: id, line: 1, column: 1)
        )
    }

    /// What failed once and could not be made to fail again proves a race, and no cause.
    private static func unsteady(_ unsteady: Campaign.Unsteady, _ number: Int) -> CaseResult {
        var result = unsteady.result
        result.contract.id = unsteadyPrefix + "\(number)"
        result.verdict = .failed
        let others = unsteady.count == 1 ? "" : "; so did \(unsteady.count - 1) more lives"
        result.note =
            "it failed once, and not when it was tried again: a race, lost at some moments only"
            + others
        return result
    }
}

extension Campaign.Found {
    /// What a report says of it, with the contract that shows it again.
    fileprivate var caseResult: CaseResult {
        var result = result
        result.found = result.contract
        result.runCount = shrinkCount
        let size = "\(story.size) of \(original.size) acts and disturbances are left"
        let rest = isMinimal ? "" : "; the time was over before it was as small as it gets"
        let others =
            alsoIn == 0
            ? "" : alsoIn == 1 ? "; it explains 1 more life" : "; it explains \(alsoIn) more lives"
        let doubt =
            switch failsAsWritten {
            case true: ""
            case false: "; its file alone did not show it again"
            case nil: "; the time was over before it was played from its file"
            }
        result.note = size + rest + others + doubt
        return result
    }
}
