/// The jobs that cases occupy while they run concurrently.
///
/// A case that only waits for time to pass releases its job, so that another case can run. Each
/// waiting case polls for its condition, so the number of waiting cases is limited.
struct CaseJobs: Hashable, Sendable {
    /// The number of cases for each job that may wait for time to pass without occupying a job.
    ///
    /// A waiting case only reads its probes at intervals. The intervals grow with the number of
    /// waiting cases.
    private static let waitingCasesPerJob = 32

    private var freeCount: Int
    private let waitingCaseMax: Int
    /// The number of cases that have released their jobs and did not get one back.
    private(set) var waitingCaseCount = 0
    /// The number of waiting cases that want to continue.
    private var wantedCount = 0

    init(count: Int) {
        freeCount = count
        // With one job, cases run strictly one after the other, so no case may wait without a job.
        waitingCaseMax = count > 1 ? count * Self.waitingCasesPerJob : 0
    }

    /// Takes a job for a new case; returns false if no job is free.
    mutating func take() -> Bool {
        guard freeCount > 0 else { return false }
        freeCount -= 1
        return true
    }

    /// Takes back the job of a case that has ended.
    mutating func giveBack() { freeCount += 1 }

    /// Frees the job of a case that begins to wait; returns false if too many cases already wait.
    mutating func release() -> Bool {
        guard waitingCaseCount < waitingCaseMax else { return false }
        waitingCaseCount += 1
        freeCount += 1
        return true
    }

    /// Records that a waiting case wants to continue.
    mutating func want() { wantedCount += 1 }

    /// Takes a job for a waiting case that wants to continue; returns false if there is no such
    /// case or no free job.
    mutating func resume() -> Bool {
        guard wantedCount > 0, take() else { return false }
        wantedCount -= 1
        waitingCaseCount -= 1
        return true
    }
}
