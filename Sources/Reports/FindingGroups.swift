internal import Contracts
internal import Judging
internal import Redaction

/// A group of cases that need attention and have the same finding code and verdict.
struct FindingGroup {
    let code: FindingCode
    let verdict: Verdict
    /// The cases of the group, each with its index in the list of all cases that need attention.
    private(set) var cases: [(number: Int, result: Redacted<CaseResult>)]

    var clauses: [String] { Set(cases.map(\.result.contract.clause)).sorted() }

    /// Groups cases by finding code and verdict.
    ///
    /// Failures come before inconclusive cases, and larger groups before smaller groups.
    static func groups(_ reportedCases: [Redacted<CaseResult>]) -> [FindingGroup] {
        var groups: [FindingGroup] = []
        for (number, result) in reportedCases.enumerated() {
            guard let code = result.findings.first?.code else { continue }
            let index = groups.firstIndex { $0.code == code && $0.verdict == result.verdict }
            if let index {
                groups[index].cases.append((number, result))
            } else {
                groups.append(
                    FindingGroup(code: code, verdict: result.verdict, cases: [(number, result)])
                )
            }
        }
        return groups.sorted { ($0.rank, -$0.cases.count) < ($1.rank, -$1.cases.count) }
    }

    private var rank: Int { verdict.rank }
}

extension Verdict {
    /// The sort order of the verdict in reports: first failures, then inconclusive cases, then all
    /// other cases.
    var rank: Int {
        switch self {
        case .failed, .unexpectedPass: 0
        case .inconclusive: 1
        case .knownFailure, .notRun, .passed: 2
        }
    }

    /// The verdict as reports print it, such as `known failure`.
    var words: String {
        switch self {
        case .passed: "passed"
        case .failed: "failed"
        case .knownFailure: "known failure"
        case .unexpectedPass: "passed unexpectedly"
        case .inconclusive: "inconclusive"
        case .notRun: "not run"
        }
    }
}

extension CaseResult {
    /// Whether the case needs attention, so that reports show more about it than its verdict.
    var isReported: Bool {
        switch verdict {
        case .passed: false
        case .notRun: !isDeclaredUnsupported
        case .failed, .knownFailure, .unexpectedPass, .inconclusive: true
        }
    }
}
