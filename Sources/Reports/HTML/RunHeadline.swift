internal import Judging
internal import Redaction

/// The result of a run in one sentence, and the facts that follow it.
struct RunHeadline {
    /// The sentence, such as `12 of 608 cases fail`.
    let text: String
    /// The outcome that decides the color of the sentence.
    let outcome: CaseOutcome
    /// Short facts, such as the number of causes and the grade.
    let details: [String]

    init(_ report: Redacted<RunReport>, _ causes: FailureCauses) {
        let total = report.cases.count
        let failureCount = report.cases.count { $0.outcome.isFailure }
        let incompleteCount = report.cases.count { $0.outcome.isIncomplete }
        let passedCount = report.count(.passed)
        if !report.skipReasons.isEmpty {
            (text, outcome) = ("Stopped before the first case", .inconclusive)
        } else if failureCount > 0 {
            let verb = failureCount == 1 ? "fails" : "fail"
            (text, outcome) = ("\(failureCount) of \(Self.cases(total)) \(verb)", .failed)
        } else if incompleteCount > 0 {
            let verb = incompleteCount == 1 ? "has" : "have"
            text = "No case fails; \(incompleteCount) of \(Self.cases(total)) \(verb) no verdict"
            outcome = .inconclusive
        } else if passedCount == 0 {
            (text, outcome) = ("No case ran", .inconclusive)
        } else if passedCount == total {
            (text, outcome) = (total == 1 ? "The case passes" : "All \(total) cases pass", .passed)
        } else {
            (text, outcome) = (
                "No case fails; \(passedCount) of \(Self.cases(total)) pass", .passed
            )
        }
        details = Self.details(report, causes.all.count)
    }

    private static func cases(_ count: Int) -> String { "\(count) case\(count == 1 ? "" : "s")" }

    private static func details(_ report: Redacted<RunReport>, _ causeCount: Int) -> [String] {
        guard report.skipReasons.isEmpty else { return [] }
        let scorecard = report.scorecard
        let causes = causeCount == 0 ? nil : "\(causeCount) cause\(causeCount == 1 ? "" : "s")"
        let grade = scorecard.grade.map { "grade \($0.rawValue)" }
        let clauses = "\(scorecard.count(.proven)) of \(scorecard.clauses.count) clauses proven"
        return [causes, grade, clauses, report.isInterrupted ? "interrupted" : nil].compactMap {
            $0
        }
    }
}
