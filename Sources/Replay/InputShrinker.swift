internal import Conformance
internal import Exploration

/// Reruns failed histories of a campaign, unchanged or shortened, against a backend or an app.
protocol InputReplaying: Sendable {
    /// Reruns histories, and returns their results.
    ///
    /// - Parameters:
    ///   - inputs: The histories to run. They may run concurrently.
    ///   - cause: The failure signature to look for. A history of an app is judged by several
    ///     invariants, and the signature selects one.
    /// - Returns: The results in the order of the histories. Histories that cannot run or were
    ///   interrupted have no result.
    func replay(_ inputs: [CampaignInput], for cause: FailureSignature) async -> [ReplayedInput]

    /// Runs a contract in the form that its file contains; returns nil when the run was
    /// interrupted.
    func replay(_ contract: Contract) async -> CaseResult?

    /// Returns a contract that runs a history and shows its failure; nil when no contract can
    /// express the history.
    func contract(of input: CampaignInput, for cause: FailureSignature, id: String) -> Contract?

    /// Returns the failure signature of a case result; nil for a result without findings.
    func cause(of result: CaseResult) -> FailureSignature?
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
    private let cause: FailureSignature
    private let clock: any RunClock
    private let jobs: Int
    private let end: Duration
    private let savableContract: @Sendable (Contract) -> Contract?
    private var best: ReplayedInput
    private var runCount = 0
    private var isMinimal = false

    /// Creates a shrinker for one failed history.
    ///
    /// - Parameters:
    ///   - inputExecutor: Runs histories.
    ///   - failed: The failed history and its result.
    ///   - cause: The signature of the failure.
    ///   - campaignState: The state of the campaign, with its clock, options and time limit.
    init(
        _ inputExecutor: InputExecutor,
        _ failed: ReplayedInput,
        _ cause: FailureSignature,
        _ campaignState: CampaignState
    ) {
        self.inputExecutor = inputExecutor
        self.cause = cause
        clock = campaignState.clock
        jobs = campaignState.options.jobs
        savableContract = campaignState.options.savableContract
        end = campaignState.shrinkEnd
        best = failed
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
        let first = best.result
        switch await confirm() {
        case .yes: await shrink()
        // The failure was observed once, and inconclusive reruns do not disprove it.
        case .unknown: break
        case .no: return .notReproduced(cause, first)
        }
        return .found(await found(original: original))
    }

    private enum Confirmation { case yes, no, unknown }

    /// Runs the failed history up to three more times, because a single failure may be chance.
    private mutating func confirm() async -> Confirmation {
        var hasPassedRun = false
        for _ in 0..<3 {
            guard !isOver else { break }
            let executedInputs = await execute([best.input])
            if let rerunResult = executedInputs.first(where: { hasSameSignature($0.result) }) {
                best = rerunResult
                return .yes
            }
            if executedInputs.contains(where: { $0.result.verdict == .passed }) {
                hasPassedRun = true
            }
        }
        return hasPassedRun ? .no : .unknown
    }

    private mutating func shrink() async {
        var hasShrunk = true
        while hasShrunk {
            hasShrunk = await tryCandidates(best.input.shorterVariants)
            if !hasShrunk { hasShrunk = await tryCandidates(best.input.simplerVariants) }
        }
        isMinimal = !isOver
    }

    /// Whether the time for shrinking is over, or the task is canceled.
    ///
    /// A failure that was found before is kept.
    private var isOver: Bool { clock.now >= end || Task.isCancelled }

    /// Runs smaller histories until one fails with the same signature, and continues with that one.
    ///
    /// Returns whether a smaller history failed.
    private mutating func tryCandidates(_ candidates: [CampaignInput]) async -> Bool {
        var remainingCandidates = candidates.filter { $0 != best.input && $0.size > 0 }[...]
        while !remainingCandidates.isEmpty, !isOver {
            let batch = Array(remainingCandidates.prefix(jobs))
            remainingCandidates = remainingCandidates.dropFirst(jobs)
            if let smaller = await execute(batch).first(where: { hasSameSignature($0.result) }) {
                best = smaller
                return true
            }
        }
        return false
    }

    private mutating func execute(_ inputs: [CampaignInput]) async -> [ReplayedInput] {
        runCount += inputs.count
        return await inputExecutor.replay(inputs, for: cause)
    }

    private func hasSameSignature(_ result: CaseResult) -> Bool {
        result.verdict == .failed && inputExecutor.cause(of: result) == cause
    }

    /// Returns the failure for the report.
    ///
    /// If there is time, the saved contract file is run once more. The reported result is always an
    /// observed one.
    private mutating func found(original: CampaignInput) async -> Campaign.FoundFailure {
        var result = best.result
        // Whether the saved file failed in the same way; nil when it was not run.
        var failsFromSavedFile: Bool?
        let id = "found/" + best.input.id(cause)
        if let unsavedContract = inputExecutor.contract(of: best.input, for: cause, id: id) {
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
            input: best.input,
            original: original,
            cause: cause,
            result: result,
            shrinkCount: runCount,
            isMinimal: isMinimal,
            failsFromSavedFile: failsFromSavedFile
        )
    }
}
