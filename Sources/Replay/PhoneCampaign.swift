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

        func play(_ script: PhoneScript, number: Int) async -> [CaseResult] {
            await stage.results(
                of: CasePlan(script.contract),
                judgedBy: script.parts.map { CasePlan($0) },
                number: number
            )
        }

        func play(_ contract: Contract, number: Int) async -> CaseResult? {
            let plan = CasePlan(contract)
            return await stage.results(of: plan, judgedBy: [plan], number: number).first
        }
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
    /// Tells the files of equal names apart, also of those that a smaller one has replaced.
    private var foundCount = 0

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
        await withTaskGroup(of: (PhoneScript, [CaseResult]).self) { group in
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

    private mutating func take(_ script: PhoneScript, _ results: [CaseResult]) async {
        guard !results.isEmpty else {
            outcome.inconclusive["E913 machine-busy", default: 0] += 1
            return
        }
        outcome.progress.lives += 1
        for (index, result) in results.enumerated() {
            let clause = result.contract.clause
            switch result.verdict {
            case .passed, .knownFailure, .unexpectedPass:
                outcome.clauses[clause, default: 0] += 1
            case .failed:
                outcome.clauses[clause, default: 0] += 1
                await examine(script, index, result)
            // A promise about what never happened in it: nothing failed, nobody logged in.
            case .inconclusive, .notRun: break
            }
        }
    }

    private mutating func examine(
        _ script: PhoneScript,
        _ index: Int,
        _ result: CaseResult
    ) async {
        guard let finding = result.findings.first, !Task.isCancelled else { return }
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
        guard var best = await failing([script.life], cause).first else {
            outcome.unsteady.append(result)
            return
        }
        let end = clock.now + options.shrinkTime
        var shrinkCount = 1
        var isMinimal = false
        shrinking: while clock.now < end, !Task.isCancelled {
            var rest = best.life.shorter[...]
            while !rest.isEmpty, clock.now < end, !Task.isCancelled {
                let batch = Array(rest.prefix(options.jobs))
                rest = rest.dropFirst(options.jobs)
                shrinkCount += batch.count
                if let smaller = await failing(batch, cause).first {
                    best = smaller
                    continue shrinking
                }
            }
            isMinimal = rest.isEmpty
            break
        }
        var found = Campaign.Found(
            story: .phone(best.life),
            original: .phone(script.life),
            cause: cause,
            result: best.result,
            shrinkCount: shrinkCount,
            isMinimal: isMinimal,
            failsAsWritten: true
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
                    let failed = await player.play(script, number: first + index).first {
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
        foundCount += 1
        let id = "found/\(life.slug)-\(foundCount)"
        guard let part = PhoneScript(life, id: id)?.parts.first(where: { $0.promise == about })
        else { return }
        found.result.contract = options.written(part) ?? part
        guard let contract = options.written(part) else {
            found.failsAsWritten = false
            return
        }
        runCount += 1
        let again = await player.play(contract, number: runCount)
        if let again, again.verdict == .failed {
            found.result = again
        } else if !Task.isCancelled {
            found.failsAsWritten = false
        }
    }
}

extension Contract {
    /// The one thing that it says of an app.
    fileprivate var promise: String {
        expectation.app?.promises.first?.name.rawValue ?? "id"
    }
}
