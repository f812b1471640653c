package import Contracts
package import Exploration
package import Judging

/// A campaign of `assay explore` against a backend.
///
/// It generates random customer histories, runs them against the backend, and shrinks the failures.
package final class Campaign: Sendable {
    package struct Options: Sendable {
        package var seed: UInt64
        package var jobs: Int
        /// A string that is unique to this campaign and part of the ID of every test user.
        ///
        /// A backend that keeps its data therefore never meets a user of an earlier campaign.
        package var nonce: String
        /// The number of histories after which the campaign ends; nil for no limit.
        package var historyCountMax: Int?
        /// The time after which the campaign ends.
        ///
        /// With nil, the campaign ends when no history has covered anything new for the time
        /// `settleTimeout`.
        package var time: Duration?
        /// The longest time without a history that covers something new, used if `time` is nil.
        package var settleTimeout: Duration = .seconds(60)
        /// The longest time for shrinking one failing history.
        package var shrinkTime: Duration = .seconds(20)
        /// Whether the first failure ends the campaign.
        package var stopsAtFirstFailure = false
        /// The maximum number of failures that are reported.
        ///
        /// A user would not look at more failures.
        package var reportedFailureMax = 20
        /// The maximum number of reported failures with the same failure signature (the same
        /// cause).
        package var inputsPerSignatureMax = 3
        /// Converts a contract to the form in which a contract file can hold it.
        ///
        /// Returns nil when no file can express the contract.
        package var savableContract: @Sendable (Contract) -> Contract? = { $0 }

        /// The number of inconclusive histories in a row that ends the campaign.
        ///
        /// After this number, a rate limiter or an overloaded machine is the usual cause.
        static let inconclusiveInARowMax = 100

        package init(seed: UInt64, jobs: Int, nonce: String) {
            (self.seed, self.jobs, self.nonce) = (seed, max(1, jobs), nonce)
        }
    }

    /// The input of a campaign: options for generating histories, and saved histories.
    package struct Source: Sendable {
        package var generator: HistoryGenerator.Options
        /// The saved histories, which run before any generated history.
        package var corpus: [CustomerHistory] = []

        package init(_ generator: HistoryGenerator.Options, corpus: [CustomerHistory] = []) {
            (self.generator, self.corpus) = (generator, corpus)
        }
    }

    package enum Event: Sendable {
        case calibrated(RunRecord.Observability)
        case progress(Progress)
        /// A history failed with this failure signature, and is going to be shrunk.
        case newFailure(FailureSignature, CampaignInput)
        case found(FoundFailure)
        /// A history that covers something new is about to run, and is worth saving.
        case kept(CampaignInput)
        /// The coverage of all histories so far.
        ///
        /// This event comes at most every five seconds.
        case coverageUpdated(HistoryCoverage)
        /// A history could not be judged; the case result contains the reason.
        case undecided(CaseResult)
        case backendRestarted(String)
        /// The campaign ends without running any history, for these reasons.
        case stopped([String])
    }

    package struct Progress: Hashable, Sendable {
        package var histories = 0
        /// The number of different situations that the histories have covered so far.
        package var features = 0
        package var found = 0
        package var elapsed: Duration = .zero
    }

    /// A failure of the backend that a generated history found.
    package struct FoundFailure: Sendable {
        /// The smallest history that still shows the failure.
        package var input: CampaignInput
        /// The history in which the failure was found, before it was shrunk.
        package let original: CampaignInput
        package let failureSignature: FailureSignature
        package var result: CaseResult
        /// The number of runs that were needed to shrink the history.
        package var shrinkCount: Int
        /// Whether the history cannot be made smaller.
        package var isMinimal: Bool
        /// Whether the failure occurred again when the saved contract file was run; nil if that was
        /// not tried.
        package var failsFromSavedFile: Bool?
        /// The number of other failed histories that have the same cause as this failure.
        package var duplicateCount = 0
    }

    /// A history that failed once, but did not fail when it was repeated.
    package struct FlakyFailure: Sendable {
        package let failureSignature: FailureSignature
        package let result: CaseResult
        /// The number of histories with the same failure signature that failed once but not again.
        package var count: Int

        package init(failureSignature: FailureSignature, result: CaseResult, count: Int = 1) {
            (self.failureSignature, self.result, self.count) = (failureSignature, result, count)
        }
    }

    /// The result of a campaign against a backend or an app.
    package struct Outcome: Sendable {
        package var progress = Progress()
        package var coverage = HistoryCoverage()
        package var found: [FoundFailure] = []
        /// The number of inconclusive histories for each reason.
        package var inconclusive: [String: Int] = [:]
        /// The number of inconclusive histories for each clause that they test.
        package var inconclusiveCountsByClause: [String: Int] = [:]
        /// The number of histories that test each clause, by the ID of the clause.
        package var clauses: [String: Int] = [:]
        /// Snapshots of the campaign's progress, in order of time.
        package var progressSnapshots: [Progress] = []
        /// The reasons why no history could run; empty if histories ran.
        package var skipReasons: [String] = []
        /// The reason why the campaign ended before its limit; nil when it did not.
        package var end: String?
        /// The number of saved histories that were not run, because the rules of the simulated
        /// store no longer allow them.
        package var skippedSavedCount = 0
        /// The number of failed histories that were not examined, because enough failures were
        /// already known.
        package var unshrunkFailureCount = 0
        /// The histories that failed once but not again: the first one of each failure signature.
        package var flakyFailures: [FlakyFailure] = []
        /// Violations of run invariants (requirements for the whole run) that no history explains.
        ///
        /// An example is a backend that exited by itself.
        package var invariantViolations: [CaseResult] = []

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

    /// Runs the campaign until a limit is reached or the task is canceled.
    ///
    /// A canceled campaign returns the results that it has.
    package func run() async -> Outcome {
        await withTaskGroup(of: Outcome?.self) { group in
            group.addTask {
                await self.executor.heartbeat.beat()
                return nil
            }
            group.addTask { await self.runCampaign() }
            var outcome = Outcome()
            for await part in group {
                guard let part else { continue }
                outcome = part
                group.cancelAll()
            }
            return outcome
        }
    }

    private var samplePurchaseContract: Contract {
        let history = CustomerHistory.singlePurchase(source.generator.sellers)
        do throws(HistoryModel.ImpossibleOperation) {
            return try HistoryScript(history, source.generator.capabilities).contract
        } catch {
            preconditionFailure("no user may buy: \(error.reason)")
        }
    }

    private func runCampaign() async -> Outcome {
        var suiteOptions = SuiteRunOptions(
            seed: options.seed,
            jobs: options.jobs,
            nonce: options.nonce,
            knownFailures: KnownFailures()
        )
        suiteOptions.keepsEvidence = true
        suiteOptions.checksBackendFirst = true
        suiteOptions.rechecksCases = false
        let target = BackendTarget(executor: executor, options: suiteOptions) { [report] event in
            switch event {
            case .calibrated(let observability): report(.calibrated(observability))
            case .backendRestarted(let text): report(.backendRestarted(text))
            case .planned, .started, .finished, .stopped, .instanceFailed, .warned: break
            }
        }
        // A plain purchase shows what can be observed of this backend, whatever histories are
        // generated.
        let open = await target.calibratedTarget(for: [CasePlan(samplePurchaseContract)])
        var outcome = Outcome()
        outcome.skipReasons = open.skipReasons
        guard open.skipReasons.isEmpty else {
            report(.stopped(open.skipReasons))
            return outcome
        }
        var scheduler = CampaignScheduler(
            historyExecutor: HistoryExecutor(
                caseRunner: open.caseRunner,
                capabilities: source.generator.capabilities
            ),
            source: source,
            campaignState: CampaignState(options, executor.clock, report: report)
        )
        await scheduler.run()
        outcome = scheduler.campaignState.outcome
        // If a found failure already reports the exit of the backend, the exit is not reported
        // again.
        let isKnown = outcome.found.contains { found in
            found.result.findings.contains { [.backendExited, .responseLate].contains($0.code) }
        }
        if !isKnown {
            outcome.invariantViolations = open.caseRunner.restarter.invariantViolations(
                alongside: [])
        }
        outcome.invariantViolations += executor.strayEffectFailures(of: options.nonce)
        outcome.invariantViolations += ThrottledWebhook(executor: executor).failures()
        return outcome
    }
}
