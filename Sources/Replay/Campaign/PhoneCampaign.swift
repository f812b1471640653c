package import Contracts
package import Exploration
internal import Judging
internal import Values

/// A campaign of `assay explore` against an app on a phone.
///
/// It generates random histories of user actions, judges each invariant of the app separately, and
/// shrinks the failures.
package struct PhoneCampaign: Sendable {
    /// Runs generated sequences of user actions in an app on simulated phones.
    package final class InputExecutor: Sendable {
        fileprivate let target: DeviceTarget
        private let executorSet: Executors
        /// The number of the last rerun of a history.
        ///
        /// The numbers of reruns begin far above those of generated histories, so that no number is
        /// used twice.
        private let lastRerunNumber = Locked(1_000_000_000)

        /// Creates an executor of generated histories for one campaign.
        ///
        /// - Parameters:
        /// - profile: The endpoints, keys and time budgets of the app.
        /// - executorSet: The executors that can run steps, such as a browser. Histories that they
        ///   cannot run are not generated.
        /// - options: The options of the campaign.
        /// - clock: The clock that measures the duration of histories.
        /// - perform: Runs the scenario of one history.
        package init(
            profile: Profile,
            executorSet: Executors,
            options: Campaign.Options,
            clock: any RunClock,
            perform: @escaping DeviceTarget.ScenarioExecution
        ) {
            let suiteOptions = SuiteRunOptions(
                seed: options.seed,
                jobs: options.jobs,
                nonce: options.nonce,
                knownFailures: KnownFailures()
            )
            target = DeviceTarget(
                profile: profile,
                executorSet: executorSet,
                options: suiteOptions,
                clock: clock,
                perform: perform
            )
            self.executorSet = executorSet
        }

        func canRun(_ contract: Contract) -> Bool {
            executorSet.unsupportedElements(of: contract).isEmpty
        }

        /// Runs a history, and runs it a second time if the page was stuck in the first run.
        func execute(_ script: PhoneScript, number: Int) async -> DeviceTarget.ScenarioResults {
            let first = await executeOnce(script, number: number)
            guard first.inconclusiveCode != nil, first.inconclusiveCode != .machineBusy,
                first.results.isEmpty,
                !Task.isCancelled
            else { return first }
            return await executeOnce(script, number: nextRerunNumber())
        }

        private func executeOnce(
            _ script: PhoneScript,
            number: Int
        ) async -> DeviceTarget.ScenarioResults {
            let singleExpectationContracts = script.singleExpectationContracts.map { CasePlan($0) }
            let plan = CasePlan(script.contract)
            return await target.results(
                of: plan,
                judgedBy: singleExpectationContracts,
                number: number
            )
        }

        /// Returns a number for a rerun of a history that no other run has.
        fileprivate func nextRerunNumber() -> Int {
            lastRerunNumber.withLock { last in
                last += 1
                return last
            }
        }
    }

    private let inputExecutor: InputExecutor
    private let corpus: [PhoneHistory]
    private let options: Campaign.Options
    private let clock: any RunClock
    private let report: @Sendable (Campaign.Event) -> Void

    /// Creates a campaign against an app.
    ///
    /// - Parameters:
    ///   - inputExecutor: Runs the histories.
    ///   - corpus: The saved histories, which run before any generated history.
    ///   - options: The time limits and other options of the campaign.
    ///   - clock: The clock that measures the time of the campaign.
    ///   - report: Receives progress events.
    package init(
        inputExecutor: InputExecutor,
        corpus: [PhoneHistory] = [],
        options: Campaign.Options,
        clock: any RunClock,
        report: @escaping @Sendable (Campaign.Event) -> Void
    ) {
        self.inputExecutor = inputExecutor
        self.corpus = corpus
        self.options = options
        self.clock = clock
        self.report = report
    }

    /// Runs the campaign until a limit is reached or the task is canceled.
    ///
    /// A canceled campaign returns the results that it has.
    package func run() async -> Campaign.Outcome {
        let campaignState = CampaignState(options, clock, report: report)
        var scheduler = PhoneScheduler(
            inputExecutor: inputExecutor,
            corpus: corpus,
            campaignState: campaignState
        )
        await scheduler.run()
        return scheduler.campaignState.outcome
    }
}

/// The scheduler of a campaign against an app on a phone.
///
/// Each generated history depends only on the histories before it. A seed therefore generates the
/// same histories, however fast the app is.
private struct PhoneScheduler {
    let inputExecutor: PhoneCampaign.InputExecutor
    var campaignState: CampaignState
    private var generator: PhoneGenerator
    private var corpus: ArraySlice<PhoneHistory>
    private var runCount = 0
    private var concurrencyLimit: ConcurrencyLimit
    /// Histories that were inconclusive because the machine was too busy.
    ///
    /// They run again before new histories.
    private var postponedScripts: [QueuedScript] = []

    /// Whether a history is running without other histories, so that it has the whole machine.
    private var isRunningExclusively = false

    /// A history that is ready to run, with the number of its earlier attempts.
    private struct QueuedScript: Sendable {
        let script: PhoneScript
        var attemptCount = 0

        /// Whether this is the last attempt of the history, in which no other history runs.
        var isLast: Bool { attemptCount >= 2 }
    }

    private var options: Campaign.Options { campaignState.options }

    init(
        inputExecutor: PhoneCampaign.InputExecutor,
        corpus: [PhoneHistory],
        campaignState: CampaignState
    ) {
        self.inputExecutor = inputExecutor
        self.corpus = corpus[...]
        self.campaignState = campaignState
        generator = PhoneGenerator(seed: campaignState.options.seed)
        concurrencyLimit = ConcurrencyLimit(countMax: campaignState.options.jobs)
    }

    mutating func run() async {
        await withTaskGroup(of: (QueuedScript, DeviceTarget.ScenarioResults?).self) { group in
            var runningCount = 0
            while true {
                while let queuedScript = next(alongside: runningCount) {
                    runningCount += 1
                    runCount += 1
                    group.addTask { [inputExecutor, runCount] in
                        let results = await inputExecutor.execute(
                            queuedScript.script,
                            number: runCount
                        )
                        // The record of a canceled run looks as if the app had not responded.
                        return (queuedScript, Task.isCancelled ? nil : results)
                    }
                }
                guard runningCount > 0, let (queuedScript, results) = await group.next() else {
                    break
                }
                runningCount -= 1
                isRunningExclusively = false
                if let results { await recordResults(queuedScript, results) }
                campaignState.reportProgress()
                campaignState.reportCoverage(generator.coverage)
            }
        }
        // The campaign ended before these histories could run on a machine that was not busy.
        let noResults = DeviceTarget.ScenarioResults(results: [], inconclusiveCode: .machineBusy)
        for queuedScript in postponedScripts where !Task.isCancelled {
            campaignState.outcome.progress.histories += 1
            note(.machineBusy, queuedScript.script, noResults)
        }
        campaignState.reportProgress(isLast: true)
        campaignState.outcome.coverage = generator.coverage
    }

    /// Returns the next history to run while that number of histories is running; nil if none may
    /// begin now.
    private mutating func next(alongside runningCount: Int) -> QueuedScript? {
        guard runningCount < concurrencyLimit.count, !isRunningExclusively, !Task.isCancelled else {
            return nil
        }
        if let end = campaignState.end, campaignState.clock.now >= end { return nil }
        if let queuedScript = postponedScripts.first {
            guard !queuedScript.isLast || runningCount == 0 else { return nil }
            isRunningExclusively = queuedScript.isLast
            return postponedScripts.removeFirst()
        }
        guard !campaignState.isOver(), let script = nextScript() else { return nil }
        return QueuedScript(script: script)
    }

    private mutating func nextScript() -> PhoneScript? {
        let (script, newSituationCount): (PhoneScript, Int)
        if let savedScript = nextSavedScript() {
            (script, newSituationCount) = (savedScript, generator.note(savedScript))
        } else if let generated = generator.next(where: inputExecutor.canRun) {
            (script, newSituationCount) = (generated.script, generated.newSituationCount)
        } else {
            campaignState.outcome.end =
                "no history could be generated whose steps can run in this app"
            return nil
        }
        campaignState.recordGenerated(.phone(script.history), newSituationCount: newSituationCount)
        return script
    }

    /// Returns the next saved history that the current rules allow and that the executors can run.
    ///
    /// The rules may have changed since the history was saved.
    private mutating func nextSavedScript() -> PhoneScript? {
        while let history = corpus.popFirst() {
            if let script = PhoneScript(history), inputExecutor.canRun(script.contract) {
                return script
            }
            campaignState.outcome.skippedSavedCount += 1
        }
        return nil
    }

    // MARK: Results

    private mutating func recordResults(
        _ queuedScript: QueuedScript,
        _ execution: DeviceTarget.ScenarioResults
    ) async {
        let script = queuedScript.script
        if execution.inconclusiveCode == .machineBusy {
            concurrencyLimit.shrink()
            if !queuedScript.isLast, execution.results.isEmpty {
                return postponedScripts.append(
                    QueuedScript(script: script, attemptCount: queuedScript.attemptCount + 1)
                )
            }
        } else {
            concurrencyLimit.grow()
        }
        campaignState.outcome.progress.histories += 1
        if let inconclusiveCode = execution.inconclusiveCode {
            note(inconclusiveCode, script, execution)
        } else {
            campaignState.decided()
        }
        for result in execution.results {
            let clause = result.contract.clause
            switch result.verdict {
            case .passed, .knownFailure, .unexpectedPass:
                campaignState.outcome.clauses[clause, default: 0] += 1
            case .failed:
                campaignState.outcome.clauses[clause, default: 0] += 1
                await confirmAndShrink(script, result)
            // The invariant concerns a condition that did not occur in this history, such as a
            // login.
            case .inconclusive, .notRun: break
            }
        }
    }

    /// Counts a history as inconclusive for every clause that it would have tested.
    private mutating func note(
        _ inconclusiveCode: FindingCode,
        _ script: PhoneScript,
        _ execution: DeviceTarget.ScenarioResults
    ) {
        let decided = Set(execution.results.map(\.contract.clause))
        for clause in Set(script.singleExpectationContracts.map(\.clause)).subtracting(decided) {
            campaignState.outcome.clauses[clause, default: 0] += 1
            campaignState.outcome.inconclusiveCountsByClause[clause, default: 0] += 1
        }
        campaignState.undecided(
            "\(inconclusiveCode.rawValue) \(inconclusiveCode.rule)",
            inconclusiveCode.rule
        )
    }

    private mutating func confirmAndShrink(_ script: PhoneScript, _ result: CaseResult) async {
        guard let failureSignature = inputExecutor.failureSignature(of: result),
            campaignState.countsAsNewFailure(failureSignature, .phone(script.history))
        else {
            return
        }
        let shrinkStart = campaignState.clock.now
        defer { campaignState.extendCoverageWait(since: shrinkStart) }
        let input = CampaignInput.phone(script.history)
        let first = ReplayedInput(input: input, result: result)
        var shrinker = InputShrinker(inputExecutor, first, failureSignature, campaignState)
        switch await shrinker.confirmAndShrink(original: input) {
        case .notReproduced(let failureSignature, let result):
            campaignState.addFlakyFailure(failureSignature, result)
        case .found(let found): campaignState.add(found)
        }
    }
}

/// Limits the number of histories that run concurrently: fewer while the machine is too busy.
struct ConcurrencyLimit: Sendable {
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

extension PhoneCampaign.InputExecutor: InputReplaying {
    func replay(_ inputs: [CampaignInput], for failureSignature: FailureSignature) async
        -> [ReplayedInput]
    {
        let scripts = inputs.compactMap(\.phone).compactMap { PhoneScript($0) }
            .filter { canRun($0.contract) }
        return await withTaskGroup(of: (Int, ReplayedInput?).self) { group in
            for (index, script) in scripts.enumerated() {
                group.addTask {
                    let results = await self.execute(script, number: self.nextRerunNumber()).results
                    guard !Task.isCancelled else { return (index, nil) }
                    let matchingResults = results.filter {
                        $0.contract.propertyName == failureSignature.findingSubject
                    }
                    let result =
                        matchingResults.first {
                            self.failureSignature(of: $0) == failureSignature
                                && $0.verdict == .failed
                        }
                        ?? matchingResults.first
                    let input = CampaignInput.phone(script.history)
                    return (index, result.map { ReplayedInput(input: input, result: $0) })
                }
            }
            var found: [(Int, ReplayedInput)] = []
            for await (index, replayedInput) in group {
                if let replayedInput { found.append((index, replayedInput)) }
            }
            return found.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    func replay(_ contract: Contract) async -> CaseResult? {
        let plan = CasePlan(contract)
        let execution = await target.results(of: plan, judgedBy: [plan], number: nextRerunNumber())
        return Task.isCancelled ? nil : execution.results.first
    }

    func contract(of input: CampaignInput, for failureSignature: FailureSignature, id: String)
        -> Contract?
    {
        guard let history = input.phone else { return nil }
        return PhoneScript(history, id: id)?.singleExpectationContracts.first {
            $0.propertyName == failureSignature.findingSubject
        }
    }

    func failureSignature(of result: CaseResult) -> FailureSignature? {
        result.findings.first.map { FailureSignature($0, about: result.contract.propertyName) }
    }
}

extension Contract {
    /// The name of the property of an app that the contract checks: an invariant, a screen, or a
    /// command.
    fileprivate var propertyName: String {
        guard let app = expectation.app else { return "" }
        let screenTexts = app.screens.map { "shows \($0.element.rawValue)" }
        let commandTexts = app.commands.map { "sends \($0.name)" }
        return app.requiredInvariants.first?.name.rawValue ?? screenTexts.first ?? commandTexts
            .first ?? "id"
    }
}
