internal import Conformance
internal import Exploration

/// Runs single generated histories against a backend.
///
/// It judges each history at the end and at every quiet point (a point between two operations at
/// which probes are read).
struct LifePlayer: Sendable {
    let cases: CaseRunner
    let means: Means

    /// The result of the run of one generated history.
    struct Played: Sendable {
        /// The part of the history that was judged: the whole history, or a beginning of it.
        var life: Life
        var result: CaseResult
    }

    /// Runs a generated history, and returns its result.
    ///
    /// Returns nil when the run was interrupted, or when the backend exited while other histories
    /// ran. In the second case, the history has to run again, exclusively.
    func play(_ script: LifeScript, isAlone: Bool) async -> Played? {
        guard var result = await played(script.contract, isAlone: isAlone, isBrief: true) else {
            return nil
        }
        // A machine that was too busy may have time now, so an inconclusive history runs again.
        if result.verdict == .inconclusive,
            let again = await played(script.contract, isAlone: isAlone)
        {
            result = again
        }
        if result.findings.first?.code == .disturbanceMissed,
            let calmer = try? LifeScript(script.life.withoutFailingCalls, means),
            calmer.life != script.life
        {
            // The history injects an error into a call that the backend does not make, so it runs
            // without that fault.
            return await play(calmer, isAlone: isAlone)
        }
        let played = Played(life: script.life, result: result.withoutEvidence)
        guard let evidence = result.evidence, [.passed, .failed].contains(result.verdict),
            let beginning = script.suspect(in: evidence, means),
            let shorter = try? LifeScript(beginning, means)
        else { return played }
        guard let again = await self.played(shorter.contract, isAlone: isAlone) else {
            return nil
        }
        // A wrong state at a quiet point is no failure if the history up to that point passes.
        if again.verdict == .passed { return played }
        return Played(life: beginning, result: again.withoutEvidence)
    }

    /// Runs a contract, and returns its result; nil when the run was interrupted.
    ///
    /// A brief run accepts a correct state at once. After a failure, the contract runs again with
    /// the full waiting time.
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
        // The record of a canceled run looks as if the backend had not responded.
        return Task.isCancelled ? nil : result
    }
}

extension LifePlayer: StoryReplaying {
    func replay(_ stories: [Story], for cause: LifeCause) async -> [Replayed] {
        let scripts = stories.compactMap(\.life).compactMap { try? LifeScript($0, means) }
        let isAlone = scripts.contains(where: \.needsSolitude)
        return await withTaskGroup(of: (Int, Played?).self) { group in
            var found: [(Int, Played)] = []
            for (index, script) in scripts.enumerated() {
                // Histories that need the backend exclusively run one after the other.
                if isAlone {
                    if let played = await play(script, isAlone: true) {
                        found.append((index, played))
                    }
                } else {
                    group.addTask { (index, await play(script, isAlone: false)) }
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
            // Several histories were running when the backend exited. Running each exclusively
            // shows which of them caused the exit.
            for index in ended.sorted() where !Task.isCancelled {
                if let played = await play(scripts[index], isAlone: true) {
                    found.append((index, played))
                }
            }
            return found.sorted { $0.0 < $1.0 }.map {
                Replayed(story: .people($0.1.life), result: $0.1.result)
            }
        }
    }

    func replay(_ contract: Contract) async -> CaseResult? {
        let isAlone = CasePlan(contract).subject.needsSolitude
        // The reported result keeps all evidence of its verdict.
        return await played(contract, isAlone: isAlone)
    }

    func contract(of story: Story, for cause: LifeCause, id: String) -> Contract? {
        guard let life = story.life else { return nil }
        return try? LifeScript(life.withoutQuietPoints, means, id: id).contract
    }

    func cause(of result: CaseResult) -> LifeCause? { result.findings.first.map(LifeCause.init) }
}

extension CaseResult {
    fileprivate var withoutEvidence: CaseResult {
        var result = self
        result.evidence = nil
        return result
    }
}

extension LifeScript {
    /// Whether the history has to run exclusively, because it affects state that other histories
    /// share.
    var needsSolitude: Bool { CasePlan(contract).subject.needsSolitude }
}
