package import Conformance
package import Exploration
internal import FakeServers

/// Plays lives of an app on a phone, judges every promise of each by itself, and makes small what
/// breaks one.
package struct PhoneCampaign: Sendable {
    /// Who plays, and how.
    package final class Player: Sendable {
        fileprivate let stage: DeviceStage
        private let cast: Cast
        /// Far from the numbers of the lives that are drawn.
        private let lastReplay = Locked(1_000_000_000)

        /// - Parameters:
        ///   - profile: Endpoints, keys and budgets.
        ///   - cast: Who plays; what it does not play is not drawn.
        ///   - options: Of the campaign.
        ///   - clock: By which it is told how long a life took.
        ///   - perform: Carries a life out.
        package init(
            profile: Profile,
            cast: Cast,
            options: Campaign.Options,
            clock: any RunClock,
            perform: @escaping DeviceStage.Perform
        ) {
            let suite = SuiteRunner.Options(
                seed: options.seed,
                jobs: options.jobs,
                nonce: options.nonce,
                knownFailures: KnownFailures()
            )
            stage = DeviceStage(
                profile: profile,
                cast: cast,
                options: suite,
                clock: clock,
                perform: perform
            )
            self.cast = cast
        }

        func plays(_ contract: Contract) -> Bool { cast.refusals(of: contract).isEmpty }

        /// A page that was stuck once need not be again.
        func play(_ script: PhoneScript, number: Int) async -> DeviceStage.PartResults {
            let first = await playOnce(script, number: number)
            guard first.doubt != nil, first.doubt != .machineBusy, first.results.isEmpty,
                !Task.isCancelled
            else { return first }
            return await playOnce(script, number: nextReplay())
        }

        private func playOnce(
            _ script: PhoneScript,
            number: Int
        ) async -> DeviceStage.PartResults {
            let parts = script.parts.map { CasePlan($0) }
            let plan = CasePlan(script.contract)
            return await stage.results(of: plan, judgedBy: parts, number: number)
        }

        /// Names a run in which something is played again.
        fileprivate func nextReplay() -> Int {
            lastReplay.withLock { last in
                last += 1
                return last
            }
        }
    }

    private let player: Player
    private let corpus: [PhoneLife]
    private let options: Campaign.Options
    private let clock: any RunClock
    private let report: @Sendable (Campaign.Event) -> Void

    /// - Parameters:
    ///   - player: Who plays.
    ///   - corpus: Lives to begin with.
    ///   - options: When it is over, and the like.
    ///   - clock: By which it is told how long everything took.
    ///   - report: Is told how it goes on.
    package init(
        player: Player,
        corpus: [PhoneLife] = [],
        options: Campaign.Options,
        clock: any RunClock,
        report: @escaping @Sendable (Campaign.Event) -> Void
    ) {
        self.player = player
        self.corpus = corpus
        self.options = options
        self.clock = clock
        self.report = report
    }

    /// Goes on until one of its ends is reached; after a cancellation what was earned is returned.
    package func run() async -> Campaign.Outcome {
        let ledger = CampaignLedger(options, clock, report: report)
        var course = PhoneCourse(player: player, corpus: corpus, ledger: ledger)
        await course.run()
        return course.ledger.outcome
    }
}

/// The order of a phone's campaign.
///
/// Only what was drawn decides what is drawn next, so that a seed gives the same lives however fast
/// the app is.
private struct PhoneCourse {
    let player: PhoneCampaign.Player
    var ledger: CampaignLedger
    private var generator: PhoneGenerator
    private var corpus: ArraySlice<PhoneLife>
    private var runCount = 0
    private var crowd: Crowd
    /// Lives for which the machine had no time; they have their turn before new ones.
    private var starved: [Turn] = []

    /// Somebody plays who has the machine alone.
    private var hasMachine = false

    /// A life that waits to be played.
    private struct Turn: Sendable {
        let script: PhoneScript
        var tries = 0

        /// It has the machine for itself then.
        var isLast: Bool { tries >= 2 }
    }

    private var options: Campaign.Options { ledger.options }

    init(player: PhoneCampaign.Player, corpus: [PhoneLife], ledger: CampaignLedger) {
        self.player = player
        self.corpus = corpus[...]
        self.ledger = ledger
        generator = PhoneGenerator(seed: ledger.options.seed)
        crowd = Crowd(countMax: ledger.options.jobs)
    }

    mutating func run() async {
        await withTaskGroup(of: (Turn, DeviceStage.PartResults?).self) { group in
            var playing = 0
            while true {
                while let turn = next(beside: playing) {
                    playing += 1
                    runCount += 1
                    group.addTask { [player, runCount] in
                        let results = await player.play(turn.script, number: runCount)
                        // What was broken off looks as if nobody had answered.
                        return (turn, Task.isCancelled ? nil : results)
                    }
                }
                guard playing > 0, let (turn, results) = await group.next() else { break }
                playing -= 1
                hasMachine = false
                if let results { await take(turn, results) }
                ledger.tell()
                ledger.cover(generator.coverage)
            }
        }
        // The time is over, and the machine never had any for them.
        let nothing = DeviceStage.PartResults(results: [], doubt: .machineBusy)
        for turn in starved where !Task.isCancelled {
            ledger.outcome.progress.lives += 1
            note(.machineBusy, turn.script, nothing)
        }
        ledger.tell(isLast: true)
        ledger.outcome.coverage = generator.coverage
    }

    /// What is played next beside so many; nil: nothing yet, or nothing more.
    private mutating func next(beside playing: Int) -> Turn? {
        guard playing < crowd.count, !hasMachine, !Task.isCancelled else { return nil }
        if let end = ledger.end, ledger.clock.now >= end { return nil }
        if let turn = starved.first {
            guard !turn.isLast || playing == 0 else { return nil }
            hasMachine = turn.isLast
            return starved.removeFirst()
        }
        guard !ledger.isOver(), let script = draw() else { return nil }
        return Turn(script: script)
    }

    private mutating func draw() -> PhoneScript? {
        let (script, newCount): (PhoneScript, Int)
        if let kept = nextOfCorpus() {
            (script, newCount) = (kept, generator.note(kept))
        } else if let drawn = generator.next(where: player.plays) {
            (script, newCount) = (drawn.script, drawn.newCount)
        } else {
            ledger.outcome.end = "no life is drawn that the app could play"
            return nil
        }
        ledger.drew(.phone(script.life), newCount: newCount)
        return script
    }

    /// Possible still: the rules may have been read more closely since, and this cast may not play all.
    private mutating func nextOfCorpus() -> PhoneScript? {
        while let life = corpus.popFirst() {
            if let script = PhoneScript(life), player.plays(script.contract) { return script }
            ledger.outcome.illegalCount += 1
        }
        return nil
    }

    // MARK: What came of it

    private mutating func take(_ turn: Turn, _ played: DeviceStage.PartResults) async {
        let script = turn.script
        if played.doubt == .machineBusy {
            crowd.shrink()
            if !turn.isLast, played.results.isEmpty {
                return starved.append(Turn(script: script, tries: turn.tries + 1))
            }
        } else {
            crowd.grow()
        }
        ledger.outcome.progress.lives += 1
        if let doubt = played.doubt { note(doubt, script, played) } else { ledger.decided() }
        for result in played.results {
            let clause = result.contract.clause
            switch result.verdict {
            case .passed, .knownFailure, .unexpectedPass:
                ledger.outcome.clauses[clause, default: 0] += 1
            case .failed:
                ledger.outcome.clauses[clause, default: 0] += 1
                await examine(script, result)
            // A promise about what never happened in it: nothing failed, nobody logged in.
            case .inconclusive, .notRun: break
            }
        }
    }

    /// A life that told nothing counts against every clause that it would have been asked for.
    private mutating func note(
        _ doubt: FindingCode,
        _ script: PhoneScript,
        _ played: DeviceStage.PartResults
    ) {
        let decided = Set(played.results.map(\.contract.clause))
        for clause in Set(script.parts.map(\.clause)).subtracting(decided) {
            ledger.outcome.clauses[clause, default: 0] += 1
            ledger.outcome.undecidedClauses[clause, default: 0] += 1
        }
        ledger.undecided("\(doubt.rawValue) \(doubt.rule)", doubt.rule)
    }

    private mutating func examine(_ script: PhoneScript, _ result: CaseResult) async {
        guard let cause = player.cause(of: result), ledger.isNews(cause, .phone(script.life)) else {
            return
        }
        let begin = ledger.clock.now
        defer { ledger.excuse(since: begin) }
        let story = Story.phone(script.life)
        let first = Replayed(story: story, result: result)
        var shrinker = StoryShrinker(player, first, cause, ledger)
        switch await shrinker.examine(original: story) {
        case .unsteady(let cause, let result): ledger.addUnsteady(cause, result)
        case .found(let found): ledger.add(found)
        }
    }
}

/// How many may be played at once: fewer while the machine has no time for so many.
struct Crowd: Sendable {
    private let countMax: Int
    private(set) var count: Int

    /// Begins with few: what all need in the beginning none would get.
    init(countMax: Int) {
        self.countMax = countMax
        count = min(countMax, 4)
    }

    mutating func shrink() { count = max(1, count / 2) }

    mutating func grow() { count = min(countMax, count + 1) }
}

extension PhoneCampaign.Player: StoryReplaying {
    func replay(_ stories: [Story], for cause: LifeCause) async -> [Replayed] {
        let scripts = stories.compactMap(\.phone).compactMap { PhoneScript($0) }
            .filter { plays($0.contract) }
        return await withTaskGroup(of: (Int, Replayed?).self) { group in
            for (index, script) in scripts.enumerated() {
                group.addTask {
                    let results = await self.play(script, number: self.nextReplay()).results
                    guard !Task.isCancelled else { return (index, nil) }
                    let asked = results.filter { $0.contract.promise == cause.what }
                    let result =
                        asked.first { self.cause(of: $0) == cause && $0.verdict == .failed }
                        ?? asked.first
                    let story = Story.phone(script.life)
                    return (index, result.map { Replayed(story: story, result: $0) })
                }
            }
            var found: [(Int, Replayed)] = []
            for await (index, replayed) in group {
                if let replayed { found.append((index, replayed)) }
            }
            return found.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    func replay(_ contract: Contract) async -> CaseResult? {
        let plan = CasePlan(contract)
        let played = await stage.results(of: plan, judgedBy: [plan], number: nextReplay())
        return Task.isCancelled ? nil : played.results.first
    }

    func contract(of story: Story, for cause: LifeCause, id: String) -> Contract? {
        guard let life = story.phone else { return nil }
        return PhoneScript(life, id: id)?.parts.first { $0.promise == cause.what }
    }

    func cause(of result: CaseResult) -> LifeCause? {
        result.findings.first.map { LifeCause($0, about: result.contract.promise) }
    }
}

extension Contract {
    /// The one thing that it says of an app.
    fileprivate var promise: String {
        guard let app = expectation.app else { return "" }
        let shown = app.screens.map { "shows \($0.element.rawValue)" }
        let sent = app.commands.map { "sends \($0.name)" }
        return app.promises.first?.name.rawValue ?? shown.first ?? sent.first ?? "id"
    }
}
