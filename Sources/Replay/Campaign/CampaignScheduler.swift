internal import Contracts
internal import Exploration
internal import Judging
internal import Values

/// The scheduler of a campaign against a backend.
///
/// Histories run concurrently, except those that need the backend exclusively. Failures are shrunk
/// while other histories run.
///
/// Each generated history depends only on the histories before it. A seed therefore generates the
/// same histories, however fast the backend is.
struct CampaignScheduler {
    let historyExecutor: HistoryExecutor
    private(set) var campaignState: CampaignState
    private var generator: HistoryGenerator
    private var corpus: ArraySlice<CustomerHistory>
    private var failed: [FailedHistory] = []
    /// Whether the campaign's time is over, so that results of interrupted histories are ignored.
    private var isTimeOver = false
    /// The number of histories that run now, not counting exclusive ones.
    private var runningCount = 0
    private var isShrinking = false
    /// The histories that wait until they can run exclusively.
    private var exclusiveScripts: [HistoryScript] = []

    private var options: Campaign.Options { campaignState.options }
    private var clock: any RunClock { campaignState.clock }

    /// The shortest time that running histories get after the end of the campaign.
    ///
    /// On a busy machine, the time is twice the duration of the slowest history if that is longer.
    private static let graceMin: Duration = .seconds(20)
    private var graceTime: Duration { max(Self.graceMin, slowestHistoryTime * 2) }
    /// The duration of the slowest history so far.
    private var slowestHistoryTime: Duration = .zero
    /// The largest number of failed histories that wait to be examined.
    ///
    /// A backend that fails more often usually fails for the same reasons.
    private static let pendingFailureMax = 64
    /// The number of exclusive histories that are collected before they run.
    ///
    /// All other histories have to stop for them.
    private static let exclusiveBatchMax = 8

    init(historyExecutor: HistoryExecutor, source: Campaign.Source, campaignState: CampaignState) {
        self.historyExecutor = historyExecutor
        self.campaignState = campaignState
        generator = HistoryGenerator(seed: campaignState.options.seed, options: source.generator)
        corpus = source.corpus[...]
    }

    /// The result of one of the tasks that run concurrently in a campaign.
    private enum TaskResult: Sendable {
        case execution(HistoryScript, HistoryExecutor.ExecutedHistory?, in: Duration)
        case shrinkFinished(ShrinkOutcome)
        /// The time of the campaign and the additional time for running histories are over.
        case timeIsOver
    }

    private typealias ShrinkOutcome = InputShrinker<HistoryExecutor>.ShrinkOutcome

    mutating func run() async {
        await withTaskGroup(of: TaskResult.self) { group in
            addEndTask(to: &group)
            while true {
                startTasks(in: &group)
                if runningCount > 0 || isShrinking {
                    record(await group.next(), &group)
                } else {
                    if exclusiveScripts.isEmpty, failed.isEmpty { break }
                    await runExclusively(exclusiveScripts)
                    exclusiveScripts = []
                }
                campaignState.reportProgress()
                campaignState.reportCoverage(generator.coverage)
            }
            group.cancelAll()
        }
        campaignState.reportProgress(isLast: true)
        campaignState.outcome.coverage = generator.coverage
    }

    /// Adds a task that ends when the time of the campaign is over.
    private func addEndTask(to group: inout TaskGroup<TaskResult>) {
        guard let end = campaignState.end else { return }
        let graceEnd = end + graceTime
        group.addTask { [clock] in
            // Cancellation ends the wait early.
            try? await clock.sleep(for: graceEnd - clock.now)
            return .timeIsOver
        }
    }

    /// Starts to shrink a failure and to run further histories, as far as jobs are free.
    private mutating func startTasks(in group: inout TaskGroup<TaskResult>) {
        if !isShrinking, let failed = nextFailedHistory(where: { !$0.mustRunExclusively }) {
            isShrinking = true
            group.addTask { [historyExecutor, campaignState] in
                .shrinkFinished(await Self.confirmAndShrink(failed, historyExecutor, campaignState))
            }
        }
        // Shrinking a failure occupies the backend too, so fewer other histories run meanwhile.
        let jobs = isShrinking ? max(1, options.jobs / 2) : options.jobs
        while runningCount < jobs, exclusiveScripts.count < Self.exclusiveBatchMax, !isOver {
            let script = nextScript()
            guard !script.mustRunExclusively else {
                exclusiveScripts.append(script)
                continue
            }
            runningCount += 1
            group.addTask { [historyExecutor, clock] in
                let startTime = clock.now
                let execution = await historyExecutor.execute(script, isExclusive: false)
                return .execution(script, execution, in: clock.now - startTime)
            }
        }
    }

    private mutating func record(_ result: TaskResult?, _ group: inout TaskGroup<TaskResult>) {
        switch result {
        case .execution(_, let execution?, let time):
            runningCount -= 1
            slowestHistoryTime = max(slowestHistoryTime, time)
            recordExecution(execution)
        case .execution(let script, nil, _):
            runningCount -= 1
            exclusiveScripts.append(script)
        case .shrinkFinished(let shrinkOutcome):
            isShrinking = false
            recordShrinkOutcome(shrinkOutcome)
        case .timeIsOver where hasGraceTimeLeft && !Task.isCancelled: addEndTask(to: &group)
        case .timeIsOver:
            isTimeOver = true
            if runningCount > 0, !Task.isCancelled {
                recordUnfinished(runningCount)
                group.cancelAll()
            }
        case nil: (runningCount, isShrinking) = (0, false)
        }
    }

    private mutating func recordUnfinished(_ count: Int) {
        campaignState.outcome.end =
            campaignState.outcome.end
            ?? "histories that were still waiting for the backend "
            + "\(graceTime.unsignedText) after the end of the campaign's time: \(count)"
    }

    /// Whether histories that still run after the end of the campaign may continue, because their
    /// additional time is not over.
    ///
    /// The additional time becomes longer when a slow history ends.
    private var hasGraceTimeLeft: Bool {
        campaignState.end.map { clock.now < $0 + graceTime } ?? false
    }

    /// Runs the histories that need the backend exclusively, one after the other, and then examines
    /// failures.
    private mutating func runExclusively(_ scripts: [HistoryScript]) async {
        let startTime = clock.now
        for (index, script) in scripts.enumerated() where !Task.isCancelled {
            if let end = campaignState.end, clock.now >= end + graceTime {
                recordUnfinished(scripts.count - index)
                break
            }
            if let execution = await historyExecutor.execute(script, isExclusive: true) {
                recordExecution(execution, isExclusive: true)
            }
            campaignState.reportProgress()
        }
        while let failed = nextFailedHistory(where: { _ in true }) {
            recordShrinkOutcome(await Self.confirmAndShrink(failed, historyExecutor, campaignState))
        }
        campaignState.extendCoverageWait(since: startTime)
    }

    private var isOver: Bool {
        campaignState.isOver(hasPendingFailure: isShrinking || !failed.isEmpty)
    }

    // MARK: The next history

    private mutating func nextScript() -> HistoryScript {
        let script: HistoryScript
        let newSituationCount: Int
        if let savedScript = nextSavedScript() {
            script = savedScript
            newSituationCount = generator.note(savedScript)
        } else {
            let generatedHistory = generator.next()
            (script, newSituationCount) = (
                generatedHistory.script, generatedHistory.newSituationCount
            )
        }
        campaignState.recordGenerated(.users(script.history), newSituationCount: newSituationCount)
        return script
    }

    /// Returns the next saved history that the rules of the simulated store still allow.
    ///
    /// The rules may have changed since the history was saved.
    private mutating func nextSavedScript() -> HistoryScript? {
        while let history = corpus.popFirst() {
            // The outcome counts the histories that are not possible any more.
            if let script = try? HistoryScript(history, historyExecutor.capabilities) {
                return script
            }
            campaignState.outcome.skippedSavedCount += 1
        }
        return nil
    }

    // MARK: Results

    private mutating func recordExecution(
        _ execution: HistoryExecutor.ExecutedHistory,
        isExclusive: Bool = false
    ) {
        switch execution.result.verdict {
        case .passed, .knownFailure, .unexpectedPass:
            count(execution)
            campaignState.decided()
        case .inconclusive, .notRun:
            // A history that was interrupted proves nothing about the backend.
            guard !Task.isCancelled, !isTimeOver else { return }
            count(execution)
            let clause = execution.result.contract.clause
            campaignState.outcome.inconclusiveCountsByClause[clause, default: 0] += 1
            campaignState.report(.undecided(execution.result))
            let finding = execution.result.findings.first
            let note = execution.result.note ?? "not run"
            campaignState.undecided(
                finding.map { "\($0.code.rawValue) \($0.code.rule)" } ?? note,
                finding?.actual ?? note
            )
            if finding?.code == .backendGone { campaignState.outcome.end = finding?.actual }
        case .failed:
            count(execution)
            campaignState.decided()
            // A failed history always has a finding.
            guard let finding = execution.result.findings.first else { break }
            guard failed.count < Self.pendingFailureMax else {
                campaignState.outcome.unshrunkFailureCount += 1
                return
            }
            let failureSignature = FailureSignature(finding)
            failed.append(
                FailedHistory(
                    execution: execution,
                    failureSignature: failureSignature,
                    mustRunExclusively: isExclusive
                )
            )
        }
    }

    private mutating func count(_ execution: HistoryExecutor.ExecutedHistory) {
        campaignState.outcome.progress.histories += 1
        campaignState.outcome.clauses[execution.result.contract.clause, default: 0] += 1
    }

    // MARK: Failures

    /// A failed history that has not been rerun and shrunk yet.
    private struct FailedHistory: Sendable {
        let execution: HistoryExecutor.ExecutedHistory
        let failureSignature: FailureSignature
        /// Whether the history needs the backend exclusively.
        let mustRunExclusively: Bool
    }

    /// Returns the next failed history that no known failure explains.
    ///
    /// Histories that a known failure explains are counted and skipped.
    private mutating func nextFailedHistory(where isWanted: (FailedHistory) -> Bool)
        -> FailedHistory?
    {
        while let index = failed.firstIndex(where: isWanted) {
            let next = failed.remove(at: index)
            if campaignState.countsAsNewFailure(
                next.failureSignature,
                .users(next.execution.history)
            ) {
                return next
            }
        }
        return nil
    }

    /// Reruns a failed history, and shrinks it as far as time allows.
    private static func confirmAndShrink(
        _ failed: FailedHistory,
        _ historyExecutor: HistoryExecutor,
        _ campaignState: CampaignState
    ) async -> ShrinkOutcome {
        let input = CampaignInput.users(failed.execution.history)
        let first = ReplayedInput(input: input, result: failed.execution.result)
        var shrinker = InputShrinker(historyExecutor, first, failed.failureSignature, campaignState)
        return await shrinker.confirmAndShrink(original: input)
    }

    private mutating func recordShrinkOutcome(_ shrinkOutcome: ShrinkOutcome) {
        switch shrinkOutcome {
        case .notReproduced(let failureSignature, let result):
            campaignState.addFlakyFailure(failureSignature, result)
        case .found(let found): campaignState.add(found)
        }
    }
}
