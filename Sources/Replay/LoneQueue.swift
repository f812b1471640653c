internal import Conformance
internal import FakeServers

/// A backend that cases are played before, and which.
final class Ground: Sendable {
    let open: any OpenStage
    private let indices = Locked<Set<Int>>([])

    init(_ open: any OpenStage) { self.open = open }

    var played: Set<Int> { indices.withLock { $0 } }

    func note(_ index: Int) { indices.withLock { _ = $0.insert(index) } }
}

/// The cases that nobody may play beside, for all backends that take from them.
final class LoneQueue: Sendable {
    /// Variants of one contract share their twins, so they are taken together, as long as nobody
    /// has to wait for them at the end.
    private static let groupMax = 4

    private let groups: Locked<ArraySlice<[Int]>>

    init(_ indices: [Int], contract: (Int) -> String) {
        var groups: [[Int]] = []
        for index in indices {
            if let last = groups.last, last.count < Self.groupMax,
                contract(last[0]) == contract(index)
            {
                groups[groups.count - 1].append(index)
            } else {
                groups.append([index])
            }
        }
        self.groups = Locked(groups[...])
    }

    func take() -> [Int]? { groups.withLock { $0.popFirst() } }

    func giveBack(_ group: [Int]) { groups.withLock { $0 = [group] + $0 } }
}

/// What has come of the cases of a suite so far.
final class Tally: Sendable {
    private struct State {
        /// Before the list of known failures is looked at.
        var results: [CaseResult?]
        var doneCount = 0
    }

    let plans: [CasePlan]
    private let knownFailures: KnownFailures
    private let report: @Sendable (SuiteRunner.Event) -> Void
    private let state: Locked<State>

    init(
        _ plans: [CasePlan],
        _ knownFailures: KnownFailures,
        _ report: @escaping @Sendable (SuiteRunner.Event) -> Void
    ) {
        self.plans = plans
        self.knownFailures = knownFailures
        self.report = report
        state = Locked(State(results: Array(repeating: nil, count: plans.count)))
        report(.planned(plans.map(\.contract.caseID)))
    }

    var results: [CaseResult?] { state.withLock { $0.results } }

    func finish(_ index: Int, _ result: CaseResult) {
        let told = knownFailures.applied(to: result)
        // Within the lock, so that they are told in the order in which they are counted.
        state.withLock { state in
            state.results[index] = result
            state.doneCount += 1
            report(.finished(told, done: state.doneCount, of: plans.count))
        }
    }

    /// Takes the results at these places, and leaves the others alone.
    func replace(_ results: [CaseResult?], at indices: Set<Int>) {
        state.withLock { state in
            for index in indices { state.results[index] = results[index] }
        }
    }

    /// It is played once more.
    func forget(_ index: Int) {
        state.withLock { state in
            guard state.results[index] != nil else { return }
            state.results[index] = nil
            state.doneCount -= 1
        }
    }

    /// All results; a case that did not finish was interrupted.
    var final: [CaseResult] {
        zip(results, plans).map { result, plan in
            result.map(knownFailures.applied)
                ?? CaseResult(contract: plan.contract, verdict: .notRun, note: "interrupted")
        }
    }
}
