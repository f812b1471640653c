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
        /// Nor more stories than these of one cause.
        package var storiesMax = 3
        /// A contract as it stands in the file that it will be written to; nil when no file can say
        /// it.
        package var written: @Sendable (Contract) -> Contract? = { $0 }

        /// After so many in a row that told nothing, the rest would not either: a limiter, a machine
        /// without time.
        static let undecidedMax = 100

        package init(seed: UInt64, jobs: Int, nonce: String) {
            (self.seed, self.jobs, self.nonce) = (seed, max(1, jobs), nonce)
        }
    }

    /// What is played.
    package struct Source: Sendable {
        package var generator: LifeGenerator.Options
        /// Lives that others have kept, which are played first.
        package var corpus: [Life] = []

        package init(_ generator: LifeGenerator.Options, corpus: [Life] = []) {
            (self.generator, self.corpus) = (generator, corpus)
        }
    }

    package enum Event: Sendable {
        case calibrated(RunRecord.Sight)
        case progress(Progress)
        /// A life failed; it is being made smaller.
        case failing(LifeCause, Story)
        case found(Found)
        /// A history that covers something new, and is about to run.
        case kept(Story)
        /// All that was covered by now, at most every five seconds.
        case covered(LifeCoverage)
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
        package var story: Story
        /// The life in which it was found.
        package let original: Story
        package let cause: LifeCause
        package var result: CaseResult
        /// How many runs it took to make it small.
        package var shrinkCount: Int
        /// Whether nothing more could be left out.
        package var isMinimal: Bool
        /// Whether it failed once more when it was played from its file's text; nil: nobody has tried.
        package var failsAsWritten: Bool?
        /// How many other lives it explains.
        package var alsoIn = 0
    }

    /// A life that failed once and not again.
    package struct Unsteady: Sendable {
        package let cause: LifeCause
        package let result: CaseResult
        /// How many failed in that way.
        package var count: Int

        package init(cause: LifeCause, result: CaseResult, count: Int = 1) {
            (self.cause, self.result, self.count) = (cause, result, count)
        }
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
        /// How much was covered when.
        package var growth: [Progress] = []
        /// Why nothing was played.
        package var obstacles: [String] = []
        /// Why it ended before its time; nil: it did not.
        package var end: String?
        /// Lives of the corpus that cannot happen, as far as is known by now.
        package var illegalCount = 0
        /// Lives that failed when there were causes enough.
        package var unexaminedCount = 0
        /// Lives that failed once and not again, the first of each cause.
        package var unsteady: [Unsteady] = []
        /// What no life accounts for: a backend that ended by itself.
        package var asides: [CaseResult] = []

        package init() {}
    }

    private let executor: RunExecutor
    private let source: Source
    private let options: Options
    private let report: @Sendable (Event) -> Void

    package init(
        executor: RunExecutor,
        source: Source,
        options: Options,
        report: @escaping @Sendable (Event) -> Void
    ) {
        self.executor = executor
        self.source = source
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

    private var sample: Contract {
        var act = Act(.purchase, "ada", at: .seconds(-600))
        act.product = "premium_monthly"
        let life = Life(
            people: [Life.Person("ada", .registered)],
            steps: [Life.Step(id: 0, act: act, isQuietPoint: false)],
            hasTwin: true
        )
        do throws(LifeModel.Illegal) {
            return try LifeScript(life, source.generator.means).contract
        } catch {
            preconditionFailure("nobody may buy: \(error.reason)")
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
            case .planned, .started, .finished, .stopped, .sideFailed: break
            }
        }
        // What can be seen is learnt from a plain purchase, whatever is drawn first.
        let open = await stage.opened(for: [CasePlan(sample)])
        var outcome = Outcome()
        outcome.obstacles = open.obstacles
        guard open.obstacles.isEmpty else {
            report(.stopped(open.obstacles))
            return outcome
        }
        var course = CampaignCourse(
            players: LifePlayer(cases: open.cases, means: source.generator.means),
            source: source,
            ledger: CampaignLedger(options, executor.clock, report: report)
        )
        await course.run()
        outcome = course.ledger.outcome
        // Whoever ends by itself may end in no life that is played again; one that is found says so.
        let isKnown = outcome.found.contains { found in
            found.result.findings.contains { [.backendExited, .answerLate].contains($0.code) }
        }
        if !isKnown { outcome.asides = open.cases.lives.asides(beside: []) }
        outcome.asides += executor.strayEffects(of: options.nonce)
        return outcome
    }
}
