internal import Contracts
internal import Values

/// The cases of a suite that can run, grouped by the phase of the suite in which they run.
///
/// The seed decides the order of concurrent cases. Slow cases come before fast ones.
struct SuiteQueues: Sendable {
    /// Cases that run before all others, because they need a fresh backend.
    let first: ExclusiveCaseQueue
    /// The indices of the cases that run concurrently.
    let concurrent: [Int]
    let exclusive: ExclusiveCaseQueue
    let withClockAhead: ExclusiveCaseQueue
    /// Cases that leave the backend unusable.
    let last: ExclusiveCaseQueue
    let hasLastPhase: Bool
    /// The number of cases in the queues `exclusive` and `withClockAhead`.
    let exclusiveCaseCount: Int
    /// The indices of the cases whose results are revised before the next case runs.
    let indicesRevisedEach: Set<Int>

    /// Sorts the cases into queues.
    ///
    /// - Parameters:
    ///   - plans: All cases of the suite.
    ///   - runnable: The indices of the cases that can run.
    ///   - seed: The seed of the order of concurrent cases.
    ///   - open: The target, which determines the phase of each case.
    init(_ plans: [CasePlan], runnable: [Int], seed: UInt64, _ open: any OpenTarget) async {
        let phases = await open.phases(of: runnable.map { plans[$0] })
        func caseIndices(_ phase: SuitePhase) -> [Int] {
            zip(runnable, phases).filter { $0.1 == phase }.map(\.0)
        }
        // The sort is stable: cases of the same rank keep their order.
        func slowestFirst(_ caseIndices: [Int]) -> [Int] {
            let durationRank = { (index: Int) in
                plans[index].isLongRunning ? 0 : plans[index].subject.hasFaults ? 1 : 2
            }
            return (0...2).flatMap { wanted in caseIndices.filter { durationRank($0) == wanted } }
        }
        var generator = SeededGenerator(seed: seed)
        let exclusiveIndices = slowestFirst(caseIndices(.exclusive))
        let clockAheadIndices = slowestFirst(caseIndices(.withClockAhead))
        let (firstIndices, lastIndices) = (caseIndices(.first), caseIndices(.last))
        concurrent = slowestFirst(caseIndices(.concurrent).shuffled(using: &generator))
        exclusive = ExclusiveCaseQueue(exclusiveIndices) { plans[$0].contract.id }
        withClockAhead = ExclusiveCaseQueue(clockAheadIndices) { plans[$0].contract.id }
        first = ExclusiveCaseQueue(firstIndices) { plans[$0].contract.caseID }
        last = ExclusiveCaseQueue(lastIndices) { plans[$0].contract.caseID }
        hasLastPhase = !lastIndices.isEmpty
        exclusiveCaseCount = exclusiveIndices.count + clockAheadIndices.count
        indicesRevisedEach = Set(firstIndices + lastIndices)
    }
}
