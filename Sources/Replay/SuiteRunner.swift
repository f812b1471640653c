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
        /// What passed is kept in mind, so that what comes later can be held against it.
        package var remembersPassed = true

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
        /// The IDs of all cases of the run, before the first of them finishes.
        case planned([String])
        case started(String)
        case finished(CaseResult, done: Int, of: Int)
        case backendRestarted(String)
        /// No case is played, for these reasons.
        case stopped([String])
        /// One more backend could not be started, for this reason; others play what it would have.
        case sideFailed(String)
    }

    /// More backends like the one under test, each for itself, so that cases that nobody may play
    /// beside need not wait for each other.
    package struct Sides: Sendable {
        /// How many there may be.
        let countMax: Int
        /// Starts one of them.
        let open: @Sendable (_ number: Int) async throws -> any SuiteStage

        package init(
            countMax: Int,
            open: @escaping @Sendable (_ number: Int) async throws -> any SuiteStage
        ) {
            self.countMax = countMax
            self.open = open
        }
    }

    private let stage: any SuiteStage
    private let sides: Sides?
    private let options: Options
    private let report: @Sendable (Event) -> Void

    package init(
        on stage: any SuiteStage,
        sides: Sides? = nil,
        options: Options,
        report: @escaping @Sendable (Event) -> Void
    ) {
        self.stage = stage
        self.sides = sides
        self.options = options
        self.report = report
    }

    /// Before a backend under test.
    ///
    /// - Parameters:
    ///   - executor: What runs before it share.
    ///   - sideCount: How many more backends may be started.
    ///   - openSide: Starts one more; its executor is beside the first.
    ///   - options: The suite's.
    ///   - report: Takes what is worth a line.
    package convenience init(
        executor: RunExecutor,
        sideCount: Int = 0,
        openSide: (@Sendable (_ number: Int) async throws -> RunExecutor)? = nil,
        options: Options,
        report: @escaping @Sendable (Event) -> Void
    ) {
        self.init(
            on: BackendStage(executor: executor, options: options, report: report),
            sides: openSide.map { openSide in
                Sides(countMax: sideCount) { number in
                    var options = options
                    // The first one has been looked at.
                    options.looksFirst = false
                    options.nonce += "-b\(number)"
                    let executor = try await openSide(number)
                    return BackendStage(executor: executor, options: options, report: report)
                }
            },
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
        let given = contracts.map { Candidate(CasePlan($0), on: stage) }
        let playable = given.filter { $0.obstacle == nil }.map(\.plan)
        let open = await stage.open(for: playable)
        if let reason = open.obstacles.first {
            report(.stopped(open.obstacles))
            return given.map { candidate in
                candidate.obstacle
                    ?? CaseResult(
                        contract: candidate.plan.contract,
                        verdict: .notRun,
                        note: reason
                    )
            }
        }
        let candidates = await expanded(given, on: open)
        let plans = candidates.map(\.plan)
        let tally = Tally(plans, options.knownFailures, report)
        for (index, candidate) in candidates.enumerated() {
            if let result = candidate.obstacle { tally.finish(index, result) }
        }
        let (first, together, alone, ahead, last) = await queue(candidates, open)
        let lone = LoneQueue(alone) { plans[$0].contract.id }
        let late = LoneQueue(ahead) { plans[$0].contract.id }
        let early = LoneQueue(first) { plans[$0].contract.caseID }
        let end = LoneQueue(last) { plans[$0].contract.caseID }
        let main = Ground(open)
        let grounds = await withTaskGroup(of: Ground?.self) { group in
            // Who leaves a backend in no state for others has one for itself.
            let endCount = last.isEmpty ? 0 : min(sides?.countMax ?? 0, 1)
            let sideCount = min(
                (sides?.countMax ?? 0) - endCount,
                (alone.count + ahead.count) / Self.lonePerSide
            )
            if endCount > 0 {
                group.addTask {
                    await self.playAside(sideCount, singles: end, [], of: playable, tally)
                }
            }
            for number in 0..<sideCount {
                group.addTask {
                    await self.playAside(
                        number,
                        // Nobody else has played before it either.
                        singles: number == 0 ? early : nil,
                        [lone, late],
                        of: playable,
                        tally
                    )
                }
            }
            if sideCount == 0 { await play(early, on: main, tally, revisesEach: true) }
            let again = await play(together, on: main, tally)
            await play(lone, on: main, tally)
            await play(again, aloneOn: main, tally)
            await play(late, on: main, tally)
            var grounds = [main]
            for await ground in group { grounds += ground.map { [$0] } ?? [] }
            return grounds
        }
        // What they gave back.
        await play(early, on: main, tally, revisesEach: true)
        await play(lone, on: main, tally)
        await play(late, on: main, tally)
        for ground in grounds { await playAgain(ground, tally) }
        if !Task.isCancelled {
            let before = Set(first + last)
            for ground in grounds {
                await revise(tally, on: ground, among: ground.played.subtracting(before))
            }
        }
        await play(end, on: main, tally, revisesEach: true)
        let results = tally.final
        let asides = grounds.flatMap { $0.open.asides(beside: results) }
        return results + Self.joined(asides).map(options.knownFailures.applied)
    }

    /// One more backend for so many cases that play alone: it is started and looked at first.
    private static let lonePerSide = 4

    /// Plays what nobody may play beside before a backend of its own, as long as there is any.
    ///
    /// - Returns: Where they were played; nil when there is no such backend.
    private func playAside(
        _ number: Int,
        singles: LoneQueue?,
        _ queues: [LoneQueue],
        of playable: [CasePlan],
        _ tally: Tally
    ) async -> Ground? {
        guard let sides else { return nil }
        let stage: any SuiteStage
        do {
            stage = try await sides.open(number)
        } catch {
            if !Task.isCancelled { report(.sideFailed("\(error)")) }
            return nil
        }
        let ground = Ground(await stage.open(for: playable))
        guard ground.open.obstacles.isEmpty else { return ground }
        // Whether the backend is gone or this one of them alone, the first one shows.
        let isGone = { @Sendable (result: CaseResult) in
            result.findings.contains { $0.code == .backendGone }
        }
        if let singles, !(await play(singles, on: ground, tally, revisesEach: true, until: isGone))
        {
            return ground
        }
        for queue in queues where !(await play(queue, on: ground, tally, until: isGone)) { break }
        return ground
    }

    /// Corrects what was played there; nobody plays there meanwhile.
    private func revise(_ tally: Tally, on ground: Ground, among indices: Set<Int>) async {
        let caseIDs = Set(indices.map { tally.plans[$0].contract.caseID })
        let played = ground.played
        let before = tally.results
        var results = before.indices.map { played.contains($0) ? before[$0] : nil }
        await ground.open.revise(&results, among: caseIDs)
        tally.replace(results, at: played)
    }

    /// What several backends showed of the same is told once.
    private static func joined(_ asides: [CaseResult]) -> [CaseResult] {
        var joined: [CaseResult] = []
        for aside in asides {
            if let index = joined.firstIndex(where: {
                $0.contract.caseID == aside.contract.caseID
            }) {
                joined[index].findings += aside.findings
                joined[index].replays = (joined[index].replays ?? []) + (aside.replays ?? [])
            } else {
                joined.append(aside)
            }
        }
        return joined
    }

    /// The cases in the order of the contracts, those that stand for several spread out.
    private func expanded(_ given: [Candidate], on open: any OpenStage) async -> [Candidate] {
        var candidates: [Candidate] = []
        for candidate in given {
            if candidate.obstacle == nil {
                candidates += await open.expanded(candidate.plan).map { Candidate($0, on: stage) }
            } else {
                candidates.append(candidate)
            }
        }
        guard let isWanted = options.isWanted else { return candidates }
        return candidates.filter { isWanted($0.plan.contract) }
    }

    /// A case, and why it cannot be played, if that is so.
    private struct Candidate {
        let plan: CasePlan
        let obstacle: CaseResult?

        init(_ plan: CasePlan, on stage: any SuiteStage) {
            self.plan = plan
            obstacle = stage.obstacle(plan)
        }
    }

    /// The places of those that can be played, by their turns; who plays beside others does so in
    /// an order that the seed chose, those that take long before the rest.
    private func queue(
        _ candidates: [Candidate],
        _ open: any OpenStage
    ) async -> (first: [Int], together: [Int], alone: [Int], ahead: [Int], last: [Int]) {
        let plans = candidates.map(\.plan)
        let playable = candidates.indices.filter { candidates[$0].obstacle == nil }
        let turns = await open.turns(of: playable.map { plans[$0] })
        func places(_ turn: Turn) -> [Int] {
            zip(playable, turns).filter { $0.1 == turn }.map(\.0)
        }
        var generator = SeededGenerator(seed: options.seed)
        let together = places(.together).shuffled(using: &generator)
        // A sort that keeps the order among equals.
        func longFirst(_ places: [Int]) -> [Int] {
            let rank = { (index: Int) in
                plans[index].takesLong ? 0 : plans[index].subject.isDisturbed ? 1 : 2
            }
            return (0...2).flatMap { wanted in places.filter { rank($0) == wanted } }
        }
        return (
            places(.first), longFirst(together), longFirst(places(.alone)),
            longFirst(places(.ahead)), places(.last)
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
    private func play(_ queue: [Int], on ground: Ground, _ tally: Tally) async -> [Int] {
        let open = ground.open
        let plans = tally.plans
        var again: [Int] = []
        let (events, teller) = AsyncStream.makeStream(of: JobPlace.Event.self)
        // With one job, one after the other is what was asked for.
        let waiting = JobPlace.Waiting(
            most: (options.jobs - 1).signum() * options.jobs * Self.waitingPerJob
        )
        await withDiscardingTaskGroup { group in
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
                        ground.note(index)
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

    /// Plays one after the other.
    private func play(_ queue: [Int], aloneOn ground: Ground, _ tally: Tally) async {
        for index in queue {
            if let result = await lone(index, on: ground, tally) {
                ground.note(index)
                tally.finish(index, result)
            }
        }
    }

    /// Takes from those that play alone as long as there are any.
    ///
    /// - Parameters:
    ///   - queue: Those that nobody has taken yet.
    ///   - ground: Where they are played.
    ///   - tally: Takes the results.
    ///   - revisesEach: Whether each is corrected before the next: they act upon everybody, or leave
    ///     nothing for anybody, so that what is in their journals after it is not of their making.
    ///   - givesUp: Whether a result is no result: the case is given back, and others play the rest.
    /// - Returns: Whether nobody gave up.
    @discardableResult private func play(
        _ queue: LoneQueue,
        on ground: Ground,
        _ tally: Tally,
        revisesEach: Bool = false,
        until givesUp: (CaseResult) -> Bool = { _ in false }
    ) async -> Bool {
        while !Task.isCancelled, let group = queue.take() {
            for (position, index) in group.enumerated() {
                guard let result = await lone(index, on: ground, tally) else { continue }
                if givesUp(result) {
                    queue.giveBack(Array(group[position...]))
                    return false
                }
                ground.note(index)
                tally.finish(index, result)
                if revisesEach, !Task.isCancelled {
                    await revise(tally, on: ground, among: [index])
                }
            }
        }
        return true
    }

    /// Plays a case alone, and what the machine held up even so a second time.
    private func lone(_ index: Int, on ground: Ground, _ tally: Tally) async -> CaseResult? {
        let plan = tally.plans[index]
        var outcome = await outcome(of: plan, index, on: ground.open, isAlone: true)
        if case .earned(let result) = outcome, result.isHeldUp {
            let second = await self.outcome(of: plan, index, on: ground.open, isAlone: true)
            if case .earned = second { outcome = second }
        }
        if case .earned(let result) = outcome { return result }
        return nil
    }

    /// Plays those once more that waited shorter than they might, and look otherwise by now.
    private func playAgain(_ ground: Ground, _ tally: Tally) async {
        guard !Task.isCancelled else { return }
        let changed = await ground.open.changedSince()
        for index in ground.played.sorted()
        where changed.contains(tally.plans[index].contract.caseID) {
            tally.forget(index)
            await play([index], aloneOn: ground, tally)
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

extension KnownFailures {
    /// The result, with the verdict that the list makes of its own.
    package func applied(to result: CaseResult) -> CaseResult {
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
