internal import Conformance
internal import Exploration

/// The order of a campaign: lives are played side by side, and now and then those that nobody may play
/// beside; what failed is made small while the others go on.
///
/// Only what was drawn decides what is drawn next, so that a seed gives the same lives however fast
/// the backend is.
struct CampaignCourse {
    let players: LifePlayer
    private(set) var ledger: CampaignLedger
    private var generator: LifeGenerator
    private var corpus: ArraySlice<Life>
    private var failed: [Failed] = []
    /// Whether what is played is broken off.
    private var isCut = false

    private var options: Campaign.Options { ledger.options }
    private var clock: any RunClock { ledger.clock }

    /// How long after the campaign's time what is still played may go on: at least so long, and twice as
    /// long as any life took, for a busy machine.
    private static let graceMin: Duration = .seconds(20)
    private var graceTime: Duration { max(Self.graceMin, slowest * 2) }
    /// How long the life took that took longest.
    private var slowest: Duration = .zero
    /// So many lives that failed wait to be looked into: who fails faster fails for the same reasons.
    private static let failedMax = 64
    /// So many lives that nobody may play beside wait for each other: everybody stops for them.
    private static let aloneMax = 8

    init(players: LifePlayer, source: Campaign.Source, ledger: CampaignLedger) {
        self.players = players
        self.ledger = ledger
        generator = LifeGenerator(seed: ledger.options.seed, options: source.generator)
        corpus = source.corpus[...]
    }

    /// What one of those who play side by side has come to.
    private enum Part: Sendable {
        case played(LifeScript, LifePlayer.Played?, in: Duration)
        case examined(Examination)
        /// The time is over, and what is still played had as much again as anything takes.
        case timeIsOver
    }

    private typealias Examination = StoryShrinker<LifePlayer>.Examination

    mutating func run() async {
        await withTaskGroup(of: Part.self) { group in
            var playing = 0
            var isExamining = false
            var alone: [LifeScript] = []
            func waitForEnd() {
                guard let end = ledger.end else { return }
                let last = end + graceTime
                group.addTask { [clock] in
                    try? await clock.sleep(for: last - clock.now)
                    return .timeIsOver
                }
            }
            waitForEnd()
            while true {
                if !isExamining, let failed = nextFailed(where: { !$0.needsSolitude }) {
                    isExamining = true
                    group.addTask { [players, ledger] in
                        .examined(await Self.examine(failed, players, ledger))
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
                    group.addTask { [players, clock] in
                        let begin = clock.now
                        let played = await players.play(script, isAlone: false)
                        return .played(script, played, in: clock.now - begin)
                    }
                }
                if playing > 0 || isExamining {
                    switch await group.next() {
                    case .played(_, let played?, let time):
                        playing -= 1
                        slowest = max(slowest, time)
                        take(played)
                    case .played(let script, nil, _):
                        playing -= 1
                        alone.append(script)
                    case .examined(let examination):
                        isExamining = false
                        conclude(examination)
                    case .timeIsOver where isEarly && !Task.isCancelled: waitForEnd()
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
                ledger.tell()
                ledger.cover(generator.coverage)
            }
            group.cancelAll()
        }
        ledger.tell(isLast: true)
        ledger.outcome.coverage = generator.coverage
    }

    private mutating func endLate(_ count: Int) {
        ledger.outcome.end =
            ledger.outcome.end
            ?? "\(count) lives still waited for the backend "
            + "\(graceTime.unsignedText) after their time"
    }

    /// What is played may take longer than was known when the wait for it began.
    private var isEarly: Bool { ledger.end.map { clock.now < $0 + graceTime } ?? false }

    /// What nobody may play beside, one after the other.
    private mutating func playAlone(_ scripts: [LifeScript]) async {
        let begin = clock.now
        for (index, script) in scripts.enumerated() where !Task.isCancelled {
            if let end = ledger.end, clock.now >= end + graceTime {
                endLate(scripts.count - index)
                break
            }
            if let played = await players.play(script, isAlone: true) {
                take(played, isAlone: true)
            }
            ledger.tell()
        }
        while let failed = nextFailed(where: { _ in true }) {
            conclude(await Self.examine(failed, players, ledger))
        }
        ledger.excuse(since: begin)
    }

    private func isOver(_ isExamining: Bool) -> Bool {
        ledger.isOver(isSuspicious: isExamining || !failed.isEmpty)
    }

    // MARK: Drawing

    private mutating func draw() -> LifeScript {
        let script: LifeScript
        let newCount: Int
        if let kept = nextOfCorpus() {
            script = kept
            newCount = generator.note(kept)
        } else {
            let drawn = generator.next()
            (script, newCount) = (drawn.script, drawn.newCount)
        }
        ledger.drew(.people(script.life), newCount: newCount)
        return script
    }

    /// Legal still: the store model may have learnt since that it is not.
    private mutating func nextOfCorpus() -> LifeScript? {
        while let life = corpus.popFirst() {
            if let script = try? LifeScript(life, players.means) { return script }
            ledger.outcome.illegalCount += 1
        }
        return nil
    }

    // MARK: What came of it

    private mutating func take(_ played: LifePlayer.Played, isAlone: Bool = false) {
        switch played.result.verdict {
        case .passed, .knownFailure, .unexpectedPass:
            count(played)
            ledger.decided()
        case .inconclusive, .notRun:
            // What was cut short says nothing of the backend.
            guard !Task.isCancelled, !isCut else { return }
            count(played)
            let clause = played.result.contract.clause
            ledger.outcome.undecidedClauses[clause, default: 0] += 1
            ledger.report(.undecided(played.result))
            let finding = played.result.findings.first
            let note = played.result.note ?? "not run"
            ledger.undecided(
                finding.map { "\($0.code.rawValue) \($0.code.rule)" } ?? note,
                finding?.actual ?? note
            )
            if finding?.code == .backendGone { ledger.outcome.end = finding?.actual }
        case .failed:
            count(played)
            ledger.decided()
            // A judge that fails a life says why.
            guard let finding = played.result.findings.first else { break }
            guard failed.count < Self.failedMax else {
                ledger.outcome.unexaminedCount += 1
                return
            }
            let cause = LifeCause(finding)
            failed.append(Failed(played: played, cause: cause, needsSolitude: isAlone))
        }
    }

    private mutating func count(_ played: LifePlayer.Played) {
        ledger.outcome.progress.lives += 1
        ledger.outcome.clauses[played.result.contract.clause, default: 0] += 1
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
            if ledger.isNews(next.cause, .people(next.played.life)) { return next }
        }
        return nil
    }

    /// Makes a failed life small, as far as there is time.
    private static func examine(
        _ failed: Failed,
        _ players: LifePlayer,
        _ ledger: CampaignLedger
    ) async -> Examination {
        let story = Story.people(failed.played.life)
        let first = Replayed(story: story, result: failed.played.result)
        var shrinker = StoryShrinker(players, first, failed.cause, ledger)
        return await shrinker.examine(original: story)
    }

    private mutating func conclude(_ examination: Examination) {
        switch examination {
        case .unsteady(let cause, let result): ledger.addUnsteady(cause, result)
        case .found(let found): ledger.add(found)
        }
    }
}
