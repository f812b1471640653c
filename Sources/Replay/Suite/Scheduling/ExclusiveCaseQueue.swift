internal import Contracts
internal import Judging
internal import Values

/// One instance of the backend, with the cases that have run against it.
final class BackendInstance: Sendable {
    let open: any OpenTarget
    private let indices = Locked<Set<Int>>([])

    init(_ open: any OpenTarget) { self.open = open }

    var executedCaseIndices: Set<Int> { indices.withLock { $0 } }

    func note(_ index: Int) { indices.withLock { _ = $0.insert(index) } }
}

/// A queue of cases that run exclusively.
///
/// All instances of the backend take cases from it.
final class ExclusiveCaseQueue: Sendable {
    /// The number of variants of one contract that one instance takes together, because they share
    /// baseline runs.
    ///
    /// With larger groups, one instance could still have work at the end of the suite while other
    /// instances are idle.
    private static let groupSizeMax = 4

    private let groups: Locked<ArraySlice<[Int]>>

    init(_ indices: [Int], contract: (Int) -> String) {
        var groups: [[Int]] = []
        for index in indices {
            if let last = groups.last, last.count < Self.groupSizeMax,
                contract(last[0]) == contract(index)
            {
                groups[groups.count - 1].append(index)
            } else {
                groups.append([index])
            }
        }
        self.groups = Locked(groups[...])
    }

    func takeGroup() -> [Int]? { groups.withLock { $0.popFirst() } }

    func returnGroup(_ group: [Int]) { groups.withLock { $0 = [group] + $0 } }
}

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
