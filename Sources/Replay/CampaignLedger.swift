internal import Conformance
internal import Exploration

/// What a campaign keeps count of, whoever lives in it: what was drawn, told and found, and when it is
/// over.
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
    /// When a life told anything last.
    private var lastDecided: Duration

    /// So long nobody tells anything before a backend that answers nobody.
    private static let silenceMax: Duration = .seconds(60)
    /// How often it is told how far the campaign is, and written down how much is covered.
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

    // MARK: When it is over

    /// When its time is; nil where none is given.
    var end: Duration? { options.time.map { start + $0 } }

    /// Until when what failed now may be made small.
    var shrinkEnd: Duration {
        let usual = clock.now + options.shrinkTime
        return end.map { max(clock.now, min($0 + options.shrinkTime, usual)) } ?? usual
    }

    /// - Parameter isSuspicious: Whether something failed that nobody has looked into yet.
    /// - Returns: Whether nothing more is to be drawn.
    func isOver(isSuspicious: Bool = false) -> Bool {
        if Task.isCancelled || outcome.end != nil { return true }
        if options.endsAtFirst, isSuspicious || !outcome.found.isEmpty { return true }
        if clock.now - start >= LifeModel.campaignTimeMax { return true }
        if let most = options.livesMax, drawnCount >= most { return true }
        if let time = options.time { return clock.now - start >= time }
        return options.livesMax == nil && clock.now - lastNew >= options.patience
    }

    /// Nothing could be drawn since then, so that nothing new is no sign of anything.
    mutating func excuse(since begin: Duration) { lastNew += clock.now - begin }

    // MARK: What is drawn and told

    /// - Parameters:
    ///   - story: The history that is about to run.
    ///   - newCount: The number of things that no history before it covered.
    mutating func drew(_ story: Story, newCount: Int) {
        drawnCount += 1
        if newCount > 0 {
            lastNew = clock.now
            report(.kept(story))
        }
        outcome.progress.features += newCount
    }

    /// Reports the coverage when the last report of it is `coverageInterval` ago.
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

    /// A life told something.
    mutating func decided() {
        undecidedInARow = 0
        lastDecided = clock.now
    }

    /// A life told nothing: what stood in its way in a few words, and as somebody saw it.
    mutating func undecided(_ reason: String, _ actual: String) {
        outcome.inconclusive[reason, default: 0] += 1
        undecidedInARow += 1
        let isSilent =
            clock.now - lastDecided >= Self.silenceMax && undecidedInARow >= options.jobs
        if undecidedInARow >= Campaign.Options.undecidedMax || isSilent {
            outcome.end = "\(undecidedInARow) lives in a row told nothing: \(actual)"
        }
    }

    // MARK: What failed

    /// Whether a failed life is to be looked into; one that something known explains, or that nobody
    /// would read, is counted.
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

    /// It failed once, and not when it was tried again.
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
            // What is smaller explains the larger one.
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
