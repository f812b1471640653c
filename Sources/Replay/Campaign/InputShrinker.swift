internal import Contracts
internal import Exploration
internal import Judging

/// Reruns failed histories of a campaign, unchanged or shortened, against a backend or an app.
protocol InputReplaying: Sendable {
    /// Reruns histories, and returns their results.
    ///
    /// - Parameters:
    ///   - inputs: The histories to run. They may run concurrently.
    ///   - failureSignature: The failure signature to look for. A history of an app is judged by several
    ///     invariants, and the signature selects one.
    /// - Returns: The results in the order of the histories. Histories that cannot run or were
    ///   interrupted have no result.
    func replay(_ inputs: [CampaignInput], for failureSignature: FailureSignature) async
        -> [ReplayedInput]

    /// Runs a contract unchanged, as saved in its file; returns nil when the run was interrupted.
    func replay(_ contract: Contract) async -> CaseResult?

    /// Returns a contract that runs a history and shows its failure; nil when no contract can
    /// express the history.
    func contract(of input: CampaignInput, for failureSignature: FailureSignature, id: String)
        -> Contract?

    /// Returns the failure signature of a case result; nil for a result without findings.
    func failureSignature(of result: CaseResult) -> FailureSignature?
}

/// The result of a rerun of a history.
struct ReplayedInput: Sendable {
    /// The part of the history that was judged: the whole history, or a beginning of it.
    let input: CampaignInput
    let result: CaseResult
}

/// Shrinks one failing history until nothing more can be removed from it, or the time is over.
struct InputShrinker<InputExecutor: InputReplaying> {
    private let inputExecutor: InputExecutor
    private let failureSignature: FailureSignature
    private let clock: any RunClock
    private let jobs: Int
    private let shrinkDeadline: Duration
    private let savableContract: @Sendable (Contract) -> Contract?
    private var smallestFailure: ReplayedInput
    private var runCount = 0
    private var isMinimal = false

    /// Creates a shrinker for one failed history.
    ///
    /// - Parameters:
    ///   - inputExecutor: Runs histories.
    ///   - failed: The failed history and its result.
    ///   - failureSignature: The signature of the failure.
    ///   - campaignState: The state of the campaign, with its clock, options and time limit.
    init(
        _ inputExecutor: InputExecutor,
        _ failed: ReplayedInput,
        _ failureSignature: FailureSignature,
        _ campaignState: CampaignState
    ) {
        self.inputExecutor = inputExecutor
        self.failureSignature = failureSignature
        clock = campaignState.clock
        jobs = campaignState.options.jobs
        savableContract = campaignState.options.savableContract
        shrinkDeadline = campaignState.shrinkEnd
        smallestFailure = failed
    }

    /// The result of rerunning and shrinking a failed history.
    enum ShrinkOutcome: Sendable {
        case found(Campaign.FoundFailure)
        /// The history failed once, but did not fail again when it was repeated.
        case notReproduced(FailureSignature, CaseResult)
    }

    /// Repeats the failed history, and shrinks it if it fails again.
    ///
    /// - Parameter original: The history in which the failure was found.
    /// - Returns: The shrunk failure, or the result of the failure that could not be repeated.
    mutating func confirmAndShrink(original: CampaignInput) async -> ShrinkOutcome {
        let first = smallestFailure.result
        switch await confirm() {
        case .reproduced: await shrink()
        // The failure was observed once, and inconclusive reruns do not disprove it.
        case .unknown: break
        case .disproved: return .notReproduced(failureSignature, first)
        }
        return .found(await found(original: original))
    }

    private enum Confirmation { case reproduced, disproved, unknown }

    /// Runs the failed history up to three more times, because a single failure may be chance.
    private mutating func confirm() async -> Confirmation {
        var hasPassedRun = false
        for _ in 0..<3 {
            guard !isOver else { break }
            let executedInputs = await execute([smallestFailure.input])
            if let rerunResult = executedInputs.first(where: { hasSameSignature($0.result) }) {
                smallestFailure = rerunResult
                return .reproduced
            }
            if executedInputs.contains(where: { $0.result.verdict == .passed }) {
                hasPassedRun = true
            }
        }
        return hasPassedRun ? .disproved : .unknown
    }

    private mutating func shrink() async {
        let isOver = { [clock, shrinkDeadline] in clock.now >= shrinkDeadline || Task.isCancelled }
        var shrinker = Shrinker(batchSize: jobs, isOver: isOver)
        (smallestFailure, isMinimal) = await shrinker.shrunk(smallestFailure) { failure in
            [failure.input.shorterVariants, failure.input.simplerVariants].map { variants in
                variants.filter { $0 != failure.input && $0.size > 0 }
            }
        } test: { inputs in
            await execute(inputs).filter { hasSameSignature($0.result) }
        }
    }

    /// Whether the time for shrinking is over, or the task is canceled.
    ///
    /// A failure that was found before is kept.
    private var isOver: Bool { clock.now >= shrinkDeadline || Task.isCancelled }

    private mutating func execute(_ inputs: [CampaignInput]) async -> [ReplayedInput] {
        runCount += inputs.count
        return await inputExecutor.replay(inputs, for: failureSignature)
    }

    private func hasSameSignature(_ result: CaseResult) -> Bool {
        result.verdict == .failed && inputExecutor.failureSignature(of: result) == failureSignature
    }

    /// Returns the failure for the report.
    ///
    /// If there is time, the saved contract file is run once more. The reported result is always an
    /// observed one.
    private mutating func found(original: CampaignInput) async -> Campaign.FoundFailure {
        var result = smallestFailure.result
        // Whether the saved file failed in the same way; nil when it was not run.
        var failsFromSavedFile: Bool?
        let id = "found/" + smallestFailure.input.id(failureSignature)
        if let unsavedContract = inputExecutor.contract(
            of: smallestFailure.input,
            for: failureSignature,
            id: id
        ) {
            let contract = savableContract(unsavedContract)
            result.contract = contract ?? unsavedContract
            if let contract, !isOver, let rerunResult = await inputExecutor.replay(contract) {
                failsFromSavedFile = hasSameSignature(rerunResult)
                if hasSameSignature(rerunResult) { result = rerunResult }
            } else if contract == nil {
                failsFromSavedFile = false
            }
        }
        // The finding of a run without a contract file has no location in a file.
        if failsFromSavedFile != true {
            for index in result.findings.indices { result.findings[index].location = nil }
        }
        return Campaign.FoundFailure(
            input: smallestFailure.input,
            original: original,
            failureSignature: failureSignature,
            result: result,
            shrinkCount: runCount,
            isMinimal: isMinimal,
            failsFromSavedFile: failsFromSavedFile
        )
    }
}
