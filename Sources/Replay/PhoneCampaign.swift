package import Conformance
internal import Exploration
internal import FakeServers

/// Plays lives of an app on a phone, judges every promise of each by itself, and makes small what
/// breaks one.
package struct PhoneCampaign: Sendable {
    /// Who plays, and how.
    package struct Player: Sendable {
        private let stage: DeviceStage
        private let cast: Cast

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

        /// A page that was stuck once, or a machine that was busy, need not be again.
        func play(_ script: PhoneScript, number: Int) async -> DeviceStage.PartResults {
            let parts = script.parts.map { CasePlan($0) }
            let plan = CasePlan(script.contract)
            let first = await stage.results(of: plan, judgedBy: parts, number: number)
            guard first.doubt != nil, first.results.isEmpty, !Task.isCancelled else {
                return first
            }
            return await stage.results(of: plan, judgedBy: parts, number: number + Self.again)
        }

        func play(_ contract: Contract, number: Int) async -> CaseResult? {
            let plan = CasePlan(contract)
            let played = await stage.results(of: plan, judgedBy: [plan], number: number)
            return played.results.first
        }

        /// Far from the numbers of the lives that are drawn.
        private static let again = 1_000_000_000
    }

    private let player: Player
    private let options: Campaign.Options
    private let clock: any RunClock
    private let report: @Sendable (Campaign.Event) -> Void

    package init(
        player: Player,
        options: Campaign.Options,
        clock: any RunClock,
        report: @escaping @Sendable (Campaign.Event) -> Void
    ) {
        self.player = player
        self.options = options
        self.clock = clock
        self.report = report
    }

    /// Goes on until one of its ends is reached; after a cancellation what was earned is returned.
    package func run() async -> Campaign.Outcome {
        var course = PhoneCourse(player: player, options: options, clock: clock, report: report)
        await course.run()
        return course.outcome
    }
}

/// The order of a phone's campaign.
///
/// Only what was drawn decides what is drawn next, so that a seed gives the same lives however fast
/// the app is.
private struct PhoneCourse {
    let player: PhoneCampaign.Player
    let options: Campaign.Options
    let clock: any RunClock
    let report: @Sendable (Campaign.Event) -> Void
    var outcome = Campaign.Outcome()
    private var generator: PhoneGenerator
    private let start: Duration
    private var lastNew: Duration
    private var lastTold: Duration
    private var drawnCount = 0
    private var runCount = 0
    private var undecidedInARow = 0

    private static let tellInterval: Duration = .milliseconds(250)
    private static let growthInterval: Duration = .seconds(1)

    init(
        player: PhoneCampaign.Player,
        options: Campaign.Options,
        clock: any RunClock,
        report: @escaping @Sendable (Campaign.Event) -> Void
    ) {
        self.player = player
        self.options = options
        self.clock = clock
        self.report = report
        generator = PhoneGenerator(seed: options.seed)
        start = clock.now
        lastNew = clock.now
        lastTold = clock.now
    }

    mutating func run() async {
        await withTaskGroup(of: (PhoneScript, DeviceStage.PartResults).self) { group in
            var playing = 0
            while true {
                while playing < options.jobs, !isOver, let script = draw() {
                    playing += 1
                    runCount += 1
                    group.addTask { [player, runCount] in
                        (script, await player.play(script, number: runCount))
                    }
                }
                guard playing > 0, let (script, results) = await group.next() else { break }
                playing -= 1
                await take(script, results)
                tell()
            }
        }
        tell(isLast: true)
        outcome.coverage = generator.coverage
    }

    private var isOver: Bool {
        if Task.isCancelled || outcome.end != nil { return true }
        if options.endsAtFirst, !outcome.found.isEmpty { return true }
        if let most = options.livesMax, drawnCount >= most { return true }
        if let time = options.time { return clock.now - start >= time }
        return options.livesMax == nil && clock.now - lastNew >= options.patience
    }

    private mutating func draw() -> PhoneScript? {
        guard let drawn = generator.next(where: player.plays) else {
            outcome.end = "no life is drawn that the app could play"
            return nil
        }
        drawnCount += 1
        if drawn.newCount > 0 { lastNew = clock.now }
        outcome.progress.features += drawn.newCount
        return drawn.script
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

    // MARK: What came of it

    private mutating func take(_ script: PhoneScript, _ played: DeviceStage.PartResults) async {
        // What was cut short says nothing of the app.
        guard !Task.isCancelled || !played.results.isEmpty else { return }
        outcome.progress.lives += 1
        if let doubt = played.doubt { note(doubt, script, played) } else { undecidedInARow = 0 }
        for result in played.results {
            let clause = result.contract.clause
            switch result.verdict {
            case .passed, .knownFailure, .unexpectedPass:
                outcome.clauses[clause, default: 0] += 1
            case .failed:
                outcome.clauses[clause, default: 0] += 1
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
        outcome.inconclusive["\(doubt.rawValue) \(doubt.rule)", default: 0] += 1
        for clause in Set(script.parts.map(\.clause)).subtracting(decided) {
            outcome.clauses[clause, default: 0] += 1
            outcome.undecidedClauses[clause, default: 0] += 1
        }
        undecidedInARow += 1
        if undecidedInARow >= Campaign.Options.undecidedMax {
            outcome.end = "\(undecidedInARow) lives in a row told nothing: \(doubt.rule)"
        }
    }

    private mutating func examine(_ script: PhoneScript, _ result: CaseResult) async {
        guard let finding = result.findings.first else { return }
        let about = result.contract.promise
        let cause = LifeCause(finding, about: about)
        let known = outcome.found.firstIndex {
            $0.cause == cause && Story.phone(script.life).contains($0.story)
        }
        if let known {
            outcome.found[known].alsoIn += 1
            return
        }
        guard outcome.found.count < options.foundMax else {
            outcome.unexaminedCount += 1
            return
        }
        report(.failing(cause, .phone(script.life)))
        let latest = options.time.map { start + $0 + options.shrinkTime }
        let usual = clock.now + options.shrinkTime
        let end = latest.map { min($0, usual) } ?? usual
        let begin = clock.now
        defer { lastNew += clock.now - begin }
        var best = Failing(life: script.life, result: result)
        var isDecided = false
        var isConfirmed = false
        for _ in 0..<3 where !isConfirmed && clock.now < end && !Task.isCancelled {
            if let again = await failing([script.life], cause).first {
                best = again
                isConfirmed = true
            }
            isDecided = true
        }
        guard isConfirmed || !isDecided else {
            if let index = outcome.unsteady.firstIndex(where: { $0.cause == cause }) {
                outcome.unsteady[index].count += 1
            } else {
                outcome.unsteady.append(Campaign.Unsteady(cause: cause, result: result))
            }
            return
        }
        var shrinkCount = 1
        let isMinimal = isConfirmed ? await shrink(&best, cause, until: end, &shrinkCount) : false
        var found = Campaign.Found(
            story: .phone(best.life),
            original: .phone(script.life),
            cause: cause,
            result: best.result,
            shrinkCount: shrinkCount,
            isMinimal: isMinimal,
            failsAsWritten: nil
        )
        await write(&found, best.life, about)
        let same = outcome.found.firstIndex {
            $0.cause == cause && $0.story.contains(found.story)
        }
        if let same {
            // What is smaller explains the larger one.
            found.alsoIn = outcome.found[same].alsoIn + 1
            outcome.found[same] = found
        } else {
            outcome.found.append(found)
            outcome.progress.found += 1
        }
        report(.found(found))
    }

    /// Whether nothing more can be left out.
    private mutating func shrink(
        _ best: inout Failing,
        _ cause: LifeCause,
        until end: Duration,
        _ count: inout Int
    ) async -> Bool {
        while true {
            var rest = best.life.shorter[...]
            var smaller: Failing?
            while smaller == nil, !rest.isEmpty {
                guard clock.now < end, !Task.isCancelled else { return false }
                let batch = Array(rest.prefix(options.jobs))
                rest = rest.dropFirst(options.jobs)
                count += batch.count
                smaller = await failing(batch, cause).first
            }
            guard let smaller else { return clock.now < end && !Task.isCancelled }
            best = smaller
        }
    }

    private struct Failing: Sendable {
        let life: PhoneLife
        let result: CaseResult
    }

    /// Those that fail in the same way, in their order.
    private mutating func failing(_ lives: [PhoneLife], _ cause: LifeCause) async -> [Failing] {
        let scripts = lives.compactMap { PhoneScript($0) }.filter { player.plays($0.contract) }
        let first = runCount + 1
        runCount += scripts.count
        return await withTaskGroup(of: (Int, Failing?).self) { group in
            for (index, script) in scripts.enumerated() {
                group.addTask { [player] in
                    let played = await player.play(script, number: first + index)
                    let failed = played.results.first {
                        $0.verdict == .failed
                            && $0.findings.first.map {
                                LifeCause($0, about: cause.what)
                            } == cause && $0.contract.promise == cause.what
                    }
                    return (index, failed.map { Failing(life: script.life, result: $0) })
                }
            }
            var found: [(Int, Failing)] = []
            for await (index, failing) in group {
                if let failing { found.append((index, failing)) }
            }
            return found.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    /// What is kept is what was seen to fail, from its file's text.
    private mutating func write(
        _ found: inout Campaign.Found,
        _ life: PhoneLife,
        _ about: String
    ) async {
        let id = "found/" + Story.phone(life).id(found.cause)
        guard let part = PhoneScript(life, id: id)?.parts.first(where: { $0.promise == about })
        else { return }
        let written = options.written(part)
        found.result.contract = written ?? part
        guard let written else {
            found.failsAsWritten = false
            return
        }
        guard !Task.isCancelled else { return }
        runCount += 1
        guard let again = await player.play(written, number: runCount), !Task.isCancelled else {
            return
        }
        let isSame =
            again.verdict == .failed
            && again.findings.first.map { LifeCause($0, about: about) } == found.cause
        if isSame { found.result = again }
        found.failsAsWritten = isSame
    }
}

extension Contract {
    /// The one thing that it says of an app.
    fileprivate var promise: String {
        expectation.app?.promises.first?.name.rawValue ?? "id"
    }
}
