internal import Conformance
internal import Exploration

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
        guard var result = await played(script.contract, isAlone: isAlone, isBrief: true) else {
            return nil
        }
        // A machine that was busy once need not be again.
        if result.verdict == .inconclusive,
            let again = await played(script.contract, isAlone: isAlone)
        {
            result = again
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
            let shorter = try? LifeScript(beginning, means)
        else { return played }
        guard let again = await self.played(shorter.contract, isAlone: isAlone) else {
            return nil
        }
        // What looked wrong is absolved by being right in the end, and by nothing else.
        if again.verdict == .passed { return played }
        return Played(life: beginning, result: again.withoutEvidence)
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
        // What was broken off looks as if nobody had answered.
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
                // One after the other where nobody may play beside.
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
            // Which of them ended the backend shows when each is alone.
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
        // Of what is told, all is kept that its verdict rests on.
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
    /// Whether it touches what other lives share.
    var needsSolitude: Bool { CasePlan(contract).subject.needsSolitude }
}
