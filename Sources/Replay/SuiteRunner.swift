package import Conformance

/// Runs the selected cases, concurrently or exclusively, and reports the result of each case.
///
/// Every suite uses this runner, whether it tests a backend or an app on simulated phones. The
/// target of the suite (`SuiteStage`) runs and judges the single cases.
package final class SuiteRunner: Sendable {
    package struct Options: Sendable {
        package var seed: UInt64
        package var jobs: Int
        /// A string that is unique to this run and part of the ID of every test user.
        ///
        /// A backend that keeps its data therefore never meets a user of an earlier run. The seed
        /// does not depend on this string.
        package var nonce: String
        package var knownFailures: KnownFailures
        /// Returns whether a generated variant of a contract is to run; nil to run all variants.
        package var isWanted: (@Sendable (Contract) -> Bool)?
        /// Whether each case result keeps the evidence of its verdict, such as the recorded
        /// requests and responses.
        package var keepsEvidence = false
        /// Whether the run stops before the first case when a check finds that no case could judge
        /// the backend.
        package var looksFirst = false
        /// Whether a failed case that depends on timing runs again, to find out whether the failure
        /// is a race.
        package var tellsRaces = false
        /// Whether the records of passed cases are kept, so that late effects can still change the
        /// verdict at the end.
        package var remembersPassed = true

        package init(seed: UInt64, jobs: Int, nonce: String, knownFailures: KnownFailures) {
            self.seed = seed
            self.jobs = max(1, jobs)
            self.nonce = nonce
            self.knownFailures = knownFailures
        }
    }

    /// A progress event of a suite that is worth a line on stderr.
    package enum Event: Sendable {
        case calibrated(RunRecord.Sight)
        /// The list of all case IDs of the run is known. This event comes before the first case
        /// finishes.
        case planned([String])
        case started(String)
        case finished(CaseResult, done: Int, of: Int)
        case backendRestarted(String)
        /// The run ends without running any case, for these reasons.
        case stopped([String])
        /// An additional instance of the backend could not be started, for this reason.
        ///
        /// Other instances run the cases that this one would have run.
        case sideFailed(String)
    }

    /// The additional instances of the backend under test.
    ///
    /// With several instances, cases that need a backend exclusively do not have to wait for each
    /// other.
    package struct Sides: Sendable {
        /// The largest number of additional instances of the backend.
        let countMax: Int
        /// Starts an additional instance of the backend, and returns it as the target of a suite.
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

    /// Creates a runner for a backend under test.
    ///
    /// - Parameters:
    ///   - executor: The executor of runs against the first instance of the backend.
    ///   - sideCount: The largest number of additional instances of the backend.
    ///   - openSide: Starts an additional instance, and returns an executor that shares state with
    ///     the first executor.
    ///   - options: The options of the suite.
    ///   - report: Receives the progress events.
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
                    // The check before the first case has already been made with the first
                    // instance.
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

    /// Returns the result "not run" for a case that cannot run against this target; nil for a case
    /// that can run.
    package func obstacle(_ plan: CasePlan) -> CaseResult? { stage.obstacle(plan) }

    /// Runs all cases and returns their results.
    ///
    /// The results have the order of the contracts. Violations of run invariants that no case
    /// explains follow at the end.
    ///
    /// After a cancellation, cases that did not finish have the verdict `notRun`.
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

    // MARK: The order of a suite

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
            // Cases that leave the backend unusable run on a separate backend instance.
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
                        // The first additional instance is as fresh as the main one: no other case
                        // has run against it.
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
        // Runs the cases that additional instances have put back into the queues.
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

    /// The number of exclusive cases that justify one more instance of the backend.
    ///
    /// An instance takes time to start and to calibrate.
    private static let lonePerSide = 4

    /// Runs exclusive cases against an additional instance of the backend, until the queues are
    /// empty.
    ///
    /// - Returns: The additional instance; nil when it could not be started.
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
        // If only this instance is gone, the cases can run against the first instance. If that one
        // is gone too, it reports the failure.
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

    /// Revises the results of the cases that ran against one instance of the backend.
    ///
    /// No case may run against that instance meanwhile.
    private func revise(_ tally: Tally, on ground: Ground, among indices: Set<Int>) async {
        let caseIDs = Set(indices.map { tally.plans[$0].contract.caseID })
        let played = ground.played
        let before = tally.results
        var results = before.indices.map { played.contains($0) ? before[$0] : nil }
        await ground.open.revise(&results, among: caseIDs)
        tally.replace(results, at: played)
    }

    /// Joins violations of the same run invariant by several instances of the backend into one
    /// result.
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

    /// Returns the cases to run, in the order of the contracts.
    ///
    /// A contract that represents several cases, such as one for each crash point, is replaced by
    /// these cases.
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

    /// A case that is considered for the run, with its result "not run" if it cannot run.
    private struct Candidate {
        let plan: CasePlan
        let obstacle: CaseResult?

        init(_ plan: CasePlan, on stage: any SuiteStage) {
            self.plan = plan
            obstacle = stage.obstacle(plan)
        }
    }

    /// Returns the indices of the cases that can run, grouped by the phase of the suite in which
    /// they run.
    ///
    /// The seed decides the order of concurrent cases. Slow cases come before fast ones.
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
        // The sort is stable: cases of the same rank keep their order.
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

    // MARK: Running

    /// The number of cases for each job that may wait for time to pass without occupying a job.
    ///
    /// A waiting case only reads its probes at intervals. The intervals grow with the number of
    /// waiting cases.
    private static let waitingPerJob = 32

    /// The outcome of one attempt to run a case.
    enum Outcome: Sendable {
        case earned(CaseResult)
        /// Other cases disturbed this case, so it has to run again, exclusively.
        case again
        /// A cancellation interrupted the case, so its run proves nothing.
        case cutShort
    }

    /// Runs cases concurrently, at most as many at a time as there are jobs.
    ///
    /// Cases that only wait for time to pass do not count against the number of jobs.
    ///
    /// - Returns: The indices of the cases that have to run again, exclusively.
    private func play(_ queue: [Int], on ground: Ground, _ tally: Tally) async -> [Int] {
        let open = ground.open
        let plans = tally.plans
        var again: [Int] = []
        let (events, teller) = AsyncStream.makeStream(of: JobPlace.Event.self)
        // With one job, cases run strictly one after the other, so no case may wait without a job.
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
            // A cancellation ends the loop. Cases that wait for a free job are released and end
            // without a result.
            for continuation in returning { continuation.resume() }
        }
        return again
    }

    /// Runs these cases exclusively against one instance, one after the other.
    private func play(_ queue: [Int], aloneOn ground: Ground, _ tally: Tally) async {
        for index in queue {
            if let result = await lone(index, on: ground, tally) {
                ground.note(index)
                tally.finish(index, result)
            }
        }
    }

    /// Takes exclusive cases from a queue and runs them one after the other, until the queue is
    /// empty.
    ///
    /// - Parameters:
    ///   - queue: The exclusive cases that no instance of the backend has taken yet.
    ///   - ground: The instance of the backend that runs the cases.
    ///   - tally: Receives the results.
    ///   - revisesEach: Whether each result is revised before the next case runs. Cases that affect
    ///     all users, or leave the backend unusable, need this: later entries in the journal are
    ///     not their effects.
    ///   - givesUp: Returns whether a result makes this instance stop. The case of that result goes
    ///     back to the queue, and other instances run the rest.
    /// - Returns: False when this instance stopped before the queue was empty; true otherwise.
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

    /// Runs a case exclusively, and runs it a second time if the machine was too busy.
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

    /// Reruns each case that would get another verdict now, because its wait for an effect was
    /// shortened.
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
    /// Whether the case is inconclusive because the machine was too busy.
    fileprivate var isHeldUp: Bool {
        verdict == .inconclusive && findings.contains { $0.code == .machineBusy }
    }
}

extension KnownFailures {
    /// Returns the result of a case with its verdict after the list of known failures is applied.
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
