internal import Exploration
internal import Judging

/// The state of a campaign against a backend or an app: generated histories, results and time
/// limits.
struct CampaignState {
    let options: Campaign.Options
    let clock: any RunClock
    let report: @Sendable (Campaign.Event) -> Void
    var outcome = Campaign.Outcome()
    private let startTime: Duration
    private var lastNewCoverageTime: Duration
    private var generatedCount = 0
    private var consecutiveInconclusiveCount = 0
    private var lastReportTime: Duration
    private var lastCoverageReportTime: Duration
    /// The time of the last history that passed or failed, instead of being inconclusive.
    private var lastVerdictTime: Duration

    /// The time after which the campaign ends if every history in this time was inconclusive.
    private static let inconclusiveTimeMax: Duration = .seconds(60)
    /// The interval between progress reports.
    ///
    /// The next two constants are the intervals between snapshots of the progress and between
    /// coverage reports.
    private static let progressInterval: Duration = .milliseconds(250)
    private static let snapshotInterval: Duration = .seconds(1)
    private static let coverageInterval: Duration = .seconds(5)

    init(
        _ options: Campaign.Options,
        _ clock: any RunClock,
        report: @escaping @Sendable (Campaign.Event) -> Void
    ) {
        (self.options, self.clock, self.report) = (options, clock, report)
        startTime = clock.now
        lastNewCoverageTime = clock.now
        lastReportTime = clock.now
        lastCoverageReportTime = clock.now
        lastVerdictTime = clock.now
    }

    // MARK: Time limits

    /// The time at which the campaign ends; nil if it has no time limit.
    var end: Duration? { options.time.map { startTime + $0 } }

    /// The time at which shrinking ends for a failure that is found now.
    var shrinkEnd: Duration {
        let usualEnd = clock.now + options.shrinkTime
        return end.map { max(clock.now, min($0 + options.shrinkTime, usualEnd)) } ?? usualEnd
    }

    /// Decides whether the campaign has enough histories.
    ///
    /// - Parameter hasPendingFailure: Whether a failed history is waiting to be examined.
    /// - Returns: Whether no further history is to be generated.
    func isOver(hasPendingFailure: Bool = false) -> Bool {
        if Task.isCancelled || outcome.end != nil { return true }
        if options.stopsAtFirstFailure, hasPendingFailure || !outcome.found.isEmpty { return true }
        if clock.now - startTime >= HistoryModel.campaignTimeMax { return true }
        if let historyLimit = options.historyCountMax, generatedCount >= historyLimit {
            return true
        }
        if let time = options.time { return clock.now - startTime >= time }
        return options.historyCountMax == nil
            && clock.now - lastNewCoverageTime >= options.settleTimeout
    }

    /// Extends the wait for new coverage by the time since `waitStart`, in which no history could
    /// be generated.
    mutating func extendCoverageWait(since waitStart: Duration) {
        lastNewCoverageTime += clock.now - waitStart
    }

    // MARK: Progress

    /// Records a history that is about to run.
    ///
    /// - Parameters:
    ///   - input: The history.
    ///   - newSituationCount: The number of situations that this history covers and no earlier
    ///     history covered.
    mutating func recordGenerated(_ input: CampaignInput, newSituationCount: Int) {
        generatedCount += 1
        if newSituationCount > 0 {
            lastNewCoverageTime = clock.now
            report(.kept(input))
        }
        outcome.progress.features += newSituationCount
    }

    /// Reports the coverage if the last coverage report was at least `coverageInterval` ago.
    mutating func reportCoverage(_ coverage: HistoryCoverage) {
        guard clock.now - lastCoverageReportTime >= Self.coverageInterval else { return }
        lastCoverageReportTime = clock.now
        report(.coverageUpdated(coverage))
    }

    mutating func reportProgress(isLast: Bool = false) {
        let now = clock.now
        guard isLast || now - lastReportTime >= Self.progressInterval else { return }
        lastReportTime = now
        outcome.progress.elapsed = now - startTime
        let last = outcome.progressSnapshots.last?.elapsed ?? .zero
        if isLast || outcome.progressSnapshots.isEmpty
            || now - startTime - last >= Self.snapshotInterval
        {
            outcome.progressSnapshots.append(outcome.progress)
        }
        report(.progress(outcome.progress))
    }

    /// Records that a history passed or failed, instead of being inconclusive.
    mutating func decided() {
        consecutiveInconclusiveCount = 0
        lastVerdictTime = clock.now
    }

    /// Records an inconclusive history, and ends the campaign after too many of them in a row.
    ///
    /// - Parameters:
    ///   - reason: A short reason, by which inconclusive histories are counted.
    ///   - actual: The observed details.
    mutating func undecided(_ reason: String, _ actual: String) {
        outcome.inconclusive[reason, default: 0] += 1
        consecutiveInconclusiveCount += 1
        let lacksVerdicts =
            clock.now - lastVerdictTime >= Self.inconclusiveTimeMax
            && consecutiveInconclusiveCount >= options.jobs
        if consecutiveInconclusiveCount >= Campaign.Options.inconclusiveInARowMax || lacksVerdicts {
            outcome.end =
                "\(consecutiveInconclusiveCount) histories in a row were inconclusive: \(actual)"
        }
    }

    // MARK: Failures

    /// Returns whether a failed history is to be rerun and shrunk.
    ///
    /// If not, the history is counted: a known failure explains it, or enough failures are known.
    mutating func countsAsNewFailure(_ failureSignature: FailureSignature, _ input: CampaignInput)
        -> Bool
    {
        let knownIndex = outcome.found.firstIndex {
            $0.failureSignature == failureSignature && input.contains($0.input)
        }
        if let knownIndex {
            outcome.found[knownIndex].duplicateCount += 1
            return false
        }
        let hasEnoughFailures =
            outcome.found.count >= options.reportedFailureMax
            || outcome.found.count(where: { $0.failureSignature == failureSignature })
                >= options.inputsPerSignatureMax
            || options.stopsAtFirstFailure && !outcome.found.isEmpty
        guard !hasEnoughFailures else {
            outcome.unshrunkFailureCount += 1
            return false
        }
        report(.newFailure(failureSignature, input))
        return true
    }

    /// Records a history that failed once, but did not fail when it was repeated.
    mutating func addFlakyFailure(_ failureSignature: FailureSignature, _ result: CaseResult) {
        if let index = outcome.flakyFailures.firstIndex(where: {
            $0.failureSignature == failureSignature
        }) {
            outcome.flakyFailures[index].count += 1
        } else {
            outcome.flakyFailures.append(
                Campaign.FlakyFailure(failureSignature: failureSignature, result: result)
            )
        }
    }

    mutating func add(_ found: Campaign.FoundFailure) {
        let overlappingIndex = outcome.found.firstIndex {
            $0.failureSignature == found.failureSignature
                && ($0.input.contains(found.input) || found.input.contains($0.input))
        }
        if let overlappingIndex {
            // If one of the two histories contains the other, the smaller one is kept.
            let earlierFailure = outcome.found[overlappingIndex]
            if earlierFailure.input.contains(found.input) {
                outcome.found[overlappingIndex] = found
            }
            outcome.found[overlappingIndex].duplicateCount = earlierFailure.duplicateCount + 1
        } else {
            outcome.found.append(found)
            outcome.progress.found += 1
        }
        report(.found(found))
    }
}
