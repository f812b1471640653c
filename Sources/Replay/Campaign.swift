package import Conformance
package import Exploration
internal import FakeServers

/// Plays life after life before one backend, makes small what breaks it, and keeps count.
package final class Campaign: Sendable {
    package struct Options: Sendable {
        package var seed: UInt64
        package var jobs: Int
        /// Makes ids unique on a backend that keeps its data.
        package var nonce: String
        package var generator: LifeGenerator.Options
        /// Lives that others have kept, which are played first.
        package var corpus: [Life] = []
        /// Ends after so many lives; nil: whenever something else says so.
        package var livesMax: Int?
        /// Ends after so long; nil: when nothing new was played for a while.
        package var time: Duration?
        /// So long nothing new may be played, where no time is given.
        package var patience: Duration = .seconds(60)
        /// How long one failing life may be made smaller.
        package var shrinkTime: Duration = .seconds(20)
        /// What is found first ends it.
        package var endsAtFirst = false
        /// More causes than these nobody reads.
        package var foundMax = 20
        /// A contract as it stands in the file that it will be written to; nil when no file can say
        /// it.
        package var written: @Sendable (Contract) -> Contract? = { $0 }

        package init(
            seed: UInt64,
            jobs: Int,
            nonce: String,
            generator: LifeGenerator.Options
        ) {
            (self.seed, self.jobs, self.nonce) = (seed, max(1, jobs), nonce)
            self.generator = generator
        }
    }

    package enum Event: Sendable {
        case calibrated(RunRecord.Sight)
        case progress(Progress)
        /// A life failed; it is being made smaller.
        case failing(LifeCause, Life)
        case found(Found)
        /// A life told nothing.
        case undecided(CaseResult)
        case backendRestarted(String)
        /// No life is played, for these reasons.
        case stopped([String])
    }

    package struct Progress: Hashable, Sendable {
        package var lives = 0
        /// Different things that were played.
        package var features = 0
        package var found = 0
        package var elapsed: Duration = .zero
    }

    /// One way in which lives break the backend.
    package struct Found: Sendable {
        /// The smallest life that shows it.
        package var life: Life
        /// The life in which it was found.
        package let original: Life
        package let cause: LifeCause
        package var result: CaseResult
        /// How many runs it took to make it small.
        package var shrinkCount: Int
        /// Whether nothing more could be left out.
        package var isMinimal: Bool
        /// Whether it failed once more when it was played from its file's text.
        package var failsAsWritten: Bool
        /// How many other lives it explains.
        package var alsoIn = 0
    }

    /// What came of it.
    package struct Outcome: Sendable {
        package var progress = Progress()
        package var coverage = LifeCoverage()
        package var found: [Found] = []
        /// Lives that told nothing, by what stood in the way.
        package var inconclusive: [String: Int] = [:]
        /// The same by the clause that they asked for.
        package var undecidedClauses: [String: Int] = [:]
        /// How many lives each clause was asked by.
        package var clauses: [String: Int] = [:]
        /// Lives worth beginning with next time.
        package var kept: [Life] = []
        /// How much was covered when.
        package var growth: [Progress] = []
        /// Why nothing was played.
        package var obstacles: [String] = []
        /// Why it ended before its time; nil: it did not.
        package var end: String?
        /// Lives that failed once and not again.
        package var unsteady: [CaseResult] = []
    }

    private let executor: RunExecutor
    private let options: Options
    private let report: @Sendable (Event) -> Void

    package init(
        executor: RunExecutor,
        options: Options,
        report: @escaping @Sendable (Event) -> Void
    ) {
        self.executor = executor
        self.options = options
        self.report = report
    }

    /// Goes on until one of its ends is reached; after a cancellation what was earned is returned.
    package func run() async -> Outcome {
        await withTaskGroup(of: Outcome?.self) { group in
            group.addTask {
                await self.executor.heartbeat.beat()
                return nil
            }
            group.addTask { await self.campaign() }
            var outcome = Outcome()
            for await part in group {
                guard let part else { continue }
                outcome = part
                group.cancelAll()
            }
            return outcome
        }
    }

    private func campaign() async -> Outcome {
        var suite = SuiteRunner.Options(
            seed: options.seed,
            jobs: options.jobs,
            nonce: options.nonce,
            knownFailures: KnownFailures()
        )
        suite.keepsEvidence = true
        suite.looksFirst = true
        suite.remembersPassed = false
        let stage = BackendStage(executor: executor, options: suite) { [report] event in
            switch event {
            case .calibrated(let sight): report(.calibrated(sight))
            case .backendRestarted(let text): report(.backendRestarted(text))
            case .started, .finished, .stopped, .sideFailed: break
            }
        }
        var generator = LifeGenerator(seed: options.seed, options: options.generator)
        let sample = generator.next().script.contract
        let open = await stage.opened(for: [CasePlan(sample)])
        var outcome = Outcome()
        outcome.obstacles = open.obstacles
        guard open.obstacles.isEmpty else {
            report(.stopped(open.obstacles))
            return outcome
        }
        var rounds = Rounds(
            players: LifePlayer(cases: open.cases, means: options.generator.means),
            options: options,
            clock: executor.clock,
            report: report
        )
        await rounds.run()
        return rounds.outcome
    }
}

/// Plays single lives and judges them, at the end and at every quiet point.
struct LifePlayer: Sendable {
    let cases: CaseRunner
    let means: Means

    /// What one life came to.
    struct Played: Sendable {
        /// The life that the result is about: the whole, or a beginning of it.
        var life: Life
        var result: CaseResult
    }

    /// Nil when it was cut short, or when the backend ended beside others: it is to be played again,
    /// alone.
    func play(_ script: LifeScript, isAlone: Bool) async -> Played? {
        guard let result = await played(script.contract, isAlone: isAlone, isBrief: true) else {
            return nil
        }
        if result.findings.first?.code == .disturbanceMissed,
            let calmer = try? LifeScript(script.life.withoutFailingCalls, means),
            calmer.life != script.life
        {
            // What the backend does not call cannot fail.
            return await play(calmer, isAlone: isAlone)
        }
        let played = Played(life: script.life, result: result.withoutEvidence)
        guard let evidence = result.evidence, [.passed, .failed].contains(result.verdict),
            let beginning = script.suspect(in: evidence, means),
            let shorter = try? LifeScript(beginning, means),
            let again = await self.played(shorter.contract, isAlone: isAlone),
            again.verdict == .failed
        else { return played }
        return Played(life: beginning, result: again.withoutEvidence)
    }

    /// A life as it stands in a file; nil when it was cut short.
    func play(_ contract: Contract, isAlone: Bool) async -> CaseResult? {
        await played(contract, isAlone: isAlone)?.withoutEvidence
    }

    /// A state that is as it should be at once is looked at no longer: what fails is played again and
    /// given all the time that it may need.
    private func played(
        _ contract: Contract,
        isAlone: Bool,
        isBrief: Bool = false
    ) async -> CaseResult? {
        var plan = CasePlan(contract)
        if isBrief, plan.twin == nil { plan = plan.brief }
        let result =
            isAlone ? await cases.runAlone(plan) : await cases.runShared(plan)
        cases.forget(plan, result?.evidence)
        return result
    }
}

extension CaseResult {
    fileprivate var withoutEvidence: CaseResult {
        var result = self
        result.evidence = nil
        return result
    }
}

/// The order of a campaign: lives are played side by side, and now and then those that nobody may play
/// beside; what failed is made small while the others go on.
///
/// Only what was drawn decides what is drawn next, so that a seed gives the same lives however fast
/// the backend is.
private struct Rounds {
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
        options: Campaign.Options,
        clock: any RunClock,
        report: @escaping @Sendable (Campaign.Event) -> Void
    ) {
        self.players = players
        self.options = options
        self.clock = clock
        self.report = report
        generator = LifeGenerator(seed: options.seed, options: options.generator)
        start = clock.now
        lastNew = clock.now
        lastTold = clock.now
        corpus = options.corpus[...]
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
            $0.cause == cause && played.life.contains($0.life)
        }
        if let known {
            outcome.found[known].alsoIn += 1
            return
        }
        guard outcome.found.count < options.foundMax else { return }
        report(.failing(cause, played.life))
        var shrinking = Shrinking(
            players,
            played,
            cause,
            clock,
            options,
            until: options.time.map { start + $0 }
        )
        switch await shrinking.confirm() {
        case .yes: await shrinking.run()
        // It failed once, which no silence takes back.
        case .unknown: break
        case .no:
            outcome.unsteady.append(played.result)
            return
        }
        let found = await shrinking.found(original: played.life, outcome.found.count + 1)
        let same = outcome.found.firstIndex { $0.cause == cause && $0.life.contains(found.life) }
        if let same {
            // What is smaller explains the larger one.
            let before = outcome.found[same]
            outcome.found[same] = found
            outcome.found[same].alsoIn = before.alsoIn + 1
        } else {
            outcome.found.append(found)
            outcome.kept.append(found.life)
            outcome.progress.found += 1
        }
        report(.found(found))
    }
}

/// Makes one failing life smaller, until nothing more can be left out or the time is over.
private struct Shrinking {
    let players: LifePlayer
    let cause: LifeCause
    let clock: any RunClock
    let jobs: Int
    private let end: Duration
    private var best: LifePlayer.Played
    private var runCount = 0
    private var isMinimal = false
    private var isWritten = true
    private let written: @Sendable (Contract) -> Contract?

    init(
        _ players: LifePlayer,
        _ played: LifePlayer.Played,
        _ cause: LifeCause,
        _ clock: any RunClock,
        _ options: Campaign.Options,
        until campaignEnd: Duration?
    ) {
        self.players = players
        self.cause = cause
        self.clock = clock
        jobs = options.jobs
        written = options.written
        let latest = campaignEnd.map { $0 + options.shrinkTime } ?? .seconds(Int64.max / 2)
        end = min(clock.now + options.shrinkTime, max(latest, clock.now))
        best = played
    }

    enum Confirmation { case yes, no, unknown }

    /// Once may be chance: whether it fails again, of some more tries.
    mutating func confirm() async -> Confirmation {
        var isDecided = false
        for _ in 0..<3 {
            let played = await play([best.life])
            if let again = played.first(where: isSame) {
                best = again
                return .yes
            }
            if played.contains(where: { $0.result.verdict == .passed }) { isDecided = true }
        }
        return isDecided ? .no : .unknown
    }

    mutating func run() async {
        var isSmaller = true
        while isSmaller {
            isSmaller = await step(best.life.shorter)
            if !isSmaller { isSmaller = await step(best.life.plainer) }
        }
        isMinimal = clock.now < end && !Task.isCancelled
    }

    /// Whether one of them fails in the same way; the first that does is taken.
    private mutating func step(_ candidates: [Life]) async -> Bool {
        var rest = candidates.filter { $0 != best.life && !$0.steps.isEmpty }[...]
        while !rest.isEmpty, clock.now < end, !Task.isCancelled {
            let batch = Array(rest.prefix(jobs))
            rest = rest.dropFirst(jobs)
            if let smaller = await failing(batch) {
                best = smaller
                return true
            }
        }
        return false
    }

    private mutating func failing(_ lives: [Life]) async -> LifePlayer.Played? {
        await play(lives).first(where: isSame)
    }

    private func isSame(_ played: LifePlayer.Played) -> Bool {
        played.result.verdict == .failed
            && played.result.findings.first.map(LifeCause.init) == cause
    }

    /// In their order; what was cut short is not among them.
    private mutating func play(_ lives: [Life]) async -> [LifePlayer.Played] {
        let scripts = lives.compactMap { try? LifeScript($0, players.means) }
        runCount += scripts.count
        let isAlone = scripts.contains(where: \.needsSolitude)
        return await withTaskGroup(of: (Int, LifePlayer.Played?).self) { group in
            var found: [(Int, LifePlayer.Played)] = []
            for (index, script) in scripts.enumerated() {
                // One after the other where nobody may play beside.
                if isAlone {
                    if let played = await players.play(script, isAlone: true) {
                        found.append((index, played))
                    }
                } else {
                    group.addTask { [players] in
                        (index, await players.play(script, isAlone: false))
                    }
                }
            }
            var ended: [Int] = []
            for await (index, played) in group {
                if let played {
                    found.append((index, played))
                } else {
                    ended.append(index)
                }
            }
            // Which of them ended the backend shows when each is alone.
            for index in ended.sorted() where !Task.isCancelled {
                if let played = await players.play(scripts[index], isAlone: true) {
                    found.append((index, played))
                }
            }
            return found.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    /// - Parameters:
    ///   - original: The life in which it was found.
    ///   - number: Tells equal names apart.
    /// - Returns: What is told of it, from the run of its own file.
    mutating func found(original: Life, _ number: Int) async -> Campaign.Found {
        var result = best.result
        let id = "found/\(best.life.slug)-\(number)"
        if let script = try? LifeScript(best.life.withoutQuietPoints, players.means, id: id) {
            // What is kept is what was seen to fail.
            let contract = written(script.contract)
            result.contract = contract ?? script.contract
            var again: CaseResult?
            if let contract {
                again = await players.play(contract, isAlone: script.needsSolitude)
            }
            if let again, again.verdict == .failed,
                again.findings.first.map(LifeCause.init) == cause
            {
                result = again
            } else {
                isWritten = false
            }
        }
        return Campaign.Found(
            life: best.life,
            original: original,
            cause: cause,
            result: result,
            shrinkCount: runCount,
            isMinimal: isMinimal,
            failsAsWritten: isWritten
        )
    }
}

extension LifeScript {
    /// Whether it touches what other lives share.
    var needsSolitude: Bool { CasePlan(contract).subject.needsSolitude }
}
