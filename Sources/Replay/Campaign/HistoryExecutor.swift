internal import Contracts
internal import Exploration
internal import Judging

/// Runs single generated histories against a backend.
///
/// It judges each history at the end and at every quiet point (a point between two operations at
/// which probes are read).
struct HistoryExecutor: Sendable {
    let caseRunner: CaseRunner
    let capabilities: Capabilities

    /// The result of the run of one generated history.
    struct ExecutedHistory: Sendable {
        /// The part of the history that was judged: the whole history, or a beginning of it.
        var history: CustomerHistory
        var result: CaseResult
    }

    /// Runs a generated history, and returns its result.
    ///
    /// Returns nil when the run was interrupted, or when the backend exited while other histories
    /// ran. In the second case, the history has to run again, exclusively.
    func execute(_ script: HistoryScript, isExclusive: Bool) async -> ExecutedHistory? {
        guard
            var result = await execution(
                script.contract,
                isExclusive: isExclusive,
                skipsSentinel: true
            )
        else {
            return nil
        }
        // A machine that was too busy may have time now, so an inconclusive history runs again.
        if result.verdict == .inconclusive,
            let rerunResult = await execution(script.contract, isExclusive: isExclusive)
        {
            result = rerunResult
        }
        // If the history is impossible without provider errors, the first result counts.
        if result.findings.first?.code == .faultNotApplied,
            let scriptWithoutErrors = try? HistoryScript(
                script.history.withoutProviderErrors,
                capabilities
            ),
            scriptWithoutErrors.history != script.history
        {
            // The history injects an error into a call that the backend does not make, so it runs
            // without that fault.
            return await execute(scriptWithoutErrors, isExclusive: isExclusive)
        }
        let execution = ExecutedHistory(history: script.history, result: result.withoutEvidence)
        // If the shorter history is impossible, the failure of the complete history counts.
        guard let evidence = result.evidence, [.passed, .failed].contains(result.verdict),
            let historyPrefix = script.firstPrefixWithWrongState(in: evidence, capabilities),
            let shorterScript = try? HistoryScript(historyPrefix, capabilities)
        else { return execution }
        guard
            let rerunResult = await self.execution(shorterScript.contract, isExclusive: isExclusive)
        else {
            return nil
        }
        // A wrong state at a quiet point is not a failure if the history that ends at this point
        // passes.
        if rerunResult.verdict == .passed { return execution }
        return ExecutedHistory(history: historyPrefix, result: rerunResult.withoutEvidence)
    }

    /// Runs a contract, and returns its result; nil when the run was interrupted.
    ///
    /// With `skipsSentinel`, a contract without a baseline run ends without a sentinel (a purchase
    /// by another user) if the backend shows every effect at once.
    private func execution(
        _ contract: Contract,
        isExclusive: Bool,
        skipsSentinel: Bool = false
    ) async -> CaseResult? {
        let pool = ValuePool(caseRunner.executor.profile, seed: caseRunner.options.seed)
        var plan = CasePlan(pool.drawn(contract))
        if skipsSentinel, plan.baseline == nil { plan = plan.withoutSentinel }
        let result =
            isExclusive
            ? await caseRunner.runExclusively(plan) : await caseRunner.runConcurrently(plan)
        caseRunner.forget(plan, result?.evidence)
        // The record of a canceled run looks as if the backend had not responded.
        return Task.isCancelled ? nil : result
    }
}

extension HistoryExecutor: InputReplaying {
    func replay(_ inputs: [CampaignInput], for failureSignature: FailureSignature) async
        -> [ReplayedInput]
    {
        let scripts = inputs.compactMap(\.history).compactMap {
            // An impossible history is not a smaller form of the failure.
            try? HistoryScript($0, capabilities)
        }
        let isExclusive = scripts.contains(where: \.mustRunExclusively)
        return await withTaskGroup(of: (Int, ExecutedHistory?).self) { group in
            var executedHistories: [(Int, ExecutedHistory)] = []
            for (index, script) in scripts.enumerated() {
                // Histories that need the backend exclusively run one after the other.
                if isExclusive {
                    if let execution = await execute(script, isExclusive: true) {
                        executedHistories.append((index, execution))
                    }
                } else {
                    group.addTask { (index, await execute(script, isExclusive: false)) }
                }
            }
            var interruptedIndices: [Int] = []
            for await (index, execution) in group {
                if let execution {
                    executedHistories.append((index, execution))
                } else {
                    interruptedIndices.append(index)
                }
            }
            // Several histories were running when the backend exited. Running each exclusively
            // shows which of them caused the exit.
            for index in interruptedIndices.sorted() where !Task.isCancelled {
                if let execution = await execute(scripts[index], isExclusive: true) {
                    executedHistories.append((index, execution))
                }
            }
            return executedHistories.sorted { $0.0 < $1.0 }.map {
                ReplayedInput(input: .users($0.1.history), result: $0.1.result)
            }
        }
    }

    func replay(_ contract: Contract) async -> CaseResult? {
        let isExclusive = CasePlan(contract).subject.needsBackendForItself
        // A reported result keeps the evidence of its verdict, which `execute` discards.
        return await execution(contract, isExclusive: isExclusive)
    }

    func contract(of input: CampaignInput, for failureSignature: FailureSignature, id: String)
        -> Contract?
    {
        guard let history = input.history else { return nil }
        // An impossible history has no contract.
        return try? HistoryScript(history.withoutStateReadPoints, capabilities, id: id).contract
    }

    func failureSignature(of result: CaseResult) -> FailureSignature? {
        result.findings.first.map(FailureSignature.init)
    }
}

extension CaseResult {
    fileprivate var withoutEvidence: CaseResult {
        var result = self
        result.judgment = nil
        return result
    }
}

extension HistoryScript {
    /// Whether the history has to run exclusively, because it affects state that other histories
    /// share.
    var mustRunExclusively: Bool { CasePlan(contract).subject.needsBackendForItself }
}
