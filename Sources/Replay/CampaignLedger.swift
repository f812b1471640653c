internal import Conformance
internal import Exploration

/// The state of a campaign against a backend or an app: generated histories, results and time
/// limits.
struct CampaignLedger {
    let options: Campaign.Options
    let clock: any RunClock
    let report: @Sendable (Campaign.Event) -> Void
    var outcome = Campaign.Outcome()
    private let start: Duration
    private var lastNew: Duration
    private var drawnCount = 0
    private var undecidedInARow = 0
    private var lastTold: Duration
    private var lastCovered: Duration
    /// The time of the last history that passed or failed, instead of being inconclusive.
    private var lastDecided: Duration

    /// The time in which every history was inconclusive after which the campaign ends.
    private static let silenceMax: Duration = .seconds(60)
    /// The interval between progress reports.
    ///
    /// The two following values are the intervals between snapshots of the progress and between
    /// coverage reports.
    private static let tellInterval: Duration = .milliseconds(250)
    private static let growthInterval: Duration = .seconds(1)
    private static let coverageInterval: Duration = .seconds(5)

    init(
        _ options: Campaign.Options,
        _ clock: any RunClock,
        report: @escaping @Sendable (Campaign.Event) -> Void
    ) {
        (self.options, self.clock, self.report) = (options, clock, report)
        start = clock.now
        lastNew = clock.now
        lastTold = clock.now
        lastCovered = clock.now
        lastDecided = clock.now
    }

    // MARK: Time limits

    /// The time at which the campaign ends; nil if it has no time limit.
    var end: Duration? { options.time.map { start + $0 } }

    /// The time at which shrinking ends for a failure that is found now.
    var shrinkEnd: Duration {
        let usual = clock.now + options.shrinkTime
        return end.map { max(clock.now, min($0 + options.shrinkTime, usual)) } ?? usual
    }

    /// Decides whether the campaign has enough histories.
    ///
    /// - Parameter isSuspicious: Whether a failed history is waiting to be examined.
    /// - Returns: Whether no further history is to be generated.
    func isOver(isSuspicious: Bool = false) -> Bool {
        if Task.isCancelled || outcome.end != nil { return true }
        if options.endsAtFirst, isSuspicious || !outcome.found.isEmpty { return true }
        if clock.now - start >= LifeModel.campaignTimeMax { return true }
        if let most = options.livesMax, drawnCount >= most { return true }
        if let time = options.time { return clock.now - start >= time }
        return options.livesMax == nil && clock.now - lastNew >= options.patience
    }

    /// Extends the wait for new coverage by time in which no history could be generated.
    mutating func excuse(since begin: Duration) { lastNew += clock.now - begin }

    // MARK: Progress

    /// Records a history that is about to run.
    ///
    /// - Parameters:
    ///   - story: The history.
    ///   - newCount: The number of features that this history covers and no earlier history
    ///     covered.
    mutating func drew(_ story: Story, newCount: Int) {
        drawnCount += 1
        if newCount > 0 {
            lastNew = clock.now
            report(.kept(story))
        }
        outcome.progress.features += newCount
    }

    /// Reports the coverage if the last coverage report was at least `coverageInterval` ago.
    mutating func cover(_ coverage: LifeCoverage) {
        guard clock.now - lastCovered >= Self.coverageInterval else { return }
        lastCovered = clock.now
        report(.covered(coverage))
    }

    mutating func tell(isLast: Bool = false) {
        let now = clock.now
        guard isLast || now - lastTold >= Self.tellInterval else { return }
        lastTold = now
        outcome.progress.elapsed = now - start
        let last = outcome.growth.last?.elapsed ?? .zero
        if isLast || outcome.growth.isEmpty || now - start - last >= Self.growthInterval {
            outcome.growth.append(outcome.progress)
        }
        report(.progress(outcome.progress))
    }

    /// Records that a history passed or failed, instead of being inconclusive.
    mutating func decided() {
        undecidedInARow = 0
        lastDecided = clock.now
    }

    /// Records an inconclusive history, and ends the campaign after too many of them in a row.
    ///
    /// - Parameters:
    ///   - reason: A short reason, by which inconclusive histories are counted.
    ///   - actual: The observed details.
    mutating func undecided(_ reason: String, _ actual: String) {
        outcome.inconclusive[reason, default: 0] += 1
        undecidedInARow += 1
        let isSilent =
            clock.now - lastDecided >= Self.silenceMax && undecidedInARow >= options.jobs
        if undecidedInARow >= Campaign.Options.undecidedMax || isSilent {
            outcome.end = "\(undecidedInARow) histories in a row were inconclusive: \(actual)"
        }
    }

    // MARK: Failures

    /// Returns whether a failed history is to be rerun and shrunk.
    ///
    /// If not, the history is counted: a known failure explains it, or enough failures are known.
    mutating func isNews(_ cause: LifeCause, _ story: Story) -> Bool {
        let known = outcome.found.firstIndex { $0.cause == cause && story.contains($0.story) }
        if let known {
            outcome.found[known].alsoIn += 1
            return false
        }
        let isEnough =
            outcome.found.count >= options.foundMax
            || outcome.found.count(where: { $0.cause == cause }) >= options.storiesMax
            || options.endsAtFirst && !outcome.found.isEmpty
        guard !isEnough else {
            outcome.unexaminedCount += 1
            return false
        }
        report(.failing(cause, story))
        return true
    }

    /// Records a history that failed once, but did not fail when it was repeated.
    mutating func addUnsteady(_ cause: LifeCause, _ result: CaseResult) {
        if let index = outcome.unsteady.firstIndex(where: { $0.cause == cause }) {
            outcome.unsteady[index].count += 1
        } else {
            outcome.unsteady.append(Campaign.Unsteady(cause: cause, result: result))
        }
    }

    mutating func add(_ found: Campaign.Found) {
        let same = outcome.found.firstIndex {
            $0.cause == found.cause
                && ($0.story.contains(found.story) || found.story.contains($0.story))
        }
        if let same {
            // If one of the two histories contains the other, the smaller one is kept.
            let before = outcome.found[same]
            if before.story.contains(found.story) { outcome.found[same] = found }
            outcome.found[same].alsoIn = before.alsoIn + 1
        } else {
            outcome.found.append(found)
            outcome.progress.found += 1
        }
        report(.found(found))
    }
}
