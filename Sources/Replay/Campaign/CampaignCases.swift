internal import Contracts
internal import Exploration
package import Judging
internal import Values

extension Campaign.Outcome {
    /// The largest share of inconclusive histories with which a clause can still pass.
    private static let undecidedShareMax = 0.05

    /// The results of the campaign as cases of a report.
    ///
    /// There is one case for each failure, and one for every other clause that the histories test.
    package var cases: [CaseResult] {
        if let reason = skipReasons.first {
            return [
                CaseResult(
                    contract: Self.summaryContract("histories", "S-10", 0),
                    verdict: .notRun,
                    note: reason
                )
            ]
        }
        let failed = Set(found.map(\.result.contract.clause))
        let clauses = clauses.keys.sorted().filter { !failed.contains($0) }
        let others =
            clauses.map(caseResult)
            + flakyFailures.enumerated().map { Self.flakyCaseResult($1, $0 + 1) }
            + invariantViolations + rest
        return found.map(\.caseResult) + others.map(Self.withoutRerunCommand)
    }

    /// Returns the result without a command for a rerun, because no file defines its case.
    private static func withoutRerunCommand(_ result: CaseResult) -> CaseResult {
        var result = result
        result.replayedCaseIDs = []
        return result
    }

    /// An inconclusive result that represents the histories that did not run; empty if the campaign
    /// was complete.
    ///
    /// A campaign that ended early is not a success.
    private var rest: [CaseResult] {
        guard let end else { return [] }
        let finding = Finding(
            .unobservable,
            expected: "histories can run until the campaign is over",
            actual: "the campaign ended early: \(end)"
        )
        return [
            CaseResult(
                contract: Self.summaryContract("histories/rest", "S-33", progress.histories),
                verdict: .inconclusive,
                findings: [finding],
                note: finding.actual
            )
        ]
    }

    private func caseResult(_ clause: String) -> CaseResult {
        let count = clauses[clause, default: 0]
        let undecidedCount = inconclusiveCountsByClause[clause, default: 0]
        let isDecided = Double(undecidedCount) <= Double(count) * Self.undecidedShareMax
        let contract = Self.summaryContract(Self.summaryCaseID(of: clause), clause, count)
        guard !isDecided else {
            var result = CaseResult(contract: contract, verdict: .passed)
            result.runCount = count
            return result
        }
        let reason = inconclusive.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key ?? ""
        let code = reason.split(separator: " ").first.flatMap { FindingCode(rawValue: String($0)) }
        let finding = Finding(
            code ?? .unobservable,
            expected: "histories that test \(clause) can be judged",
            actual:
                "\(undecidedCount) of \(count) histories could not be judged; most frequent reason: "
                + reason
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

    /// Returns the ID of the case in the report that represents all histories that test a clause.
    static func summaryCaseID(of clause: String) -> String { "histories/\(clause)" }

    static let flakyCaseIDPrefix = "histories/unsteady-"

    static func title(_ count: Int, _ clause: String) -> String {
        "Generated histories that test \(clause): \(count)"
    }

    /// Returns a contract that represents several histories in the report.
    private static func summaryContract(_ id: String, _ clause: String, _ count: Int) -> Contract {
        Contract(
            id: id,
            variant: "",
            title: title(count, clause),
            clause: clause,
            level: .must,
            source: "histories that 'assay explore' generated",
            needs: [],
            given: [],
            steps: [],
            expectation: Expectation(responses: .statuses([200])),
            location: SourceLocation(path: id, line: 1, column: 1)
        )
    }

    /// Returns the failed result of a history that failed once but not again.
    ///
    /// It proves a race without showing the cause.
    private static func flakyCaseResult(_ failure: Campaign.FlakyFailure, _ number: Int)
        -> CaseResult
    {
        var result = failure.result
        result.contract.id = flakyCaseIDPrefix + "\(number)"
        result.verdict = .failed
        let others =
            failure.count == 1
            ? "" : "; \(failure.count) generated histories have the same failure signature"
        result.note =
            "the history failed once, but not when it was repeated: a race"
            + others
        return result
    }
}

extension Campaign.FoundFailure {
    /// The result of the failure for a report, with the contract that reproduces the failure.
    fileprivate var caseResult: CaseResult {
        var result = result
        result.found = result.contract
        result.runCount = shrinkCount
        let size = "shrunk from \(original.size) operations and faults to \(input.size)"
        let rest = isMinimal ? "" : "; time ran out before the history was minimal"
        let others =
            duplicateCount == 0
            ? ""
            : duplicateCount == 1
                ? "; 1 other failed history has the same cause"
                : "; \(duplicateCount) other failed histories have the same cause"
        let doubtText =
            switch failsFromSavedFile {
            case true: ""
            case false: "; a run of the saved contract file did not reproduce the failure"
            case nil: "; time ran out before the saved contract file was run"
            }
        result.note = size + rest + others + doubtText
        return result
    }
}
