internal import Contracts
internal import Judging
internal import Redaction

/// A group of cases that need attention and have the same finding code and outcome.
struct FindingGroup {
    let code: FindingCode
    let outcome: CaseOutcome
    /// The cases of the group, each with its index in the list of all cases that need attention.
    private(set) var cases: [(number: Int, result: Redacted<CaseResult>)]

    var clauses: [String] { Set(cases.map(\.result.contract.clause)).sorted() }

    /// Groups cases by finding code and outcome.
    ///
    /// Failures come before inconclusive cases, and larger groups before smaller groups.
    static func groups(_ reportedCases: [Redacted<CaseResult>]) -> [FindingGroup] {
        var groups: [FindingGroup] = []
        for (number, result) in reportedCases.enumerated() {
            guard let code = result.findings.first?.code else { continue }
            let index = groups.firstIndex { $0.code == code && $0.outcome == result.outcome }
            if let index {
                groups[index].cases.append((number, result))
            } else {
                groups.append(
                    FindingGroup(code: code, outcome: result.outcome, cases: [(number, result)])
                )
            }
        }
        return groups.sorted { ($0.rank, -$0.cases.count) < ($1.rank, -$1.cases.count) }
    }

    private var rank: Int { outcome.rank }
}

extension CaseOutcome {
    /// The sort order of the outcome in reports: first failures, then incomplete cases, then all
    /// other cases.
    var rank: Int { isFailure ? 0 : isIncomplete ? 1 : 2 }
}

extension CaseResult {
    /// Whether the case needs attention, so that reports show more about it than its verdict.
    var isReported: Bool { ![.passed, .notApplicable].contains(outcome) }
}
