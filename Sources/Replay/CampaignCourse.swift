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
    /// Tells the files of equal names apart, also of those that a smaller one has replaced.
    private var foundCount = 0
    /// After so many that told nothing, the rest would not either: a limiter, a machine without time.
    private static let undecidedMax = 100
    private var lastTold: Duration

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
        corpus = source.corpus[...]
    }

    mutating func run() async {
        await withTaskGroup(of: (LifeScript, LifePlayer.Played?).self) { group in
            var playing = 0
            var alone: [LifeScript] = []
            while true {
                while playing < options.jobs, alone.count < Self.aloneMax, !isOver {
                    let script = draw()
                    guard !script.needsSolitude else {
                        alone.append(script)
                        continue
                    }
                    playing += 1
                    group.addTask { [players] in
                        (script, await players.play(script, isAlone: false))
                    }
                }
                if playing > 0 {
                    let next = await group.next()
                    playing -= 1
                    if let played = next?.1 {
                        await take(played)
                    } else if let script = next?.0 {
                        alone.append(script)
                    }
                } else {
                    if alone.isEmpty { break }
                    for script in alone where !Task.isCancelled {
                        if let played = await players.play(script, isAlone: true) {
                            await take(played)
                        }
                    }
                    alone = []
                }
                tell()
            }
        }
        tell(isLast: true)
        outcome.coverage = generator.coverage
    }

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

    private var isOver: Bool {
        if Task.isCancelled || outcome.end != nil { return true }
        if options.endsAtFirst, !outcome.found.isEmpty { return true }
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

    private mutating func take(_ played: LifePlayer.Played) async {
        outcome.progress.lives += 1
        outcome.clauses[played.life.clause, default: 0] += 1
        switch played.result.verdict {
        case .passed, .knownFailure, .unexpectedPass: undecidedInARow = 0
        case .inconclusive, .notRun:
            undecidedInARow += 1
            let finding = played.result.findings.first
            let reason = finding.map { "\($0.code.rawValue) \($0.code.rule)" }
            outcome.inconclusive[reason ?? played.result.note ?? "not run", default: 0] += 1
            outcome.undecidedClauses[played.life.clause, default: 0] += 1
            report(.undecided(played.result))
            if finding?.code == .backendGone { outcome.end = finding?.actual }
            if undecidedInARow >= Self.undecidedMax {
                outcome.end =
                    "\(undecidedInARow) lives in a row told nothing: "
                    + (finding?.actual ?? played.result.note ?? "")
            }
        case .failed:
            undecidedInARow = 0
            await examine(played)
        }
    }

    private mutating func examine(_ played: LifePlayer.Played) async {
        guard let finding = played.result.findings.first, !Task.isCancelled else { return }
        let cause = LifeCause(finding)
        let known = outcome.found.firstIndex {
            $0.cause == cause && Story.people(played.life).contains($0.story)
        }
        if let known {
            outcome.found[known].alsoIn += 1
            return
        }
        guard outcome.found.count < options.foundMax else {
            outcome.unexaminedCount += 1
            return
        }
        report(.failing(cause, .people(played.life)))
        var shrinker = LifeShrinker(
            players,
            played,
            cause,
            clock,
            options,
            until: options.time.map { start + $0 }
        )
        switch await shrinker.confirm() {
        case .yes: await shrinker.run()
        // It failed once, which no silence takes back.
        case .unknown: break
        case .no:
            outcome.unsteady.append(played.result)
            return
        }
        foundCount += 1
        let found = await shrinker.found(original: played.life, foundCount)
        let same = outcome.found.firstIndex { $0.cause == cause && $0.story.contains(found.story) }
        if let same {
            // What is smaller explains the larger one.
            let before = outcome.found[same]
            outcome.found[same] = found
            outcome.found[same].alsoIn = before.alsoIn + 1
        } else {
            outcome.found.append(found)
            if let life = found.story.life { outcome.kept.append(life) }
            outcome.progress.found += 1
        }
        report(.found(found))
    }
}
