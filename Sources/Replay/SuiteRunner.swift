package import Conformance

/// Runs a selection of cases, side by side or alone, and tells what came of each.
///
/// The only one: how a case is played and judged is the stage's, before a backend or on phones alone.
package final class SuiteRunner: Sendable {
    package struct Options: Sendable {
        package var seed: UInt64
        package var jobs: Int
        /// Makes ids unique on a backend that keeps its data; not part of the seed.
        package var nonce: String
        package var knownFailures: KnownFailures
        /// Only these variants of the generated ones.
        package var isWanted: (@Sendable (Contract) -> Bool)?
        /// Every result keeps what its verdict rests on.
        package var keepsEvidence = false
        /// No case is played before a backend that none could say anything of.
        package var looksFirst = false
        /// A failed case that rests on a moment is played again, to tell whether it is a race.
        package var tellsRaces = false

        package init(seed: UInt64, jobs: Int, nonce: String, knownFailures: KnownFailures) {
            self.seed = seed
            self.jobs = max(1, jobs)
            self.nonce = nonce
            self.knownFailures = knownFailures
        }
    }

    /// Something worth a line on stderr.
    package enum Event: Sendable {
        case calibrated(RunRecord.Sight)
        case started(String)
        case finished(CaseResult, done: Int, of: Int)
        case backendRestarted(String)
        /// No case is played, for these reasons.
        case stopped([String])
    }

    private let stage: any SuiteStage
    private let options: Options
    private let report: @Sendable (Event) -> Void

    package init(
        on stage: any SuiteStage,
        options: Options,
        report: @escaping @Sendable (Event) -> Void
    ) {
        self.stage = stage
        self.options = options
        self.report = report
    }

    /// Before a backend under test.
    package convenience init(
        executor: RunExecutor,
        options: Options,
        report: @escaping @Sendable (Event) -> Void
    ) {
        self.init(
            on: BackendStage(executor: executor, options: options, report: report),
            options: options,
            report: report
        )
    }

    /// The result of a case that cannot be run here; nil when it can.
    package func obstacle(_ plan: CasePlan) -> CaseResult? { stage.obstacle(plan) }

    /// Runs all cases and returns their results in the order given, and behind them what no case
    /// accounts for; after a cancellation, the cases that did not finish are `notRun`.
    package func run(_ contracts: [Contract]) async -> [CaseResult] {
        await withTaskGroup(of: [CaseResult]?.self) { group in
            group.addTask {
                await self.stage.accompany()
                return nil
            }
            group.addTask { await self.results(of: contracts) }
            var results: [CaseResult] = []
            for await part in group {
                guard let part else { continue }
                results = part
                group.cancelAll()
            }
            return results
        }
    }

    // MARK: The order of things

    private func results(of contracts: [Contract]) async -> [CaseResult] {
        let given = contracts.map { CasePlan($0) }
        let open = await stage.open(for: given.filter { stage.obstacle($0) == nil })
        if let reason = open.obstacles.first {
            report(.stopped(open.obstacles))
            return given.map { plan in
                stage.obstacle(plan)
                    ?? CaseResult(contract: plan.contract, verdict: .notRun, note: reason)
            }
        }
        let plans = await expanded(given, on: open)
        var tally = Tally(plans, options.knownFailures, report)
        for (index, plan) in plans.enumerated() {
            if let result = stage.obstacle(plan) { tally.finish(index, result) }
        }
        let (first, together, alone, ahead, last) = await queue(plans, open)
        // After each of these, what is in the journal of those before is not of their own making.
        for index in first {
            await play([index], aloneOn: open, &tally)
            if Task.isCancelled { break }
            await open.revise(&tally.results, among: [plans[index].contract.caseID])
        }
        let again = await play(together, on: open, &tally)
        await play(alone + again + ahead, aloneOn: open, &tally)
        await playAgain(alone + again + ahead + together, on: open, &tally)
        if !Task.isCancelled {
            let others = Set((together + alone + ahead).map { plans[$0].contract.caseID })
            await open.revise(&tally.results, among: others)
        }
        for index in last {
            await play([index], aloneOn: open, &tally)
            if Task.isCancelled { break }
            await open.revise(&tally.results, among: [plans[index].contract.caseID])
        }
        let results = tally.final
        return results + open.asides(beside: results).map(options.knownFailures.applied)
    }

    /// The cases in the order of the contracts, those that stand for several spread out.
    private func expanded(_ given: [CasePlan], on open: any OpenStage) async -> [CasePlan] {
        var plans: [CasePlan] = []
        for plan in given {
            plans += stage.obstacle(plan) == nil ? await open.expanded(plan) : [plan]
        }
        guard let isWanted = options.isWanted else { return plans }
        return plans.filter { isWanted($0.contract) }
    }

    /// The places of those that can be played, by their turns; who plays beside others does so in
    /// an order that the seed chose, those that take long before the rest.
    private func queue(
        _ plans: [CasePlan],
        _ open: any OpenStage
    ) async -> (first: [Int], together: [Int], alone: [Int], ahead: [Int], last: [Int]) {
        let playable = plans.indices.filter { stage.obstacle(plans[$0]) == nil }
        let turns = await open.turns(of: playable.map { plans[$0] })
        func places(_ turn: Turn) -> [Int] {
            zip(playable, turns).filter { $0.1 == turn }.map(\.0)
        }
        var generator = SeededGenerator(seed: options.seed)
        let together = places(.together).shuffled(using: &generator)
        let (long, short) = (
            together.filter { plans[$0].takesLong }, together.filter { !plans[$0].takesLong }
        )
        return (
            places(.first), long + short, places(.alone), places(.ahead), places(.last)
        )
    }

    // MARK: Playing

    /// So many cases for each job may wait without a place: who waits only looks now and then, the
    /// less often the more there are.
    private static let waitingPerJob = 32

    /// What came of one turn.
    enum Outcome: Sendable {
        case earned(CaseResult)
        /// Others disturbed it.
        case again
        /// What a cancellation cut short says nothing.
        case cutShort
    }

    /// Plays so many at once as there are jobs, beside those that only wait for time to pass.
    ///
    /// - Returns: Those that have to be played again, alone.
    private func play(
        _ queue: [Int],
        on open: any OpenStage,
        _ tally: inout Tally
    ) async -> [Int] {
        let plans = tally.plans
        var again: [Int] = []
        let (events, teller) = AsyncStream.makeStream(of: JobPlace.Event.self)
        // With one job, one after the other is what was asked for.
        let waiting = JobPlace.Waiting(
            most: (options.jobs - 1).signum() * options.jobs * Self.waitingPerJob
        )
        await withTaskGroup(of: Void.self) { group in
            var (queue, returning) = (queue[...], [CheckedContinuation<Void, Never>]())
            var (freeCount, playingCount) = (options.jobs, 0)
            func fill() {
                while freeCount > 0 {
                    if !returning.isEmpty {
                        returning.removeFirst().resume()
                    } else if let index = queue.popFirst() {
                        let place = JobPlace(among: waiting) { event in
                            if case .terminated = teller.yield(event) { return false }
                            return true
                        }
                        group.addTask {
                            let outcome = await JobPlace.$current.withValue(place) {
                                await self.outcome(
                                    of: plans[index],
                                    index,
                                    on: open,
                                    isAlone: false
                                )
                            }
                            teller.yield(.left(index, outcome))
                        }
                        playingCount += 1
                    } else {
                        return
                    }
                    freeCount -= 1
                }
            }
            fill()
            if playingCount == 0 { teller.finish() }
            for await event in events {
                switch event {
                case .left(let index, let outcome):
                    switch outcome {
                    case .earned(let result) where !result.isHeldUp:
                        tally.finish(index, result)
                    case .earned, .again: again.append(index)
                    case .cutShort: break
                    }
                    (freeCount, playingCount) = (freeCount + 1, playingCount - 1)
                case .given: freeCount += 1
                case .wanted(let continuation): returning.append(continuation)
                }
                fill()
                if playingCount == 0 { teller.finish() }
            }
            // A cancellation ends the loop; whoever waits for a place is cut short, and not held.
            for continuation in returning { continuation.resume() }
        }
        return again
    }

    /// Plays one after the other; what the machine held up even so is played a second time.
    private func play(
        _ queue: [Int],
        aloneOn open: any OpenStage,
        _ tally: inout Tally
    ) async {
        for index in queue {
            let plan = tally.plans[index]
            var outcome = await outcome(of: plan, index, on: open, isAlone: true)
            if case .earned(let result) = outcome, result.isHeldUp {
                let second = await self.outcome(of: plan, index, on: open, isAlone: true)
                if case .earned = second { outcome = second }
            }
            if case .earned(let result) = outcome { tally.finish(index, result) }
        }
    }

    /// Plays those once more that waited shorter than they might, and look otherwise by now.
    private func playAgain(
        _ indices: [Int],
        on open: any OpenStage,
        _ tally: inout Tally
    ) async {
        guard !Task.isCancelled else { return }
        let changed = await open.changedSince()
        let again = indices.filter { changed.contains(tally.plans[$0].contract.caseID) }
        for index in again {
            tally.forget(index)
            await play([index], aloneOn: open, &tally)
        }
    }

    private func outcome(
        of plan: CasePlan,
        _ number: Int,
        on open: any OpenStage,
        isAlone: Bool
    ) async -> Outcome {
        if Task.isCancelled { return .cutShort }
        report(.started(plan.contract.caseID))
        let result = await open.result(of: plan, number: number, isAlone: isAlone)
        if Task.isCancelled { return .cutShort }
        return result.map { .earned($0) } ?? .again
    }
}

extension CaseResult {
    /// Whether nothing can be said of the case because Assay itself had too little of the machine.
    fileprivate var isHeldUp: Bool {
        verdict == .inconclusive && findings.contains { $0.code == .machineBusy }
    }
}

/// What has come of the cases of a suite so far.
private struct Tally {
    let plans: [CasePlan]
    /// Before the list of known failures is looked at.
    var results: [CaseResult?]
    private let knownFailures: KnownFailures
    private let report: @Sendable (SuiteRunner.Event) -> Void
    private var doneCount = 0

    init(
        _ plans: [CasePlan],
        _ knownFailures: KnownFailures,
        _ report: @escaping @Sendable (SuiteRunner.Event) -> Void
    ) {
        self.plans = plans
        self.knownFailures = knownFailures
        self.report = report
        results = [CaseResult?](repeating: nil, count: plans.count)
    }

    mutating func finish(_ index: Int, _ result: CaseResult) {
        results[index] = result
        doneCount += 1
        let told = knownFailures.applied(to: result)
        report(.finished(told, done: doneCount, of: plans.count))
    }

    /// It is played once more.
    mutating func forget(_ index: Int) {
        guard results[index] != nil else { return }
        results[index] = nil
        doneCount -= 1
    }

    /// All results; a case that did not finish was interrupted.
    var final: [CaseResult] {
        zip(results, plans).map { result, plan in
            result.map(knownFailures.applied)
                ?? CaseResult(contract: plan.contract, verdict: .notRun, note: "interrupted")
        }
    }
}

extension KnownFailures {
    /// The result, with the verdict that the list makes of its own.
    func applied(to result: CaseResult) -> CaseResult {
        var result = result
        let (verdict, note) = verdict(
            result.verdict,
            of: result.contract.caseID,
            findings: result.findings
        )
        result.verdict = verdict
        if let note { result.note = note }
        return result
    }
}
