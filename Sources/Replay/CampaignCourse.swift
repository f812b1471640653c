internal import Conformance
internal import Exploration

/// The order of a campaign: lives are played side by side, and now and then those that nobody may play
/// beside; what failed is made small while the others go on.
///
/// Only what was drawn decides what is drawn next, so that a seed gives the same lives however fast
/// the backend is.
struct CampaignCourse {
    let players: LifePlayer
    let options: Campaign.Options
    let clock: any RunClock
    let report: @Sendable (Campaign.Event) -> Void
    private(set) var outcome = Campaign.Outcome()
    private var generator: LifeGenerator
    private let start: Duration
    private var lastNew: Duration
    private var corpus: ArraySlice<Life>
    private var drawnCount = 0
    private var undecidedInARow = 0
    private var failed: [Failed] = []
    private var lastTold: Duration
    /// When a life told anything last.
    private var lastDecided: Duration
    /// Whether what is played is broken off.
    private var isCut = false

    /// How long after the campaign's time what is still played may go on.
    private static let graceTime: Duration = .seconds(20)
    /// So long nobody tells anything before a backend that answers nobody.
    private static let silenceMax: Duration = .seconds(60)

    /// So many lives that failed wait to be looked into: who fails faster fails for the same reasons.
    private static let failedMax = 64
    /// So many lives that nobody may play beside wait for each other: everybody stops for them.
    private static let aloneMax = 8
    /// How often it is told how far the campaign is, and written down how much is covered.
    private static let tellInterval: Duration = .milliseconds(250)
    private static let growthInterval: Duration = .seconds(1)

    init(
        players: LifePlayer,
        source: Campaign.Source,
        options: Campaign.Options,
        clock: any RunClock,
        report: @escaping @Sendable (Campaign.Event) -> Void
    ) {
        self.players = players
        self.options = options
        self.clock = clock
        self.report = report
        generator = LifeGenerator(seed: options.seed, options: source.generator)
        start = clock.now
        lastNew = clock.now
        lastTold = clock.now
        lastDecided = clock.now
        corpus = source.corpus[...]
    }

    /// What one of those who play side by side has come to.
    private enum Part: Sendable {
        case played(LifeScript, LifePlayer.Played?)
        case examined(Examination)
        /// The time is over, and what is still played had as much again as anything takes.
        case timeIsOver
    }

    /// What a closer look at a failed life has come to.
    private enum Examination: Sendable {
        case found(Campaign.Found)
        case unsteady(LifeCause, CaseResult)
    }

    mutating func run() async {
        await withTaskGroup(of: Part.self) { group in
            var playing = 0
            var isExamining = false
            var alone: [LifeScript] = []
            if let end {
                group.addTask { [clock] in
                    try? await clock.sleep(for: end + Self.graceTime - clock.now)
                    return .timeIsOver
                }
            }
            while true {
                if !isExamining, let failed = nextFailed(where: { !$0.needsSolitude }) {
                    isExamining = true
                    group.addTask { [players, clock, options, end] in
                        .examined(await Self.examine(failed, players, clock, options, until: end))
                    }
                }
                // Whoever makes a life small needs the backend as well.
                let jobs = isExamining ? max(1, options.jobs / 2) : options.jobs
                while playing < jobs, alone.count < Self.aloneMax, !isOver(isExamining) {
                    let script = draw()
                    guard !script.needsSolitude else {
                        alone.append(script)
                        continue
                    }
                    playing += 1
                    group.addTask { [players] in
                        .played(script, await players.play(script, isAlone: false))
                    }
                }
                if playing > 0 || isExamining {
                    switch await group.next() {
                    case .played(_, let played?):
                        playing -= 1
                        take(played)
                    case .played(let script, nil):
                        playing -= 1
                        alone.append(script)
                    case .examined(let examination):
                        isExamining = false
                        conclude(examination)
                    case .timeIsOver:
                        isCut = true
                        if playing > 0, !Task.isCancelled {
                            endLate(playing)
                            group.cancelAll()
                        }
                    case nil: (playing, isExamining) = (0, false)
                    }
                } else {
                    if alone.isEmpty, failed.isEmpty { break }
                    await playAlone(alone)
                    alone = []
                }
                tell()
            }
            group.cancelAll()
        }
        tell(isLast: true)
        outcome.coverage = generator.coverage
    }

    private mutating func endLate(_ count: Int) {
        outcome.end =
            outcome.end
            ?? "\(count) lives still waited for the backend "
            + "\(Self.graceTime.unsignedText) after their time"
    }

    /// What nobody may play beside, one after the other.
    private mutating func playAlone(_ scripts: [LifeScript]) async {
        let begin = clock.now
        for (index, script) in scripts.enumerated() where !Task.isCancelled {
            if let end, clock.now >= end + Self.graceTime {
                endLate(scripts.count - index)
                break
            }
            if let played = await players.play(script, isAlone: true) {
                take(played, isAlone: true)
            }
        }
        while let failed = nextFailed(where: { _ in true }) {
            conclude(await Self.examine(failed, players, clock, options, until: end))
        }
        // Nothing could be drawn meanwhile, so that nothing new is no sign of anything.
        lastNew += clock.now - begin
    }

    private var end: Duration? { options.time.map { start + $0 } }

    private mutating func tell(isLast: Bool = false) {
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

    private func isOver(_ isExamining: Bool) -> Bool {
        if Task.isCancelled || outcome.end != nil { return true }
        let mayBeFirst = isExamining || !failed.isEmpty || !outcome.found.isEmpty
        if options.endsAtFirst, mayBeFirst { return true }
        if let most = options.livesMax, drawnCount >= most { return true }
        if let time = options.time { return clock.now - start >= time }
        return options.livesMax == nil && clock.now - lastNew >= options.patience
    }

    // MARK: Drawing

    private mutating func draw() -> LifeScript {
        drawnCount += 1
        let script: LifeScript
        let newCount: Int
        if let kept = nextOfCorpus() {
            script = kept
            newCount = generator.note(kept)
        } else {
            let drawn = generator.next()
            (script, newCount) = (drawn.script, drawn.newCount)
        }
        if newCount > 0 {
            lastNew = clock.now
            outcome.kept.append(script.life)
        }
        outcome.progress.features += newCount
        return script
    }

    /// Legal still: the store model may have learnt since that it is not.
    private mutating func nextOfCorpus() -> LifeScript? {
        while let life = corpus.popFirst() {
            if let script = try? LifeScript(life, players.means) { return script }
            outcome.illegalCount += 1
        }
        return nil
    }

    // MARK: What came of it

    private mutating func take(_ played: LifePlayer.Played, isAlone: Bool = false) {
        switch played.result.verdict {
        case .passed, .knownFailure, .unexpectedPass:
            count(played)
            decide()
        case .inconclusive, .notRun:
            // What was cut short says nothing of the backend.
            guard !Task.isCancelled, !isCut else { return }
            count(played)
            undecidedInARow += 1
            let finding = played.result.findings.first
            let reason = finding.map { "\($0.code.rawValue) \($0.code.rule)" }
            outcome.inconclusive[reason ?? played.result.note ?? "not run", default: 0] += 1
            outcome.undecidedClauses[played.result.contract.clause, default: 0] += 1
            report(.undecided(played.result))
            if finding?.code == .backendGone { outcome.end = finding?.actual }
            let isSilent =
                clock.now - lastDecided >= Self.silenceMax && undecidedInARow >= options.jobs
            if undecidedInARow >= Campaign.Options.undecidedMax || isSilent {
                outcome.end =
                    "\(undecidedInARow) lives in a row told nothing: "
                    + (finding?.actual ?? played.result.note ?? "")
            }
        case .failed:
            count(played)
            decide()
            // A judge that fails a life says why.
            guard let finding = played.result.findings.first else { break }
            guard failed.count < Self.failedMax else {
                outcome.unexaminedCount += 1
                return
            }
            let cause = LifeCause(finding)
            failed.append(Failed(played: played, cause: cause, needsSolitude: isAlone))
        }
    }

    private mutating func decide() {
        undecidedInARow = 0
        lastDecided = clock.now
    }

    private mutating func count(_ played: LifePlayer.Played) {
        outcome.progress.lives += 1
        outcome.clauses[played.result.contract.clause, default: 0] += 1
    }

    // MARK: What failed

    /// A life that failed and that nobody has looked into yet.
    private struct Failed: Sendable {
        let played: LifePlayer.Played
        let cause: LifeCause
        /// Whether nobody may play beside it.
        let needsSolitude: Bool
    }

    /// The next failed life that nothing known explains; the others are counted.
    private mutating func nextFailed(where isWanted: (Failed) -> Bool) -> Failed? {
        while let index = failed.firstIndex(where: isWanted) {
            let next = failed.remove(at: index)
            let cause = next.cause
            let life = Story.people(next.played.life)
            let known = outcome.found.firstIndex { $0.cause == cause && life.contains($0.story) }
            if let known {
                outcome.found[known].alsoIn += 1
            } else if outcome.found.count >= options.foundMax
                || outcome.found.count(where: { $0.cause == cause }) >= options.storiesMax
                || options.endsAtFirst && !outcome.found.isEmpty
            {
                outcome.unexaminedCount += 1
            } else {
                report(.failing(cause, life))
                return next
            }
        }
        return nil
    }

    /// Makes a failed life small, as far as there is time.
    private static func examine(
        _ failed: Failed,
        _ players: LifePlayer,
        _ clock: any RunClock,
        _ options: Campaign.Options,
        until end: Duration?
    ) async -> Examination {
        let played = failed.played
        let cause = failed.cause
        var shrinker = LifeShrinker(players, played, cause, clock, options, until: end)
        switch await shrinker.confirm() {
        case .yes: await shrinker.run()
        // It failed once, which no silence takes back.
        case .unknown: break
        case .no: return .unsteady(cause, played.result)
        }
        return .found(await shrinker.found(original: played.life))
    }

    private mutating func conclude(_ examination: Examination) {
        switch examination {
        case .unsteady(let cause, let result):
            if let index = outcome.unsteady.firstIndex(where: { $0.cause == cause }) {
                outcome.unsteady[index].count += 1
            } else {
                outcome.unsteady.append(Campaign.Unsteady(cause: cause, result: result))
            }
        case .found(let found): add(found)
        }
    }

    private mutating func add(_ found: Campaign.Found) {
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
        if let life = found.story.life { outcome.kept.append(life) }
        report(.found(found))
    }
}
