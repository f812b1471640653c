internal import Contracts
internal import Judging
internal import Values

/// The results of a suite that are known so far, and the number of finished cases.
final class SuiteProgress: Sendable {
    private struct State {
        /// The results of all cases, before the list of known failures is applied to them.
        var results: [CaseResult?]
        var finishedCount = 0
    }

    let plans: [CasePlan]
    private let knownFailures: KnownFailures
    private let report: @Sendable (SuiteEvent) -> Void
    private let state: Locked<State>

    init(
        _ plans: [CasePlan],
        _ knownFailures: KnownFailures,
        _ report: @escaping @Sendable (SuiteEvent) -> Void
    ) {
        self.plans = plans
        self.knownFailures = knownFailures
        self.report = report
        state = Locked(State(results: Array(repeating: nil, count: plans.count)))
        report(.planned(plans.map(\.contract.caseID)))
    }

    var results: [CaseResult?] { state.withLock { $0.results } }

    func finish(_ index: Int, _ result: CaseResult) {
        let reportedResult = knownFailures.applied(to: result)
        // The report is made within the lock, so that reports come in the order of their counts.
        state.withLock { state in
            state.results[index] = result
            state.finishedCount += 1
            report(.finished(reportedResult, done: state.finishedCount, of: plans.count))
        }
    }

    /// Replaces the results of the cases with the given indices.
    func replace(_ results: [CaseResult?], at indices: Set<Int>) {
        state.withLock { state in
            for index in indices { state.results[index] = results[index] }
        }
    }

    /// Discards the result of a case that is about to run again.
    func forget(_ index: Int) {
        state.withLock { state in
            guard state.results[index] != nil else { return }
            state.results[index] = nil
            state.finishedCount -= 1
        }
    }

    /// The results of all cases; a case that did not finish is "not run", with the note
    /// "interrupted".
    var final: [CaseResult] {
        zip(results, plans).map { result, plan in
            result.map(knownFailures.applied)
                ?? CaseResult(contract: plan.contract, verdict: .notRun, note: "interrupted")
        }
    }
}
