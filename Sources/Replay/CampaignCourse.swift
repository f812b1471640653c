internal import Conformance
internal import Exploration

/// The scheduler of a campaign against a backend.
///
/// Histories run concurrently, except those that need the backend exclusively. Failures are shrunk
/// while other histories run.
///
/// Each generated history depends only on the histories before it. A seed therefore generates the
/// same histories, however fast the backend is.
struct CampaignCourse {
    let players: LifePlayer
    private(set) var ledger: CampaignLedger
    private var generator: LifeGenerator
    private var corpus: ArraySlice<Life>
    private var failed: [Failed] = []
    /// Whether the campaign's time is over, so that results of interrupted histories are ignored.
    private var isCut = false

    private var options: Campaign.Options { ledger.options }
    private var clock: any RunClock { ledger.clock }

    /// The shortest time that running histories get after the end of the campaign.
    ///
    /// On a busy machine, the time is twice the duration of the slowest history if that is longer.
    private static let graceMin: Duration = .seconds(20)
    private var graceTime: Duration { max(Self.graceMin, slowest * 2) }
    /// The duration of the slowest history so far.
    private var slowest: Duration = .zero
    /// The largest number of failed histories that wait to be examined.
    ///
    /// A backend that fails more often usually fails for the same reasons.
    private static let failedMax = 64
    /// The number of exclusive histories that are collected before they run.
    ///
    /// All other histories have to stop for them.
    private static let aloneMax = 8

    init(players: LifePlayer, source: Campaign.Source, ledger: CampaignLedger) {
        self.players = players
        self.ledger = ledger
        generator = LifeGenerator(seed: ledger.options.seed, options: source.generator)
        corpus = source.corpus[...]
    }

    /// The result of one of the tasks that run concurrently in a campaign.
    private enum Part: Sendable {
        case played(LifeScript, LifePlayer.Played?, in: Duration)
        case examined(Examination)
        /// The time of the campaign and the additional time for running histories are over.
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
                // Shrinking a failure occupies the backend too, so fewer other histories run
                // meanwhile.
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
            ?? "histories that were still waiting for the backend "
            + "\(graceTime.unsignedText) after the end of the campaign's time: \(count)"
    }

    /// Whether running histories have got more additional time since the campaign began to wait for
    /// them.
    private var isEarly: Bool { ledger.end.map { clock.now < $0 + graceTime } ?? false }

    /// Runs the histories that need the backend exclusively, one after the other, and then examines
    /// failures.
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

    /// Returns the next saved history that the rules of the simulated store still allow.
    ///
    /// The rules may have changed since the history was saved.
    private mutating func nextOfCorpus() -> LifeScript? {
        while let life = corpus.popFirst() {
            if let script = try? LifeScript(life, players.means) { return script }
            ledger.outcome.illegalCount += 1
        }
        return nil
    }

    // MARK: Results

    private mutating func take(_ played: LifePlayer.Played, isAlone: Bool = false) {
        switch played.result.verdict {
        case .passed, .knownFailure, .unexpectedPass:
            count(played)
            ledger.decided()
        case .inconclusive, .notRun:
            // A history that was interrupted proves nothing about the backend.
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
            // A failed history always has a finding.
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

    // MARK: Failures

    /// A failed history that has not been rerun and shrunk yet.
    private struct Failed: Sendable {
        let played: LifePlayer.Played
        let cause: LifeCause
        /// Whether the history needs the backend exclusively.
        let needsSolitude: Bool
    }

    /// Returns the next failed history that no known failure explains.
    ///
    /// Histories that a known failure explains are counted and skipped.
    private mutating func nextFailed(where isWanted: (Failed) -> Bool) -> Failed? {
        while let index = failed.firstIndex(where: isWanted) {
            let next = failed.remove(at: index)
            if ledger.isNews(next.cause, .people(next.played.life)) { return next }
        }
        return nil
    }

    /// Reruns a failed history, and shrinks it as far as time allows.
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
