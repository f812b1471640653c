internal import Contracts
internal import Judging
internal import Values

/// One instance of the backend, with the cases that have run against it.
final class BackendInstance: Sendable {
    /// The number of the instance: 0 for the main instance, from 1 for additional instances.
    let number: Int
    let open: any OpenTarget
    private let indices = Locked<Set<Int>>([])

    init(_ open: any OpenTarget, number: Int) {
        self.open = open
        self.number = number
    }

    var executedCaseIndices: Set<Int> { indices.withLock { $0 } }

    func note(_ index: Int) { indices.withLock { _ = $0.insert(index) } }

    /// Revises the results of cases that ran against this instance.
    ///
    /// No case may run against the instance meanwhile.
    func revise(_ progress: SuiteProgress, among indices: Set<Int>) async {
        let caseIDs = Set(indices.map { progress.plans[$0].contract.caseID })
        let executedCaseIndices = executedCaseIndices
        let before = progress.results
        var results = before.indices.map { executedCaseIndices.contains($0) ? before[$0] : nil }
        await open.revise(&results, among: caseIDs)
        progress.replace(results, at: executedCaseIndices)
    }
}
