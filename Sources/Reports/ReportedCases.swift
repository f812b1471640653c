internal import Judging

extension CaseResult {
    /// Whether the case needs attention, so that reports show more about it than its verdict.
    var isReported: Bool { ![.passed, .notApplicable].contains(outcome) }
}
