package import Conformance
package import Exploration
internal import FakeServers

/// A campaign of `assay explore` against an app on a phone.
///
/// It generates random histories of user actions, judges each invariant of the app separately, and
/// shrinks the failures.
package struct PhoneCampaign: Sendable {
    /// Runs generated histories of an app on phones.
    package final class Player: Sendable {
        fileprivate let stage: DeviceStage
        private let cast: Cast
        /// The number of the last rerun of a history.
        ///
        /// The numbers of reruns begin far above those of generated histories, so that no number is
        /// used twice.
        private let lastReplay = Locked(1_000_000_000)

        /// Creates a player for one campaign.
        ///
        /// - Parameters:
        ///   - profile: The endpoints, keys and time budgets of the app.
        ///   - cast: The executors that can run steps, such as a browser. Histories that they
        ///     cannot run are not generated.
        ///   - options: The options of the campaign.
        ///   - clock: The clock that measures the duration of histories.
        ///   - perform: Runs the scenario of one history.
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

        /// Runs a history, and runs it a second time if the page was stuck in the first run.
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

        /// Returns a number for a rerun of a history that no other run has.
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

    /// Creates a campaign against an app.
    ///
    /// - Parameters:
    ///   - player: Runs the histories.
    ///   - corpus: The saved histories, which run before any generated history.
    ///   - options: The time limits and other options of the campaign.
    ///   - clock: The clock that measures the time of the campaign.
    ///   - report: Receives progress events.
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

    /// Runs the campaign until a limit is reached or the task is canceled.
    ///
    /// A canceled campaign returns the results that it has.
    package func run() async -> Campaign.Outcome {
        let ledger = CampaignLedger(options, clock, report: report)
        var course = PhoneCourse(player: player, corpus: corpus, ledger: ledger)
        await course.run()
        return course.ledger.outcome
    }
}

/// The scheduler of a campaign against an app on a phone.
///
/// Each generated history depends only on the histories before it. A seed therefore generates the
/// same histories, however fast the app is.
private struct PhoneCourse {
    let player: PhoneCampaign.Player
    var ledger: CampaignLedger
    private var generator: PhoneGenerator
    private var corpus: ArraySlice<PhoneLife>
    private var runCount = 0
    private var crowd: Crowd
    /// Histories that were inconclusive because the machine was too busy.
    ///
    /// They run again before new histories.
    private var starved: [Turn] = []

    /// Whether a history is running without other histories, so that it has the whole machine.
    private var hasMachine = false

    /// A history that is ready to run, with the number of its earlier attempts.
    private struct Turn: Sendable {
        let script: PhoneScript
        var tries = 0

        /// Whether this is the last attempt of the history, in which no other history runs.
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
                        // The record of a canceled run looks as if the app had not responded.
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
        // The campaign ended before these histories could run on a machine that was not busy.
        let nothing = DeviceStage.PartResults(results: [], doubt: .machineBusy)
        for turn in starved where !Task.isCancelled {
            ledger.outcome.progress.lives += 1
            note(.machineBusy, turn.script, nothing)
        }
        ledger.tell(isLast: true)
        ledger.outcome.coverage = generator.coverage
    }

    /// Returns the next history to run while that number of histories is running; nil if none may
    /// begin now.
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
            ledger.outcome.end = "no history could be generated whose steps can run in this app"
            return nil
        }
        ledger.drew(.phone(script.life), newCount: newCount)
        return script
    }

    /// Returns the next saved history that the current rules allow and that the executors can run.
    ///
    /// The rules may have changed since the history was saved.
    private mutating func nextOfCorpus() -> PhoneScript? {
        while let life = corpus.popFirst() {
            if let script = PhoneScript(life), player.plays(script.contract) { return script }
            ledger.outcome.illegalCount += 1
        }
        return nil
    }

    // MARK: Results

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
            // The invariant concerns a condition that did not occur in this history, such as a
            // login.
            case .inconclusive, .notRun: break
            }
        }
    }

    /// Counts a history as inconclusive for every clause that it would have tested.
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

/// Limits the number of histories that run concurrently: fewer while the machine is too busy.
struct Crowd: Sendable {
    private let countMax: Int
    private(set) var count: Int

    /// Begins with at most four histories.
    ///
    /// If many histories started together, each would have too little time.
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
    /// The single property of an app that the contract checks, such as the name of an invariant.
    fileprivate var promise: String {
        guard let app = expectation.app else { return "" }
        let shown = app.screens.map { "shows \($0.element.rawValue)" }
        let sent = app.commands.map { "sends \($0.name)" }
        return app.promises.first?.name.rawValue ?? shown.first ?? sent.first ?? "id"
    }
}
