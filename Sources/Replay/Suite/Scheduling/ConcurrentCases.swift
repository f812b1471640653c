internal import Judging

/// Runs cases concurrently, at most as many at a time as there are jobs.
///
/// Cases that only wait for time to pass do not count against the number of jobs.
struct ConcurrentCases {
    /// The number of cases for each job that may wait for time to pass without occupying a job.
    ///
    /// A waiting case only reads its probes at intervals. The intervals grow with the number of
    /// waiting cases.
    private static let waitingCasesPerJob = 32

    private let outcome: @Sendable (Int) async -> SuiteRunner.Outcome
    private let events: AsyncStream<JobSlot.Event>
    private let eventSink: AsyncStream<JobSlot.Event>.Continuation
    private let waitCounter: JobSlot.WaitCounter
    private var queue: ArraySlice<Int>
    private var waitingContinuations: [CheckedContinuation<Void, Never>] = []
    private var freeJobCount: Int
    private var runningCount = 0
    /// The indices of the cases that have to run again, exclusively.
    private var rerun: [Int] = []

    /// Creates the queue of the cases.
    ///
    /// - Parameters:
    ///   - queue: The indices of the cases, in the order in which they start.
    ///   - jobs: The number of jobs.
    ///   - outcome: Runs the case with an index.
    init(
        _ queue: [Int],
        jobs: Int,
        outcome: @escaping @Sendable (Int) async -> SuiteRunner.Outcome
    ) {
        self.queue = queue[...]
        self.outcome = outcome
        freeJobCount = jobs
        (events, eventSink) = AsyncStream.makeStream(of: JobSlot.Event.self)
        // With one job, cases run strictly one after the other, so no case may wait without a job.
        waitCounter = JobSlot.WaitCounter(
            waitingMax: (jobs - 1).signum() * jobs * Self.waitingCasesPerJob
        )
    }

    /// Runs all cases.
    ///
    /// - Parameter finish: Receives the index and the result of each case that has finished.
    /// - Returns: The indices of the cases that have to run again, exclusively.
    mutating func run(finish: (Int, CaseResult) -> Void) async -> [Int] {
        await withDiscardingTaskGroup { group in
            startCases(in: &group)
            for await event in events {
                handle(event, finish)
                startCases(in: &group)
            }
            // A cancellation ends the loop. Cases that wait for a free job are released and end
            // without a result.
            for continuation in waitingContinuations { continuation.resume() }
        }
        return rerun
    }

    private mutating func handle(_ event: JobSlot.Event, _ finish: (Int, CaseResult) -> Void) {
        switch event {
        case .caseEnded(let index, let outcome):
            switch outcome {
            case .completed(let result) where !result.isMachineTooBusy: finish(index, result)
            case .completed, .rerun: rerun.append(index)
            case .interrupted: break
            }
            (freeJobCount, runningCount) = (freeJobCount + 1, runningCount - 1)
        case .slotReturned: freeJobCount += 1
        case .slotWanted(let continuation): waitingContinuations.append(continuation)
        }
    }

    /// Continues waiting cases and starts further cases, until no job is free.
    private mutating func startCases(in group: inout DiscardingTaskGroup) {
        while freeJobCount > 0 {
            if !waitingContinuations.isEmpty {
                waitingContinuations.removeFirst().resume()
            } else if let index = queue.popFirst() {
                start(index, in: &group)
            } else {
                break
            }
            freeJobCount -= 1
        }
        if runningCount == 0 { eventSink.finish() }
    }

    private mutating func start(_ index: Int, in group: inout DiscardingTaskGroup) {
        let (outcome, eventSink) = (outcome, eventSink)
        let slot = JobSlot(among: waitCounter) { event in
            if case .terminated = eventSink.yield(event) { return false }
            return true
        }
        group.addTask {
            let outcome = await JobSlot.$current.withValue(slot) { await outcome(index) }
            eventSink.yield(.caseEnded(index, outcome))
        }
        runningCount += 1
    }
}
